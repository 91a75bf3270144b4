"""The client of XLA: its kind, devices and registries."""

import os
from collections.abc import Sequence
from functools import cache
from typing import Any

from minijax.xla.importing import import_module
from minijax_stage3.backend import Client, Device, get_backend


def jaxlib_version() -> str:
    return str(import_module("jaxlib.version").__version__)


def module_of_clients() -> Any:
    """`jaxlib.xla_client`, for programs that ask for it."""
    return import_module("jaxlib.xla_client")


def client() -> Client:
    return get_backend().client


def platform_of(devices: Sequence[Device] = ()) -> str:
    """The platform of the devices of a program, "cpu" or "cuda"; by default of the default device.

    The devices of "cuda" and of "rocm" call themselves "gpu".
    """
    client = devices[0].client if devices else get_backend().client
    return str(getattr(client, "_raw_platform", client.platform))


def local_devices() -> list[Device]:
    """The devices of this process."""
    return list(get_backend().client.local_devices())


def default_device() -> Device:
    return get_backend().device


def device_class() -> type:
    """The class of all devices, available without making a client."""
    return import_module("jaxlib._jax").Device


def client_class() -> type:
    """The class of all clients, available without making one."""
    return import_module("jaxlib._jax").Client


def pytree_registry() -> Any:
    """A new registry of pytree nodes in C++, with None, tuples, lists, and dicts."""
    return pytree_registry_of("none", "tuple", "namedtuple", "list", "dict")


def pytree_registry_of(*kinds: str) -> Any:
    """A new registry of pytree nodes in C++, with these kinds."""
    make = import_module("jaxlib._jax").pytree.PyTreeRegistry
    every = ("none", "tuple", "namedtuple", "list", "dict")
    return make(**{f"enable_{kind}": kind in kinds for kind in every})


def fingerprint(devices: Sequence[Device] = ()) -> tuple[str, ...]:
    """Return jaxlib's description of itself and of devices, as it affects compiled programs.

    If no devices are given, it is the default device.
    """
    devices = list(devices) or [get_backend().device]
    topology = get_backend().jaxlib.get_topology_for_devices(devices)
    version = str(devices[0].client.platform_version)
    return (jaxlib_version(), version, str(topology.fingerprint()))


@cache
def xla_flags() -> str:
    """Return the value of the environment variable XLA_FLAGS, which XLA reads only once."""
    return os.environ.get("XLA_FLAGS", "")


def process_index() -> int:
    """Return the number of this process among those that compute together."""
    return int(get_backend().client.process_index())


def supports_processes() -> bool:
    """Return True if this jaxlib can read arrays that are divided among processes."""
    return hasattr(import_module("jaxlib._jax").ArrayImpl, "_to_np_array_did_copy")
