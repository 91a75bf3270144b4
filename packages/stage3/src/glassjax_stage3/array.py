"""Arrays on the device: the operands and results of compiled programs."""

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from glassjax_stage1.interpreter import leaked_value_error
from glassjax_stage2 import Primitive, ShapedArray, Tracer, typeof
from glassjax_stage2.functions import astype
from glassjax_stage2.operators import ArrayOperators
from glassjax_stage2.shaped_array import dialect, float0
from glassjax_stage2.trace import impl_rules
from glassjax_stage3 import backend
from glassjax_stage3.executable import CompiledJaxpr, compile_primitive, device_type
from glassjax_stage3.lowering import element_type


class Array(ArrayOperators):
    """An array that stays on the device until its numbers are needed.

    XLA computes its operations, with one compiled program per primitive and operand types. `array`
    makes Arrays, and operations on Arrays and jitted functions return them.
    """

    __slots__ = ("__weakref__", "_host", "aval", "buffer")

    aval: ShapedArray
    _host: np.ndarray[Any, Any]

    def __init__(self, buffer: backend.Buffer, aval: ShapedArray):
        self.buffer = buffer
        self.aval = aval

    def evaluate_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        """Evaluate a primitive on the device, if an operand is on the device."""
        if primitive.higher_order:
            return impl_rules[primitive](*args, **params)  # type: ignore[no-any-return]
        return call(compile_primitive(primitive, tuple(map(typeof, args)), params), args)

    def numpy(self) -> np.ndarray[Any, Any]:
        """The numbers as a read-only numpy array, without a copy if memory can be shared."""
        try:
            return self._host
        except AttributeError:  # not fetched yet
            holds_bits = self.dtype != float0
            self._host = backend.get(self.buffer) if holds_bits else np.zeros(self.shape, float0)
            return self._host

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.numpy(), dtype, copy=copy)

    def item(self, *index: int) -> Any:
        """The number at an index, or the only one, as a Python number."""
        return self.numpy().item(*index)

    def tolist(self) -> Any:
        """The numbers in nested Python lists; a Python number for a scalar."""
        return self.numpy().tolist()

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(self._number())

    def __float__(self) -> float:
        return float(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def _number(self) -> Any:
        if self.aval.shape:
            raise TypeError(f"{self.aval} is not a scalar: take one element, or reduce the array")
        return self.item()

    def __index__(self) -> int:
        return operator.index(self.numpy())

    def __format__(self, spec: str) -> str:
        return format(self.numpy()[()], spec)

    def __str__(self) -> str:
        return str(self.numpy())

    def __repr__(self) -> str:
        numbers = np.array2string(self.numpy(), separator=", ", prefix="Array(")
        shape = f", shape={self.shape}" if self.size == 0 else ""
        weak = ", weak_type=True" if self.aval.weak_type else ""
        return f"Array({numbers}{shape}, dtype={self.dtype}{weak})"


def array(x: Any, dtype: Any = None) -> Any:
    """Copy numbers to the device.

    Arguments:
        x: a number, a numpy array, an Array, or nested lists of numbers. A tracer stays one.
        dtype: the dtype of the result; by default the dtype of `x`.

    Raises:
        TypeError: `x` does not hold numbers, or XLA does not support their dtype.
        OverflowError: the dtype does not hold a number in a list.
    """
    if isinstance(x, Array | Tracer):
        return x if dtype is None or x.dtype == dtype else astype(x, dtype)
    if isinstance(x, list | tuple):
        x = np.asarray(x, dtype)
    aval = typeof(x)
    if dtype is not None:
        aval = ShapedArray(aval.shape, dialect().dtype_of("array", dtype))
    element_type(aval.dtype)  # raises an error if XLA does not support it
    return Array(new_buffer(x, aval), aval)


def to_buffer(x: Any, aval: ShapedArray) -> backend.Buffer:
    """`x` on the device."""
    if isinstance(x, Array):
        return x.buffer
    if isinstance(x, Tracer):
        raise leaked_value_error(x, x.interpreter, x.source)
    if not aval.shape and aval.dtype != float0 and aval.dtype.itemsize <= 8:
        number = x if type(x) is aval.dtype.type else np.asarray(x, aval.dtype)
        return _scalar_buffer(number.tobytes(), aval)
    return new_buffer(x, aval)


@lru_cache(maxsize=1024)
def _scalar_buffer(number: bytes, aval: ShapedArray) -> backend.Buffer:
    """A number on the device, cached, since programs reuse a few of them."""
    return backend.put(np.frombuffer(number, aval.dtype)[0], aval)


def new_buffer(x: Any, aval: ShapedArray) -> backend.Buffer:
    """`x` on the device, in memory that nothing else uses."""
    if aval.dtype.names:
        x = np.zeros(aval.shape, np.bool_) if aval.dtype == float0 else x
        aval = device_type(aval)
    return backend.put(x, aval)


def call(compiled: CompiledJaxpr, args: Sequence[Any]) -> list[Array]:
    """Execute a compiled jaxpr on arrays or numbers of the types that it was compiled for."""
    buffers = list(map(to_buffer, args, compiled.in_avals))
    return list(map(Array, compiled.execute(buffers), compiled.out_avals))
