"""Sorting, and searching in sorted arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dimensions.expressions import is_symbolic_dim, surely_at_least
from glassjax.dtypes import DTypeLike
from glassjax.lax.sorting import take_along
from glassjax.numpy.cases import where
from glassjax.numpy.dtypes import default_int, to_common_dtype
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.nesting import written_in_jax
from glassjax.runtime.operation import operation
from glassjax.settings.names import counted
from glassjax.settings.number_types import letter_of
from glassjax_stage2 import ShapedArray, promotion, typeof
from glassjax_stage2.functions import canonical_axis, ints
from glassjax_stage2.shaped_array import is_inexact


@operation(static=("axis", "kind", "order", "stable", "descending"))
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """`a` sorted along an axis, with NaN last.

    Arguments:
        a: the array.
        axis: the axis to sort along; None: all elements, flattened.
        kind: must be None: there is only one algorithm.
        order: must be None: there are no fields.
        stable: whether equal elements keep their order.
        descending: whether to sort from the largest down.

    >>> jnp.sort(jnp.array([[3, 1, 2], [4, 6, 5]]))
    Array([[1, 2, 3],
           [4, 5, 6]], dtype=int32)
    >>> jnp.sort(jnp.array([3, 1, 2]), descending=True)
    Array([3, 2, 1], dtype=int32)
    """
    a, along = _prepare("sort", a, axis, kind, order)
    if along is None:
        return a
    out = lax.sort(a, along, is_stable=stable)
    return lax.rev(out, (along,)) if descending else out


@operation(static=("axis", "kind", "order", "stable", "descending", "dtype"))
def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike | None = None,
) -> Array:
    """The indices that sort `a` along an axis.

    Arguments:
        a, axis, kind, order, stable, descending: as in `sort`.
        dtype: the dtype of the indices; None: the default int.

    >>> x = jnp.array([3, 1, 2])
    >>> order = jnp.argsort(x)
    >>> order, x[order]
    (Array([1, 2, 0], dtype=int32), Array([1, 2, 3], dtype=int32))
    """
    a, along = _prepare("argsort", a, axis, kind, order)
    dtype = default_int() if dtype is None else dtype
    if along is None:
        return lax.full((), 0, dtype)
    indices = lax.broadcasted_iota(dtype, typeof(a).shape, along)
    if descending and stable:  # reversed before and after, so that equal elements keep their order
        a, indices = lax.rev(a, (along,)), lax.rev(indices, (along,))
    _, out = lax.sort_key_val(a, indices, along, is_stable=stable)
    return lax.rev(out, (along,)) if descending else out


def _prepare(
    name: str, a: Any, axis: int | None, kind: None, order: None
) -> tuple[Array, int | None]:
    """The array, with an axis if it is a scalar, and the axis to sort along."""
    if kind is not None:
        raise TypeError(f"{name}: kind must be None, found {kind!r}; stable chooses the algorithm")
    if order is not None:
        raise TypeError(f"{name}: order must be None, found {order!r}; arrays have no fields")
    if axis is None:
        return stage2.reshape(a, (-1,)), 0
    if typeof(a).ndim == 0:
        raise ValueError(f"{name}: a scalar has no axis {axis}")
    return a, canonical_axis(name, axis, typeof(a).ndim)


@operation(static=("axis", "batch_size"))
def lexsort(keys: Any, axis: int = -1, *, batch_size: int = 16) -> Array:
    """The indices that sort by the last of `keys`, with ties broken by the one before, and so on.

    Arguments:
        keys: a sequence of arrays of one shape, or an array of them.
        axis: the axis to sort along.
        batch_size: the number of keys to compare at once. More keys take several passes, the last
            keys in the last pass, so that compile time does not grow with their number. Keys of
            several dtypes are always compared at once.

    Raises:
        TypeError: there are no keys.
        ValueError: keys differ in shape, there is no such axis, or `batch_size` is not positive.

    >>> last, first = jnp.array([2, 1, 1]), jnp.array([9, 8, 7])
    >>> jnp.lexsort((first, last))
    Array([2, 1, 0], dtype=int32)
    """
    is_array = not isinstance(keys, Sequence)
    if is_array and not typeof(keys).ndim:
        raise TypeError(f"lexsort: keys must be a sequence of arrays, found {typeof(keys)}")
    count = typeof(keys).shape[0] if is_array else len(keys)
    if not count:
        raise TypeError("lexsort: there must be a key to sort by")
    shapes = {typeof(keys).shape[1:]} if is_array else {typeof(key).shape for key in keys}
    if len(shapes) > 1:
        found = ", ".join(str(typeof(key)) for key in keys)
        raise ValueError(f"lexsort: keys must have one shape, found {found}")
    (shape,) = shapes
    if not shape:
        return lax.full((), 0, default_int())
    along = canonical_axis("lexsort", axis, len(shape))
    (batch_size,) = ints("lexsort: batch_size", batch_size)
    if batch_size < 1:
        raise ValueError(f"lexsort: batch_size must be positive, found {batch_size}")
    indices = lax.broadcasted_iota(default_int(), shape, along)
    keys = lax.unstack(keys) if is_array else keys
    if len({typeof(key).dtype for key in keys}) > 1 or len(keys) <= batch_size:
        return _sorted_by(keys, indices, along)
    batch_count, rest = divmod(len(keys), batch_size)
    stacked = lax.concatenate([lax.expand_dims(key, (0,)) for key in keys], 0)
    batches = lax.slice_in_dim(stacked, 0, batch_count * batch_size)
    batches = lax.reshape(batches, (batch_count, batch_size, *typeof(keys[0]).shape))

    def sort_by_batch(indices: Any, batch: Any) -> Any:
        found = [
            take_along(lax.index_in_dim(batch, i, keepdims=False), indices, along)
            for i in range(batch_size)
        ]
        return _sorted_by(found, indices, along), None

    indices, _ = lax.scan(sort_by_batch, indices, batches)
    if not rest:
        return indices
    last = [take_along(key, indices, along) for key in keys[-rest:]]
    return _sorted_by(last, indices, along)


def _sorted_by(keys: Sequence[Any], values: Any, along: int) -> Any:
    return lax.sort((*keys[::-1], values), along, num_keys=len(keys))[-1]


@operation
def sort_complex(a: ArrayLike) -> Array:
    """`a` as complex numbers in order of their real parts, then of their imaginary parts.

    >>> jnp.sort_complex(jnp.array([1.0 + 2.0j, 1.0 - 1.0j, 0.0]))
    Array([0.+0.j, 1.-1.j, 1.+2.j], dtype=complex64)
    """
    a = sort(a)
    is_wide = letter_of(typeof(a).dtype) in "iu" and typeof(a).dtype.itemsize == 8
    least = np.dtype(np.complex128 if is_wide else np.complex64)
    common = promotion.result_type(typeof(a), ShapedArray((), least))
    return lax.convert_element_type(a, common.dtype)


@operation(static=("kth", "axis"))
def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """`a` with its `kth` smallest element in place, smaller ones before and larger ones after.

    Arguments:
        a: the array.
        kth: the position of the element in the sorted array; negative ones count from the end.
        axis: the axis to sort along.

    Raises:
        ValueError: there is no such element or axis.
        NotImplementedError: `a` is complex.

    >>> jnp.partition(jnp.array([5, 1, 4, 2]), 0)[0]
    Array(1, dtype=int32)
    """
    along, kth = _normalized_kth("partition", a, kth, axis)
    out = lax.sort(a, along)
    above = lax.slice_in_dim(out, kth + 1, typeof(a).shape[along], axis=along)
    below = lax.slice_in_dim(out, 0, kth + 1, axis=along)
    return lax.concatenate([below, lax.rev(above, (along,))], along)


@operation(static=("kth", "axis"))
def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The indices that partition `a` as `partition` does.

    Arguments:
        a, kth, axis: as in `partition`.

    Raises:
        ValueError, NotImplementedError: as in `partition`.

    >>> x = jnp.array([5, 1, 4, 2])
    >>> jnp.sort(x[jnp.argpartition(x, 2)[:2]])
    Array([1, 2], dtype=int32)
    """
    along, kth = _normalized_kth("argpartition", a, kth, axis)
    order = argsort(a, along, dtype=np.int32)
    above = lax.slice_in_dim(order, kth + 1, typeof(a).shape[along], axis=along)
    below = lax.slice_in_dim(order, 0, kth + 1, axis=along)
    return lax.concatenate([below, lax.sort(above, along)], along)


def _normalized_kth(name: str, a: Any, kth: int, axis: int) -> tuple[int, int]:
    if typeof(a).dtype.kind == "c":
        raise NotImplementedError(f"{name}: of complex numbers, found {typeof(a)}")
    along = canonical_axis(name, axis, typeof(a).ndim)
    size = typeof(a).shape[along]
    if not isinstance(kth, int):
        raise TypeError(f"{name}: kth must be one int, found {kth}")
    if not -size <= kth < size:
        raise ValueError(f"{name}: kth {kth} is out of range for {counted(size, 'element')}")
    return along, kth % size


@operation(static=("side", "method"))
def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: ArrayLike | None = None,
    *,
    method: str = "scan",
) -> Array:
    """Find the positions at which inserting the elements of `v` keeps `a` sorted.

    Arguments:
        a: a sorted array of one axis.
        v: the values to insert, an array of any shape.
        side: "left": before equal elements of `a`; "right": after them.
        sorter: the indices that sort `a`, if it is not sorted.
        method: "scan" is a binary search in a loop, which "scan_unrolled" unrolls; "compare_all"
            compares with all elements; "sort" sorts both together, which is fast for many.

    Raises:
        ValueError: `a` is not a vector, or `side` or `method` is unknown.

    >>> jnp.searchsorted(jnp.array([1, 3, 5]), jnp.array([0, 3, 9]))
    Array([0, 1, 3], dtype=int32)
    >>> jnp.searchsorted(jnp.array([1, 3, 5]), 3, side="right")
    Array(2, dtype=int32)
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', found {side!r}")
    if method not in ("scan", "scan_unrolled", "sort", "compare_all"):
        raise ValueError(
            "searchsorted: method must be 'scan', 'scan_unrolled', 'sort' or 'compare_all', "
            f"found {method!r}"
        )
    if typeof(a).ndim != 1:
        raise ValueError(f"searchsorted: a must have one axis, found {typeof(a)}")
    a, v = to_common_dtype(a, v)
    if sorter is not None:
        if typeof(sorter).shape != typeof(a).shape:
            raise ValueError(
                f"searchsorted: sorter must have the shape of a, {typeof(a)}, found "
                f"{typeof(sorter)}"
            )
        a = take_along(a, sorter, 0)
    return search(a, v, side, method)


@written_in_jax("indexing")
def search(a: Any, v: Any, side: str, method: str) -> Any:
    """`searchsorted` of arrays of one dtype."""
    shape, size = typeof(v).shape, typeof(a).shape[0]
    dtype = np.int64 if surely_at_least(size, 2**31) else np.int32
    if not size:
        return lax.full(shape, 0, dtype)
    flat = stage2.reshape(v, (-1,))
    if method == "compare_all":
        found = _by_comparing(a, flat, side)
    elif method == "sort":
        found = _by_sorting(a, flat, side)
    else:
        found = _by_halving(a, flat, side, method == "scan_unrolled")
    return lax.reshape(lax.convert_element_type(found, dtype), shape)


def _is_before(x: Any, y: Any, side: str) -> Any:
    """Return True if `x` comes before `y`, or on the right side is as large; NaN comes last."""
    if typeof(x).dtype.kind == "c":
        tie = ~(
            _is_before(lax.real(x), lax.real(y), "left")
            | _is_before(lax.real(y), lax.real(x), "left")
        )
        by_imaginary = _is_before(lax.imag(x), lax.imag(y), side)
        return where(tie, by_imaginary, _is_before(lax.real(x), lax.real(y), "left"))
    if side == "right":
        return ~_is_before(y, x, "left")
    is_less = lax.lt(x, y)
    if not is_inexact(typeof(x).dtype):
        return is_less
    return is_less | (y != y) & (x == x)


def _by_comparing(a: Any, v: Any, side: str) -> Any:
    shape = (*typeof(a).shape, *typeof(v).shape)
    is_before = _is_before(
        lax.broadcast_in_dim(a, shape, (0,)), lax.broadcast_in_dim(v, shape, (1,)), side
    )
    return lax.reduce_sum(lax.convert_element_type(is_before, np.int32), (0,))


def _by_sorting(a: Any, v: Any, side: str) -> Any:
    """The position of each among all, minus its position among the queries."""
    joined = [v, a] if side == "left" else [a, v]
    count, start = typeof(v).shape[0], 0 if side == "left" else typeof(a).shape[0]
    rank = argsort(argsort(lax.concatenate(joined, 0)))
    return lax.slice_in_dim(rank, start, start + count) - argsort(argsort(v))


def _by_halving(a: Any, v: Any, side: str, unrolled: bool) -> Any:
    """Search with steps of half the length, while the passed elements come before."""
    size = typeof(a).shape[0]

    def halve(number: Any, place: Any) -> Any:
        further = place + lax.shift_right_logical(*stage2.promote(np.int32(longest), number))
        last = take_along(a, lax.min(*stage2.promote(further - 1, size - 1)), 0)
        may_go = (further <= size) & _is_before(last, v, side)
        return where(may_go, further, place)

    step_count = 31 if is_symbolic_dim(size) else size.bit_length()
    longest = 1 << (step_count - 1)
    start = lax.full(typeof(v).shape, 0, np.int32)
    return lax.fori_loop(np.int32(0), np.int32(step_count), halve, start, unroll=unrolled or None)


@operation(static=("right", "method"))
def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> Array:
    """The number of the bin in which each element of `x` lies.

    Arguments:
        x: the array.
        bins: the bin edges, in ascending or descending order.
        right: whether a bin includes its upper edge instead of its lower one.
        method: the search method, as for `searchsorted`.

    Raises:
        ValueError: `bins` is not a vector.

    >>> jnp.digitize(jnp.array([0.5, 1.0, 9.0]), jnp.array([1.0, 2.0]))
    Array([0, 1, 2], dtype=int32)
    """
    if typeof(bins).ndim != 1:
        raise ValueError(f"digitize: bins must have one axis, found {typeof(bins)}")
    size = typeof(bins).shape[0]
    if not size:
        return lax.full(typeof(x).shape, 0, np.int32)
    first, last = lax.slice_in_dim(bins, 0, 1), lax.slice_in_dim(bins, size - 1, size)
    falls = lax.gt(lax.squeeze(first, (0,)), lax.squeeze(last, (0,)))
    x, bins = to_common_dtype(x, bins)
    upwards = where(falls, lax.rev(bins, (0,)), bins)
    side = "left" if right else "right"
    place = searchsorted(upwards, x, side, method="scan" if method is None else method)
    return where(falls, size - place, place)


@operation(static=("k", "axis", "mode", "sorted"))
def top_k(
    a: ArrayLike, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True
) -> list[Array]:
    """The `k` largest elements along an axis, the largest first, and their indices.

    Arguments:
        a: the array.
        k: how many.
        axis: the axis.
        mode: "largest", or "smallest", the smallest first, with NaN last.
        sorted: ignored: they are always in order.

    Raises:
        ValueError: there are not `k` elements, no such axis or no such `mode`.

    >>> values, indices = jnp.top_k(jnp.array([3, 1, 2]), 2, mode="smallest")
    >>> print(values, indices)
    [1 2] [1 2]
    """
    if mode not in ("largest", "smallest"):
        raise ValueError(f"top_k: mode must be 'largest' or 'smallest', found {mode!r}")
    if mode == "largest":
        return lax.top_k(a, k, axis=axis)
    aval = typeof(a)
    along = canonical_axis("top_k", axis, aval.ndim)
    (k,) = ints("top_k: k", k)
    if not 0 <= k <= aval.shape[along]:
        raise ValueError(f"top_k: k must be from 0 to {aval.shape[along]}, found {k}")
    indices = lax.broadcasted_iota(np.int32, aval.shape, along)
    values, indices = lax.sort((a, indices), dimension=along, num_keys=1)
    return [lax.slice_in_dim(x, 0, k, axis=along) for x in (values, indices)]
