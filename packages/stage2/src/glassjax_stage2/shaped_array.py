"""Types: the abstract value of an array is its shape and dtype."""

import math
import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import numpy as np

from glassjax_stage1 import Boxed, Interpreter
from glassjax_stage2.errors import shown

Shape = tuple[int, ...]

# The dtype of tangents of integers and booleans, which cannot change. It holds no bits.
float0 = np.dtype([("float0", np.void, 0)])


@lru_cache(maxsize=256)
def short_dtype(dtype: np.dtype[Any]) -> str:
    """JAX's short name for a dtype: `f32`, `i64`, `bool`, `bf16`.

    >>> short_dtype(np.dtype("float32"))
    'f32'
    """
    if dtype.names:
        return dtype.names[0]
    if dtype.isbuiltin == 2:  # defined by ml_dtypes: bfloat16, float8_e4m3fn, int4, ...
        name = dtype.name.replace("bfloat", "bf").replace("float", "f")
        return name.replace("uint", "u").replace("int", "i")
    return f"{dtype.kind}{8 * dtype.itemsize}" if dtype.kind in "iufc" else dtype.name


class ShapedArray:
    """The set of all arrays of one shape and dtype.

    `weak_type` marks a Python number, which takes the dtype of the operands that it is combined
    with.

    There is only one object per type, so types compare by identity.

    >>> aval = ShapedArray((2, 3), "float32")
    >>> aval, aval is typeof(np.ones((2, 3), np.float32))
    (ShapedArray(f32[2,3]), True)
    """

    __slots__ = ("dtype", "shape", "weak_type")

    shape: Shape
    dtype: np.dtype[Any]
    weak_type: bool

    def __new__(cls, shape: Shape, dtype: Any, weak_type: bool = False) -> "ShapedArray":
        shape, dtype = tuple(shape), np.dtype(dtype)
        key = shape, dtype, weak_type
        aval = _interned.get(key)
        if aval is None:
            aval = object.__new__(cls)
            aval.shape, aval.weak_type = shape, weak_type
            # Among equal dtypes, only numpy's own object is marked as built in.
            aval.dtype = dtype if dtype.names else np.dtype(dtype.type)
            aval = _interned.setdefault(key, aval)  # another thread may have been faster
        return aval

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{short_dtype(self.dtype)}[{','.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self}{weak})"

    def update(self, **changes: Any) -> "ShapedArray":
        """The type with other values of some fields; a subclass keeps its own fields."""
        fields: dict[str, Any] = {"shape": self.shape, "dtype": self.dtype}
        return ShapedArray(**{**fields, "weak_type": self.weak_type, **changes})

    def without_axis(self, axis: int) -> "ShapedArray":
        """The type of one element along an axis."""
        return self.update(shape=self.shape[:axis] + self.shape[axis + 1 :])

    def with_axis(self, axis: int, size: int) -> "ShapedArray":
        """The type of `size` elements of this type, stacked along a new axis."""
        return self.update(shape=(*self.shape[:axis], size, *self.shape[axis:]))

    def strip_weak_type(self) -> "ShapedArray":
        return self.update(weak_type=False) if self.weak_type else self

    def accepts(self, other: "ShapedArray") -> bool:
        """Return True if a program for values of this type accepts a value of type `other`."""
        return other.strip_weak_type() is self.strip_weak_type()


_BOOL, _INTEGER, _REAL, _COMPLEX, NO_NUMBER = range(5)
_KINDS = {"b": _BOOL, "i": _INTEGER, "u": _INTEGER, "f": _REAL, "c": _COMPLEX}


def kind_of(dtype: np.dtype[Any]) -> int:
    """The kind of a dtype as a rank: boolean, integer, real, complex, not a number."""
    if dtype.isbuiltin == 2:  # defined by ml_dtypes
        return _INTEGER if "int" in dtype.name else _REAL
    return _KINDS.get(dtype.kind, NO_NUMBER)


@lru_cache(maxsize=256)
def is_inexact(dtype: np.dtype[Any]) -> bool:
    """Return True if numbers of this dtype are real or complex, and so can be differentiated."""
    return kind_of(dtype) in (_REAL, _COMPLEX)


@lru_cache(maxsize=256)
def inexact_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """`dtype`, or the float dtype to which its numbers convert: 64-bit if they are, else 32-bit."""
    if kind_of(dtype) >= _REAL:
        return dtype
    return np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)


def promoted(avals: Sequence[ShapedArray]) -> tuple[int, np.dtype[Any] | None]:
    """The kind of promoted operands, and their dtype; None for the default dtype.

    The dtypes form JAX's lattice: of several kinds the highest wins, and only operands of that kind
    decide the width. Python numbers are weak: they contribute a kind, never a width.
    """
    kind = max(kind_of(aval.dtype) for aval in avals)
    strong = [aval.dtype for aval in avals if not aval.weak_type]
    if kind == NO_NUMBER and len({aval.dtype for aval in avals}) > 1:
        found = " and ".join(map(str, avals))
        raise TypeError(f"{found} do not promote: elements of one of them are not numbers")
    # Real operands count for the width of complex numbers, too.
    deciding = {dtype for dtype in strong if kind_of(dtype) >= min(kind, _REAL)}
    if not deciding:
        return kind, None
    if kind == _COMPLEX:
        deciding.add(np.dtype(np.complex64))
    joined = np.result_type(*deciding)
    if kind_of(joined) != kind:  # integers that only a float can hold
        return _REAL, None
    return kind, joined


_interned: dict[tuple[Shape, np.dtype[Any], bool], ShapedArray] = {}


class Dialect:
    """The meaning of numbers to the running code, and the classes of its interpreters.

    This one is numpy's; a library activates its own while its functions run.

    Attributes:
        weak: the type of a Python number of each kind: boolean (never weak, as it has only one
            width), integer, real, complex.
        converts_weak: whether promotion also converts weak arrays that have the right dtype.
        compares_weakly: whether a comparison of weak operands is weak.
    """

    converts_weak = compares_weakly = False

    # An integer of any class as an int, where a size, an axis or an index is needed.
    index: Callable[[Any], int] = staticmethod(lambda x: int(operator.index(x)))

    def __init__(self, bits: int = 64):
        names = "bool", f"int{bits}", f"float{bits}", f"complex{2 * bits}"
        self.bits = bits
        self.weak = [ShapedArray((), name, weak_type=name != "bool") for name in names]

    def interpreter(self, cls: type[Any]) -> type[Any]:
        """The class to use for interpreters of class `cls`: that class, or a subclass."""
        return cls

    def function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function to use in place of one that a rule applies: that one, or a refinement."""
        return function

    @lru_cache(maxsize=256)  # noqa: B019  # few dialects exist, and they are never given up
    def in_memory(self, dtype: np.dtype[Any]) -> np.dtype[Any] | None:
        """A dtype in the machine's byte order; None if its elements are not numbers."""
        if dtype.kind in "biufc" or dtype.isbuiltin == 2 or dtype == float0:
            return dtype if dtype.isnative else np.dtype(dtype.type)
        return None

    def dtype_of(self, caller: str, given: Any) -> np.dtype[Any]:
        """The dtype of numbers from `given`, a dtype or its name.

        Raises:
            TypeError: it is neither; the message names `caller`.
        """
        with suppress(Exception):  # numpy raises many
            if (dtype := self.in_memory(np.dtype(given))) is not None:
                return dtype
        raise TypeError(
            f"{caller}: dtype must be a dtype of numbers or the name of one, such as 'float32', "
            f"found {shown(given)}"
        )

    @lru_cache(maxsize=4096)  # noqa: B019
    def result_type(self, *avals: ShapedArray) -> ShapedArray:
        """The promoted dtype of operands of these types, as a scalar type, weak if all are."""
        kind, dtype = promoted(avals)
        if dtype is None:  # Python numbers decide
            are_weak = all(aval.weak_type for aval in avals)
            return self.weak[kind] if are_weak else self.weak[kind].strip_weak_type()
        return ShapedArray((), dtype)

    def with_shape(self, aval: ShapedArray, shape: Shape) -> ShapedArray:
        """The type of the elements of `aval` in another shape; only scalars of numpy are weak."""
        return aval.update(shape=shape, weak_type=aval.weak_type and not shape)

    def scalar(self, x: Any, dtype: np.dtype[Any]) -> Any:
        """A Python number as a scalar of `dtype`; OverflowError: an int that does not fit."""
        return dtype.type(x)

    def number(self, x: Any, target: ShapedArray) -> Any:
        """A Python number with the dtype of `target`; it stays a Python number if it can."""
        dtype, kind = target.dtype, kind_of(target.dtype)
        stays = target.weak_type or type(x) is not bool  # booleans are never weak
        if stays and dtype == self.weak[kind].dtype and x == x:  # NaN is not an integer
            return python_scalars[kind](x)
        return self.scalar(x, dtype)

    def remedy(self, x: Any) -> str:
        """Advice about `x`, which is not an array."""
        is_nearly = hasattr(type(x), "__array__") or isinstance(x, list | tuple | range)
        return "numpy.array(...) makes it an array." if is_nearly else ""

    def int_type(self, x: int) -> ShapedArray:
        if -(2 ** (self.bits - 1)) <= x < 2 ** (self.bits - 1):
            return self.weak[_INTEGER]
        raise OverflowError(f"the Python int {x} does not fit in {self.bits} bits; use a float")

    def numpy_type(self, x: Any) -> ShapedArray:
        dtype = self.in_memory(x.dtype)
        if dtype is None:
            raise TypeError(f"expected an array of numbers, found dtype {x.dtype} in {shown(x)}")
        return ShapedArray(x.shape, dtype)


numpys_dialect = Dialect()
dialect_in_force: ContextVar[Dialect] = ContextVar("dialect", default=numpys_dialect)

dialect: Callable[[], Dialect] = dialect_in_force.get


# By class, the function from a value to its type; values of these classes are leaves.
aval_rules: dict[type, Callable[[Any], ShapedArray]] = {
    bool: lambda x: dialect().weak[_BOOL],
    int: lambda x: dialect().int_type(x),
    float: lambda x: dialect().weak[_REAL],
    complex: lambda x: dialect().weak[_COMPLEX],
    **dict.fromkeys(  # numpy's arrays and scalars
        [np.ndarray, np.generic, *np.sctypeDict.values()], lambda x: dialect().numpy_type(x)
    ),
}


def has_type(x: Any) -> bool:
    """Return True if the class of `x` is one of arrays or numbers."""
    is_known = type(x) in aval_rules or isinstance(x, (*python_scalars, np.ndarray, np.generic))
    return is_known or isinstance(getattr(x, "aval", None), ShapedArray)


python_scalars = (bool, int, float, complex)


def typeof(x: Any) -> ShapedArray:
    """The type of a value: a Python number, a numpy scalar or array, or anything with an `aval`.

    Raises:
        TypeError: `x` is not an array or a number.
        OverflowError: `x` is a Python int that does not fit in 64 bits.

    >>> typeof(np.zeros((2, 3), np.float32))
    ShapedArray(f32[2,3])
    """
    handler = aval_rules.get(type(x))
    if handler is not None:
        return handler(x)
    aval = getattr(x, "aval", None)
    if isinstance(aval, ShapedArray):
        return aval
    if not isinstance(x, np.ma.MaskedArray | np.matrix):
        for cls in type(x).__mro__:  # subclasses, such as an IntEnum
            if cls in aval_rules:
                return aval_rules[cls](x)
    if isinstance(x, Boxed):
        raise stage1_error(x.interpreter)
    found = f"{shown(x)} of type {type(x).__name__}. {dialect().remedy(x)}"
    raise TypeError(f"expected an array or a number, found {found.rstrip()}")


def stage1_error(interpreter: Interpreter) -> TypeError:
    """The error for arrays in an interpreter of stage 1."""
    return TypeError(
        f"the {interpreter} of stage 1 knows `add` and `mul` on numbers only; use the "
        "transformation of the same name from stage 2 or later"
    )


def typeof_named(name: str, x: Any) -> ShapedArray:
    """`typeof(x)`, with an error that calls `x` by its name."""
    try:
        return typeof(x)
    except (TypeError, OverflowError) as error:
        raise type(error)(f"{name}: {error}") from None
