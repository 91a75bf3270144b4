"""Kinds of memory (`jax.memory`)."""

from enum import Enum


class Space(Enum):
    """A memory of a device: its own, or its host's.

    >>> x = glassjax.device_put(jnp.ones(2), Space.Host)
    >>> x.sharding.memory_kind, glassjax.typeof(x)
    ('pinned_host', ShapedArray(float32<host>[2]))
    """

    Device = 1
    Host = 2
    Any = 3

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"

    __str__ = __repr__


__all__ = ["Space"]
