"""Types: the abstract value of an array is its shape and dtype."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from minijax_stage1 import Boxed

Shape = tuple[int, ...]

# The dtype of tangents that cannot be: those of integers and booleans. It holds no bits.
float0 = np.dtype([("float0", np.void, 0)])

_SHORT_KINDS = {"b": "bool", "i": "i", "u": "u", "f": "f", "c": "c"}


@lru_cache(maxsize=256)
def short_dtype(dtype: np.dtype[Any]) -> str:
    """JAX's short name of a dtype: `f32`, `i64`, `bool`, `bf16`.

    >>> short_dtype(np.dtype("float32"))
    'f32'
    """
    if dtype == float0:
        return "float0"
    if dtype.isbuiltin == 2:  # defined by ml_dtypes: bfloat16, float8_e4m3fn, int4, ...
        name = dtype.name.replace("bfloat", "bf").replace("float", "f")
        return name.replace("uint", "u").replace("int", "i")
    if dtype.kind == "b":
        return "bool"
    return f"{_SHORT_KINDS.get(dtype.kind, dtype.name)}{8 * dtype.itemsize}"


# --8<-- [start:shaped_array]
class ShapedArray:
    """The set of all arrays of one shape and dtype.

    `weak_type` marks a Python number, which takes the dtype of whatever it meets.

    There is only one object for each type, so that types are compared by identity.
    """

    __slots__ = ("dtype", "shape", "weak_type")

    shape: Shape
    dtype: np.dtype[Any]
    weak_type: bool

    def __new__(cls, shape: Shape, dtype: Any, weak_type: bool = False) -> "ShapedArray":
        if not isinstance(dtype, np.dtype):
            dtype = np.dtype(dtype)
        key = shape, dtype, weak_type
        aval = _interned.get(key)
        if aval is None:
            aval = object.__new__(cls)
            aval.shape, aval.weak_type = shape, weak_type
            # Of equal dtypes only numpy's own object of each knows that it is built in.
            aval.dtype = float0 if dtype == float0 else np.dtype(dtype.type)
            aval = _interned.setdefault(key, aval)  # another thread may have been faster
        return aval

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapedArray, (self.shape, self.dtype, self.weak_type)

    # --8<-- [end:shaped_array]

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

    def strip_weak_type(self) -> "ShapedArray":
        return ShapedArray(self.shape, self.dtype) if self.weak_type else self


@lru_cache(maxsize=256)
def _numeric_dtype(dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """`dtype` in the machine's byte order, or None where it does not hold numbers."""
    if dtype.kind in "biufc" or dtype.isbuiltin == 2 or dtype == float0:
        return dtype if dtype.isnative else np.dtype(dtype.type)
    return None


def check_shape(caller: str, shape: Shape) -> None:
    """Raises the error due when `shape` is no tuple of sizes."""
    if not all(isinstance(size, int | np.integer) and 0 <= size < 2**63 for size in shape):
        raise TypeError(f"{caller}: a shape is a tuple of ints from 0 to 2**63 - 1, found {shape}")


def dtype_of_numbers(caller: str, dtype: Any) -> np.dtype[Any]:
    """`dtype` as numpy's class of dtypes, when it is one of numbers.

    Raises:
        TypeError: it is none, or one of strings, dates or objects.
    """
    found: np.dtype[Any] = np.dtype(dtype)
    if _numeric_dtype(found) is None:
        raise TypeError(f"{caller}: expected a dtype of numbers, found {found}")
    return found


def _of_numpy(x: Any) -> ShapedArray:
    dtype = _numeric_dtype(x.dtype)
    if dtype is None:
        raise TypeError(f"expected an array of numbers, found dtype {x.dtype} in {x!r:.60}")
    return ShapedArray(x.shape, dtype)


def _of_int(x: int) -> ShapedArray:
    if -(2**63) <= x < 2**63:
        return _WEAK_INT
    raise OverflowError(f"the Python int {x} does not fit in 64 bits; use a float")


_interned: dict[tuple[Shape, np.dtype[Any], bool], ShapedArray] = {}

_WEAK_BOOL = ShapedArray((), np.bool_)  # a bool has no width to be weak about
_WEAK_INT = ShapedArray((), np.int64, weak_type=True)
_WEAK_FLOAT = ShapedArray((), np.float64, weak_type=True)
_WEAK_COMPLEX = ShapedArray((), np.complex128, weak_type=True)

_type_of: dict[type, Callable[[Any], ShapedArray]] = {
    bool: lambda x: _WEAK_BOOL,
    int: _of_int,
    float: lambda x: _WEAK_FLOAT,
    complex: lambda x: _WEAK_COMPLEX,
    np.ndarray: _of_numpy,
}

aval_attribute: Callable[[Any], ShapedArray] = attrgetter("aval")


def has_aval(cls: type) -> None:
    """Declares that the values of a class know their type, as the attribute `aval`."""
    _type_of[cls] = aval_attribute


python_scalars = (bool, int, float, complex)


def typeof(x: Any) -> ShapedArray:
    """The type of a value: a Python number, a numpy scalar or array, or whatever has an `aval`.

    Raises:
        TypeError: `x` is not an array or a number.
        OverflowError: `x` is a Python int that does not fit in 64 bits.

    >>> typeof(np.zeros((2, 3), np.float32))
    ShapedArray(f32[2,3])
    """
    handler = _type_of.get(type(x))
    if handler is not None:
        return handler(x)
    aval = getattr(x, "aval", None)
    if isinstance(aval, ShapedArray):
        return aval
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(
            f"expected an array or a number, found the masked array {x!r:.60}, whose mask would be "
            "lost: x.filled(number) puts a number in the place of what is masked"
        )
    if isinstance(x, np.matrix):
        raise TypeError(
            f"expected an array or a number, found {x!r:.60}, a matrix, which keeps two axes "
            "whatever is computed with it: numpy.asarray(x) makes it an ordinary array"
        )
    if isinstance(x, np.ndarray | np.generic):
        return _of_numpy(x)
    if isinstance(x, Boxed):
        raise TypeError(
            f"the {x.interpreter} of stage 1 knows `add` and `mul` on numbers only; "
            "use the transformation of the same name from stage 2 or later"
        )
    raise TypeError(
        f"expected an array or a number, found {x!r:.60} of type {type(x).__name__}.{_remedy(x)}"
    )


def _remedy(x: Any) -> str:
    """What to do about `x`, which is no array."""
    if type(x).__module__.partition(".")[0] in ("jax", "jaxlib"):
        return " It belongs to JAX itself: numpy.asarray(x) makes an array of numbers of it."
    if hasattr(type(x), "__array__") or isinstance(x, memoryview):
        return " numpy.asarray(x) makes it an array."
    if isinstance(x, Sequence) and not isinstance(x, str | bytes):
        return " A list or a tuple becomes an array by numpy.array(...)."
    if isinstance(x, Mapping):
        return " What is in a dict is reached by its keys, or by tree_map all at once."
    if x is None:
        return " A function that ends without `return` gives None."
    if callable(x):
        return " Call it, and use what it returns."
    return ""


def typeof_named(name: str, x: Any) -> ShapedArray:
    """`typeof(x)`, with an error that calls `x` by its name."""
    try:
        return typeof(x)
    except (TypeError, OverflowError) as error:
        raise type(error)(f"{name}: {error}") from None


def is_value(x: Any) -> bool:
    """Whether `x` has a type: whether it is an array, a number or a tracer."""
    try:
        typeof(x)
    except (TypeError, OverflowError):
        return False
    return True
