"""Devices of this process and of others; guards of transfers between them."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from glassjax import xla
from glassjax.errors.arguments import require_fit
from glassjax.errors.tracebacks import hiding_frames
from glassjax.runtime.array import Array
from glassjax.runtime.effects import Token
from glassjax.runtime.places import default_device_option
from glassjax.settings.config import Option, ReusableContext, config
from glassjax.settings.number_types import is_key_type
from glassjax.xla.clients import set_client_option
from glassjax.xla.trees import fast_flatten
from glassjax_stage2 import tree_leaves, tree_map

# Devices of this process and of others.


Tree = TypeVar("Tree")


class _ClientOption(Option):
    """A setting of XLA's client, which each process has once."""

    def __init__(self, name: str, kind: type, default: Any, doc: str, argument: str):
        super().__init__(name, kind, default, f"{doc} To be chosen before the first array is made.")
        self.argument = argument
        if self.value != default:
            set_client_option(argument, self.value)

    def update(self, value: Any) -> None:
        value = self._checked(value)
        set_client_option(self.argument, None if value == -1 else value)
        super().update(value)

    @contextmanager
    def override(self, value: Any) -> Iterator[None]:
        if self._checked(value) != self.value:
            raise RuntimeError(
                f"config: {self.name} holds for the whole process; use config.update before the "
                "first array is made"
            )
        yield


class _NumberOfDevices(_ClientOption):
    """A number of devices, or -1, which leaves it to XLA_FLAGS."""

    def _checked(self, value: Any) -> Any:
        value = super()._checked(value)
        if value != -1 and value < 1:
            raise ValueError(f"config: {self.name} is at least 1, or -1, found {value}")
        return value


for _option in (
    _ClientOption(
        "cpu_enable_async_dispatch",
        bool,
        False,
        "Whether Python runs ahead of the CPU.",
        argument="asynchronous",
    ),
    _NumberOfDevices(
        "num_cpu_devices",
        int,
        -1,
        "The number of virtual devices of the CPU; -1: one, or the number in XLA_FLAGS.",
        argument="num_devices",
    ),
):
    config.options[_option.name] = _option

Device = Any  # as jaxlib has it: with `id`, `platform`, `device_kind`, `process_index`


@hiding_frames
def devices(backend: str | None = None) -> list[Device]:
    """All devices of a platform.

    On a GPU, `device.memory_stats()` says how much of its memory is in use.

    Arguments:
        backend: the platform, "cpu", "gpu", or "cuda"; None: `default_backend()`.

    Raises:
        PlatformError: there are no devices of that platform; the message says what was looked for.

    >>> devices("cpu")[0].platform
    'cpu'
    """
    return xla.devices(backend)


@hiding_frames
def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices of this process, or of another one.

    Arguments:
        process_index: the number of a process; by default this one's.
        backend: the platform, "cpu" or "gpu"; None: `default_backend()`.
        host_id: the older name of `process_index`.

    Raises:
        ValueError: there is no such process.
        PlatformError: there are no devices of that platform.

    >>> glassjax.local_devices() == [d for d in glassjax.devices() if d.process_index == 0]
    True
    """
    if host_id is not None:
        process_index = host_id
    require_fit("local_devices", "process_index", process_index, int | None)
    if process_index is None:
        process_index = xla.process_index()
    found = [device for device in devices(backend) if device.process_index == process_index]
    if not found:
        raise ValueError(
            f"local_devices: process_index must be one of {process_indices(backend)}, found "
            f"{process_index!r}"
        )
    return found


def default_device(new_val: Device | str | None) -> ReusableContext:
    """Set `config.default_device` for the block of a `with`, in this thread only.

    Programs whose arguments are all uncommitted run on that device, and their results are there.

    Arguments:
        new_val: one of `devices()`, a platform, or None, which means the first device.

    Raises:
        PlatformError: there are no devices of that platform.
        ValueError: it is anything else.

    >>> import glassjax.numpy as jnp
    >>> with default_device(devices("cpu")[0]):
    ...     print(jnp.zeros(2).device)
    cpu:0
    """
    return default_device_option.for_block(new_val)


@hiding_frames
def live_arrays(platform: str | None = None) -> list[Array]:
    """All live Arrays: not deleted, and still referenced in this process.

    Arguments:
        platform: the platform of their devices; None: `default_backend()`.

    Raises:
        PlatformError: there are no devices of that platform.

    >>> import glassjax.numpy as jnp
    >>> x = jnp.zeros(2)
    >>> any(array is x for array in live_arrays())
    True
    """
    theirs = {device.platform for device in devices(platform)}
    # Not `isinstance`: it is true for tracers (`_ArrayType`), which have no memory.
    found = [x for x in gc.get_objects() if issubclass(type(x), Array)]
    return [x for x in found if not x.is_deleted() and x.platform() in theirs]


@hiding_frames
def device_count(backend: str | None = None) -> int:
    """The number of devices of all processes.

    Arguments:
        backend: the platform of the devices, "cpu" or "gpu"; by default `default_backend()`.

    Raises:
        PlatformError: there are no devices of that platform.

    >>> examples = 12
    >>> examples // glassjax.device_count()
    12
    """
    return len(devices(backend))


@hiding_frames
def local_device_count(backend: str | None = None) -> int:
    """The number of devices of this process.

    Arguments:
        backend: the platform of the devices, "cpu" or "gpu"; by default `default_backend()`.

    Raises:
        PlatformError: there are no devices of that platform.

    >>> glassjax.device_count() // glassjax.local_device_count() == glassjax.process_count()
    True
    """
    return len(local_devices(backend=backend))


@hiding_frames
def default_backend() -> str:
    """The platform of the default device: "gpu" if there is one, else "cpu".

    >>> dtype = jnp.float32 if glassjax.default_backend() == "cpu" else jnp.bfloat16
    """
    return xla.platform()


@hiding_frames
def process_index(backend: str | None = None) -> int:
    """The index of this process among those that compute together.

    Arguments:
        backend: the platform of its devices, "cpu" or "gpu".

    Raises:
        PlatformError: there are no devices of that platform.

    >>> if glassjax.process_index() == 0:
    ...     print("said once, however many processes compute")
    said once, however many processes compute
    """
    devices(backend)
    return xla.process_index()


@hiding_frames
def process_count(backend: str | None = None) -> int:
    """The number of processes that compute together: 1, unless `distributed.initialize` was called.

    Arguments:
        backend: the platform of their devices, "cpu" or "gpu".

    Raises:
        PlatformError: there are no devices of that platform.

    >>> every_nth = range(100)[glassjax.process_index() :: glassjax.process_count()]
    >>> len(every_nth)
    100
    """
    return len(process_indices(backend))


@hiding_frames
def process_indices(backend: str | None = None) -> list[int]:
    """The indices of all processes that compute together, in order.

    Arguments:
        backend: the platform of their devices, "cpu" or "gpu".

    Raises:
        PlatformError: there are no devices of that platform.

    >>> glassjax.process_indices()
    [0]
    """
    return sorted({device.process_index for device in devices(backend)})


def _deprecated_name(now: Callable[..., Any], name: str) -> None:
    warnings.warn(f"{name} is now called {now.__name__}", UserWarning, stacklevel=3)


def host_id(backend: str | None = None) -> int:
    """`process_index` by its old name, with a warning.

    Raises:
        PlatformError: there are no devices of that platform.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     glassjax.host_id()
    0
    """
    _deprecated_name(process_index, "host_id")
    return process_index(backend)


def host_count(backend: str | None = None) -> int:
    """`process_count` by its old name, with a warning.

    Raises:
        PlatformError: there are no devices of that platform.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     glassjax.host_count()
    1
    """
    _deprecated_name(process_count, "host_count")
    return process_count(backend)


def host_ids(backend: str | None = None) -> list[int]:
    """`process_indices` by its old name, with a warning.

    Raises:
        PlatformError: there are no devices of that platform.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     glassjax.host_ids()
    [0]
    """
    _deprecated_name(process_indices, "host_ids")
    return process_indices(backend)


def copy_to_host_async(x: Any) -> Any:
    """Start copies of the arrays of a pytree to the host, and return the pytree.

    Leaves without a method `copy_to_host_async` are left alone.

    >>> copy_to_host_async({"loss": jnp.ones(2), "step": 3})
    {'loss': Array([1., 1.], dtype=float32), 'step': 3}
    """
    for leaf in tree_leaves(x):
        copy = getattr(leaf, "copy_to_host_async", None)
        if copy is not None:
            copy()
    return x


def device_get(x: Any) -> Any:
    """Fetch the numbers of all Arrays of a pytree, as numpy arrays.

    They are read-only views if the device shares its memory with numpy, as a CPU does. Leaves that
    are not arrays are returned unchanged, and so are keys and tokens, which numpy cannot represent.

    Arguments:
        x: a pytree.

    Returns:
        A pytree of the same structure.

    Raises:
        TracerArrayConversionError: a leaf is a tracer.

    >>> import glassjax.numpy as jnp
    >>> device_get({"a": jnp.array([True, False]), "b": "text"})
    {'a': array([ True, False]), 'b': 'text'}
    """

    def fetched(leaf: Any) -> Any:
        if isinstance(leaf, Token) or (isinstance(leaf, Array) and is_key_type(leaf.dtype)):
            return leaf
        return leaf.__array__() if hasattr(leaf, "__array__") else leaf

    return tree_map(fetched, x)


def block_until_ready(x: Tree) -> Tree:
    """Wait until all Arrays in the pytree `x` are computed, and return it.

    Python may run ahead of the device, so wait before you measure time. Leaves that are not Arrays
    are returned unchanged.

    >>> import time
    >>> start = time.perf_counter()
    >>> y = glassjax.block_until_ready(jnp.ones((100, 100)) @ jnp.ones((100, 100)))
    >>> seconds = time.perf_counter() - start
    """
    leaves, _ = fast_flatten(x)
    held = [leaf for leaf in leaves if type(leaf) in (Array, Token)]
    xla.block_all([leaf.held if type(leaf) is Token else leaf.buffer for leaf in held])
    return x


# Guards, implemented by jaxlib: errors or log messages for implicit transfers of arrays, for
# arrays that are freed late, and for threads that run programs of several processes.


# None: the default, which is "allow".
_LEVELS = (None, "allow", "log", "disallow", "log_explicit", "disallow_explicit")


class Guard(Option):
    """A setting that jaxlib reads when it moves or frees an array."""

    def update(self, value: str | None) -> None:
        """Change the setting for all threads, except in blocks that override it."""
        super().update(value)
        xla.set_guard(self._jaxlib_name, value, everywhere=True)

    @contextmanager
    def override(self, value: str | None) -> Iterator[None]:
        """Change the setting for the block of a `with`, in this thread only."""
        with super().override(value):
            outside = xla.set_guard(self._jaxlib_name, value, everywhere=False)
            try:
                yield
            finally:
                xla.restore_guard(self._jaxlib_name, outside)

    @property
    def _jaxlib_name(self) -> str:
        is_of_garbage = self.name.startswith("array_garbage")
        return "garbage_collect_array" if is_of_garbage else self.name[len("transfer_guard_") :]


class _AllTransfers(Option):
    """The setting that sets the guards of all transfers."""

    def update(self, value: str | None) -> None:
        """Change all of them for all threads, except in blocks that override them."""
        super().update(value)
        for each in _TRANSFERS:
            each.update(value)

    @contextmanager
    def override(self, value: str | None) -> Iterator[None]:
        """Change all of them for the block of a `with`, in this thread only."""
        with super().override(value), ExitStack() as stack:
            for each in _TRANSFERS:
                stack.enter_context(each.override(value))
            yield


class _ThreadGuard(Option):
    """The setting that keeps programs of several processes in one thread."""

    def update(self, value: bool) -> None:
        """Change the setting; this thread is the one."""
        super().update(value)
        xla.guard_threads(value)

    @contextmanager
    def override(self, value: bool) -> Iterator[None]:
        """Change the setting for the block of a `with`; this thread is the one."""
        outside = self.value
        with super().override(value):
            xla.guard_threads(value)
            try:
                yield
            finally:
                xla.guard_threads(outside)


def _transfer_guard(name: str, described: str) -> Option:
    doc = f"Whether arrays may be moved {described}: an error, a line in the log, or neither."
    return config.declare(f"transfer_guard_{name}", _LEVELS, None, doc, Guard)


_TRANSFERS = [
    _transfer_guard("host_to_device", "from the host to a device"),
    _transfer_guard("device_to_device", "from one device to another"),
    _transfer_guard("device_to_host", "from a device to the host"),
]
_to_device, _between_devices, _to_host = _TRANSFERS
_all_transfers = config.declare(
    "transfer_guard",
    _LEVELS,
    None,
    "The guards of all transfers between host and devices at once.",
    _AllTransfers,
)
_garbage = config.declare(
    "array_garbage_collection_guard",
    (None, "allow", "log", "fatal"),
    None,
    "What happens if an array is only freed by Python's garbage collector: its memory is late.",
    Guard,
)
_threads = config.declare(
    "thread_guard",
    bool,
    False,
    "Whether only the thread that sets it may run programs of several processes.",
    _ThreadGuard,
)


def transfer_guard(new_val: str) -> ReusableContext:
    """Set the guards of all transfers for the block of a `with`, in this thread only.

    Python numbers are part of a program and are not moved.

    Arguments:
        new_val: "allow"; "log" or "disallow", for transfers without `device_put` or `device_get`;
            "log_explicit" or "disallow_explicit", for all. On a CPU nothing is moved to the host.

    Raises:
        ValueError: `new_val` is something else.

    >>> x = np.arange(3.0)
    >>> with glassjax.transfer_guard("disallow"):
    ...     y = glassjax.device_put(x)  # asks for it
    ...     try:
    ...         y + x
    ...     except RuntimeError as error:
    ...         print(str(error).partition(": aval")[0])
    INVALID_ARGUMENT: Disallowed host-to-device transfer
    """
    return _all_transfers.for_block(new_val)


def transfer_guard_host_to_device(new_val: str) -> ReusableContext:
    """As `transfer_guard`, for transfers from the host to a device.

    >>> with glassjax.transfer_guard_host_to_device("disallow"):
    ...     glassjax.device_put(np.ones(2))
    Array([1., 1.], dtype=float32)
    """
    return _to_device.for_block(new_val)


def transfer_guard_device_to_device(new_val: str) -> ReusableContext:
    """As `transfer_guard`, for transfers from one device to another.

    >>> x = jnp.ones(2)
    >>> with glassjax.transfer_guard_device_to_device("disallow_explicit"):
    ...     glassjax.device_put(x, glassjax.devices()[0])  # where it is
    Array([1., 1.], dtype=float32)
    """
    return _between_devices.for_block(new_val)


def transfer_guard_device_to_host(new_val: str) -> ReusableContext:
    """As `transfer_guard`, for transfers from a device to the host.

    >>> x = jnp.ones(2)
    >>> with glassjax.transfer_guard_device_to_host("disallow"):
    ...     x.sum().item()  # whose memory is the host's, on a CPU
    2.0
    """
    return _to_host.for_block(new_val)


def array_garbage_collection_guard(new_val: str) -> ReusableContext:
    """Set the guard of arrays in reference cycles for the block of a `with`.

    Only Python's garbage collector frees their memory, which may be late.

    Arguments:
        new_val: "allow"; "log", which writes to stderr; or "fatal", which ends the process.

    Raises:
        ValueError: `new_val` is something else.

    >>> with glassjax.array_garbage_collection_guard("log"):
    ...     x = jnp.ones(2)
    ...     del x  # freed at once, for nothing else refers to it
    """
    return _garbage.for_block(new_val)


def thread_guard(new_val: bool = True) -> ReusableContext:
    """Let only this thread run programs of several processes, for the block of a `with`.

    If processes ran them in different orders, in several threads, they would wait forever.

    Raises:
        TypeError: `new_val` is not a bool.

    >>> with glassjax.thread_guard():
    ...     jnp.ones(2) + 1
    Array([2., 2.], dtype=float32)
    """
    return _threads.for_block(new_val)
