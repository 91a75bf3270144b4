"""minijax: JAX rebuilt from first principles. The full library, with JAX's public names.

Underneath are four stages, `minijax_stage1` to `minijax_stage4`, each a package to learn from.
"""

from minijax import compilation_cache, core, errors, lax, nn, numpy, tree, tree_util
from minijax.config import config
from minijax.transformations import (
    block_until_ready,
    grad,
    hessian,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
    vmap,
)
from minijax_stage1.source import hide_frames_of
from minijax_stage2 import typeof
from minijax_stage3 import Array, jit, make_jaxpr

__all__ = [
    "Array",
    "block_until_ready",
    "compilation_cache",
    "config",
    "core",
    "errors",
    "grad",
    "hessian",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "linear_transpose",
    "linearize",
    "make_jaxpr",
    "nn",
    "numpy",
    "tree",
    "tree_util",
    "typeof",
    "value_and_grad",
    "vjp",
    "vmap",
]

hide_frames_of(__file__)
