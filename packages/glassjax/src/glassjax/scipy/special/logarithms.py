"""Logarithms without cancellation: xlogy, entropies, the Box-Cox transformation, logit."""

from __future__ import annotations

import math
from typing import Any

from glassjax import lax, nn
from glassjax.lax.formulas import in_32_bits_at_least, in_64_bits
from glassjax.lax.shapes import filled_like
from glassjax.numpy.cases import where
from glassjax.numpy.transcendental import real_arrays, real_floats, strong_floats
from glassjax.primitives.declare import Unary, binary, lower_by_primitives, unary
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax_stage2.promotion import to_inexact

# Products of numbers and logarithms, as in entropies.


def _xlogy(x: Any, y: Any) -> Any:
    is_needed = (x != 0) | (y != y)
    return where(is_needed, x * lax.log(y), filled_like(x, 0))


def _xlog1py(x: Any, y: Any) -> Any:
    is_needed = (x != 0) | (y != y)
    return where(is_needed, x * lax.log1p(y), filled_like(x, 0))


# These are primitives because their derivatives in x are logarithms even where x is 0.
_xlogy_of = binary(
    "xlogy",
    "",
    hlo=lower_by_primitives(_xlogy),
    kinds="f",
    jvp=(
        lambda t, out, x, y: t * lax.log(y),
        lambda t, out, x, y: t * x / y,
    ),
)
_xlog1py_of = binary(
    "xlog1py",
    "",
    hlo=lower_by_primitives(_xlog1py),
    kinds="f",
    jvp=(
        lambda t, out, x, y: t * lax.log1p(y),
        lambda t, out, x, y: t * x / (1.0 + y),
    ),
)
_xlogx_of = unary(
    "xlogx",
    "",
    hlo=lower_by_primitives(lambda x: _xlogy_of(x, x)),
    kinds="f",
    jvp=lambda t, out, x: t * (lax.log(x) + 1.0),
)


def _log_quotient(p: Any, q: Any) -> Any:
    quotient = p / q
    in_range = (quotient > 0) & (quotient < math.inf)
    far = where(in_range, lax.log(quotient), lax.log(p) - lax.log(q))
    offset = (p - q) / q  # the difference of close numbers is exact
    return where(lax.abs(offset) <= 0.5, lax.log1p(offset), far)


# `log(p / q)` of positive numbers.
_log_quotient_of = binary(
    "log_quotient",
    "",
    hlo=in_32_bits_at_least(_log_quotient),
    kinds="f",
    jvp=(lambda t, out, p, q: t / p, lambda t, out, p, q: -(t / q)),
)

# `p * log(p / q)` of positive numbers.
_relative_entropy_of = binary(
    "relative_entropy",
    "",
    hlo=in_32_bits_at_least(lambda p, q: p * _log_quotient(p, q)),
    kinds="f",
    jvp=(
        lambda t, out, p, q: t * (_log_quotient_of(p, q) + 1.0),
        lambda t, out, p, q: -(t * (p / q)),
    ),
)

_DIVERGENCE_TERMS = 24


def _kl_divergence(p: Any, q: Any) -> Any:
    """A series in x = (p - q) / (p + q): as log(p / q) = 2 artanh(x), cancelling terms drop out.

    The remainder is (p - q) x (1 + x / 3 + x^2 / 3 + x^3 / 5 + x^4 / 5 + ...).
    """
    difference = p - q
    half = difference * 0.5 / q
    x = half / (half + 1.0)  # the sum of p and q may overflow
    series: Any = 0.0
    for power in reversed(range(_DIVERGENCE_TERMS)):
        series = series * x + 1 / (2 * ((power + 1) // 2) + 1)
    near = difference * x * series
    far = _relative_entropy_of(p, q) - p + q
    return where(lax.abs(half) <= 0.2, near, far)


# `p * log(p / q) - p + q` of positive numbers.
_divergence_of = binary(
    "kullback_leibler",
    "",
    hlo=in_32_bits_at_least(_kl_divergence),
    kinds="f",
    jvp=(
        lambda t, out, p, q: t * _log_quotient_of(p, q),
        lambda t, out, p, q: t * ((q - p) / q),
    ),
)


@operation
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """`x * log(y)`; 0 where `x` is 0.

    >>> glassjax.scipy.special.xlogy(jnp.array([0.0, 2.0]), jnp.array([0.0, 1.0]))
    Array([0., 0.], dtype=float32)
    """
    return _xlogy_of(*real_floats("xlogy", x, y))


@operation
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """`x * log(1 + y)`; 0 where `x` is 0.

    >>> glassjax.scipy.special.xlog1py(jnp.array([0.0, 2.0]), jnp.array([-1.0, 0.0]))
    Array([0., 0.], dtype=float32)
    """
    return _xlog1py_of(*real_floats("xlog1py", x, y))


@operation
def entr(x: ArrayLike) -> Array:
    """`-x * log(x)`; minus infinity where `x` is negative.

    >>> f"{glassjax.scipy.special.entr(0.5):.3f}", glassjax.scipy.special.entr(-1.0).item()
    ('0.347', -inf)
    """
    (x,) = real_arrays("entr", x)
    is_negative, infinity = x < 0, lax.full_like(x, -math.inf)
    return lax.select(is_negative, infinity, -_xlogx_of(x))


@operation
def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """`p * log(p / q)`; infinite where either is negative, or `q` is 0 and `p` is not.

    >>> glassjax.scipy.special.rel_entr(jnp.array([0.0, 2.0]), jnp.array([3.0, 2.0]))
    Array([0., 0.], dtype=float32)
    """
    p, q = real_floats("rel_entr", p, q)
    return _where_positive(_relative_entropy_of, p, q, 0.0)


def _where_positive(function: Any, p: Any, q: Any, at_zero: Any) -> Any:
    """`function` where both are positive; `at_zero` where `p` is 0; NaN of NaN; else infinite."""
    both_positive = (p > 0) & (q > 0)
    is_zero = (p == 0) & (q >= 0)
    positive = function(where(both_positive, p, 1), where(both_positive, q, 1))
    is_nan = (p != p) | (q != q)
    other = where(is_zero, at_zero, where(is_nan, math.nan, math.inf))
    return where(both_positive, positive, other)


@operation
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """`p * log(p / q) - p + q`.

    >>> glassjax.scipy.special.kl_div(jnp.array([0.0, 2.0]), jnp.array([3.0, 2.0]))
    Array([3., 0.], dtype=float32)
    """
    p, q = real_floats("kl_div", p, q)
    return _where_positive(_divergence_of, p, q, q)


# The Box-Cox transformations, powers that continue to the logarithm.


def _exponential_series(u: Any, first: int) -> Any:
    """The sum of `(n + 1) ** first / (n + 1 + first)! * u**n`, for small `u`."""
    total: Any = 0.0
    for n in reversed(range(12)):
        total = total * u + (n + 1) ** first / math.factorial(n + 1 + first)
    return total


def _mean_exponential(u: Any) -> Any:
    is_small = lax.abs(u) < 0.1
    size = where(is_small, 1.0, u)
    series = _exponential_series(where(is_small, u, 0.0), 0)
    quotient = lax.expm1(size) / size
    return where(is_small, series, where(u == math.inf, math.inf, quotient))


def _mean_exponential_slope(u: Any) -> Any:
    is_small = lax.abs(u) < 0.1
    size = where(is_small, 1.0, u)
    quotient = (lax.exp(size) - lax.expm1(size) / size) / size
    return where(is_small, _exponential_series(where(is_small, u, 0.0), 1), quotient)


def _mean_exponential_curvature(out: Any, x: Any) -> Any:
    """The second derivative of the mean exponential, 1/3 at 0."""
    size = where(x == 0.0, 1.0, x)
    quotient = (lax.exp(size) - 2.0 * out) / size
    return where(x == 0.0, 1 / 3, quotient)


_slope_of: Unary = unary(
    "mean_exponential_slope",
    "",
    hlo=in_64_bits(_mean_exponential_slope),
    kinds="f",
    jvp=lambda t, out, x: t * _mean_exponential_curvature(out, x),
)
# expm1(x) / x, the mean of the exponential between 0 and x.
_mean_exponential_of: Unary = unary(
    "mean_exponential",
    "",
    hlo=in_64_bits(_mean_exponential),
    kinds="f",
    jvp=lambda t, out, x: t * _slope_of(x),
)


def _boxcox_of_log(log: Any, lmbda: Any) -> Any:
    """`expm1(lmbda * log) / lmbda`, even where one of them is 0."""
    is_infinite = lax.abs(log) == math.inf
    finite = where(is_infinite, 0.0, log)
    inner = finite * _mean_exponential_of(lmbda * finite)
    # At 0 and infinity the power is 0 or infinite.
    is_zero = lmbda == 0.0
    limit = -1.0 / where(is_zero, 1.0, lmbda)
    grows = (log > 0.0) == (lmbda > 0.0)
    at_end = where(is_zero | grows, log, limit)
    return where(is_infinite, at_end, inner)


@operation
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """`(x**lmbda - 1) / lmbda`, or `log(x)` where `lmbda` is 0; NaN for negative `x`.

    Raises:
        ValueError: an argument is complex.

    >>> print(boxcox(4.0, jnp.array([0.5, 0.0])))
    [2.        1.3862944]
    """
    x, lmbda = strong_floats("boxcox", x, lmbda)
    return _boxcox_of_log(lax.log(x), lmbda)


@operation
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """`boxcox(1 + x, lmbda)`, accurate also for small `x`.

    Raises:
        ValueError: an argument is complex.

    >>> f"{glassjax.scipy.special.boxcox1p(1e-10, 0.5):.3e}"
    '1.000e-10'
    """
    x, lmbda = strong_floats("boxcox1p", x, lmbda)
    return _boxcox_of_log(lax.log1p(x), lmbda)


# The logistic function, and exponentials in sums.


Axes = int | tuple[int, ...] | None


@operation
def expit(x: ArrayLike) -> Array:
    """`1 / (1 + exp(-x))`.

    >>> glassjax.scipy.special.expit(jnp.array([-1e3, 0.0, 1e3]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return lax.logistic(to_inexact(x))


def _logit(x: Any) -> Any:
    return lax.log(x / (1.0 - x))


_logit_of = unary(
    "logit",
    "",
    hlo=lower_by_primitives(_logit),
    kinds="f",
    jvp=lambda t, out, x: t / (x * (1.0 - x)),
)


@operation
def logit(x: ArrayLike) -> Array:
    """`log(x / (1 - x))`, which `expit` undoes.

    >>> glassjax.scipy.special.logit(jnp.array([0.0, 0.5, 1.0]))
    Array([-inf,   0.,  inf], dtype=float32)
    """
    (x,) = real_floats("logit", x)
    return _logit_of(x)


@operation(static="axis")
def softmax(x: ArrayLike, *, axis: Axes = None) -> Array:
    """`exp(x)` scaled so that the sum over the axes, all if None, is 1.

    >>> glassjax.scipy.special.softmax(jnp.array([[0.0, 0.0], [0.0, -1e3]]), axis=1)
    Array([[0.5, 0.5],
           [1. , 0. ]], dtype=float32)
    """
    return nn.softmax(x, axis)


@operation(static="axis")
def log_softmax(x: ArrayLike, *, axis: Axes = None) -> Array:
    """The logarithm of `softmax`, accurate even where that is nearly 0.

    >>> glassjax.scipy.special.log_softmax(jnp.array([0.0, -1e3, -2e3]))
    Array([    0., -1000., -2000.], dtype=float32)
    """
    return nn.log_softmax(x, axis)
