"""The pattern of a sparse Jacobian: found by analysis, colored, and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from glassjax.experimental.sparse_derivatives.coloring import (
    Indices,
    color_columns,
    color_symmetric,
    most_in_a_row,
)
from glassjax_stage2.shaped_array import Shape

_DOTS = (60, 100)  # the largest drawing in text, in dots; a character has 4 by 2
_CELLS = 160  # the most rows and columns of an SVG


class Sparsity:
    """The places where a Jacobian may be nonzero, for any values of the arguments.

    A row is an element of the result of the function, in the order of its leaves, and a column is
    an element of the arguments. Its `repr` draws it, and so does a notebook.

    Attributes:
        rows, columns: the coordinates of the nonzeros, sorted by rows.
        shape: the numbers of elements of result and arguments.
        out_shapes, in_shapes: the shapes of their leaves.

    >>> import glassjax.numpy as jnp
    >>> from glassjax.experimental import sparsity
    >>> sparsity(lambda x: x[1:] * x[:-1], jnp.ones(7))
    Sparsity of 6 by 7, 12 nonzeros
    ⠙⢦⡀
    ⠀⠀⠙⠂
    """

    def __init__(
        self,
        rows: Indices,
        columns: Indices,
        out_shapes: Sequence[Shape],
        in_shapes: Sequence[Shape],
    ):
        self.out_shapes, self.in_shapes = [*out_shapes], [*in_shapes]
        self.shape = (_size(out_shapes), _size(in_shapes))
        order = np.lexsort((columns, rows))
        self.rows, self.columns = rows[order], columns[order]

    @property
    def nse(self) -> int:
        """The number of nonzeros."""
        return len(self.rows)

    @property
    def T(self) -> Sparsity:
        """The transposed pattern."""
        return Sparsity(self.columns, self.rows, self.in_shapes, self.out_shapes)

    @cached_property
    def column_colors(self) -> Indices:
        """A color for each column; one jvp computes all columns of a color."""
        return color_columns(self.rows, self.columns, self.shape)

    @cached_property
    def row_colors(self) -> Indices:
        """A color for each row; one vjp computes all rows of a color."""
        return self.T.column_colors

    @cached_property
    def symmetric_colors(self) -> Indices:
        """A color for each row and column of a symmetric pattern, for a Hessian."""
        star = color_symmetric(self.rows, self.columns, self.shape[0])
        plain = self.column_colors
        return star if star.max(initial=0) < plain.max(initial=0) else plain

    @property
    def mode(self) -> Literal["fwd", "rev"]:
        """The mode that takes fewer products."""
        least = [
            most_in_a_row(self.rows, self.shape[0]),
            most_in_a_row(self.columns, self.shape[1]),
        ]
        # Coloring takes time: the second only if it may be better than the first.
        if least[0] <= least[1]:
            by_columns = count(self.column_colors)
            return (
                "fwd" if by_columns <= least[1] or by_columns <= count(self.row_colors) else "rev"
            )
        by_rows = count(self.row_colors)
        return "rev" if by_rows <= least[0] or by_rows < count(self.column_colors) else "fwd"

    def symmetrized(self) -> Sparsity:
        """The pattern together with its transpose."""
        keys = np.concatenate(
            [self.rows * self.shape[1] + self.columns, self.columns * self.shape[1] + self.rows]
        )
        rows, columns = np.divmod(np.unique(keys), max(self.shape[1], 1))
        return Sparsity(rows, columns, self.out_shapes, self.in_shapes)

    def todense(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """The pattern as a matrix of booleans."""
        dense = np.zeros(self.shape, bool)
        dense[self.rows, self.columns] = True
        return dense

    def __repr__(self) -> str:
        height, width = self.shape
        head = f"Sparsity of {height} by {width}, {self.nse} nonzeros"
        return "\n".join([head, *_braille(self._counts(*_DOTS) > 0)])

    def _repr_svg_(self) -> str:
        """A drawing; the more nonzeros in a cell, the darker."""
        counts = self._counts(_CELLS, _CELLS)
        height, width = counts.shape
        per_cell = max(self.shape[0] * self.shape[1] / max(height * width, 1), 1)
        cells = [
            f'<rect x="{x}" y="{y}" width="1" height="1" opacity="{opacity:.2f}"/>'
            for y, x in np.argwhere(counts).tolist()
            for opacity in [0.25 + 0.75 * min(counts[y, x] / per_cell, 1)]
        ]
        scale = max(1, 320 // max(height, width, 1))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width * scale}" '
            f'height="{height * scale}" viewBox="-0.5 -0.5 {width + 1} {height + 1}" '
            f'fill="currentColor"><title>Sparsity of {self.shape[0]} by {self.shape[1]}, '
            f"{self.nse} nonzeros</title>"
            f'<rect x="-0.25" y="-0.25" width="{width + 0.5}" height="{height + 0.5}" '
            'fill="none" stroke="currentColor" stroke-width="0.25"/>' + "".join(cells) + "</svg>"
        )

    def _counts(self, most_rows: int, most_columns: int) -> Any:
        """The number of nonzeros in each cell of a drawing of at most that size."""
        height, width = self.shape
        step = max(-(-height // most_rows), -(-width // most_columns), 1)
        counts = np.zeros((-(-height // step), -(-width // step)), np.int64)
        np.add.at(counts, (self.rows // step, self.columns // step), 1)
        return counts


def count(colors: Indices) -> int:
    """The number of colors."""
    return int(colors.max(initial=-1)) + 1


def _size(shapes: Sequence[Shape]) -> int:
    return sum(int(np.prod(shape)) for shape in shapes)


# The bits of a character of Braille, U+2800 onwards, by row and column of its dots.
_BRAILLE = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])


def _braille(dots: Any) -> list[str]:
    height, width = dots.shape
    padded = np.pad(dots, ((0, -height % 4), (0, -width % 2)))
    tiles = padded.reshape(len(padded) // 4, 4, -1, 2)
    codes = 0x2800 + np.einsum("irjc,rc->ij", tiles, _BRAILLE)
    return ["".join(map(chr, line)).rstrip("\u2800") for line in codes.tolist()]
