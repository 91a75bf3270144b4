"""Annotations for programs; `jax.typing`."""

from minijax.runtime.array import ArrayLike
from minijax.runtime.dtypes import DTypeLike

__all__ = [
    "ArrayLike",
    "DTypeLike",
]
