"""Promotion of dtypes, and dtypes that libraries define."""

from typing import Any

from minijax import numpy as jnp
from minijax.dtypes import canonicalize_dtype, extended, issubdtype, result_type
from minijax.errors import TypePromotionError
from minijax.numpy import finfo, iinfo
from minijax_stage2.shaped_array import inexact_dtype

_DOUBLE = (jnp.dtype("float64"), jnp.dtype("complex128"))
DType = jnp.dtype


class ExtendedDType:
    """The base class of dtypes that a library defines; arrays of them are not here."""


def dtype(x: Any) -> Any:
    """The dtype of a value or of a type; of a Python number, that of the settings."""
    if x is None:
        raise ValueError("dtype: None has no dtype")
    return result_type(x)


def to_inexact_dtype(dtype: Any) -> Any:
    """The real or complex dtype to which numbers of a dtype convert."""
    return inexact_dtype(jnp.dtype(dtype))


def to_complex_dtype(dtype: Any) -> Any:
    """The complex dtype to which numbers of a dtype convert."""
    return jnp.dtype("complex128" if to_inexact_dtype(dtype) in _DOUBLE else "complex64")


def supports_inf(dtype: DType) -> bool:
    """Return True if a dtype of floats has infinities."""
    return bool(jnp.isinf(jnp.asarray(float("inf"), dtype)))


__all__ = [
    "DType", "ExtendedDType", "TypePromotionError", "canonicalize_dtype", "dtype", "extended",
    "finfo", "iinfo", "issubdtype", "result_type", "supports_inf", "to_complex_dtype",
    "to_inexact_dtype",
]  # fmt: skip
