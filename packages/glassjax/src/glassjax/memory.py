"""Kinds of memory (`jax.memory`)."""

from enum import Enum


class Space(Enum):
    """A memory of a device: its own, or its host's.

    Arrays here are in the memory of their device, `Space.Device`. To keep one in the memory of the
    host, put it on a CPU.

    >>> glassjax.memory.Space.Device.name
    'Device'
    """

    Device = 1
    Host = 2
    Any = 3

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"

    __str__ = __repr__


__all__ = ["Space"]
