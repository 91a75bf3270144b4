"""The Array of the full library, and conversion of numbers to it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import glassjax_stage2 as stage2
import glassjax_stage3 as stage3
from glassjax import xla
from glassjax.dimensions.expressions import is_symbolic_dim
from glassjax.settings import number_types
from glassjax.settings.config import Switch
from glassjax.settings.names import counted, later
from glassjax.shardings import sharding as shardings
from glassjax.shardings.memories import DEVICE, in_space, kind_of_type, space_of
from glassjax.shardings.types import type_at, unsharded
from glassjax_stage1 import EvalInterpreter, current_interpreter
from glassjax_stage1.interpreter import in_context
from glassjax_stage2 import Primitive, ShapedArray, float0, typeof
from glassjax_stage2.shaped_array import Shape, dialect, python_scalars, short_dtype
from glassjax_stage2.trace import EvalTrace
from glassjax_stage3 import backend
from glassjax_stage3.array import new_buffer, to_buffer
from glassjax_stage3.executable import device_type
from glassjax_stage3.lowering import element_type

if TYPE_CHECKING:
    from glassjax.runtime.array_methods import ArrayMethods  # a stub that tools.stubs writes
else:
    ArrayMethods = stage3.Array


# The current interpreter: tracing, or only evaluation?


def is_evaluating() -> bool:
    """Return True if this thread is only evaluating: no function is being traced or transformed."""
    interpreter = in_context.get()
    if interpreter is None:
        return True
    if interpreter.ended:
        interpreter = current_interpreter()
    return isinstance(interpreter, _EVALUATORS)


_EVALUATORS = EvalTrace, EvalInterpreter


# The Array of the full library: stage 3's, with everything else that real programs need.
#
# It can be copied, pickled, shared with other libraries without a copy, waited for and deleted.
#
# Arrays on one device and on several have one class. Most are uncommitted, on the default device;
# the others differ from them in their `call_key`.


# Methods of arrays and tracers that only the library calls.
_INTERNAL = frozenset(
    (
        "buffer",
        "call_key",
        "delete_because",
        "evaluate_primitive",
        "is_placed",
        "let_go_of_buffer",
        "numpy",
    )
)


def public_names_of(x: Any) -> list[str]:
    """The names that `dir` lists for an array or tracer: its public attributes."""
    public = frozenset(dir(Array)) - _INTERNAL
    return [name for name in object.__dir__(x) if name in public or name.startswith("_")]


_evaluate_primitive = later("glassjax.runtime.evaluation", "evaluate_primitive")
_default_placement = later("glassjax.runtime.places", "default_placement")
_move_on_devices = later("glassjax.runtime.partitioning", "move_on_devices")


class _ArrayType(type):
    """Metaclass that makes `isinstance(x, Array)` true for tracers, as programs for JAX expect."""

    def __instancecheck__(cls, x: Any) -> bool:
        return type.__instancecheck__(cls, x) or (cls is Array and isinstance(x, stage2.Tracer))


# --8<-- [start:array]
class Array(ArrayMethods, metaclass=_ArrayType):
    """An array that stays on its device until its numbers are needed.

    All results of this library are of this class. `isinstance(x, Array)` is true for tracers, too,
    which stand for Arrays in a transformed function.

    Once it is deleted, by `delete` or by donation, any use of its numbers raises RuntimeError.

    >>> import glassjax.numpy as jnp
    >>> x = jnp.arange(3, dtype=jnp.int8)
    >>> x * 2, x.nbytes, np.asarray(x)
    (Array([0, 2, 4], dtype=int8), 3, array([0, 1, 2], dtype=int8))
    """

    __slots__ = ("_deleted", "_shards", "call_key")

    # The part of the array in the key of a call: its type, or a `Placed`.
    call_key: ShapedArray | Placed
    _deleted: object
    _shards: list[Shard]

    def __init__(self, buffer: backend.Buffer, aval: ShapedArray):
        self.buffer = buffer
        self.aval = self.call_key = aval

    # --8<-- [end:array]

    def evaluate_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        """Evaluate a primitive on the devices that hold its operands."""
        outs: list[Any] = _evaluate_primitive(primitive, args, params)
        return outs

    def numpy(self) -> np.ndarray[Any, Any]:
        """The numbers as a read-only numpy array, without a copy if memory can be shared.

        Raises:
            TypeError: the elements are keys.
        """
        if number_types.is_key_type(self.aval.dtype):
            raise TypeError(
                f"{self.aval} holds random keys, which are not numbers; random.key_data(x) gives "
                "the words that they are made of"
            )
        if not self.is_placed or self.aval.dtype == float0:  # float0 has no bits
            return super().numpy()
        try:
            return self._host
        except AttributeError:  # not asked for yet
            # Kept, since it gathers parts of several devices. An unplaced array shares its memory
            # instead, and a view that is kept would prevent its donation.
            self._host = read_numbers(self)
            return self._host

    def __repr__(self) -> str:
        if hasattr(self, "_deleted"):
            return f"<Array {self.aval}, {self._deleted}>"
        if not _is_shown(self):
            is_key = number_types.is_key_type(self.aval.dtype)
            dtype = short_dtype(self.aval.dtype) if is_key else self.aval.dtype
            return f"Array(shape={self.shape}, dtype={dtype})"
        if not number_types.is_key_type(self.aval.dtype):
            return super().__repr__()
        words = number_types.host_words(read_numbers(self), self.aval)
        return f"Array({self.shape}, dtype={short_dtype(self.aval.dtype)}) overlaying:\n{words}"

    def __str__(self) -> str:
        if number_types.is_key_type(self.aval.dtype) or not _is_shown(self):
            return repr(self)
        return super().__str__()

    def __format__(self, spec: str) -> str:
        if not self.aval.shape and not number_types.is_key_type(self.aval.dtype):
            return super().__format__(spec)
        try:
            return format(str(self), spec)
        except ValueError:
            raise TypeError(
                f"{self.aval} is not a scalar, and is not written as {spec!r}; numpy.array_str has "
                "digits to choose"
            ) from None

    @property
    def weak_type(self) -> bool:
        """True if promotion prefers the dtypes of other operands, as for a Python number."""
        return self.aval.weak_type

    @property
    def nbytes(self) -> int:
        """The bytes that the numbers take."""
        return self.aval.size * self.aval.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The bytes that one number takes."""
        return self.aval.dtype.itemsize

    @property
    def sharding(self) -> shardings.Sharding:
        """The devices of the array, and the part of it on each."""
        return shardings.sharding_of(xla.placement_of(self.buffer))

    @property
    def format(self) -> shardings.Format:
        """The sharding, and the layout in memory."""
        return shardings.format_of(self.ndim, self.sharding)

    @property
    def device(self) -> Any:
        """The device that holds the array, or its sharding if there are several."""
        sharding = self.sharding
        return sharding.device_tuple[0] if sharding.num_devices == 1 else sharding

    def devices(self) -> Set[Any]:
        """The set of devices that hold the array."""
        return self.sharding.device_set

    @property
    def is_placed(self) -> bool:
        """False if the array is uncommitted and on the default device."""
        return self.call_key is not self.aval

    @property
    def committed(self) -> bool:
        """True if the user chose the device, so that programs run there."""
        return type(self.call_key) is Placed and self.call_key.committed

    def platform(self) -> str:
        """The kind of the devices that hold the array: "cpu" or "gpu"."""
        return str(self.sharding.device_tuple[0].platform)

    @property
    def is_fully_addressable(self) -> bool:
        """True if this process holds all of the array."""
        return self.sharding.is_fully_addressable

    @property
    def is_fully_replicated(self) -> bool:
        """True if each of its devices holds all of the array."""
        return self.sharding.is_fully_replicated

    def on_device_size_in_bytes(self) -> int:
        """The bytes of device memory that the array takes."""
        return xla.nbytes(self.buffer)

    @property
    def addressable_shards(self) -> list[Shard]:
        """The parts of the array on the devices of this process, in its memory."""
        try:
            return self._shards
        except AttributeError:  # not asked for yet
            shards = _shards_here(self)
            if self.is_placed:  # otherwise they would prevent the donation of the only buffer
                self._shards = shards
            return shards

    @property
    def global_shards(self) -> list[Shard]:
        """The parts of the array on all its devices; parts in other processes have no data."""
        here = {shard.device: shard for shard in self.addressable_shards}
        places = _places_of_shards(self.sharding, self.shape)
        return [here.get(place[0]) or Shard(*place, None, None) for place in places]

    def addressable_data(self, index: int) -> Array:
        """The part of the array on one of its devices, by number."""
        shards = self.addressable_shards
        if not isinstance(index, int) or not 0 <= index < len(shards):
            raise IndexError(
                f"addressable_data: {self.aval} has {counted(len(shards), 'part')}, numbered from "
                f"0; found {index!r}"
            )
        part = self if self.sharding.num_devices == 1 else shards[index].data
        assert part is not None  # it belongs to this process
        return part

    def block_until_ready(self) -> Array:
        """Wait until the array is computed, and return it.

        Raises:
            RuntimeError: the computation failed, or the array was deleted.
        """
        xla.block_until_computed(self.buffer)
        return self

    def is_ready(self) -> bool:
        """Return True if the array is computed."""
        return xla.is_ready(self.buffer)

    def copy_to_host_async(self) -> None:
        """Do nothing: on a CPU, the numbers are already on the host."""
        _ = self.buffer

    def copy(self) -> Array:
        """An array of the same numbers and sharding in new memory."""
        if type(self.call_key) is not Placed:
            numbers = backend.get(self.buffer)  # a temporary view, which prevents no donation
            return Array(new_buffer(numbers, self.aval), self.aval)
        _, where, committed = self.call_key
        parts = [part.copy() for part in parts_here(self)]
        return self.call_key.array(xla.put_parts(device_type(self.aval), where, parts, committed))

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Array:
        return self.copy()

    def __reduce__(self) -> Any:
        if number_types.is_key_type(self.aval.dtype):
            return _keys_from_numpy, (
                read_numbers(self),
                number_types.implementation_of(self.aval.dtype),
            )
        return from_numpy, (self.numpy(), self.weak_type)

    def is_deleted(self) -> bool:
        """Return True if the array was deleted, and its numbers are gone."""
        return hasattr(self, "_deleted") or xla.is_deleted(self.buffer)

    # --8<-- [start:deleted]
    def delete(self) -> None:
        """Free the memory, unless something else still uses it. Deleting twice is not an error."""
        self.delete_because("deleted by its method `delete`")

    def delete_because(self, reason: object) -> None:
        """Delete the array. `str(reason)` completes "was ..." in later error messages."""
        if hasattr(self, "_deleted"):
            return
        self._deleted = reason
        for name in ("buffer", "_host", "_shards"):
            with suppress(AttributeError):  # it was never set, or another thread was faster
                delattr(self, name)

    def let_go_of_buffer(self, reason: object) -> None:
        """As `delete_because`, for an array that has only a buffer."""
        self._deleted = reason
        try:  # noqa: SIM105  # the context that suppresses an error takes longer than the rest
            del self.buffer
        except AttributeError:  # another thread was faster
            pass

    if not TYPE_CHECKING:  # type checkers would accept every attribute

        def __getattr__(self, name: str) -> Any:
            """Raise an error: on a live array, every attribute is found before this is called."""
            if name == "buffer" and hasattr(self, "_deleted"):
                raise RuntimeError(
                    f"the array {self.aval} was {self._deleted}, so its numbers are gone. Where "
                    "they are needed later, keep a copy, `x.copy()`, or do not donate or delete it"
                )
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=self)

    # --8<-- [end:deleted]

    def __dir__(self) -> list[str]:
        return public_names_of(self)

    def unsafe_buffer_pointer(self) -> int:
        """The address of the numbers of an array on one device, for other code to read."""
        return self.buffer.unsafe_buffer_pointer()

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if number_types.is_key_type(self.aval.dtype):
            raise BufferError(
                "DLPack does not support random keys; random.key_data(x) gives their words"
            )
        buffer = self._buffer_on_one_device()
        if dl_device not in (None, xla.dlpack_device(buffer)):
            if dl_device != xla.DLPACK_CPU or copy is False:
                raise BufferError(
                    f"an array on {self.device} cannot go to DLPack device {dl_device}"
                    + (" without a copy" if copy is False else "")
                )
            on_cpu = shardings.SingleDeviceSharding(xla.devices("cpu")[0])
            buffer = put_array(self, self.aval, on_cpu).buffer
        # otherwise it is a copy already
        if copy and buffer is self.buffer:
            buffer = self.copy().buffer
        return xla.to_dlpack(buffer, max_version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return xla.dlpack_device(self._buffer_on_one_device())

    def _buffer_on_one_device(self) -> backend.Buffer:
        """The array's buffer; of an array on several devices, a copy on the default device."""
        if self.is_placed and self.sharding.num_devices == 1:
            return self.buffer
        return buffer_here(self, self.aval)

    def __buffer__(self, flags: int) -> memoryview:
        if self.dtype == float0:
            raise BufferError("an array of dtype float0 has no bits to look at")
        try:
            return self.numpy().data
        except ValueError:
            raise BufferError(
                f"the buffer protocol does not support dtype {self.dtype}; use numpy.asarray(x)"
            ) from None


class Placed(NamedTuple):
    """The part in the key of a call for an Array that is committed, or not on the default device.

    Attributes:
        aval: its type.
        placement: the devices that hold it, and the part on each.
        committed: whether the user chose them, so that programs run there.
    """

    aval: ShapedArray
    placement: xla.Placement
    committed: bool = True

    def array(self, buffer: backend.Buffer) -> Array:
        """An Array with this placement, from its buffer."""
        x = Array(buffer, self.aval)
        x.call_key = self
        return x


def array_at(buffer: backend.Buffer, aval: ShapedArray, committed: bool = True) -> Array:
    """An Array placed where its buffer is."""
    return _placed(aval, xla.placement_of(buffer), committed).array(buffer)


_placed = lru_cache(maxsize=4096)(Placed)  # keys of calls are mostly compared by identity


def some_placed(values: Sequence[Any]) -> bool:
    """Return True if some of these are committed Arrays, or not on the default device."""
    for x in values:  # noqa: SIM110  # `any` takes longer, and eager operations ask
        if type(x) is Array and x.call_key is not x.aval:
            return True
    return False


def alias(x: Array) -> Array:
    """Another Array of the same buffer."""
    same = Array(x.buffer, x.aval)
    same.call_key = x.call_key
    return same


def buffer_here(x: Any, aval: ShapedArray) -> backend.Buffer:
    """`x` on the default device, for programs that run only there."""
    if type(x) is Array and x.is_placed:
        return new_buffer(read_numbers(x), x.aval)
    return to_buffer(x, aval)


# Reading and placing numbers.
ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex


def is_readable(x: Array) -> bool:
    """Return True if this process holds all numbers of the array."""
    return not x.is_placed or bool(xla.placement_of(x.buffer).is_readable)


def _is_shown(x: Array) -> bool:
    """Return True if the text of the array has its numbers."""
    return not x.is_placed or (
        x.sharding.unreduced_count == 1 and (x.is_fully_addressable or x.is_fully_replicated)
    )


def read_numbers(x: Array) -> np.ndarray[Any, Any]:
    """The numbers of an array on any devices, in the device's representation.

    Raises:
        RuntimeError: some are only in other processes.
    """
    if not is_readable(x):
        sharding = x.sharding
        if sharding.unreduced_count > 1:
            raise RuntimeError(
                f"{x.aval} is unreduced: its numbers are sums over devices that are not made yet. "
                "sharding.reshard(x, P(...)) makes them; x.addressable_shards has the parts"
            )
        raise RuntimeError(
            f"{x.aval} is sharded over {sharding.num_devices} devices, and this process has "
            f"{len(sharding.addressable_devices)}, so its numbers cannot be read here. "
            "glassjax.experimental.multihost_utils.process_allgather(x, tiled=True) gives them to "
            "all processes; x.addressable_shards has the parts of this one"
        )
    return backend.get(x.buffer)


def parts_here(x: Array) -> list[np.ndarray[Any, Any]]:
    """The parts of an array on the devices of this process, in the order of the devices."""
    if is_readable(x):
        numbers = backend.get(x.buffer)
        return [numbers[index] for index in x.sharding.indices_here(x.shape)]
    if not x.sharding.addressable_devices:
        return []
    aval = device_type(x.aval)
    shape = x.sharding.shard_shape(x.shape)
    return xla.parts_here(x.buffer, ShapedArray(shape, aval.dtype))


def put_array(
    x: Any, aval: ShapedArray, sharding: shardings.Sharding, committed: bool = True
) -> Array:
    """An Array of type `aval` and the given sharding, from a numpy array or another Array.

    Raises:
        ValueError: the sharding does not divide the array evenly.
    """
    indices = sharding.indices_here(aval.shape)
    where = sharding.placement(aval.ndim)
    aval = type_at(unsharded(aval), sharding)
    wanted = _placed(aval, where, committed)
    if isinstance(x, Array):
        if x.is_placed and xla.placement_of(x.buffer) is where:
            return x if x.call_key == wanted else wanted.array(x.buffer)
        if not is_readable(x) or sharding.unreduced_count > 1:
            if x.sharding.device_tuple != sharding.device_tuple and is_readable(x):
                x = put_array(x, aval, sharding.everywhere(), committed)
            moved: Array = _move_on_devices(x, sharding, committed)
            return moved
        with xla.moving_between_devices(aval, x.devices(), sharding.device_set):
            return put_array(backend.get(x.buffer), aval, sharding, committed)
    if sharding.unreduced_count > 1:
        return put_array(put_array(x, aval, sharding.everywhere()), aval, sharding, committed)
    on_device = device_type(aval)
    x = np.asarray(np.zeros(aval.shape, np.bool_) if aval.dtype == float0 else x, on_device.dtype)
    parts = [x[index] for index in indices] if x.ndim else [x] * len(indices)
    if _repeats_parts(sharding, aval.shape) or 0 in x.strides:  # broadcast arrays
        parts = [part.copy() for part in parts]  # jaxlib takes none that share memory
    return wanted.array(xla.put_parts(on_device, where, parts, committed))


@lru_cache(maxsize=4096)
def _repeats_parts(sharding: shardings.Sharding, shape: Shape) -> bool:
    """Return True if the parts of an array on two devices of this process begin at one address."""
    indices = sharding.indices_here(shape)
    begins = {tuple([each.start or 0 for each in index]) for index in indices}
    return len(begins) < len(indices) or 0 in shape


def put_to(x: Array, sharding: shardings.Sharding | None) -> Array:
    """`x` with the given sharding; `x` itself if there is only one device."""
    if sharding is None:
        return x
    is_single = isinstance(sharding, shardings.SingleDeviceSharding)
    is_there = is_single and sharding.memory_kind == DEVICE
    if is_there and not x.is_placed and xla.is_the_only(sharding.device_tuple):
        return x
    return put_array(x, x.aval, sharding)


def place_numbers(x: Any, sharding: shardings.Sharding) -> Array:
    """A number or a numpy array as an Array with the given sharding.

    Raises:
        TypeError: XLA does not support the dtype.
        ValueError: the sharding does not divide the array evenly.
    """
    aval = typeof(x)
    element_type(aval.dtype)
    return put_array(x, aval, sharding)


class Shard:
    """The part of an array that one device holds.

    Attributes:
        device: the device.
        index: the slices of the array that make the part.
        replica_id: its number among the devices that hold the same part.
        data: the part, as an Array on that device in the array's memory; None if the device
            belongs to another process.

    >>> (shard,) = jnp.arange(3).addressable_shards
    >>> shard.index, shard.data
    ((slice(None, None, None),), Array([0, 1, 2], dtype=int32))
    """

    __slots__ = ("_aval", "_data", "_part", "device", "index", "replica_id")

    def __init__(
        self,
        device: Any,
        index: shardings.Index,
        replica_id: int,
        part: backend.Buffer | None,
        aval: ShapedArray | None,
    ):
        self.device, self.index, self.replica_id = device, index, replica_id
        self._part, self._aval = part, aval
        self._data: Array | None = None

    @property
    def data(self) -> Array | None:
        """The part, as an Array on its device; None if the device belongs to another process."""
        if self._data is None and self._part is not None and self._aval is not None:
            self._data = _on_one_device(self._part, self._aval, self.device)
            self._part = None
        return self._data

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


def _on_one_device(buffer: backend.Buffer, aval: ShapedArray, device: Any) -> Array:
    """A buffer on one device as an Array with that placement, without a copy."""
    where = _only_placement(device, aval.ndim, kind_of_type(aval))
    return array_at(xla.with_placement(buffer, device_type(aval), where), aval)


@lru_cache(maxsize=4096)
def _only_placement(device: Any, ndim: int, kind: str) -> xla.Placement:
    return shardings.SingleDeviceSharding(device, memory_kind=kind).placement(ndim)


def _shards_here(x: Array) -> list[Shard]:
    """The parts of an Array on the devices of this process, without references to the array."""
    places = _places_of_shards(x.sharding, x.shape)
    parts = [x.buffer] if len(places) == 1 else xla.buffers_here(x.buffer)
    shape = x.sharding.shard_shape(x.shape)
    plain = ShapedArray(shape, x.aval.dtype, x.aval.weak_type)
    aval = in_space(plain, space_of(x.aval))
    here = places if len(parts) == len(places) else _places_here(x.sharding, x.shape)
    return [Shard(*place, part, aval) for place, part in zip(here, parts, strict=True)]


@lru_cache(maxsize=4096)
def _places_here(
    sharding: shardings.Sharding, shape: Shape
) -> list[tuple[Any, shardings.Index, int]]:
    here = sharding.addressable_devices
    return [place for place in _places_of_shards(sharding, shape) if place[0] in here]


@lru_cache(maxsize=4096)
def _places_of_shards(
    sharding: shardings.Sharding, shape: Shape
) -> list[tuple[Any, shardings.Index, int]]:
    """Device, index, and number among equal parts, for each part of an array."""
    seen: dict[Any, int] = {}
    found = []
    for device, index in sharding.devices_indices_map(shape).items():
        key = tuple([(each.start, each.stop) for each in index])
        seen[key] = seen.get(key, -1) + 1
        found.append((device, index, seen[key]))
    return found


def from_numpy(x: np.ndarray[Any, Any], weak_type: bool) -> Array:
    """An Array of these numbers; called by unpickling."""
    aval = ShapedArray(x.shape, x.dtype, weak_type)
    return Array(new_buffer(x, aval), aval)


def _keys_from_numpy(x: np.ndarray[Any, Any], implementation: number_types.PRNGImpl) -> Array:
    """Restore pickled keys; the device stores a key as one number."""
    aval = ShapedArray(x.shape, implementation.dtype)
    return Array(new_buffer(x, aval), aval)


def in_own_memory(x: Any) -> Any:
    """A copy of a concrete Array, which survives a donation of `x`; a tracer itself."""
    return x.copy() if isinstance(x, Array) and is_evaluating() else x


def array(x: Any, dtype: Any = None) -> Any:
    """Copy numbers to the default device; `stage3.array`, for this library's Arrays."""
    if isinstance(x, list | tuple):
        x = _numbers_in(x, dtype)
    if dtype is not None and type(x) is int:  # may not fit into a signed dtype
        x = np.asarray(x, dialect().dtype_of("array", dtype))
    out = to_library_array(stage3.array(x, dtype))
    if out is not x and Switch.used and type(out) is Array and not out.is_placed:
        place = _default_placement()
        if place is not None and not place.committed:
            return put_array(out, out.aval, place.sharding, committed=False)
    return out


def to_library_array(x: Any) -> Any:
    """`x` itself, or an Array that shares its memory if it is one of stage 3's."""
    return Array(x.buffer, x.aval) if type(x) is stage3.Array else x


def _numbers_in(nested: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Nested lists of numbers as numpy reads them."""
    found = np.asarray(nested)
    wanted = dialect().in_memory(
        found.dtype if dtype is None else number_types.parse_dtype("array", dtype)
    )
    if wanted is None or wanted == found.dtype or found.dtype.kind not in "biufc":
        return found
    if wanted.kind not in "iu" and found.dtype.kind != "c":
        return found
    try:
        return np.asarray(nested, wanted)  # rejects numbers that do not fit
    except (OverflowError, TypeError, ValueError) as error:
        raise type(error)(f"array: {error}; give a dtype that holds all the numbers") from None


# Conversion of numbers and numpy arrays to Arrays at the boundary of the library.


_NUMBERS = (*python_scalars, np.ndarray, np.generic)


def check_shape(caller: str, shape: Shape) -> None:
    """Raise an error if `shape` is not a tuple of sizes."""
    # XLA counts elements in signed 64 bits.
    if not all(
        (isinstance(size, int | np.integer) and 0 <= size < 2**63) or is_symbolic_dim(size)
        for size in shape
    ):
        raise TypeError(f"{caller}: a shape is a tuple of ints from 0 to 2**63 - 1, found {shape}")


def is_value(x: Any) -> bool:
    """Return True if `x` has a type: if it is an array, a number or a tracer."""
    try:
        typeof(x)
    except (TypeError, OverflowError):
        return False
    return True


def to_array(x: Any) -> Any:
    """A number or a numpy array as an Array; anything else is returned unchanged."""
    if not isinstance(x, _NUMBERS) or not is_value(x):
        return to_library_array(x)
    # Arrays of float0, which has no bits, stay numpy's, as in JAX.
    return x if getattr(x, "dtype", None) == float0 else array(x)


def tree_to_arrays(tree: Any) -> Any:
    """The tree with its numbers and numpy arrays converted to Arrays."""
    return stage2.tree_map(to_array, tree)


def type_of(x: Any) -> ShapedArray:
    """The type of a value, or of anything with a shape and a dtype."""
    try:
        return typeof(x)
    except TypeError:
        if aval := given_type(x):
            return aval
        raise


def given_type(x: Any) -> ShapedArray | None:
    """The type that `x` is, or None for a value: a type of this library, or a shape and a dtype."""
    if hasattr(x, "to_aval"):
        return x.to_aval()
    if isinstance(x, ShapedArray):
        return x
    if is_value(x) or not hasattr(x, "shape") or not hasattr(x, "dtype"):
        return None
    shape = tuple(x.shape)
    check_shape("a type", shape)
    weak_type = bool(getattr(x, "weak_type", False))
    return ShapedArray(shape, dialect().dtype_of("a type", x.dtype), weak_type)


def require_no_out(name: str, out: None) -> None:
    """Raise an error if numpy's argument `out` is used."""
    if out is not None:
        raise NotImplementedError(f"{name}: out must be None: an Array is never written to")


def converts_itself(x: Any) -> bool:
    """Return True if the class of `x` defines its own conversion to arrays."""
    return hasattr(type(x), "__jax_array__")


def with_own_conversions(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments with those that convert themselves converted, also in lists and tuples."""
    given = (*args, *kwargs.values()) if kwargs else args
    classes = [cls for x in given for cls in (map(type, x) if type(x) in _ROWS else (type(x),))]
    if not [cls for cls in classes if hasattr(cls, "__jax_array__")]:
        return args, kwargs
    return tuple(map(_own_conversion, args)), {
        name: _own_conversion(x) for name, x in kwargs.items()
    }


_ROWS = (list, tuple)


def _own_conversion(x: Any) -> Any:
    if type(x) in _ROWS:
        return type(x)(map(_own_conversion, x))
    return x.__jax_array__() if converts_itself(x) else x
