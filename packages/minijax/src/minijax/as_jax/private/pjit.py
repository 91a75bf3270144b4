"""Jitted functions, and how their arrays are divided."""

from minijax import jit
from minijax.extend.core.primitives import jit_p
from minijax.lax import with_sharding_constraint
from minijax.sharding import auto_axes, explicit_axes, reshard

pjit, pjit_p = jit, jit_p

__all__ = [
    "auto_axes", "explicit_axes", "jit", "jit_p", "pjit", "pjit_p", "reshard",
    "with_sharding_constraint",
]  # fmt: skip
