"""Annotations."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from minijax import Array
from minijax import numpy as jnp
from minijax.typing import ArrayLike, DTypeLike

DType = jnp.dtype
DimSize = int | Any
Shape = Sequence[DimSize]


@runtime_checkable
class SupportsDType(Protocol):
    """Anything with a dtype."""

    @property
    def dtype(self) -> Any: ...


@runtime_checkable
class SupportsShape(Protocol):
    """Anything with a shape."""

    @property
    def shape(self) -> tuple[int, ...]: ...


class DuckTypedArray(SupportsDType, SupportsShape, Protocol):
    """Anything with a dtype and a shape."""


__all__ = [
    "Array", "ArrayLike", "DType", "DTypeLike", "DimSize", "DuckTypedArray", "Shape",
    "SupportsDType", "SupportsShape",
]  # fmt: skip
