"""Layouts of arrays in memory, under the names of `jax.experimental.layout`."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Layout:
    """The order of an array's axes in memory.

    Attributes:
        major_to_minor: the axes, from that of the largest strides to that of the smallest.
        tiling: the sizes of tiles, if elements lie in tiles.
        sub_byte_element_size_in_bits: the size of elements that share bytes, else 0.
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0


@dataclass(frozen=True)
class Format:
    """A layout and a sharding: where the elements of an array are.

    Attributes:
        layout: a `Layout`; None leaves it to XLA.
        sharding: a `Sharding`; None leaves it to XLA.
    """

    layout: Any = None
    sharding: Any = None


__all__ = ["Format", "Layout"]
