"""Colorings of sparse matrices: columns of one color are computed together.

A. Gebremedhin, F. Manne, A. Pothen, "What color is your Jacobian? Graph coloring for computing
derivatives", SIAM Review 47 (2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Indices = np.ndarray[Any, np.dtype[np.int64]]


def color_columns(rows: Indices, columns: Indices, shape: tuple[int, int]) -> Indices:
    """A color for each column, so that no two columns of one color have an element in one row.

    Greedy, in the order of the columns. A row with `k` elements needs `k` colors.

    Arguments:
        rows, columns: the coordinates of the elements.
        shape: the shape of the matrix.

    >>> color_columns(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2]), (3, 3))
    array([0, 1, 0])
    """
    height, width = shape
    if most_in_a_row(rows, height) == width:
        return np.arange(width)
    rows_of = _neighbors(columns, rows, width)
    used = [0] * height  # for each row, the colors of its columns as the bits of an int
    colors = []
    for column in rows_of:
        taken = 0
        for row in column:
            taken |= used[row]
        bit = ~taken & (taken + 1)  # the lowest bit that is not taken
        colors.append(bit.bit_length() - 1)
        for row in column:
            used[row] |= bit
    return np.array(colors, np.int64)


def most_in_a_row(rows: Indices, height: int) -> int:
    """The largest number of elements in a row: a lower bound of the number of colors."""
    return int(np.bincount(rows, minlength=height).max(initial=0))


def color_symmetric(rows: Indices, columns: Indices, size: int) -> Indices:
    """A star coloring: each element of a symmetric matrix, or its mirror image, stands alone.

    No two neighbors have one color, and no path of four vertices has only two. Greedy: each vertex
    gets the first color that leaves no such path.

    Arguments:
        rows, columns: the coordinates of the elements, symmetric.
        size: the number of rows and of columns.

    >>> arrow = np.array([[0, 0], [0, 1], [1, 0], [0, 2], [2, 0], [1, 1], [2, 2]])
    >>> color_symmetric(*arrow.T, 3)
    array([0, 1, 1])
    """
    apart = rows != columns
    neighbors = _neighbors(rows[apart], columns[apart], size)
    colors = [-1] * size
    for v, around in enumerate(neighbors):
        forbidden = set()
        seen: set[int] = set()
        repeated: set[int] = set()  # the colors of several neighbors
        for w in around:
            color = colors[w]
            if color >= 0:
                (repeated if color in seen else seen).add(color)
        for w in around:
            color = colors[w]
            if color >= 0:
                forbidden.add(color)
            for x in neighbors[w]:
                if x == v or colors[x] < 0:
                    continue
                # v - w - x: with the color of x, v would end or be within a path of two colors
                if (
                    color < 0
                    or color in repeated
                    or (
                        colors[x] not in forbidden
                        and any(colors[y] == color for y in neighbors[x] if y != w)
                    )
                ):
                    forbidden.add(colors[x])
        color = 0
        while color in forbidden:
            color += 1
        colors[v] = color
    return np.array(colors, np.int64)


def _neighbors(sources: Indices, targets: Indices, count: int) -> list[list[int]]:
    """For each source its targets."""
    order = np.argsort(sources, kind="stable")
    sizes = np.bincount(sources, minlength=count)
    ends = np.cumsum(sizes).tolist()
    listed = targets[order].tolist()
    return [listed[end - size : end] for end, size in zip(ends, sizes.tolist(), strict=True)]
