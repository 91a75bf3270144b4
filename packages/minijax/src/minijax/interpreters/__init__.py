"""The tables of each interpreter, under the names of `jax.interpreters`.

A rule entered by JAX's convention works in every transformation here, and the rules of this
library are read by it. `minijax.core.declare` enters all rules of a primitive at once.
"""

from minijax.interpreters import ad, batching, mlir, partial_eval, pxla, xla

__all__ = ["ad", "batching", "mlir", "partial_eval", "pxla", "xla"]
