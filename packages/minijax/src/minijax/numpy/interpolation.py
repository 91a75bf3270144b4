"""Values between given points, on straight lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax.errors.tracebacks import hiding_frames
from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.lax.sorting import take_along
from minijax.numpy.dtypes import finfo
from minijax.numpy.math.arithmetic import remainder
from minijax.numpy.sorting import searchsorted
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import result_type
from minijax_stage2 import typeof
from minijax_stage2.promotion import cast, to_inexact


@hiding_frames
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: Any = None,
    right: Any = None,
    period: ArrayLike | None = None,
) -> Array:
    """The values at `x` of a piecewise linear function.

    Arguments:
        x: where to evaluate it, an array of any shape.
        xp: the coordinates of its points, in ascending order.
        fp: the values at the points.
        left: its value before the first point: by default that of the first point; "extrapolate"
            continues the first line.
        right: the same after the last point.
        period: the period of the function; then `xp` need not be in order, and `left` and `right`
            make no difference.

    Raises:
        ValueError: `xp` and `fp` are not sequences of one length; `x` is complex; `left` or
            `right` is another string.

    >>> import minijax.numpy as jnp
    >>> interp(1.5, jnp.array([1.0, 2.0]), jnp.array([10.0, 30.0]))
    Array(20., dtype=float32)
    """
    for name, end in (("left", left), ("right", right)):
        if isinstance(end, str) and end != "extrapolate":
            raise ValueError(f"interp: {name} must be a number or 'extrapolate', found {end!r}")
    goes_on = isinstance(left, str), isinstance(right, str)
    first, last = (None if isinstance(end, str) else end for end in (left, right))
    return _interp(x, xp, fp, first, last, period, goes_on)


@operation(static="goes_on")
def _interp(
    x: Any, xp: Any, fp: Any, left: Any, right: Any, period: Any, goes_on: tuple[bool, bool]
) -> Any:
    if typeof(xp).ndim != 1 or typeof(xp).shape != typeof(fp).shape or not typeof(xp).size:
        raise ValueError(
            f"interp: xp and fp must be sequences of one length, found {typeof(xp)} and "
            f"{typeof(fp)}"
        )
    meeting = result_type(typeof(x), typeof(xp))
    x, xp = (to_inexact(cast(points, meeting)) for points in (x, xp))
    fp = to_inexact(fp)
    if typeof(x).dtype.kind == "c":
        raise ValueError(f"interp: x and xp must be real, found {typeof(x)}")
    if period is not None:
        x, xp, fp = _one_period(x, xp, fp, period)
    count, shape = typeof(xp).shape[0], typeof(x).shape
    flat = lax.reshape(x, (-1,))
    end = lax.clamp(min(1, count - 1), searchsorted(xp, flat, "right"), count - 1)
    start = lax.sub(end, 1) if count > 1 else end
    x_start, f_start = take_along(xp, start, 0), take_along(fp, start, 0)
    width = lax.sub(take_along(xp, end, 0), x_start)
    rise = lax.sub(take_along(fp, end, 0), f_start)
    # Where two points are at one place, a division by their distance would spoil derivatives too.
    is_point = lax.le(lax.abs(width), np.spacing(finfo(typeof(xp).dtype).eps))
    part = lax.div(lax.sub(flat, x_start), where(is_point, 1, width))
    out = where(is_point, f_start, lax.add(f_start, lax.mul(part, rise)))
    if period is None and not goes_on[0]:
        value = _element(fp, 0) if left is None else left
        out = where(lax.lt(flat, _element(xp, 0)), value, out)
    if period is None and not goes_on[1]:
        value = _element(fp, count - 1) if right is None else right
        out = where(lax.gt(flat, _element(xp, count - 1)), value, out)
    return lax.reshape(out, shape)


def _element(x: Any, i: int) -> Any:
    return lax.squeeze(lax.slice_in_dim(x, i, i + 1), (0,))


def _one_period(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """All points in one period, with the last point repeated before and the first after."""
    if typeof(period).ndim:
        raise ValueError(f"interp: period must be a number, found {typeof(period)}")
    period = lax.abs(period)
    x, xp = remainder(x, period), remainder(xp, period)
    xp, fp = lax.sort_key_val(xp, fp)
    count = typeof(xp).shape[0]
    firsts = [lax.slice_in_dim(points, 0, 1) for points in (xp, fp)]
    lasts = [lax.slice_in_dim(points, count - 1, count) for points in (xp, fp)]
    before, behind = lax.sub(lasts[0], period), lax.add(firsts[0], period)
    xp = lax.concatenate([before, xp, behind], 0)
    return x, xp, lax.concatenate([lasts[1], fp, firsts[1]], 0)


__all__ = ["interp"]
