"""The difference of a number and the logarithm of 1 more, the exponent of many a density."""

from typing import Any

from minijax.lax.elementwise.abs_and_sign import abs
from minijax.lax.elementwise.arithmetic import add, div, mul, square, sub
from minijax.lax.elementwise.comparisons import lt
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.transcendental import log
from minijax.lax.special.polynomials import polynomial

_TERMS = 18


def artanh_series(r: Any) -> Any:
    """`(artanh(r) - r) / r**3`, for `r` up to a third."""
    return polynomial([1 / (2 * k + 3) for k in reversed(range(_TERMS))], square(r))


def minus_log1p(x: Any, one_more: Any) -> Any:
    """`x - log(one_more)`, which is `1 + x`, and exact also where that is nearly 0.

    Near 0 nothing cancels: the logarithm is `2 * artanh(x / (2 + x))`.
    """
    is_near = lt(abs(x), 0.5)
    near = where(is_near, x, 0.0)
    r = div(near, add(near, 2.0))
    by_series = sub(mul(near, r), mul(2.0, mul(mul(r, square(r)), artanh_series(r))))
    return where(is_near, by_series, sub(x, log(one_more)))
