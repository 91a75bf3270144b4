"""Python's operators on arrays, for classes other than numpy's."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from glassjax_stage2 import functions as f
from glassjax_stage2.shaped_array import Shape, ShapedArray, aval_rules, has_type

Method = Callable[[Any, Any], Any]


def operator_of(
    function: Callable[[Any, Any], Any], reflected: bool = False, also: tuple[type, ...] = ()
) -> Method:
    """`x.__op__(y)`, or `x.__rop__(y)` if reflected.

    If `y` is not an array, Python asks `y`, except for the types `also`: for these the function
    raises an error.
    """

    def operate(self: Any, other: Any) -> Any:
        if not has_type(other) and not isinstance(other, also):
            return NotImplemented
        return function(other, self) if reflected else function(self, other)

    return operate


def _reshape_operator(x: Any, *shape: Any) -> Any:
    return f.reshape(x, shape[0] if len(shape) == 1 else shape)


class ArrayOperators:
    """Mixin: the operators and attributes of an array, for classes whose values have an `aval`.

    These are `+ - * / ** @ < <= > >= == != abs neg` and a few methods, which call the functions of
    stage 2, and attributes of the type.
    """

    __slots__ = ()

    aval: ShapedArray  # the type of the value

    def __init_subclass__(cls) -> None:
        aval_rules[cls] = attrgetter("aval")

    # numpy defers operators to us, even if its own array is on the left; its functions get the
    # numbers with `__array__`.
    __array_priority__ = 1000

    __hash__ = None  # type: ignore[assignment]  # because == compares element by element

    __add__, __radd__ = operator_of(f.add), operator_of(f.add, reflected=True)
    __sub__, __rsub__ = operator_of(f.sub), operator_of(f.sub, reflected=True)
    __mul__, __rmul__ = operator_of(f.mul), operator_of(f.mul, reflected=True)
    __truediv__, __rtruediv__ = operator_of(f.div), operator_of(f.div, reflected=True)
    __pow__, __rpow__ = operator_of(f.power), operator_of(f.power, reflected=True)
    __matmul__, __rmatmul__ = operator_of(f.matmul), operator_of(f.matmul, reflected=True)
    # Python would silently call an array and a list unequal.
    __eq__ = operator_of(f.eq, also=(list, tuple))
    __ne__ = operator_of(f.ne, also=(list, tuple))
    __lt__, __le__ = operator_of(f.lt), operator_of(f.le)
    __gt__, __ge__ = operator_of(f.gt), operator_of(f.ge)

    __neg__, __abs__ = f.neg, f.abs
    astype, reshape = f.astype, _reshape_operator

    def transpose(self, *axes: Any) -> Any:
        """The array with its axes permuted, or in reverse order."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return f.transpose(self, None if order is None or len(order) == 0 else order)

    T = property(f.transpose)
    shape: Shape = property(attrgetter("aval.shape"))  # type: ignore[assignment]
    dtype: np.dtype[Any] = property(attrgetter("aval.dtype"))  # type: ignore[assignment]
    ndim: int = property(attrgetter("aval.ndim"))  # type: ignore[assignment]
    size: int = property(attrgetter("aval.size"))  # type: ignore[assignment]

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError(f"len: {self.aval} is a scalar and has no length")
        return self.aval.shape[0]
