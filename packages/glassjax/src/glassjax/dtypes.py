"""Dtypes: their kinds and promotion, under the names of `jax.dtypes`."""

from typing import Any

import ml_dtypes
import numpy as np

import glassjax_stage2 as stage2
from glassjax.errors import TypePromotionError
from glassjax.errors.arguments import require_fit
from glassjax.errors.tracebacks import hiding_frames
from glassjax.settings import number_types
from glassjax.settings.names import list_public_names
from glassjax.settings.number_types import extended, prng_key
from glassjax_stage2 import float0, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.promotion import result_type as common_type

# Dtypes: their kinds and promotion, under the names of `jax.dtypes`.


DType = np.dtype[Any]
DTypeLike = str | type[Any] | DType  # a dtype or its name

bfloat16 = ml_dtypes.bfloat16
finfo: Any = ml_dtypes.finfo


class iinfo(ml_dtypes.iinfo):
    """The limits of an integer dtype: `min`, `max`, `bits`, `dtype`.

    >>> jnp.iinfo(jnp.int8).min, jnp.iinfo(jnp.int8).max
    (-128, 127)
    """

    def __init__(self, int_type: Any) -> None:
        super().__init__(int_type)  # type: ignore[no-untyped-call]


_KINDS_OF_INTEGERS = {"i": np.signedinteger, "u": np.unsignedinteger}


@hiding_frames
def issubdtype(a: Any, b: Any) -> bool:
    """Return True if dtype `a` is dtype `b`, or of that kind, like `jnp.issubdtype`.

    >>> glassjax.dtypes.issubdtype(jnp.bfloat16, jnp.floating)
    True
    """
    a, b = (
        prng_key if isinstance(x, np.dtype) and number_types.is_key_type(x) else x for x in (a, b)
    )
    if isinstance(a, type) and issubclass(a, extended):
        return isinstance(b, type) and issubclass(a, b)
    if isinstance(b, type) and issubclass(b, extended):
        return False
    if isinstance(a, type) and issubclass(a, np.generic) and a in _ABSTRACT:
        return bool(np.issubdtype(a, b))
    dtype = number_types.parse_dtype("issubdtype", a)
    if dtype.isbuiltin != 2:
        return bool(
            np.issubdtype(dtype, b if _is_kind(b) else number_types.parse_dtype("issubdtype", b))
        )
    if not _is_kind(b):
        return bool(dtype == number_types.parse_dtype("issubdtype", b))
    kind = (
        np.floating
        if stage2.shaped_array.kind_of(dtype) == 2
        else _KINDS_OF_INTEGERS[dtype.name[0]]
    )
    return issubclass(kind, b)


_ABSTRACT = (
    np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact,
    np.floating, np.complexfloating, np.flexible, np.character,
)  # fmt: skip


def _is_kind(b: Any) -> bool:
    return isinstance(b, type) and b in _ABSTRACT


_KINDS_BY_NAME: dict[str, tuple[type, ...]] = {
    "bool": (np.bool_,),
    "signed integer": (np.signedinteger,),
    "unsigned integer": (np.unsignedinteger,),
    "integral": (np.integer,),
    "real floating": (np.floating,),
    "complex floating": (np.complexfloating,),
    "numeric": (np.number,),
}


@hiding_frames
def isdtype(dtype: Any, kind: Any) -> bool:
    """Return True if a dtype is of a kind, in the terms of the array API standard.

    Arguments:
        dtype: the dtype.
        kind: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex
            floating" or "numeric"; a dtype; or a tuple of alternatives.

    Raises:
        ValueError: `kind` is none of these.

    >>> jnp.isdtype(jnp.float32, "real floating"), jnp.isdtype(jnp.int8, ("bool", "numeric"))
    (True, True)
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(_is_of_kind(number_types.parse_dtype("isdtype", dtype), k) for k in kinds)


def _is_of_kind(dtype: DType, kind: Any) -> bool:
    if isinstance(kind, str) and kind in _KINDS_BY_NAME:
        return any(issubdtype(dtype, k) for k in _KINDS_BY_NAME[kind])
    try:
        return bool(dtype == number_types.parse_dtype("isdtype", kind))
    except TypeError:
        raise ValueError(
            f"isdtype: kind must be a dtype or one of {list(_KINDS_BY_NAME)}, found {kind!r}"
        ) from None


@hiding_frames
def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> DType:
    """The dtype that arrays get for a requested `dtype`: 32 bits, unless 64 are enabled.

    Raises:
        TypeError: it is not a dtype of numbers.

    >>> glassjax.dtypes.canonicalize_dtype("float64")
    dtype('float32')
    >>> with glassjax.enable_x64(True):
    ...     glassjax.dtypes.canonicalize_dtype("float64")
    dtype('float64')
    """
    if allow_extended_dtype is not False:
        require_fit("canonicalize_dtype", "allow_extended_dtype", allow_extended_dtype, bool)
    found: DType | None = number_types.library_number_types().in_memory(
        number_types.parse_dtype("canonicalize_dtype", dtype)
    )
    if found is None:
        raise TypeError(f"canonicalize_dtype: expected a dtype of numbers, found {dtype!r}")
    return found


@hiding_frames
def itemsize_bits(dtype: Any) -> int:
    """The number of bits of a number of this dtype.

    Raises:
        ValueError: `dtype` is None.

    >>> glassjax.dtypes.itemsize_bits("int4"), glassjax.dtypes.itemsize_bits(jnp.float32)
    (4, 32)
    """
    if dtype is None:
        raise ValueError("itemsize_bits: dtype must not be None")
    return number_types.bits_of(number_types.parse_dtype("itemsize_bits", dtype))


@hiding_frames
def scalar_type_of(x: Any) -> type:
    """The Python type of the numbers in `x`: bool, int, float or complex.

    Raises:
        TypeError: `x` is not a number, an array or a dtype of numbers.

    >>> glassjax.dtypes.scalar_type_of(jnp.arange(3)), glassjax.dtypes.scalar_type_of(1j)
    (<class 'int'>, <class 'complex'>)
    """
    with number_types.set_number_types(number_types.types_here()):
        kind = stage2.shaped_array.kind_of(_type_of(x).dtype)
        if x is None or kind >= len(stage2.shaped_array.python_scalars):
            raise TypeError(f"scalar_type_of: expected numbers or their dtype, found {shown(x)}")
        return stage2.shaped_array.python_scalars[kind]


def _type_of(x: Any) -> stage2.shaped_array.ShapedArray:
    """The type of an array or number, or of a scalar of a given dtype or Python type."""
    numbers = number_types.library_number_types()
    if stage2.shaped_array.has_type(x) and not isinstance(x, type):
        return typeof(x)
    for scalar, aval in zip(stage2.shaped_array.python_scalars, numbers.weak, strict=True):
        if x is scalar:
            return aval
    dtype = number_types.parse_dtype(
        "result_type", x if isinstance(x, type) else getattr(x, "dtype", x)
    )
    return stage2.shaped_array.ShapedArray(
        (), stage2.shaped_array.dialect().dtype_of("result_type", dtype)
    )


@hiding_frames
def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The promoted dtype of arrays, numbers and dtypes.

    Arguments:
        args: arrays, numbers, dtypes.
        return_weak_type_flag: whether to return also whether the result is weakly typed, like
            Python numbers.

    Raises:
        TypePromotionError: they have none.
        ValueError: there are no arguments.

    >>> import glassjax.numpy as jnp
    >>> result_type(jnp.int8, 2), result_type(jnp.arange(3), 0.5)
    (dtype('int8'), dtype('float32'))
    """
    if not args:
        raise ValueError("result_type: expected at least one array or dtype, found none")
    numbers = number_types.types_here()
    with number_types.set_number_types(numbers):
        avals = [*map(_type_of, args)]
        if numbers.checks_operators:
            numbers.check_dtypes(avals)
        common = common_type(*avals)
    return (common.dtype, common.weak_type) if return_weak_type_flag else common.dtype


@hiding_frames
def promote_types(a: Any, b: Any) -> DType:
    """The promoted dtype of two dtypes; `int`, `float` and `complex` are Python's, and weak.

    Raises:
        TypePromotionError: they have none.
        TypeError: one of them is a number.

    >>> jnp.promote_types(jnp.int32, jnp.float16), jnp.promote_types(jnp.int8, jnp.uint8)
    (dtype('float16'), dtype('int16'))
    """
    for name, given in (("a", a), ("b", b)):
        if isinstance(given, stage2.shaped_array.python_scalars):
            raise TypeError(f"promote_types: {name} must be a dtype, found {shown(given)}")
    dtype: DType = result_type(a, b)
    return dtype


can_cast = np.can_cast


__all__ = [
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "result_type",
    "scalar_type_of",
]
list_public_names(globals())
