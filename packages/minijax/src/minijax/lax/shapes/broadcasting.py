"""Repeating arrays along new axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minijax_stage2 as stage2
from minijax.errors.tracebacks import hiding_frames
from minijax.lax.shapes.reshaping import reshape
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.public_names import set_all
from minijax_stage2 import promotion, typeof
from minijax_stage2.functions import ints
from minijax_stage2.shaped_array import Shape


@hiding_frames
def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """The common shape of arrays of these shapes, by numpy's broadcasting rule.

    Raises:
        ValueError: two sizes of one axis differ and neither is 1.

    >>> lax.broadcast_shapes((3, 1), (4,), (2, 1, 1))
    (2, 3, 4)
    """
    return promotion.broadcast_shapes(*[ints("broadcast_shapes", given) for given in shapes])


@operation(static=("sizes", "out_sharding"))
def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """`operand` broadcast along new leading axes of these sizes.

    >>> lax.broadcast(jnp.array([1, 2]), (3,))
    Array([[1, 2],
           [1, 2],
           [1, 2]], dtype=int32)
    """
    new = ints("broadcast: sizes", sizes)
    shape = typeof(operand).shape
    own = range(len(new), len(new) + len(shape))
    return broadcast_in_dim(operand, (*new, *shape), tuple(own))


@operation
def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """`arr` broadcast to the shape of `like_arr`.

    >>> lax.broadcast_like(1.0, jnp.zeros((2, 2), jnp.int8))
    Array([[1., 1.],
           [1., 1.]], dtype=float32, weak_type=True)
    """
    return stage2.broadcast_to(arr, typeof(like_arr).shape)


@operation(static="rank")
def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """`x` with axes of size 1 in front, so that it has `rank` axes.

    >>> lax.broadcast_to_rank(jnp.zeros((2, 3)), 4).shape
    (1, 1, 2, 3)
    """
    return broadcast(x, (1,) * (rank - typeof(x).ndim))


@operation(static=("shape", "broadcast_dimensions", "out_sharding"))
def broadcast_in_dim(
    operand: ArrayLike,
    shape: Shape,
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: Any = None,
) -> Array:
    """`operand` broadcast to `shape`; its axes become the axes `broadcast_dimensions`.

    >>> lax.broadcast_in_dim(jnp.array([1, 2]), (2, 3), (0,))
    Array([[1, 1, 1],
           [2, 2, 2]], dtype=int32)
    """
    sizes = ints("broadcast_in_dim: shape", shape)
    axes = ints("broadcast_in_dim: broadcast_dimensions", broadcast_dimensions)
    if sizes == typeof(operand).shape and axes == tuple(range(len(sizes))):
        return operand  # type: ignore[return-value]
    return stage2.broadcast_in_dim(operand, sizes, axes)


@operation(static="reps")
def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """`operand` repeated `reps` times along each axis.

    Raises:
        TypeError: `reps` does not have one number for each axis.
        ValueError: one of them is negative.

    >>> lax.tile(jnp.array([[1, 2]]), (2, 2))
    Array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    aval = typeof(operand)
    reps = ints("tile: reps", reps)
    if len(reps) != aval.ndim:
        raise TypeError(f"tile: reps must have a number for each axis of {aval}, found {reps}")
    if any(count < 0 for count in reps):
        raise ValueError(f"tile: reps must not be negative, found {reps}")
    pairs = [size for both in zip(reps, aval.shape, strict=True) for size in both]
    spread = broadcast_in_dim(operand, tuple(pairs), tuple(range(1, len(pairs), 2)))
    return reshape(spread, [n * size for n, size in zip(reps, aval.shape, strict=True)])


set_all(globals())
