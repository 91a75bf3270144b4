"""Python's operators on arrays, for every class of values that is not numpy's."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from minijax_stage2 import functions as f
from minijax_stage2.shaped_array import Shape, ShapedArray, has_aval, has_type, number_types, typeof
from minijax_stage2.shown import shown

Method = Callable[[Any, Any], Any]


def operator_of(function: Callable[[Any, Any], Any]) -> Method:
    """`x.__op__(y)`; Python itself complains of operands that are not arrays."""

    def operate(self: Any, other: Any) -> Any:
        return function(self, other) if has_type(other) else NotImplemented

    return operate


def equality_of(operate: Method) -> Method:
    """`x == y` or `x != y`; with a list Python itself would find it unequal, without a look."""

    def compare(self: Any, other: Any) -> Any:
        if isinstance(other, list | tuple):
            raise TypeError(
                f"{self.aval} is compared with {shown(other)} of type {type(other).__name__}, "
                "which is no array: numpy.array(...) makes it one"
            )
        return operate(self, other)

    return compare


def reflected_operator_of(function: Callable[[Any, Any], Any]) -> Method:
    """`y.__rop__(x)`."""

    def operate(self: Any, other: Any) -> Any:
        return function(other, self) if has_type(other) else NotImplemented

    return operate


def _given_later(name: str) -> Callable[..., Any]:
    """The special method `name`, which Python looks for in the class."""

    def method(self: Any, *operands: Any, **options: Any) -> Any:
        methods = number_types().array_methods
        if name not in methods:
            self._refuse_method(name)
        return methods[name](self, *operands, **options)

    return method


def _unless(kinds: tuple[str, str], name: str, operate: Method) -> Method:
    """`operate`, unless a later package knows better about operands of such kinds.

    Arguments:
        kinds: those of the array, and of the other operand, of which either suffices.
        name: what the later package calls the method.
    """
    own, others = kinds

    def method(self: Any, other: Any) -> Any:
        methods = number_types().array_methods
        if not has_type(other) or name not in methods:
            return operate(self, other)
        applies = self.aval.dtype.kind in own or typeof(other).dtype.kind in others
        return (methods[name] if applies else operate)(self, other)

    return method


_COMPLEX = "c", "c"  # which have no order in the stages
_WHOLE = "biu", ""  # whose powers may be of another dtype, or none at all


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

    __add__, __radd__ = operator_of(f.add), reflected_operator_of(f.add)
    __sub__, __rsub__ = operator_of(f.sub), reflected_operator_of(f.sub)
    __mul__, __rmul__ = operator_of(f.mul), reflected_operator_of(f.mul)
    __truediv__, __rtruediv__ = operator_of(f.div), reflected_operator_of(f.div)
    __pow__ = _unless(_WHOLE, "__pow__", operator_of(f.power))
    __rpow__ = _unless(_WHOLE, "__rpow__", reflected_operator_of(f.power))
    __matmul__, __rmatmul__ = operator_of(f.matmul), reflected_operator_of(f.matmul)
    __eq__, __ne__ = equality_of(operator_of(f.eq)), equality_of(operator_of(f.ne))
    __lt__ = _unless(_COMPLEX, "__lt__", operator_of(f.lt))
    __le__ = _unless(_COMPLEX, "__le__", operator_of(f.le))
    __gt__ = _unless(_COMPLEX, "__gt__", operator_of(f.gt))
    __ge__ = _unless(_COMPLEX, "__ge__", operator_of(f.ge))

    def __setitem__(self, index: Any, values: Any) -> NoReturn:
        where = ", ".join(map(_index_text, index if isinstance(index, tuple) else (index,)))
        written = shown(values) if isinstance(values, int | float | complex) else "values"
        comes = "" if hasattr(self, "at") else ", with the arrays of minijax"
        raise TypeError(
            f"x[{where}] = ... of {self.aval}: arrays are never written to. "
            f"Write x = x.at[{where}].set({written}){comes}."
        )

    def __neg__(self) -> Any:
        return f.neg(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        if self.aval.dtype.kind in "bc" and "__abs__" in (methods := number_types().array_methods):
            return methods["__abs__"](self)
        return f.abs(self)

    def __getattr__(self, name: str) -> Any:
        """A method or property that a later package, whose function is running, gives to arrays."""
        methods = number_types().array_methods
        if name in methods:
            return methods[name].__get__(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _refuse_method(self, name: str) -> NoReturn:
        raise TypeError(f"arrays have no `{name}` in the stages; it comes with minijax")

    def astype(self, dtype: Any, **options: Any) -> Any:
        """The array with another dtype; options come with a later package."""
        if options:
            return _given_later("astype")(self, dtype, **options)
        return f.astype(self, dtype)

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """The array with another shape of the same size; one size may be -1."""
        if options:
            return _given_later("reshape")(self, *shape, **options)
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


def _index_text(part: Any) -> str:
    """A part of an index as it is written."""
    if isinstance(part, slice):
        ends = ["" if end is None else shown(end) for end in (part.start, part.stop, part.step)]
        return ":".join(ends if part.step is not None else ends[:2])
    if part is Ellipsis:
        return "..."
    return shown(part) if part is None or isinstance(part, int) else "index"


_LATER = (
    "contains getitem iter invert round floordiv rfloordiv mod rmod divmod rdivmod and rand or ror "
    "xor rxor lshift rlshift rshift rrshift"
)
for _name in _LATER.split():  # Python looks for these in the class only
    setattr(ArrayOperators, f"__{_name}__", _given_later(f"__{_name}__"))
