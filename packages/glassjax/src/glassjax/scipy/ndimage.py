"""Images with any number of axes, under the names of `jax.scipy.ndimage`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.runtime.array import Array, ArrayLike, to_array
from glassjax.runtime.operation import operation
from glassjax_stage2 import typeof


def _mirrored(index: Any, size: int) -> Any:
    last = size - 1
    return jnp.abs((index + last) % (2 * last) - last)


# Indices of the elements that replace those outside of the array, by mode.
MODES: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda index, size: index,
    "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": _mirrored,
    "reflect": lambda index, size: (_mirrored(2 * index + 1, 2 * size + 1) - 1) // 2,
}


def _rounded(x: Any) -> Any:
    return x if typeof(x).dtype.kind in "iu" else lax.round(x)


def _neighbors(coordinate: Any, order: int) -> list[tuple[Any, Any]]:
    """The elements that a coordinate lies between, and their weights."""
    if order == 0:
        return [(_rounded(coordinate).astype(np.int32), np.ones((), typeof(coordinate).dtype))]
    below = jnp.floor(coordinate)
    share = coordinate - below
    index = below.astype(np.int32)
    return [(index, 1 - share), (index + 1, share)]


@operation(static=("order", "mode"))
def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[Any],
    order: int,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
) -> Array:
    """The values of an array at positions between its elements, by interpolation.

    Arguments:
        input: the array.
        coordinates: for each of its axes an array of positions along it.
        order: 0 for the nearest element, 1 to interpolate between neighbors.
        mode: the extension beyond the array: "constant" for `cval`, "nearest" for the last element,
            "wrap" for the array repeated, "mirror" and "reflect" for the array reversed, without
            and with its last element.
        cval: the constant.

    Returns:
        An array of the shape of the coordinates and of the dtype of `input`.

    Raises:
        NotImplementedError: there is no such `order` or `mode`.
        ValueError: there are not as many coordinates as axes.

    >>> image = jnp.array([[0.0, 1.0], [2.0, 3.0]])
    >>> places = jnp.array([[0.0, 0.5], [1.0, 0.5]])
    >>> glassjax.scipy.ndimage.map_coordinates(image, places, order=1)
    Array([1. , 1.5], dtype=float32)
    """
    image = to_array(input)
    shape, dtype = typeof(image).shape, typeof(image).dtype
    coordinates = [to_array(x) for x in coordinates]
    if len(coordinates) != len(shape):
        raise ValueError(
            f"map_coordinates: coordinates must be a sequence of length input.ndim, {len(shape)}, "
            f"found {len(coordinates)}"
        )
    if mode not in MODES:
        raise NotImplementedError(
            f"map_coordinates: mode must be one of {', '.join(MODES)}, found {mode!r}"
        )
    if order not in (0, 1):
        raise NotImplementedError(f"map_coordinates: order must be 0 or 1, found {order}")
    if typeof(cval).dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"map_coordinates: cval is complex, {cval}, and {dtype} is not")
    cval = jnp.asarray(cval, dtype)
    by_axis = [_neighbors(coordinate, order) for coordinate in coordinates]
    total: Any = None
    for corner in itertools.product(*by_axis):
        found = [MODES[mode](index, n) for (index, _), n in zip(corner, shape, strict=True)]
        value = image[tuple(found)]
        if mode == "constant":
            inside = [(i >= 0) & (i < n) for (i, _), n in zip(corner, shape, strict=True)]
            is_inside = inside[0]
            for condition in inside[1:]:
                is_inside = is_inside & condition
            value = jnp.where(is_inside, value, cval)
        term = math.prod([weight for _, weight in corner[1:]], start=corner[0][1]) * value
        total = term if total is None else total + term
    return (_rounded(total) if dtype.kind in "iu" else total).astype(dtype)


__all__ = [
    "map_coordinates",
]
