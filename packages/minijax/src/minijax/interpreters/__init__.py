"""The tables of each interpreter, under the names of `jax.interpreters`.

A rule registered in JAX's convention works in every transformation, and the rules of this library
can be read in it. `minijax.core.declare` registers all rules of a primitive at once.
"""

from minijax.interpreters import ad, batching, mlir, partial_eval
from minijax.settings.facades import make_module

pxla = make_module(
    "minijax.interpreters.pxla",
    "Options of a compilation, under the name of `jax.interpreters.pxla`.",
    {"minijax.extend.backend": "create_compile_options"},
)
xla = make_module(
    "minijax.interpreters.xla",
    "Evaluation of a primitive by compiling it, under the name of `jax.interpreters.xla`.",
    {
        "minijax.extend.backend": "Backend",
        "minijax.interpreters.mlir": "apply_primitive canonicalize_dtype_handlers",
    },
)

__all__ = ["ad", "batching", "mlir", "partial_eval", "pxla", "xla"]
