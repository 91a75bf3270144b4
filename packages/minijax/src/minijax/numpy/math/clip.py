"""`fmax` and `fmin`, which prefer numbers to NaN, and `clip`."""

from __future__ import annotations

from typing import Any

from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.numpy.math.comparisons import greater, less
from minijax.numpy.math.floating_point import isnan
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import promote, require_meeting
from minijax_stage2 import typeof


@operation
def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The larger of `x1` and `x2`; where one is NaN, the other.

    >>> jnp.fmax(jnp.array([1.0, jnp.nan]), 0.0)
    Array([1., 0.], dtype=float32)
    """
    x1, x2 = promote(x1, x2)
    return where(lax.bitwise_or(greater(x1, x2), isnan(x2)), x1, x2)


@operation
def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The smaller of `x1` and `x2`; where one is NaN, the other.

    >>> jnp.fmin(jnp.array([1.0, jnp.nan]), 0.0)
    Array([0., 0.], dtype=float32)
    """
    x1, x2 = promote(x1, x2)
    return where(lax.bitwise_or(less(x1, x2), isnan(x2)), x1, x2)


@operation
def clip(
    arr: ArrayLike | None = None, min: ArrayLike | None = None, max: ArrayLike | None = None
) -> Array:
    """`arr` with the elements below `min` raised to it, and those above `max` lowered to it.

    Raises:
        ValueError: one of them is complex.

    >>> jnp.clip(jnp.array([-2, 0, 7]), 0, 5), jnp.clip(jnp.array([-2, 7]), max=5)
    (Array([0, 0, 5], dtype=int32), Array([-2,  5], dtype=int32))
    """
    for x in (arr, min, max):
        if x is not None and typeof(x).dtype.kind == "c":
            raise ValueError(f"clip: complex numbers have no order, found {typeof(x)}")
    for bound in (min, max):
        if bound is not None:
            require_meeting(arr, bound)
    out: Any = arr if min is None else lax.max(min, arr)  # type: ignore[arg-type]
    return out if max is None else lax.min(max, out)


__all__ = ["clip", "fmax", "fmin"]
