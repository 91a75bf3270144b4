"""Memories of devices, and types of arrays in the memory of a host."""

from collections.abc import Sequence
from typing import Any

import glassjax_stage2 as stage2
from glassjax import xla
from glassjax.memory import Space
from glassjax.settings.names import later
from glassjax.shardings.mesh import Device
from glassjax_stage2 import Primitive
from glassjax_stage2.errors import shown
from glassjax_stage2.tangent import zeros
from glassjax_stage3 import abstract_eval_rules
from glassjax_stage3.abstract_eval import abstract_eval

# Kinds of memory, by XLA's names.


DEVICE, HOST = "device", "pinned_host"
_KINDS = (DEVICE, HOST, "unpinned_host")  # on a mesh without devices


def checked_kind(caller: str, device: Device | None, kind: Any) -> str:
    """The kind of memory given to `caller`, by default the device's own.

    Raises:
        ValueError: the device cannot address such a memory.
    """
    if kind is None or kind == DEVICE:
        return DEVICE
    kinds = _KINDS if device is None else xla.memory_kinds(device)
    if kind not in kinds:
        raise ValueError(
            f"{caller}: memory_kind must be one of {', '.join(map(repr, kinds))}, the memories of "
            f"{'devices' if device is None else device}; found {shown(kind)}"
        )
    return str(kind)


def space_of_kind(kind: str | None) -> Space:
    """The memory space, in types, of a kind of memory."""
    return Space.Host if kind == HOST else Space.Device


def kind_of_space(caller: str, space: Space) -> str:
    """The kind of memory of a memory space."""
    if space is Space.Any:
        raise ValueError(f"{caller}: Space.Any is not a memory: give Space.Device or Space.Host")
    return HOST if space is Space.Host else DEVICE


# Types of arrays in the memory of the host.


device_put_p = Primitive("device_put")


class HostArray(stage2.ShapedArray):
    """The type of arrays in the pinned memory of their devices' host.

    There is only one object per type.

    Attributes:
        plain: the type of the same arrays in the memory of their devices.

    >>> HostArray(stage2.ShapedArray((2,), "float32"))
    ShapedArray(f32<host>[2])
    """

    __slots__ = ("plain",)

    plain: stage2.ShapedArray

    def __new__(cls, plain: stage2.ShapedArray) -> "HostArray":
        aval = _interned.get(plain)
        if aval is None:
            aval = object.__new__(cls)
            aval.shape, aval.dtype, aval.weak_type = plain.shape, plain.dtype, plain.weak_type
            aval.plain = plain
            aval = _interned.setdefault(plain, aval)
        return aval

    def __reduce__(self) -> tuple[Any, ...]:
        return HostArray, (self.plain,)

    def __str__(self) -> str:
        return str(self.plain).replace("[", "<host>[", 1)

    def with_plain(self, plain: stage2.ShapedArray) -> stage2.ShapedArray:
        """The type of arrays of another plain type in the same memory."""
        return HostArray(plain)

    def update(self, **changes: Any) -> stage2.ShapedArray:
        return HostArray(self.plain.update(**changes))

    def without_axis(self, axis: int) -> stage2.ShapedArray:
        return HostArray(self.plain.without_axis(axis))

    def with_axis(self, axis: int, size: int) -> stage2.ShapedArray:
        return HostArray(self.plain.with_axis(axis, size))

    def accepts(self, other: stage2.ShapedArray) -> bool:
        return other.strip_weak_type() is self.strip_weak_type()

    @staticmethod
    def abstract_eval(
        primitive: Primitive, in_avals: Sequence[stage2.ShapedArray], params: dict[str, Any]
    ) -> Sequence[stage2.ShapedArray]:
        """The result types of a primitive with an operand in the memory of the host."""
        if primitive in takes_memories or _calls_programs(primitive, params):
            return abstract_eval_rules[primitive](*in_avals, **params)
        space = _space_of_results(primitive, in_avals)
        on_device = tuple([in_space(aval, Space.Device) for aval in in_avals])
        return [in_space(x, space) for x in abstract_eval(primitive, on_device, params)]


_interned: dict[stage2.ShapedArray, HostArray] = {}

# Primitives that call no jaxpr, and whose rules take types with memories all the same.
takes_memories: set[Primitive] = set()

_calls_programs = later("glassjax.shardings.types", "calls_programs")


def space_of(aval: Any) -> Space:
    """The memory that holds arrays of a type."""
    while type(aval) is not stage2.ShapedArray:
        if type(aval) is HostArray:
            return Space.Host
        aval = getattr(aval, "plain", _SCALAR)
    return Space.Device


_SCALAR = stage2.ShapedArray((), "float32")


def kind_of_type(aval: Any) -> str:
    """The kind of memory that holds arrays of a type."""
    return HOST if space_of(aval) is Space.Host else DEVICE


def some_on_host(avals: Sequence[Any]) -> bool:
    """Return True if arrays of one of these types are in the memory of the host."""
    return any(space_of(aval) is Space.Host for aval in avals)


def in_space(aval: stage2.ShapedArray, space: Space) -> stage2.ShapedArray:
    """The type of the same arrays in another memory."""
    if space_of(aval) is space or getattr(aval, "is_opaque", False):
        return aval
    if type(aval) is HostArray:
        return aval.plain
    if hasattr(aval, "with_plain"):  # a varying type, which contains this one
        return aval.with_plain(in_space(aval.plain, space))  # type: ignore[attr-defined]
    return HostArray(aval)


_type: Any = stage2.ShapedArray
_type.memory_space = property(lambda aval: space_of(aval))  # without a docstring


# Primitives whose results are in the memory of their first operand: their other operands are
# indices and updates, and that may be a scalar.
_LIKE_FIRST = frozenset((
    "broadcast_in_dim", "dynamic_update_slice", "reduce_precision", "scatter", "scatter-add",
    "scatter-max", "scatter-min", "scatter-mul", "scatter_apply",
))  # fmt: skip


def _space_of_results(primitive: Primitive, in_avals: Sequence[stage2.ShapedArray]) -> Space:
    """The memory of all operands; scalars do not count.

    Raises:
        ValueError: two operands are in different memories.
    """
    if primitive.name in _LIKE_FIRST:
        return space_of(in_avals[0])
    spaces = {space_of(aval): aval for aval in in_avals if aval.ndim}
    if len(spaces) > 1:
        raise ValueError(
            f"{primitive} of {' and '.join(map(str, spaces.values()))}: the operands are in "
            "different memories. Move one, in a program or outside, by "
            "device_put(x, memory.Space.Device)"
        )
    return next(iter(spaces), Space.Device)


def moved(x: Any, space: Space) -> Any:
    """`x` in another memory."""
    aval = stage2.typeof(x)
    if space_of(aval) is space or aval.dtype == stage2.float0:
        return x
    return stage2.bind1(device_put_p, x, **put_params(space))


def put_params(target: Any, copies: bool = True) -> dict[str, Any]:
    """The parameters of `device_put` of one array; with `copies`, even if it is there already."""
    kinds = xla.copy_semantics()
    semantics = kinds.ALWAYS_COPY if copies else kinds.REUSE_INPUT
    return {"devices": (target,), "srcs": (None,), "copy_semantics": (semantics,)}


zeros.register(HostArray, lambda aval: moved(zeros(aval.plain), Space.Host))
