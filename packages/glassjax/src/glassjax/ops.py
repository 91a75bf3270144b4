"""Reductions of segments: elements with the same segment id."""

from collections.abc import Callable
from typing import Any

import numpy as np

import glassjax.numpy as jnp
import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dimensions.expressions import min_size
from glassjax.errors import ConcretizationTypeError
from glassjax.errors.arguments import require_fit
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.gathering import GatherScatterMode, as_index
from glassjax.numpy.indexing import known_value
from glassjax.numpy.shapes import shape
from glassjax.runtime.operation import operation
from glassjax.settings.names import list_public_names
from glassjax.settings.number_types import letter_of
from glassjax.shardings.sharding import explicit_sharding
from glassjax_stage2 import typeof
from glassjax_stage2.promotion import cast
from glassjax_stage2.shaped_array import dialect, is_inexact

# Reductions of segments: elements with the same segment id.


# For each reduction, the scatter function, the reduction of buckets, and the identity element of a
# dtype.
_Reduction = tuple[Callable[..., Any], Callable[..., Any], Callable[[np.dtype[Any]], Any]]


def _lowest(dtype: np.dtype[Any]) -> Any:
    if dtype == np.bool_:
        return False
    return -np.inf if is_inexact(dtype) else jnp.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    if dtype == np.bool_:
        return True
    return np.inf if is_inexact(dtype) else jnp.iinfo(dtype).max


_REDUCTIONS: dict[str, _Reduction] = {
    "segment_sum": (lax.scatter_add, lambda x: jnp.sum(x, axis=0), lambda dtype: 0),
    "segment_prod": (lax.scatter_mul, lambda x: jnp.prod(x, axis=0), lambda dtype: 1),
    "segment_max": (lax.scatter_max, lambda x: jnp.max(x, axis=0), _lowest),
    "segment_min": (lax.scatter_min, lambda x: jnp.min(x, axis=0), _highest),
}


@operation(
    static=(
        "name",
        "num_segments",
        "indices_are_sorted",
        "unique_indices",
        "bucket_size",
        "mode",
        "out_sharding",
    )
)
def _reduce_segments(
    data: Any,
    segment_ids: Any,
    *,
    name: str,
    num_segments: int,
    indices_are_sorted: bool,
    unique_indices: bool,
    bucket_size: int | None,
    mode: GatherScatterMode,
    out_sharding: Any = None,
) -> Any:
    """Scatter all rows of `data` into an array of neutral elements."""
    scatter, combine, neutral = _REDUCTIONS[name]
    aval = typeof(data)
    ids = as_index(segment_ids)
    rest = aval.shape[1:]
    numbers = lax.ScatterDimensionNumbers(tuple(range(1, aval.ndim)), (0,), (0,))
    identity = aval.dtype.type(neutral(aval.dtype))
    start = lax.full((num_segments, *rest), identity)

    def reduce_rows(ids: Any, rows: Any) -> Any:
        return scatter(
            start,
            lax.expand_dims(ids, 1),
            rows,
            numbers,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
        )

    count = aval.shape[0]
    if bucket_size is None or not count:
        return reduce_rows(ids, data)
    size = min_size(bucket_size, count)
    bucket_count = -(-count // size)
    missing = bucket_count * size - count
    if missing != 0:  # neutral elements for the first segment
        indices_are_sorted = unique_indices = False

    def in_buckets(x: Any, filler: Any) -> Any:
        padded = lax.pad(x, filler, [(0, missing, 0), *[(0, 0, 0)] * (typeof(x).ndim - 1)])
        return lax.reshape(padded, (bucket_count, size, *typeof(x).shape[1:]))

    buckets = stage2.vmap(reduce_rows)(
        in_buckets(ids, typeof(ids).dtype.type(0)), in_buckets(data, identity)
    )
    return cast(combine(buckets), aval)


def _segments(
    name: str,
    data: Any,
    segment_ids: Any,
    num_segments: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    bucket_size: int | None,
    mode: GatherScatterMode | str | None,
    out_sharding: Any,
) -> Any:
    data = data if hasattr(data, "shape") else jnp.asarray(data)
    ids = segment_ids if hasattr(segment_ids, "shape") else jnp.asarray(segment_ids)
    if letter_of(typeof(ids).dtype) not in "iu" or typeof(ids).ndim != 1:
        raise TypeError(f"{name}: segment_ids must be a vector of integers, found {typeof(ids)}")
    if not shape(data) or shape(data)[0] != shape(ids)[0]:
        raise ValueError(
            f"{name}: there must be a segment id for each row of {typeof(data)}, found "
            f"{typeof(ids)}"
        )
    if num_segments is None:
        known = known_value(ids)
        if known is None:
            raise ConcretizationTypeError(
                f"{name}: how many segments there are decides a shape; where the ids are traced, "
                "give num_segments="
            )
        num_segments = int(np.max(np.asarray(known), initial=-1)) + 1
    require_fit(name, "num_segments", num_segments, int | None)
    count = dialect().index(num_segments)
    if count < 0:
        raise ValueError(f"{name}: num_segments must not be negative, found {num_segments}")
    return _reduce_segments(
        data,
        ids,
        name=name,
        num_segments=count,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        bucket_size=bucket_size,
        mode=GatherScatterMode.from_any(mode),
        out_sharding=explicit_sharding(name, out_sharding),
    )


@hiding_frames
def segment_sum(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: GatherScatterMode | str | None = None,
    out_sharding: Any = None,
) -> Any:
    """The sum of the rows of `data` in each segment.

    Arguments:
        data: the array.
        segment_ids: for each row the number of its segment. Rows with ids out of range are dropped.
        num_segments: the number of segments, required if `segment_ids` is traced.
        indices_are_sorted: a promise that they are in order.
        unique_indices: a promise that no id occurs twice.
        bucket_size: if given, the number of rows to reduce at a time, which reduces rounding
            errors.
        mode: the treatment of ids out of bounds: "drop", the default, or "clip".
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Returns:
        An array with one row for each segment; empty segments are 0.

    Raises:
        ConcretizationTypeError: `segment_ids` is traced, and `num_segments` not given.

    >>> import glassjax.numpy as jnp
    >>> segment_sum(jnp.arange(4.0), jnp.array([0, 0, 2, 2]), num_segments=3)
    Array([1., 0., 5.], dtype=float32)
    """
    options = (indices_are_sorted, unique_indices, bucket_size, mode, out_sharding)
    return _segments("segment_sum", data, segment_ids, num_segments, *options)


@hiding_frames
def segment_prod(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: GatherScatterMode | str | None = None,
    out_sharding: Any = None,
) -> Any:
    """The product of the rows of `data` in each segment; 1 for an empty one.

    Arguments:
        data, segment_ids, num_segments, indices_are_sorted, unique_indices: as in `segment_sum`.
        bucket_size, mode, out_sharding: as in `segment_sum`.

    >>> glassjax.ops.segment_prod(jnp.array([3.0, 2.0, 4.0]), jnp.array([0, 0, 2]), num_segments=3)
    Array([6., 1., 4.], dtype=float32)
    """
    options = (indices_are_sorted, unique_indices, bucket_size, mode, out_sharding)
    return _segments("segment_prod", data, segment_ids, num_segments, *options)


@hiding_frames
def segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: GatherScatterMode | str | None = None,
    out_sharding: Any = None,
) -> Any:
    """The largest of the rows of `data` in each segment; the lowest number for an empty one.

    Arguments:
        data, segment_ids, num_segments, indices_are_sorted, unique_indices: as in `segment_sum`.
        bucket_size, mode, out_sharding: as in `segment_sum`.

    >>> glassjax.ops.segment_max(jnp.array([3.0, 1.0, 4.0]), jnp.array([0, 0, 2]), num_segments=3)
    Array([  3., -inf,   4.], dtype=float32)
    """
    options = (indices_are_sorted, unique_indices, bucket_size, mode, out_sharding)
    return _segments("segment_max", data, segment_ids, num_segments, *options)


@hiding_frames
def segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: GatherScatterMode | str | None = None,
    out_sharding: Any = None,
) -> Any:
    """The smallest of the rows of `data` in each segment; the highest number for an empty one.

    Arguments:
        data, segment_ids, num_segments, indices_are_sorted, unique_indices: as in `segment_sum`.
        bucket_size, mode, out_sharding: as in `segment_sum`.

    >>> glassjax.ops.segment_min(jnp.array([3.0, 1.0, 4.0]), jnp.array([0, 0, 2]), num_segments=3)
    Array([ 1., inf,  4.], dtype=float32)
    """
    options = (indices_are_sorted, unique_indices, bucket_size, mode, out_sharding)
    return _segments("segment_min", data, segment_ids, num_segments, *options)


__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
list_public_names(globals())
