"""The clients of XLA, under the names of `jax.extend.backend`."""

from collections.abc import Mapping
from typing import Any

from minijax.checks import clear_caches as clear_in_memory_compilation_cache
from minijax.runtime.devices import devices
from minijax.xla.clients import client, compile_options, default_device


def get_backend(platform: str | None = None) -> Any:
    """jaxlib's client of a platform.

    Arguments:
        platform: its name, "cpu" or "gpu"; None: the platform of the default device.

    Raises:
        RuntimeError: there is no such platform here.
    """
    return client() if platform is None else devices(platform)[0].client


def backends() -> dict[str, Any]:
    """The clients that are open, by platform."""
    return {device.client.platform: device.client for device in devices()}


def backend_xla_version(platform: str | None = None) -> int | None:
    """XLA's version, as a number, if the platform says it."""
    version = getattr(get_backend(platform), "xla_version", None)
    return None if version is None else int(version)


def get_default_device() -> Any:
    """The device that holds new arrays."""
    return default_device()


def get_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: Any = None,
    env_options_overrides: Mapping[str, Any] | None = None,
    fdo_profile: bytes | None = None,
    detailed_logging: bool = True,
    backend: Any = None,
) -> Any:
    """jaxlib's options of a compilation, for its clients.

    Arguments:
        num_replicas: the number of copies of the program that run.
        num_partitions: the number of devices that each is sharded over.
        device_assignment: devices, or their numbers, of shape `(num_replicas, num_partitions)`, or
            `(num_replicas,)` if programs are not sharded.
        env_options_overrides: options of XLA by name.
        fdo_profile: a profile that guides optimization.
        detailed_logging, backend: ignored.

    Raises:
        ValueError: `device_assignment` has another shape.

    >>> from minijax.extend.backend import get_compile_options
    >>> get_compile_options(1, 2, [minijax.devices()[:1] * 2]).num_partitions
    2
    """
    return compile_options(
        num_replicas, num_partitions, device_assignment, env_options_overrides, fdo_profile
    )


__all__ = [
    "backend_xla_version", "backends", "clear_in_memory_compilation_cache", "get_backend",
    "get_compile_options", "get_default_device",
]  # fmt: skip
