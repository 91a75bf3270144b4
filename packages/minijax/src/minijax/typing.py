"""Annotations for programs; `jax.typing`."""

from minijax.dtypes import DTypeLike
from minijax.runtime.array import ArrayLike

__all__ = [
    "ArrayLike",
    "DTypeLike",
]
