"""The dtypes by name, which also make arrays: `jnp.float32(3)` is an Array.

They are accepted wherever a dtype is, and equal numpy's scalar types.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from glassjax.numpy.creation import asarray
from glassjax.runtime.array import Array


class _ScalarType(type):
    """The class of `jnp.float32` and the like, which are accepted wherever a dtype is.

    For `isinstance`, their instances are numpy's scalars of that dtype.
    """

    dtype: np.dtype[Any]

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: Any) -> Any:
        return cls is other or cls.dtype.type == other

    def __call__(cls, x: Any = 0) -> Array:
        """`x`, a number or an array, as an Array of this dtype."""
        return asarray(x, cls)

    def __instancecheck__(cls, x: Any) -> Any:
        return isinstance(x, cls.dtype.type)

    def __reduce__(cls) -> Any:
        return _scalar_type_of, (cls.__name__,)


def _scalar_type(numpy_type: Any) -> _ScalarType:
    dtype = np.dtype(numpy_type)
    doc = f"""The dtype {dtype.name}; called with a number or an array, it converts it.

    >>> jnp.dtype(jnp.{dtype.name}).itemsize
    {dtype.itemsize}
    """
    members = {"dtype": dtype, "__doc__": doc, "__module__": __name__}
    return _ScalarType(dtype.name, (), members)


def _scalar_type_of(name: str) -> Any:
    """Restore a pickled scalar type."""
    return globals()[name]


bool = bool_ = _scalar_type(np.bool_)
int2 = _scalar_type(ml_dtypes.int2)
int4 = _scalar_type(ml_dtypes.int4)
int8 = _scalar_type(np.int8)
int16 = _scalar_type(np.int16)
int32 = _scalar_type(np.int32)
int64 = _scalar_type(np.int64)
uint2 = _scalar_type(ml_dtypes.uint2)
uint4 = _scalar_type(ml_dtypes.uint4)
uint8 = _scalar_type(np.uint8)
uint16 = _scalar_type(np.uint16)
uint32 = _scalar_type(np.uint32)
uint64 = _scalar_type(np.uint64)
float4_e2m1fn = _scalar_type(ml_dtypes.float4_e2m1fn)
float6_e2m3fn = _scalar_type(ml_dtypes.float6_e2m3fn)
float6_e3m2fn = _scalar_type(ml_dtypes.float6_e3m2fn)
float8_e3m4 = _scalar_type(ml_dtypes.float8_e3m4)
float8_e4m3 = _scalar_type(ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz = _scalar_type(ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = _scalar_type(ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = _scalar_type(ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = _scalar_type(ml_dtypes.float8_e5m2)
float8_e5m2fnuz = _scalar_type(ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu = _scalar_type(ml_dtypes.float8_e8m0fnu)
bfloat16 = _scalar_type(ml_dtypes.bfloat16)
float16 = _scalar_type(np.float16)
float32 = _scalar_type(np.float32)
float64 = _scalar_type(np.float64)
complex64 = _scalar_type(np.complex64)
complex128 = _scalar_type(np.complex128)

int_, uint, float_, complex_ = int64, uint64, float64, complex128
single, double, csingle, cdouble = float32, float64, complex64, complex128

# The kinds of dtypes, for `issubdtype`.
generic = np.generic
number = np.number
integer = np.integer
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger
inexact = np.inexact
floating = np.floating
complexfloating = np.complexfloating
flexible = np.flexible
character = np.character
object_ = np.object_
