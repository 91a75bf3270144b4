"""The operators and methods of arrays, which are the functions of this package."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Literal, NoReturn

import numpy as np

import glassjax.numpy as jnp
from glassjax.dtypes import DTypeLike
from glassjax.errors.tracebacks import hide_frames
from glassjax.runtime.array import Array, ArrayLike, converts_itself, public_names_of
from glassjax.runtime.nesting import nests_calls
from glassjax.runtime.templates import copied
from glassjax.settings.names import named
from glassjax.settings.tracers import Tracer
from glassjax_stage2 import functions, typeof
from glassjax_stage2.errors import ConcretizationTypeError, TracerArrayConversionError, shown
from glassjax_stage2.operators import Method, operator_of
from glassjax_stage2.shaped_array import has_type

OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "divmod": "divmod",
    "pow": "power",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
}
COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}


class _Later:
    """A method that is imported, with what it needs, when it is first used."""

    def __init__(
        self, module: str, name: str, finish: Callable[[Any], Any] = lambda function: function
    ):
        self.module, self.name, self.finish = module, name, finish

    def __get__(self, instance: Any, owner: Any) -> Any:
        # Not an attribute of `glassjax.numpy`, which some programs replace for a while.
        places = getattr(import_module(self.module), "__places__", {})
        method = self.finish(named(*places.get(self.name, (self.module, self.name))))
        for cls in (Array, Tracer):
            for name in [name for name, value in vars(cls).items() if value is self]:
                setattr(cls, name, method)
        return method.__get__(instance, owner)


def _operator(
    function: Callable[[Any, Any], Any], is_reflected: bool = False, also: tuple[type, ...] = ()
) -> Method:
    """`x.__op__(y)` or `y.__rop__(x)`, as in stage 2; its errors hide our frames."""

    def operate(self: Any, other: Any) -> Any:
        if not (has_type(other) or isinstance(other, also) or converts_itself(other)):
            return NotImplemented
        try:
            return function(other, self) if is_reflected else function(self, other)
        except Exception as error:
            hide_frames(error)
            raise

    return operate


def _unless(kinds: tuple[str, str], name: str, operate: Method) -> Method:
    """`operate`, unless the operands are of these kinds, of the array and of the other one.

    Or unless the other operand converts itself to an array, which the stages do not support.
    """
    own, others = kinds

    def method(self: Any, other: Any) -> Any:
        applies = converts_itself(other) or (
            has_type(other) and (self.aval.dtype.kind in own or typeof(other).dtype.kind in others)
        )
        return (getattr(Array, name) if applies else operate)(self, other)

    return method


def _power_of(operate: Method) -> Method:
    """The power of a tracer, as one operation; the stages multiply repeatedly."""

    def method(self: Any, other: Any) -> Any:
        return (Array.__pow__ if type(other) is int else operate)(self, other)

    return method


def _setitem(self: Any, index: Any, values: Any) -> NoReturn:
    where = ", ".join(map(_index_text, index if isinstance(index, tuple) else (index,)))
    written = shown(values) if isinstance(values, int | float | complex) else "values"
    raise TypeError(
        f"x[{where}] = ... of {self.aval}: arrays are never written to. "
        f"Write x = x.at[{where}].set({written})."
    )


def _index_text(part: Any) -> str:
    """A part of an index in source form."""
    if isinstance(part, slice):
        ends = ["" if end is None else shown(end) for end in (part.start, part.stop, part.step)]
        return ":".join(ends if part.step is not None else ends[:2])
    if part is Ellipsis:
        return "..."
    return shown(part) if part is None or isinstance(part, int) else "index"


def _compress(
    self: Any,
    condition: ArrayLike,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: ArrayLike = 0,
) -> Array:
    """The elements along an axis where `condition` is true."""
    return jnp.compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


def _reshape_method(self: Any, *shape: Any, order: str = "C", out_sharding: Any = None) -> Array:
    """The array with another shape of the same size; one size may be -1."""
    to = shape[0] if len(shape) == 1 else shape
    reshape: Any = named("glassjax.numpy.shapes", "reshape")
    return reshape(self, to, order, out_sharding=out_sharding)


def _astype(self: Any, dtype: DTypeLike | None, copy: bool = False, device: Any = None) -> Array:
    """The array with another dtype. `copy` is ignored, since Arrays are immutable."""
    return jnp.astype(self, dtype, copy=copy, device=device)


_astype.__name__ = _astype.__qualname__ = "astype"


def _contains(self: Any, x: ArrayLike) -> Array:
    """Return True if one of the elements is `x`."""
    if self.ndim != 1 or jnp.ndim(x):
        raise ValueError(f"in: expected a number in a sequence, found {typeof(x)} in {self.aval}")
    return jnp.any(jnp.equal(self, x))


def _flat_attribute(self: Any) -> NoReturn:
    raise NotImplementedError(
        "arrays have no `flat`; x.ravel() is one row of the elements, and x.ravel().at[i].set(y) "
        "another one"
    )


def _item(self: Any, *index: int) -> Any:
    """The number of a tracer at an index, or its only one, if that is known."""
    if not index and self.size != 1:
        raise ValueError(f"item: {self.aval} does not have exactly one element; give an index")
    flat = index[0] if len(index) == 1 else None
    number = self[index] if flat is None and index else jnp.ravel(self)[flat or 0]
    return {"b": bool, "i": int, "u": int, "c": complex}.get(number.dtype.kind, float)(number)


def _format(self: Any, spec: str) -> str:
    """A tracer as text: its number, if that is known and a format is given."""
    if not spec:
        return str(self)
    need = f"a number, to write it as {spec!r},"
    remedy = "Write it without a format, or by glassjax's debug.print, which waits for numbers."
    return format(self.demand(ConcretizationTypeError, need, False, remedy), spec)


def _reduce_ex(self: Any, protocol: Any) -> Any:
    return self.demand(TracerArrayConversionError, "an array of numbers, to pickle it,")


def _namespace(self: Any, *, api_version: str | None = None) -> Any:
    """The array functions, for the Python array API."""
    return jnp


def _to_device(self: Any, device: Any, *, stream: None = None) -> Array:
    """The array on a device; see `device_put`."""
    if stream is not None:
        raise NotImplementedError(f"to_device: stream must be None, found {stream!r}")
    from glassjax.lax.placement import device_put

    return device_put(self, device)


def _tobytes(self: Any, order: Literal["C", "F", "A", "K"] | None = "C") -> bytes:
    """The numbers as bytes, the last axis fastest, or with the order "F" the first."""
    return np.asarray(self).tobytes(order)


def _round_method(self: Any, ndigits: int | None = None) -> Array:
    return jnp.astype(jnp.round(self), int) if ndigits is None else jnp.round(self, ndigits)


_FUNCTIONS = (
    "all any argmax argmin argpartition argsort choose clip conj conjugate cumprod cumsum diagonal "
    "dot max mean min nonzero prod ptp ravel repeat round searchsorted sort squeeze std sum "
    "swapaxes take trace var"
)
METHODS: dict[str, Any] = {
    **{name: _Later("glassjax.numpy", name) for name in _FUNCTIONS.split()},
    "__array_namespace__": _namespace,
    "__contains__": _contains,
    "__neg__": _Later("glassjax.numpy", "negative"),
    "__abs__": _Later("glassjax.numpy", "abs"),
    "__getitem__": _Later("glassjax.numpy.indexing", "getitem"),
    "__setitem__": _setitem,
    "__invert__": _Later("glassjax.numpy", "bitwise_not"),
    "__iter__": _Later("glassjax.numpy.indexing", "iterate"),
    "__pos__": _Later("glassjax.numpy", "positive"),
    "__round__": _round_method,
    "astype": _astype,
    "at": _Later("glassjax.numpy.at", "at"),
    "byteswap": _Later("glassjax.numpy.views", "byteswap"),
    "compress": _compress,
    "flat": property(_flat_attribute),
    "flatten": _Later("glassjax.numpy", "ravel"),
    "imag": _Later("glassjax.numpy", "imag", property),
    "mT": _Later("glassjax.numpy", "matrix_transpose", property),
    "real": _Later("glassjax.numpy", "real", property),
    "reshape": _reshape_method,
    "to_device": _to_device,
    "tobytes": _tobytes,
    "view": _Later("glassjax.numpy.views", "view"),
}

for name, function in (OPERATORS | COMPARISONS).items():
    METHODS[f"__{name}__"] = _Later("glassjax.numpy", function, _operator)
_reflected = partial(_operator, is_reflected=True)
for name, function in OPERATORS.items():
    METHODS[f"__r{name}__"] = _Later("glassjax.numpy", function, _reflected)
_operator_with_lists = partial(_operator, also=(list, tuple))
for name in ("eq", "ne"):
    METHODS[f"__{name}__"] = _Later("glassjax.numpy", COMPARISONS[name], _operator_with_lists)

# Methods implemented by Arrays themselves, or on tracers by the stages where they can.
TRACER_METHODS: dict[str, Any] = {
    "__abs__": METHODS["__abs__"],
    "__neg__": copied(functions.neg),
    "__complex__": lambda x: complex(float(x)),
    "__copy__": lambda x: x,  # immutable
    "__deepcopy__": lambda x, memo: x,
    "__format__": _format,
    "__int__": lambda x: x.__index__(),
    "__iter__": METHODS["__iter__"],
    "__reduce_ex__": _reduce_ex,
    "astype": lambda x, *args, **options: (
        _astype if options or len(args) > 1 or x.aval.dtype.kind == "c" else functions.astype
    )(x, *args, **options),
    "copy": _Later("glassjax.numpy", "copy"),
    "item": _item,
    "itemsize": property(lambda x: x.dtype.itemsize),
    "nbytes": property(lambda x: x.size * x.dtype.itemsize),
    "reshape": _reshape_method,
    "tolist": lambda x: np.asarray(x).tolist(),
    "weak_type": property(lambda x: x.aval.weak_type),
}


def _matmul(x: Any, y: Any) -> Any:
    return (jnp.matmul if nests_calls() else functions.matmul)(x, y)


_COMPLEX = "c", "c"  # the stages do not order complex numbers
_WHOLE = "biu", ""  # integer powers may need another dtype, or raise
_NONE = "", ""
_COPIED = {
    "truediv": (functions.div, _NONE),
    "pow": (functions.power, _WHOLE),
    **{name: (getattr(functions, name), _COMPLEX) for name in ("lt", "le", "gt", "ge")},
    **{name: (getattr(functions, name), _NONE) for name in ("add", "sub", "mul")},
    "matmul": (_matmul, _NONE),
    **{name: (getattr(functions, name), _NONE) for name in ("eq", "ne")},
}
for symbol, (own, kinds) in _COPIED.items():
    also = (list, tuple) if symbol in ("eq", "ne") else ()
    for name, is_reflected in ((f"__{symbol}__", False), (f"__r{symbol}__", True)):
        if name in METHODS:
            method = _unless(kinds, name, operator_of(own, is_reflected, also))
            TRACER_METHODS[name] = copied(_power_of(method) if name == "__pow__" else method)

for name, function in METHODS.items():
    setattr(Array, name, function)
inherited = dir(Tracer)
missing = {name: function for name, function in METHODS.items() if name not in inherited}
for name, function in (missing | TRACER_METHODS).items():
    setattr(Tracer, name, function)
Tracer.__dir__ = public_names_of  # type: ignore[method-assign, assignment]
