"""Layouts of arrays in memory. All that are here are row-major."""

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

    def sharding_by(self, caller: str, role: str) -> Any:
        """The sharding, if the layout is one that arrays have.

        Raises:
            ValueError: the layout is not row-major.
        """
        layout = self.layout
        if layout is not None:
            order = tuple(layout.major_to_minor)
            if order != tuple(range(len(order))) or layout.tiling:
                raise ValueError(
                    f"{caller}: {role} has the layout {layout}, and arrays here are row-major: "
                    "leave the layout out, and transpose the array instead"
                )
        return self.sharding


def format_of(ndim: int, sharding: Any) -> Format:
    """The format of an array of `ndim` axes."""
    return Format(Layout(tuple(range(ndim)), ()), sharding)
