"""Devices of this process and of others, and reading arrays from them."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from minijax import xla
from minijax.errors.argument_errors import require_fit
from minijax.errors.tracebacks import hiding_frames
from minijax.pytrees.fast_flatten import fast_flatten
from minijax.runtime.array import Array
from minijax.runtime.places import default_device_option
from minijax.runtime.tokens import Token
from minijax.settings.config import Option, config
from minijax.settings.key_types import is_key_type
from minijax.settings.reusable_contexts import reusable_context
from minijax.xla.client_options import set_client_option
from minijax_stage2 import tree_leaves, tree_map

Tree = TypeVar("Tree")


class _ClientOption(Option):
    """A setting of XLA's client, of which there is one per process."""

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
        "The number of devices that the CPU is divided into; -1: one, or what XLA_FLAGS says.",
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
        backend: the platform, "cpu", "gpu", or "cuda"; by default that of `default_backend`.

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
    """The devices of this process, or of the one with the given number.

    Arguments:
        process_index: the number of a process; by default this one's.
        backend: the platform, "cpu" or "gpu"; by default that of `default_backend`.
        host_id: the older name of `process_index`.

    Raises:
        ValueError: there is no such process.
        PlatformError: there are no devices of that platform.

    >>> minijax.local_devices() == [d for d in minijax.devices() if d.process_index == 0]
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


@reusable_context
def default_device(new_val: Device | str | None) -> Iterator[None]:
    """Set `config.default_device` for the block of a `with`, in this thread only.

    Programs whose arguments do not say where they run, because nobody put them there on purpose,
    run on that device, and so do their results lie there.

    Arguments:
        new_val: one of `devices()`, a platform, or None, which means the first device.

    Raises:
        PlatformError: there are no devices of that platform.
        ValueError: it is anything else.

    >>> import minijax.numpy as jnp
    >>> with default_device(devices("cpu")[0]):
    ...     print(jnp.zeros(2).device)
    cpu:0
    """
    with default_device_option.override(new_val):
        yield


@hiding_frames
def live_arrays(platform: str | None = None) -> list[Array]:
    """All live Arrays: not deleted, and still referenced in this process.

    Arguments:
        platform: the platform of their devices; by default that of `default_backend`.

    Raises:
        PlatformError: there are no devices of that platform.

    >>> import minijax.numpy as jnp
    >>> x = jnp.zeros(2)
    >>> any(array is x for array in live_arrays())
    True
    """
    theirs = {device.platform for device in devices(platform)}
    found = [x for x in gc.get_objects() if issubclass(type(x), Array)]
    return [x for x in found if not x.is_deleted() and x.platform() in theirs]


@hiding_frames
def device_count(backend: str | None = None) -> int:
    """The number of devices of all processes.

    Arguments:
        backend: the platform of the devices, "cpu" or "gpu"; by default that of
            `default_backend`.

    Raises:
        PlatformError: there are no devices of that platform.

    >>> examples = 12
    >>> examples // minijax.device_count()
    12
    """
    return len(devices(backend))


@hiding_frames
def local_device_count(backend: str | None = None) -> int:
    """The number of devices of this process.

    Arguments:
        backend: the platform of the devices, "cpu" or "gpu"; by default that of
            `default_backend`.

    Raises:
        PlatformError: there are no devices of that platform.

    >>> minijax.device_count() // minijax.local_device_count() == minijax.process_count()
    True
    """
    return len(local_devices(backend=backend))


@hiding_frames
def default_backend() -> str:
    """The platform of the default device: "gpu" where there is one, and else "cpu".

    >>> dtype = jnp.float32 if minijax.default_backend() == "cpu" else jnp.bfloat16
    """
    return xla.platform()


@hiding_frames
def process_index(backend: str | None = None) -> int:
    """The index of this process among those that compute together.

    Arguments:
        backend: the platform of its devices, "cpu" or "gpu".

    Raises:
        PlatformError: there are no devices of that platform.

    >>> if minijax.process_index() == 0:
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

    >>> every_nth = range(100)[minijax.process_index() :: minijax.process_count()]
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

    >>> minijax.process_indices()
    [0]
    """
    return sorted({device.process_index for device in devices(backend)})


def _renamed(now: Callable[..., Any], name: str) -> None:
    warnings.warn(f"{name} is now called {now.__name__}", UserWarning, stacklevel=3)


def host_id(backend: str | None = None) -> int:
    """`process_index` by its old name, with a warning.

    Raises:
        PlatformError: there are no devices of that platform.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     minijax.host_id()
    0
    """
    _renamed(process_index, "host_id")
    return process_index(backend)


def host_count(backend: str | None = None) -> int:
    """`process_count` by its old name, with a warning.

    Raises:
        PlatformError: there are no devices of that platform.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     minijax.host_count()
    1
    """
    _renamed(process_count, "host_count")
    return process_count(backend)


def host_ids(backend: str | None = None) -> list[int]:
    """`process_indices` by its old name, with a warning.

    Raises:
        PlatformError: there are no devices of that platform.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     minijax.host_ids()
    [0]
    """
    _renamed(process_indices, "host_ids")
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
    are not arrays are returned unchanged, and so are keys and tokens, which numpy has no place for.

    Arguments:
        x: a pytree.

    Returns:
        A pytree of the same structure.

    Raises:
        TracerArrayConversionError: a leaf is a tracer.

    >>> import minijax.numpy as jnp
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
    >>> y = minijax.block_until_ready(jnp.ones((100, 100)) @ jnp.ones((100, 100)))
    >>> seconds = time.perf_counter() - start
    """
    leaves, _ = fast_flatten(x)
    held = [leaf for leaf in leaves if type(leaf) in (Array, Token)]
    xla.block_all([leaf.held if type(leaf) is Token else leaf.buffer for leaf in held])
    return x
