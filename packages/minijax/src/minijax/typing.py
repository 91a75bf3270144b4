"""Annotations for programs; `jax.typing`."""

from typing import Any

import numpy as np

from minijax.runtime.array import Array

# What a function of arrays takes: arrays of this library and of numpy, and numbers.
ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex

# What names a dtype.
DTypeLike = str | type[Any] | np.dtype[Any] | None

__all__ = [
    "ArrayLike",
    "DTypeLike",
]
