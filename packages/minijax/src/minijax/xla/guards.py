"""jaxlib's guards: errors, or lines in the log, where it moves arrays that were not to be moved."""

from collections.abc import Iterator, Set
from contextlib import contextmanager
from typing import Any

from minijax.xla.importing import import_module
from minijax_stage3.backend import Device
from minijax_stage3.errors import ExecutionError


def _guards() -> Any:
    return import_module("jaxlib._jax").guard_lib


def set_guard(name: str, level: str | None, everywhere: bool) -> Any:
    """Set a guard of this thread, or of all, and return what it was.

    Arguments:
        name: "host_to_device", "device_to_host", "device_to_device" or "garbage_collect_array".
        level: "allow", "log", "disallow", "log_explicit" or "disallow_explicit"; for garbage
            collection "allow", "log" or "fatal". None: as others say.
        everywhere: whether it holds for all threads that have no guard of their own.
    """
    guards = _guards()
    is_of_garbage = name == "garbage_collect_array"
    levels = guards.GarbageCollectionGuardLevel if is_of_garbage else guards.TransferGuardLevel
    state = guards.global_state() if everywhere else guards.thread_local_state()
    outside = getattr(state, name)
    setattr(state, name, None if level is None else getattr(levels, level.upper()))
    return outside


def restore_guard(name: str, outside: Any) -> None:
    """Give a guard of this thread the value that `set_guard` returned."""
    setattr(_guards().thread_local_state(), name, outside)


def guard_threads(is_on: bool) -> None:
    """Make it an error if another thread than this one runs a program of several processes."""
    _guards().update_thread_guard_global_state(is_on)


@contextmanager
def explicit_transfers(kind: str = "explicit_device_put") -> Iterator[None]:
    """A context in which the user asked for what is moved to devices, or from them."""
    state = _guards().thread_local_state()
    outside = getattr(state, kind)
    setattr(state, kind, True)
    try:
        yield
    finally:
        setattr(state, kind, outside)


@contextmanager
def moving_between_devices(what: object, sources: Set[Device], to: Set[Device]) -> Iterator[None]:
    """A context that moves an array to other devices by way of the host, or divides it anew.

    Raises:
        ExecutionError: a guard of this thread, or of all, disallows it.
    """
    guards = _guards()
    state, levels = guards.thread_local_state(), guards.TransferGuardLevel
    level = state.device_to_device or guards.global_state().device_to_device
    disallowed = [levels.DISALLOW_EXPLICIT]
    if not state.explicit_device_put:
        disallowed.append(levels.DISALLOW)
    if level in disallowed and sources != to:
        found, wanted = sorted(map(str, sources)), sorted(map(str, to))
        raise ExecutionError(
            f"Disallowed device-to-device transfer: {what} from {', '.join(found)} to "
            f"{', '.join(wanted)}; transfer_guard or transfer_guard_device_to_device forbids it "
            "here. Ask for it by device_put, where they allow that"
        )
    outside = set_guard("host_to_device", "allow", everywhere=False)
    try:
        yield
    finally:
        restore_guard("host_to_device", outside)
