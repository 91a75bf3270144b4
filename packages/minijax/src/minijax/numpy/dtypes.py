"""The dtypes, by their names.

Dtypes are numpy's. Python's numbers, and numpy's own of 64 bits, have 32 bits here, as in JAX,
unless `enable_x64` says otherwise.
"""

from typing import Any

import ml_dtypes
import numpy as np

from minijax_stage2 import typeof
from minijax_stage2.promotion import is_inexact
from minijax_stage2.shaped_array import number_types

bool_ = np.bool_
int8 = np.int8
int16 = np.int16
int32 = np.int32
int64 = np.int64
uint8 = np.uint8
uint16 = np.uint16
uint32 = np.uint32
uint64 = np.uint64
float16 = np.float16
float32 = np.float32
float64 = np.float64
complex64 = np.complex64
complex128 = np.complex128

dtype = np.dtype
finfo = ml_dtypes.finfo
iinfo = np.iinfo


def default_int() -> np.dtype[Any]:
    """The dtype of Python's ints."""
    return number_types().weak[1].dtype


def default_float() -> np.dtype[Any]:
    """The dtype of Python's floats."""
    return number_types().weak[2].dtype


def dtype_of_sum(x: Any) -> np.dtype[Any]:
    """The dtype in which elements are summed: that of `x`, or the widest integer of its kind."""
    of_x = typeof(x).dtype
    if of_x.kind in "bi":
        return default_int()
    return np.dtype(f"u{default_int()}") if of_x.kind == "u" else of_x


def dtype_of_mean(x: Any) -> np.dtype[Any]:
    """The dtype in which a mean is taken: that of `x`, or a float."""
    of_x = typeof(x).dtype
    if is_inexact(of_x):
        return of_x
    return np.dtype(float64 if of_x.itemsize == 8 else float32)


def computation_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype in which sums of this dtype are computed: narrow floats lose too much."""
    dtype = np.dtype(dtype)
    return np.dtype(float32) if is_inexact(dtype) and dtype.itemsize < 4 else dtype


__all__ = [
    "bool_",
    "complex64",
    "complex128",
    "dtype",
    "finfo",
    "float16",
    "float32",
    "float64",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
