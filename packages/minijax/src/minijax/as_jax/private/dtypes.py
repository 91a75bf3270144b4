"""Promotion of dtypes, and dtypes that libraries define."""

from minijax import numpy as jnp
from minijax.dtypes import canonicalize_dtype, extended, issubdtype, result_type
from minijax.errors import TypePromotionError
from minijax.numpy import finfo, iinfo

DType = jnp.dtype


class ExtendedDType:
    """The base class of dtypes that a library defines; arrays of them are not here."""


def supports_inf(dtype: DType) -> bool:
    """Return True if a dtype of floats has infinities."""
    return bool(jnp.isinf(jnp.asarray(float("inf"), dtype)))


__all__ = [
    "DType", "ExtendedDType", "TypePromotionError", "canonicalize_dtype", "extended", "finfo",
    "iinfo", "issubdtype", "result_type", "supports_inf",
]  # fmt: skip
