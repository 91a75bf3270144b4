"""The primitives as functions, under the names of `jax.lax`.

Each takes Arrays, numpy arrays, Python numbers and tracers, and returns Arrays. Operands must have
one dtype and one shape, scalars aside, and axes count from 0, as in JAX; only `minijax.numpy`
promotes. Primitives have their names with `_p` after them: `add_p`.
"""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from minijax.lax import linalg as linalg
    from minijax.lax.declared_primitives import *
    from minijax.lax.promoting import *
else:
    from minijax.settings.facades import lazy_facade as _lazy_facade
    from minijax.settings.facades import primitives_by as _primitives_by
    from minijax.settings.later import later as _later

    _lazy_facade(
        globals(),
        _later("minijax.lax.strict", "strict_function"),
        _primitives_by("primitive_named"),
    )
