"""Python's operators on arrays, for every class of values that is not numpy's."""

from collections.abc import Callable
from typing import Any

import numpy as np

from minijax_stage2 import functions as f
from minijax_stage2.shaped_array import Shape, ShapedArray, has_aval, python_scalars

Method = Callable[[Any, Any], Any]


def _is_operand(x: Any) -> bool:
    return isinstance(x, (*python_scalars, np.ndarray, np.generic)) or hasattr(x, "aval")


def _operator(function: Callable[[Any, Any], Any]) -> Method:
    """`x.__op__(y)`; Python itself complains of operands that are no arrays."""

    def operate(self: Any, other: Any) -> Any:
        return function(self, other) if _is_operand(other) else NotImplemented

    return operate


def _reflected(function: Callable[[Any, Any], Any]) -> Method:
    """`y.__rop__(x)`."""

    def operate(self: Any, other: Any) -> Any:
        return function(other, self) if _is_operand(other) else NotImplemented

    return operate


class ArrayOperators:
    """Gives a class, whose values know their type as `aval`, what users expect of an array.

    That is `+ - * / ** @ < <= > >= == != abs neg` and a few methods, by the functions of stage
    2, and what can be read off the type.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        has_aval(cls)

    @property
    def aval(self) -> ShapedArray:
        """The type of the value."""
        raise NotImplementedError(f"{type(self).__name__} must define aval")

    # numpy leaves an operator to us, also where its own array stands on the left; its functions
    # ask for the numbers, by `__array__`.
    __array_priority__ = 1000

    __hash__ = None  # type: ignore[assignment]  # because == compares element by element

    __add__, __radd__ = _operator(f.add), _reflected(f.add)
    __sub__, __rsub__ = _operator(f.sub), _reflected(f.sub)
    __mul__, __rmul__ = _operator(f.mul), _reflected(f.mul)
    __truediv__, __rtruediv__ = _operator(f.div), _reflected(f.div)
    __pow__, __rpow__ = _operator(f.power), _reflected(f.power)
    __matmul__, __rmatmul__ = _operator(f.matmul), _reflected(f.matmul)
    __eq__, __ne__ = _operator(f.eq), _operator(f.ne)
    __lt__, __le__ = _operator(f.lt), _operator(f.le)
    __gt__, __ge__ = _operator(f.gt), _operator(f.ge)

    def __neg__(self) -> Any:
        return f.neg(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return f.abs(self)

    def astype(self, dtype: Any) -> Any:
        """The array with another dtype."""
        return f.astype(self, dtype)

    def reshape(self, *shape: Any) -> Any:
        """The array with another shape of the same size; one size may be -1."""
        return f.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> Any:
        """The array with its axes permuted, or in reverse order."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return f.transpose(self, order or None)

    @property
    def T(self) -> Any:
        """The array with its axes in reverse order."""
        return f.transpose(self)

    @property
    def shape(self) -> Shape:
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError(f"len: {self.aval} is a scalar and has no length")
        return self.aval.shape[0]
