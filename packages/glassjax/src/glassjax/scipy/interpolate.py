"""Interpolation on grids, under the names of `jax.scipy.interpolate`."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from glassjax import numpy as jnp
from glassjax.numpy.transcendental import inexact_arrays
from glassjax.runtime.evaluation import evaluated_by_library

_METHODS = ("linear", "nearest")


def _require_method(method: Any) -> None:
    if method not in _METHODS:
        raise ValueError(
            f"RegularGridInterpolator: method must be 'linear' or 'nearest', found {method!r}"
        )


class RegularGridInterpolator:
    """Interpolation of values on a rectangular grid.

    Arguments:
        points: for each axis of the grid its coordinates, increasing.
        values: the values on the grid; further axes are of the values.
        method: "linear" or "nearest".
        bounds_error: must be False.
        fill_value: the value of points outside of the grid, NaN by default; None extrapolates.

    Raises:
        ValueError: there is no such method, `values` does not have the shape of the grid, or
            `fill_value` is of another kind than the values.
        NotImplementedError: `bounds_error` is True.

    >>> line = RegularGridInterpolator((jnp.array([0.0, 1.0, 3.0]),), jnp.array([0.0, 10.0, 30.0]))
    >>> print(line(jnp.array([[0.5], [2.0], [4.0]])))
    [ 5. 20. nan]
    """

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = math.nan,
    ):
        _require_method(method)
        if bounds_error:
            raise NotImplementedError(
                "RegularGridInterpolator: bounds_error must be False; a compiled program raises "
                "no errors. fill_value marks points outside"
            )
        self.grid = tuple(jnp.asarray(p) for p in points)
        (self.values,) = inexact_arrays(jnp.asarray(values))
        sizes = tuple(p.shape[0] if p.ndim == 1 else -1 for p in self.grid)
        if -1 in sizes or self.values.shape[: len(sizes)] != sizes or 0 in sizes:
            shapes = ", ".join(str(p.shape) for p in self.grid)
            raise ValueError(
                "RegularGridInterpolator: values must have an axis for each of points, of its "
                f"size; found points of shapes {shapes} and values of shape {self.values.shape}"
            )
        if fill_value is not None:
            kind = jnp.asarray(fill_value).dtype.kind
            if kind == "c" and self.values.dtype.kind != "c":
                raise ValueError(
                    "RegularGridInterpolator: fill_value must be None or a real number, as the "
                    f"values are, found {fill_value}"
                )
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value

    @evaluated_by_library
    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The values at points.

        Arguments:
            xi: the points, of shape `(..., n)` for a grid of `n` axes; or a tuple of `n` arrays of
                coordinates, which broadcast.
            method: overrides the method of the interpolator.

        Raises:
            ValueError: there is no such method, or points have not `n` coordinates.
        """
        method = self.method if method is None else method
        _require_method(method)
        count = len(self.grid)
        if isinstance(xi, tuple):
            xi = jnp.stack(jnp.broadcast_arrays(*xi), -1)
        xi = jnp.asarray(xi)
        xi = xi[..., None] if count == 1 and xi.ndim == 1 else xi
        if not xi.ndim or xi.shape[-1] != count:
            raise ValueError(
                f"RegularGridInterpolator: points have {count} coordinates, found points of shape "
                f"{xi.shape}"
            )
        lead = xi.shape[:-1] or (1,)
        coordinates = [xi[..., i].reshape(-1) for i in range(count)]
        places = [_interval_of(p, x) for p, x in zip(self.grid, coordinates, strict=True)]
        trailing = (1,) * (self.values.ndim - count)
        if method == "nearest":
            corner = tuple(
                jnp.where(share <= 0.5, low, jnp.minimum(low + 1, p.shape[0] - 1))
                for p, (low, share) in zip(self.grid, places, strict=True)
            )
            out = self.values[corner]
        else:
            out = jnp.zeros((), self.values.dtype)
            for upper in itertools.product((0, 1), repeat=count):
                corner = tuple(
                    jnp.minimum(low + up, p.shape[0] - 1)
                    for up, p, (low, _) in zip(upper, self.grid, places, strict=True)
                )
                weight: Any = 1
                for up, (_, share) in zip(upper, places, strict=True):
                    weight = weight * (share if up else 1 - share)
                out = out + self.values[corner] * weight.reshape(-1, *trailing)
        if self.fill_value is not None:
            outside = [
                (x < p[0]) | (x > p[-1]) for p, x in zip(self.grid, coordinates, strict=True)
            ]
            is_outside = jnp.any(jnp.stack(outside), 0).reshape(-1, *trailing)
            out = jnp.where(is_outside, jnp.asarray(self.fill_value, out.dtype), out)
        return out.reshape(*lead, *self.values.shape[count:])


def _interval_of(points: Any, x: Any) -> tuple[Any, Any]:
    """The interval nearest to `x`, and the fraction of it that lies below `x`."""
    low = jnp.clip(jnp.searchsorted(points, x, side="left") - 1, 0, max(points.shape[0] - 2, 0))
    start, end = points[low], points[jnp.minimum(low + 1, points.shape[0] - 1)]
    return low, (x - start) / jnp.where(start == end, 1, end - start)


__all__ = ["RegularGridInterpolator"]
