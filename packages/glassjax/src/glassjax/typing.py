"""Annotations for programs; `jax.typing`."""

from glassjax.dtypes import DTypeLike
from glassjax.runtime.array import ArrayLike

__all__ = [
    "ArrayLike",
    "DTypeLike",
]
