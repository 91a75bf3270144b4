"""Statistics found by sorting: ranks and the mode; and the standard error of the mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.numpy.dtypes import default_float
from minijax.numpy.math.operands import inexact_arrays
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.conversion import to_array
from minijax.runtime.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axes


class ModeResult(NamedTuple):
    """The most frequent numbers, and their counts."""

    mode: Any
    count: Any


def _require_propagate(caller: str, nan_policy: str) -> None:
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(
            f"{caller}: nan_policy must be 'propagate', 'omit' or 'raise', found {nan_policy!r}"
        )
    if nan_policy != "propagate":
        raise NotImplementedError(
            f"{caller}: nan_policy must be 'propagate', for a compiled program cannot depend on "
            "whether there are nans; look for them, or take them out, before"
        )


def _is_new(ordered: Any) -> Any:
    """A mask of the sorted numbers, along the last axis, that differ from the one before."""
    before, after = ordered[..., :-1], ordered[..., 1:]
    first = jnp.ones_like(ordered[..., :1], dtype=bool)
    return jnp.concatenate([first, (before != after) & ~(jnp.isnan(before) & jnp.isnan(after))], -1)


@operation(static=("axis", "nan_policy", "keepdims"))
def mode(
    a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """The most frequent number along an axis, the smallest in a tie, and its count.

    Arguments:
        a: real numbers.
        axis: the axis, or None for all numbers.
        nan_policy: must be "propagate".
        keepdims: whether to keep the axis, with size 1.

    Raises:
        NotImplementedError: `nan_policy` is anything else.

    >>> minijax.scipy.stats.mode(jnp.array([1, 3, 3, 2]))
    ModeResult(mode=Array(3, dtype=int32), count=Array(2, dtype=int32))
    """
    _require_propagate("mode", nan_policy)
    x = jnp.atleast_1d(to_array(a))
    ndim = typeof(x).ndim
    axes = tuple(range(ndim)) if axis is None else canonical_axes("mode", axis, ndim)
    x = jnp.ravel(x)[None] if axis is None else jnp.moveaxis(x, axes[0], -1)
    *lead, n = typeof(x).shape
    if n == 0:
        dtype = default_float()
        values, counts = jnp.full(lead, jnp.nan, dtype), jnp.zeros(lead, dtype)
    else:
        ordered = jnp.sort(x, axis=-1)
        index = lax.broadcasted_iota(jnp.asarray(0).dtype, (*lead, n), len(lead))
        begins = lax.cummax(jnp.where(_is_new(ordered), index, 0), len(lead))
        so_far = index - begins + 1
        where = jnp.argmax(so_far, axis=-1)[..., None]
        first = jnp.take_along_axis(begins, where, axis=-1)  # of those that are equal
        values = jnp.take_along_axis(ordered, first, axis=-1)[..., 0]
        counts = jnp.max(so_far, axis=-1)
    kept = [1 if i in axes else size for i, size in enumerate(jnp.shape(jnp.atleast_1d(a)))]
    shape = kept if keepdims else [size for i, size in enumerate(kept) if i not in axes]
    return ModeResult(jnp.reshape(values, shape), jnp.reshape(counts, shape))


METHODS = ("average", "min", "max", "dense", "ordinal")


@operation(static=("method", "axis", "nan_policy"))
def rankdata(
    a: ArrayLike, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Array:
    """The ranks of numbers, from 1 on; all NaN if any number is NaN.

    Arguments:
        a: real numbers.
        method: the ranks of equal numbers: the "average", "min" or "max" of their ranks, ranks
            without gaps between different numbers ("dense"), or ranks in order of position
            ("ordinal").
        axis: the axis along which to rank, or None to rank all numbers, as a vector.
        nan_policy: must be "propagate".

    Returns:
        Floats.

    Raises:
        ValueError: there is no such `method`.
        NotImplementedError: `nan_policy` is anything else.

    >>> import minijax.numpy as jnp
    >>> rankdata(jnp.array([30, 10, 20, 10]))
    Array([4. , 1.5, 3. , 1.5], dtype=float32)
    """
    _require_propagate("rankdata", nan_policy)
    if method not in METHODS:
        raise ValueError(f"rankdata: method must be one of {', '.join(METHODS)}, found {method!r}")
    x = jnp.ravel(a) if axis is None else jnp.moveaxis(to_array(a), axis, -1)
    *lead, n = typeof(x).shape
    last, dtype = len(lead), default_float()
    sorter = jnp.argsort(x, axis=-1)
    place = jnp.argsort(sorter, axis=-1)
    index = lax.broadcasted_iota(typeof(sorter).dtype, (*lead, n), last)
    is_new = _is_new(jnp.take_along_axis(x, sorter, axis=-1))
    begin = lax.cummax(jnp.where(is_new, index, 0), last)
    is_end = jnp.concatenate([is_new[..., 1:], jnp.ones_like(is_new[..., :1])], -1)
    end = lax.cummin(jnp.where(is_end, index, n), last, reverse=True)
    by_method: dict[str, Callable[[], Array]] = {
        "average": lambda: 0.5 * (begin.astype(dtype) + end.astype(dtype)) + 1,
        "min": lambda: begin + 1,
        "max": lambda: end + 1,
        "dense": lambda: jnp.cumsum(is_new, axis=-1),
        "ordinal": lambda: index + 1,
    }
    ranks = jnp.take_along_axis(by_method[method]().astype(dtype), place, axis=-1)
    ranks = jnp.where(jnp.any(jnp.isnan(x), axis=-1, keepdims=True), jnp.nan, ranks)
    return ranks if axis is None else jnp.moveaxis(ranks, -1, axis)


@operation(static=("axis", "ddof", "nan_policy", "keepdims"))
def sem(
    a: ArrayLike,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """The standard error of the mean: the standard deviation divided by the root of the count.

    Arguments:
        a: numbers.
        axis: the axis, or None for all numbers.
        ddof: the number to subtract from the count.
        nan_policy: "propagate", or "omit" to ignore NaN.
        keepdims: whether to keep the axis, with size 1.

    Raises:
        ValueError: there is no such `nan_policy`.

    >>> f"{minijax.scipy.stats.sem(jnp.array([1.0, 3.0])):.2f}"
    '1.00'
    """
    (x,) = inexact_arrays(a)
    if nan_policy == "propagate":
        size = jnp.size(x, axis)
        root = jnp.sqrt(size).astype(typeof(x).dtype)
        return jnp.std(x, axis, ddof=ddof, keepdims=keepdims) / root
    if nan_policy == "omit":
        count = (~jnp.isnan(x)).sum(axis, keepdims=keepdims)
        root = jnp.sqrt(count).astype(typeof(x).dtype)
        return jnp.nanstd(x, axis, ddof=ddof, keepdims=keepdims) / root
    raise ValueError(f"sem: nan_policy must be 'propagate' or 'omit', found {nan_policy!r}")
