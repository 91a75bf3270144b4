"""The client of XLA and its devices, made when they are first needed: tracing costs no XLA."""

import ctypes
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from minijax_stage3.backend.importing import import_module

Client: TypeAlias = Any
Device: TypeAlias = Any
Buffer: TypeAlias = Any  # an array on a device, as jaxlib holds it; used through this module only
Options: TypeAlias = Mapping[str, bool | int | float | str]  # XLA flags and their values


class Aval(Protocol):
    """A type as jaxlib sees it: any object with these three attributes."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def weak_type(self) -> bool: ...


@dataclass(frozen=True)
class _Backend:
    """The client of jaxlib, and what else is made once per process."""

    jaxlib: Any
    client: Client
    device: Device
    device_list: Any
    sharding: Any
    xla_flags: str  # the environment's, as XLA read them

    def compile_options(self, options: Options) -> Any:
        compile_options = self.jaxlib.CompileOptions()
        compile_options.num_replicas = compile_options.num_partitions = 1
        compile_options.env_option_overrides = list(options.items())
        return compile_options

    def result_handler(self, aval: Aval) -> Any:
        make = self.jaxlib.array_result_handler
        try:  # jaxlib before 0.11 calls into jax to check the result, unless told to skip that
            return make(aval, self.sharding, True, True)
        except TypeError:
            return make(aval, self.sharding, True)


_backend: _Backend | None = None
_asynchronous = False
_opening = threading.Lock()
_forked = False


def _open(asynchronous: bool = False) -> _Backend:
    """Imports jaxlib and makes a client.

    A synchronous client executes in the calling thread, though large operations use all cores. In
    the queue of an asynchronous one, which lets Python run ahead, small ones take far longer.
    """
    xla_flags = os.environ.get("XLA_FLAGS", "")
    jaxlib: Any = import_module("jaxlib._jax")
    xla_client = import_module("jaxlib.xla_client")
    client = xla_client.make_cpu_client(asynchronous=asynchronous)
    device = client.local_devices()[0]
    device_list = xla_client.DeviceList((device,))
    whole = xla_client.HloSharding.replicate()

    class OnDevice(jaxlib.GSPMDSharding):  # type: ignore[misc]
        memory_kind = None
        device: Device

        def _to_xla_hlo_sharding(self, ndim: int) -> Any:
            return whole

    sharding = OnDevice(device_list, whole, memory_kind=None)
    sharding.device = device
    return _Backend(jaxlib, client, device, device_list, sharding, xla_flags)


def get_backend() -> _Backend:
    global _backend
    if _backend is None:
        with _opening:
            if _forked:
                raise RuntimeError(
                    "XLA was in use when this process was forked, and does not work in the child: "
                    'start processes by "spawn" or "forkserver", or fork before the first use'
                )
            if _backend is None:
                _backend = _open(_asynchronous)
    return _backend


def set_asynchronous(asynchronous: bool) -> None:
    """Chooses the kind of client, see `_open`. RuntimeError: there is one of the other kind."""
    global _asynchronous
    with _opening:
        if _backend is not None and _asynchronous != asynchronous:
            kind = "asynchronously" if _asynchronous else "synchronously"
            raise RuntimeError(f"computing has begun, {kind}; choose before the first array")
        _asynchronous = asynchronous


def _after_fork_in_child() -> None:
    """Drops the client: the threads of XLA are in the parent, and waiting for them hangs."""
    global _backend, _forked, _opening
    _opening = threading.Lock()  # another thread of the parent may hold the old one
    if _backend is not None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_backend.client))  # never to be torn down
        _backend, _forked = None, True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def jaxlib_version() -> str:
    return str(import_module("jaxlib.version").__version__)


def client() -> Client:
    return get_backend().client


def platform() -> str:
    return str(get_backend().client.platform)


def devices() -> list[Device]:
    return list(get_backend().client.local_devices())


def default_device() -> Device:
    return get_backend().device


def device_class() -> type:
    """The class of all devices, for which no client is made."""
    return import_module("jaxlib._jax").Device  # type: ignore[no-any-return]


def pytree_registry() -> Any:
    """A new registry of pytree nodes in C++, which knows None, tuples, lists, and dicts."""
    make = import_module("jaxlib._jax").pytree.PyTreeRegistry
    kinds = ("none", "tuple", "namedtuple", "list", "dict")
    return make(**{f"enable_{kind}": True for kind in kinds})


def fingerprint() -> tuple[str, ...]:
    """Return jaxlib's description of itself and its devices, as far as compiled programs depend on
    it.
    """
    backend = get_backend()
    topology = backend.jaxlib.get_topology_for_devices([backend.device])
    return (jaxlib_version(), str(backend.client.platform_version), str(topology.fingerprint()))


def xla_flags() -> str:
    """Return the environment variable XLA_FLAGS as it was when XLA read it."""
    return get_backend().xla_flags
