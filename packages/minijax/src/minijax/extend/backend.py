"""The clients of XLA, under the names of `jax.extend.backend`."""

from typing import Any

from minijax.checks.clear_caches import clear_caches as clear_in_memory_compilation_cache
from minijax.runtime.devices import devices
from minijax.xla.client import client, default_device


def get_backend(platform: str | None = None) -> Any:
    """jaxlib's client of a platform.

    Arguments:
        platform: its name, "cpu" or "gpu"; by default that of the default device.

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


__all__ = [
    "backend_xla_version", "backends", "clear_in_memory_compilation_cache", "get_backend",
    "get_default_device",
]  # fmt: skip
