"""Guards: errors, or lines in the log, where arrays are moved that were not to be moved.

jaxlib has them. Others are of arrays that are freed late, and of threads.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from minijax import xla
from minijax.settings.config import Option, config
from minijax.settings.reusable_contexts import reusable_context

# None: as nothing else says, and that is "allow".
_LEVELS = (None, "allow", "log", "disallow", "log_explicit", "disallow_explicit")


class Guard(Option):
    """A setting of jaxlib, which looks at it where it moves or frees an array."""

    def update(self, value: str | None) -> None:
        """Change the setting for all threads, except in blocks that override it."""
        super().update(value)
        xla.set_guard(self._of_jaxlib, value, everywhere=True)

    @contextmanager
    def override(self, value: str | None) -> Iterator[None]:
        """Change the setting for the block of a `with`, in this thread only."""
        with super().override(value):
            outside = xla.set_guard(self._of_jaxlib, value, everywhere=False)
            try:
                yield
            finally:
                xla.restore_guard(self._of_jaxlib, outside)

    @property
    def _of_jaxlib(self) -> str:
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


@reusable_context
def transfer_guard(new_val: str) -> Iterator[None]:
    """Set the guards of all transfers for the block of a `with`, in this thread only.

    Numbers of Python are parts of programs here, and none of them is moved.

    Arguments:
        new_val: "allow"; "log" or "disallow", for transfers that `device_put` does not ask for;
            "log_explicit" or "disallow_explicit", for all. On a CPU nothing is moved to the host.

    Raises:
        ValueError: `new_val` is something else.

    >>> x = np.arange(3.0)
    >>> with minijax.transfer_guard("disallow"):
    ...     y = minijax.device_put(x)  # asks for it
    ...     try:
    ...         y + x
    ...     except RuntimeError as error:
    ...         print(str(error).partition(": aval")[0])
    INVALID_ARGUMENT: Disallowed host-to-device transfer
    """
    with _all_transfers.override(new_val):
        yield


@reusable_context
def transfer_guard_host_to_device(new_val: str) -> Iterator[None]:
    """As `transfer_guard`, for transfers from the host to a device.

    >>> with minijax.transfer_guard_host_to_device("disallow"):
    ...     minijax.device_put(np.ones(2))
    Array([1., 1.], dtype=float32)
    """
    with _to_device.override(new_val):
        yield


@reusable_context
def transfer_guard_device_to_device(new_val: str) -> Iterator[None]:
    """As `transfer_guard`, for transfers from one device to another.

    >>> x = jnp.ones(2)
    >>> with minijax.transfer_guard_device_to_device("disallow_explicit"):
    ...     minijax.device_put(x, minijax.devices()[0])  # where it is
    Array([1., 1.], dtype=float32)
    """
    with _between_devices.override(new_val):
        yield


@reusable_context
def transfer_guard_device_to_host(new_val: str) -> Iterator[None]:
    """As `transfer_guard`, for transfers from a device to the host.

    >>> x = jnp.ones(2)
    >>> with minijax.transfer_guard_device_to_host("disallow"):
    ...     x.sum().item()  # whose memory is the host's, on a CPU
    2.0
    """
    with _to_host.override(new_val):
        yield


@reusable_context
def array_garbage_collection_guard(new_val: str) -> Iterator[None]:
    """Say for the block of a `with` what happens if an array is part of a cycle of references.

    Its memory is only freed by Python's garbage collector then, late.

    Arguments:
        new_val: "allow"; "log", which writes to stderr; or "fatal", which ends the process.

    Raises:
        ValueError: `new_val` is something else.

    >>> with minijax.array_garbage_collection_guard("log"):
    ...     x = jnp.ones(2)
    ...     del x  # freed at once, for nothing else refers to it
    """
    with _garbage.override(new_val):
        yield


@reusable_context
def thread_guard(new_val: bool = True) -> Iterator[None]:
    """Let only this thread run programs of several processes, for the block of a `with`.

    Threads that run them in another order in another process would wait for each other forever.

    Raises:
        TypeError: `new_val` is not a bool.

    >>> with minijax.thread_guard():
    ...     jnp.ones(2) + 1
    Array([2., 2.], dtype=float32)
    """
    with _threads.override(new_val):
        yield
