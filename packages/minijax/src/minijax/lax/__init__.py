"""The primitives, as functions with the names of `jax.lax`.

Each takes Arrays, numpy arrays, Python numbers and tracers, and answers in Arrays. Operands of
different dtypes and shapes meet by the rules of promotion, where JAX's own `lax` refuses them.
"""

# ruff: noqa: F401, F403
from minijax.lax import (
    complex_numbers,
    control,
    elementwise,
    parallel,
    reductions,
    slicing,
    structural,
)
from minijax.lax import scan_reverse as _scan_reverse
from minijax.lax import scan_rules as _scan_rules
from minijax.lax import while_rules as _while_rules
from minijax.lax.complex_numbers import *
from minijax.lax.conditionals import cond, switch
from minijax.lax.control import *
from minijax.lax.elementwise import *
from minijax.lax.parallel import *
from minijax.lax.reductions import *
from minijax.lax.scan import fori_loop, map, scan
from minijax.lax.slicing import *
from minijax.lax.structural import *
from minijax.lax.while_loop import while_loop

__all__ = [
    *complex_numbers.__all__,
    *control.__all__,
    *elementwise.__all__,
    *parallel.__all__,
    *reductions.__all__,
    *slicing.__all__,
    *structural.__all__,
    "cond",
    "fori_loop",
    "map",
    "scan",
    "switch",
    "while_loop",
]
