"""The tables of each interpreter, under the names of `jax.interpreters`.

A rule registered in JAX's convention works in every transformation, and the rules of this library
can be read in it. `glassjax.core.declare` registers all rules of a primitive at once.
"""

from glassjax.interpreters import ad, batching, mlir, partial_eval
from glassjax.settings.facades import make_module

pxla = make_module(
    "glassjax.interpreters.pxla",
    "Options of a compilation, under the name of `jax.interpreters.pxla`.",
    {"glassjax.extend.backend": "create_compile_options"},
)
xla = make_module(
    "glassjax.interpreters.xla",
    "Evaluation of a primitive by compiling it, under the name of `jax.interpreters.xla`.",
    {
        "glassjax.extend.backend": "Backend",
        "glassjax.interpreters.mlir": "apply_primitive canonicalize_dtype_handlers",
    },
)

__all__ = ["ad", "batching", "mlir", "partial_eval", "pxla", "xla"]
