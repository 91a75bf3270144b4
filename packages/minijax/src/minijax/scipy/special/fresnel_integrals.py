"""`fresnel`: the integrals of the sine and the cosine of a square."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.widening import in_64_bits
from minijax.numpy.math.operands import strong_floats
from minijax.primitives.declare import Unary, unary
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation

_NEAR = 1.25  # up to here the series loses little; beyond, the sums below lose nothing
_TERMS = 16
# Where the trapezoidal rule looks at a bell curve: half of it, for it is even.
_STEP = 0.1875
_NODES = _STEP * np.arange(35)
_WEIGHTS = _STEP * np.exp(-(_NODES**2)) * np.where(_NODES == 0, 0.5, 1.0)


@operation
def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """The integrals of `sin(pi t**2 / 2)` and of `cos(pi t**2 / 2)` from 0 to `x`.

    Returns:
        Both, first that of the sine.

    Raises:
        ValueError: `x` is complex.

    >>> s, c = fresnel(1.0)
    >>> print(f"{s:.4f} {c:.4f}")
    0.4383 0.7799
    """
    (x,) = strong_floats("fresnel", x)
    return _of_sine(x), _of_cosine(x)


def _quarter_turns(x: Any) -> tuple[Any, Any]:
    """`x**2` modulo 4, in quarter turns: a whole number, and the rest, accurate even near 0.

    The square is the sum of three products without an error, of the upper and the lower half of
    the digits of `x`. Floats too large to be odd have whole turns only.
    """
    x = where(lax.lt(lax.abs(x), 2.0**54), x, 0.0)
    upper = lax.bitcast_convert_type(
        lax.bitwise_and(lax.bitcast_convert_type(x, np.int64), -(2**27)), np.float64
    )
    lower = lax.sub(x, upper)
    products = (
        lax.square(upper), lax.mul(2.0, lax.mul(upper, lower)), lax.square(lower),
    )  # fmt: skip
    whole: ArrayLike = 0.0
    rest: ArrayLike = 0.0
    lost: ArrayLike = 0.0
    for product in products:
        turns = lax.rem(product, 4.0)
        nearest = lax.round(turns, lax.RoundingMethod.TO_NEAREST_EVEN)
        whole = lax.add(whole, nearest)
        rest, error = _sum_and_error(rest, lax.sub(turns, nearest))
        lost = lax.add(lost, error)
    nearest = lax.round(rest, lax.RoundingMethod.TO_NEAREST_EVEN)
    return lax.add(whole, nearest), lax.add(lax.sub(rest, nearest), lost)


def _sum_and_error(x: Any, y: Any) -> tuple[Any, Any]:
    """A sum as it is rounded, and what it lacks (Knuth's two-sum)."""
    total = lax.add(x, y)
    of_y = lax.sub(total, x)
    return total, lax.add(lax.sub(x, lax.sub(total, of_y)), lax.sub(y, of_y))


def _wave(x: Any, phase: int) -> Any:
    """`sin(pi / 2 * (x**2 + phase))`, from sines and cosines of at most an eighth of a turn."""
    quarter, rest = _quarter_turns(x)
    angle = lax.mul(math.pi / 2, rest)
    which = lax.rem(lax.add(quarter, 8.0 + phase), 4.0)
    is_odd = lax.eq(lax.rem(which, 2.0), 1.0)
    out = where(is_odd, lax.cos(angle), lax.sin(angle))
    return where(lax.eq(x, x), where(lax.ge(which, 2.0), lax.neg(out), out), math.nan)


def _near(x: Any, which: int) -> Any:
    """The series of the sine for `which` 0, of the cosine for 1."""
    square = lax.mul(math.pi / 2, lax.square(x))
    series: ArrayLike = 0.0
    for k in reversed(range(_TERMS)):
        n = 2 * k + 1 - which
        term = (-1) ** k / (math.factorial(n) * (2 * n + 1))
        series = lax.add(term, lax.mul(lax.square(square), series))
    return lax.mul(x, series if which else lax.mul(square, series))


def _far(x: Any, which: int) -> Any:
    """The difference from 1/2: waves with integrals of bell curves as amplitudes."""
    scale = lax.mul(math.sqrt(math.pi / 2), x)
    f: ArrayLike = 0.0
    g: ArrayLike = 0.0
    for node, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
        square = lax.square(lax.div(node, scale))
        part = lax.div(weight, lax.add(1.0, lax.square(square)))
        f, g = lax.add(f, part), lax.add(g, lax.mul(square, part))
    sin, cos = _wave(x, 0), _wave(x, 1)
    first, second = (sin, lax.neg(cos)) if which else (lax.neg(cos), lax.neg(sin))
    waves = lax.add(lax.mul(f, first), lax.mul(g, second))
    factor = lax.div(math.sqrt(2) / math.pi, scale)
    return lax.add(0.5, lax.mul(factor, waves))


def _integral(x: Any, which: int) -> Any:
    size = lax.abs(x)
    is_near = lax.lt(size, _NEAR)
    near = _near(where(is_near, x, 0.0), which)
    far = lax.mul(lax.sign(x), _far(where(is_near, _NEAR, size), which))
    return where(is_near, near, far)


def _declare(name: str, which: int) -> Unary:
    wave = unary(
        f"{name}_of_square",
        "",
        hlo=in_64_bits(lambda x: where(lax.is_finite(x), _wave(x, which), math.nan)),
        kinds="f",
        jvp=lambda t, out, x: lax.mul(t, slope(x)),
    )

    def slope(x: Any) -> Any:
        other = _WAVES[1 - which](x)
        return lax.mul(lax.mul(math.pi, x), lax.neg(other) if which else other)

    _WAVES.append(wave)
    return unary(
        f"fresnel_{name}",
        "",
        hlo=in_64_bits(lambda x: _integral(x, which)),
        kinds="f",
        jvp=lambda t, out, x: lax.mul(t, wave(x)),
    )


_WAVES: list[Unary] = []
_of_sine = _declare("sin", 0)
_of_cosine = _declare("cos", 1)


__all__ = ["fresnel"]
