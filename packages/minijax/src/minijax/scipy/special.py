"""Special functions, by the names of `jax.scipy.special`."""

import math
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax import lax, nn
from minijax.declare import lower_by_primitives, unary
from minijax.lax.elementwise import where
from minijax.nn import logsumexp
from minijax.numpy.reductions import sum
from minijax.numpy.transcendental import i0, real_floats
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.promotion import to_inexact

Axes = int | tuple[int, ...] | None


@operation
def gammaln(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function of `x`."""
    return lax.lgamma(*real_floats("gammaln", x))


@operation
def gammasgn(x: Any) -> Any:
    """The sign of the gamma function of `x`."""
    (x,) = real_floats("gammasgn", x)
    below = lax.floor(x)
    is_pole = lax.bitwise_and(lax.lt(x, 0), lax.eq(x, below))
    is_odd = lax.ne(lax.rem(below, 2.0), 0)
    sign = where(lax.bitwise_and(lax.lt(x, 0), is_odd), -1.0, 1.0)
    at_zero = where(lax.eq(x, 0), lax.sign(lax.div(1.0, x)), sign)
    return stage2.astype(where(is_pole, np.nan, at_zero), typeof(x).dtype)


@operation
def gamma(x: Any) -> Any:
    """The gamma function of `x`."""
    return lax.mul(gammasgn(x), lax.exp(gammaln(x)))


@operation
def digamma(x: Any) -> Any:
    """The derivative of `gammaln`."""
    return lax.digamma(*real_floats("digamma", x))


@operation
def polygamma(n: Any, x: Any) -> Any:
    """The derivative of `digamma` at `x`, taken `n` times; there is none by `n`."""
    n, x = real_floats("polygamma", n, x)
    shape = stage2.promotion.broadcast_shapes(typeof(n).shape, typeof(x).shape)
    return lax.polygamma(stage2.broadcast_to(n, shape), stage2.broadcast_to(x, shape))


@operation
def zeta(x: Any, q: Any = None) -> Any:
    """Hurwitz' zeta function, the sum of `1 / (q + k)**x` over k = 0, 1, 2, ... ."""
    return lax.zeta(*real_floats("zeta", x, 1.0 if q is None else q))


@operation(static="d")
def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the gamma function of `d` dimensions.

    Arguments:
        a: real numbers greater than `(d - 1) / 2`.
        d: the number of dimensions, an int.
    """
    (a,) = real_floats("multigammaln", a)
    terms = gammaln(lax.sub(lax.expand_dims(a, (-1,)), np.arange(d) / 2))
    return lax.add(sum(terms, -1), d * (d - 1) / 4 * math.log(math.pi))


@operation
def betaln(a: Any, b: Any) -> Any:
    """The logarithm of the absolute value of the beta function."""
    a, b = real_floats("betaln", a, b)
    return lax.sub(lax.add(gammaln(a), gammaln(b)), gammaln(lax.add(a, b)))


@operation
def beta(a: Any, b: Any) -> Any:
    """The beta function."""
    a, b = real_floats("beta", a, b)
    sign = lax.mul(lax.mul(gammasgn(a), gammasgn(b)), gammasgn(lax.add(a, b)))
    return lax.mul(sign, lax.exp(betaln(a, b)))


@operation
def erf(x: Any) -> Any:
    """The error function of `x`."""
    return lax.erf(*real_floats("erf", x))


@operation
def erfc(x: Any) -> Any:
    """`1 - erf(x)`, exact also where that is nearly 0."""
    return lax.erfc(*real_floats("erfc", x))


@operation
def erfinv(x: Any) -> Any:
    """The number whose error function is `x`."""
    return lax.erf_inv(*real_floats("erfinv", x))


@operation
def expit(x: Any) -> Any:
    """`1 / (1 + exp(-x))`."""
    return lax.logistic(to_inexact(x))


@operation
def logit(x: Any) -> Any:
    """`log(x / (1 - x))`, which `expit` undoes."""
    (x,) = real_floats("logit", x)
    return lax.sub(lax.log(x), lax.log1p(lax.neg(x)))


@operation
def xlogy(x: Any, y: Any) -> Any:
    """`x * log(y)`, and 0 where `x` is 0."""
    x, y = real_floats("xlogy", x, y)
    is_zero = lax.eq(x, 0)
    return where(is_zero, 0, lax.mul(x, lax.log(where(is_zero, 1, y))))


@operation
def xlog1py(x: Any, y: Any) -> Any:
    """`x * log(1 + y)`, and 0 where `x` is 0."""
    x, y = real_floats("xlog1py", x, y)
    is_zero = lax.eq(x, 0)
    return where(is_zero, 0, lax.mul(x, lax.log1p(where(is_zero, 0, y))))


@operation
def entr(x: Any) -> Any:
    """`-x * log(x)`; minus infinity where `x` is negative."""
    (x,) = real_floats("entr", x)
    return where(lax.lt(x, 0), -math.inf, lax.neg(xlogy(x, x)))


@operation
def rel_entr(p: Any, q: Any) -> Any:
    """`p * log(p / q)`; infinite where one of them is negative, or `q` is 0 and `p` is not."""
    p, q = real_floats("rel_entr", p, q)
    both_positive = lax.bitwise_and(lax.gt(p, 0), lax.gt(q, 0))
    is_zero = lax.bitwise_and(lax.eq(p, 0), lax.ge(q, 0))
    safe_p, safe_q = where(both_positive, p, 1), where(both_positive, q, 1)
    logs = lax.mul(safe_p, lax.sub(lax.log(safe_p), lax.log(safe_q)))
    return where(both_positive, logs, where(is_zero, 0.0, math.inf))


@operation
def kl_div(p: Any, q: Any) -> Any:
    """`p * log(p / q) - p + q`."""
    p, q = real_floats("kl_div", p, q)
    return lax.add(lax.sub(rel_entr(p, q), p), q)


@operation
def i0e(x: Any) -> Any:
    """The modified Bessel function of order 0, times `exp(-abs(x))`."""
    return lax.bessel_i0e(*real_floats("i0e", x))


@operation
def i1e(x: Any) -> Any:
    """The modified Bessel function of order 1, times `exp(-abs(x))`."""
    return lax.bessel_i1e(*real_floats("i1e", x))


@operation
def i1(x: Any) -> Any:
    """The modified Bessel function of order 1."""
    (x,) = real_floats("i1", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))


# --8<-- [start:ndtr]
@operation
def ndtr(x: Any) -> Any:
    """The probability that a normally distributed number is at most `x`."""
    (x,) = real_floats("ndtr", x)
    scaled = lax.mul(x, math.sqrt(0.5))
    distance = lax.abs(scaled)
    near = lax.add(1.0, lax.erf(scaled))
    tail = lax.erfc(distance)
    far = where(lax.gt(scaled, 0), lax.sub(2.0, tail), tail)
    return lax.mul(0.5, where(lax.lt(distance, 0.5 * math.sqrt(2)), near, far))


def _log_ndtr(x: Any) -> Any:
    dtype = typeof(x).dtype
    if dtype.itemsize < 4:
        return stage2.astype(_log_ndtr(stage2.astype(x, np.float32)), dtype)
    far, above = (-20.0, 8.0) if dtype == np.float64 else (-10.0, 5.0)
    is_far = lax.lt(x, far)
    square = lax.square(where(is_far, x, far))
    inverse = lax.div(1.0, square)
    # The first terms of the asymptotic series of Mills' ratio.
    series = lax.mul(inverse, lax.sub(1.0, lax.mul(inverse, lax.sub(3.0, lax.mul(15.0, inverse)))))
    logs = lax.add(lax.log(square), lax.add(square, math.log(2 * math.pi)))
    tail = lax.add(lax.mul(-0.5, logs), lax.log1p(lax.neg(series)))
    middle = lax.log(ndtr(lax.max(x, far)))
    return where(is_far, tail, where(lax.gt(x, above), lax.neg(ndtr(lax.neg(x))), middle))


def _density_over(x: Any, log_probability: Any) -> Any:
    """The normal density at `x`, divided by a probability."""
    exponent = lax.sub(lax.mul(-0.5, lax.square(x)), 0.5 * math.log(2 * math.pi))
    return lax.exp(lax.sub(exponent, log_probability))


_log_ndtr_of = unary(
    "log_ndtr",
    "",
    hlo=lower_by_primitives(_log_ndtr),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, _density_over(x, out)),
)


def _ndtri(p: Any) -> Any:
    """A rational guess (Abramowitz and Stegun 26.2.23), made exact by Newton's method."""
    dtype = typeof(p).dtype
    if dtype.itemsize < 4:
        return stage2.astype(_ndtri(stage2.astype(p, np.float32)), dtype)
    is_inside = lax.bitwise_and(lax.gt(p, 0.0), lax.lt(p, 1.0))
    is_upper = lax.gt(p, 0.5)
    log_tail = lax.log(where(is_inside, where(is_upper, lax.sub(1.0, p), p), 0.5))
    t = lax.sqrt(lax.mul(-2.0, log_tail))
    above = _polynomial(t, 0.010328, 0.802853, 2.515517)
    x = lax.sub(lax.div(above, _polynomial(t, 0.001308, 0.189269, 1.432788, 1.0)), t)
    for _ in range(3):
        out = _log_ndtr(x)
        x = lax.sub(x, lax.div(lax.sub(out, log_tail), _density_over(x, out)))
    x = where(is_upper, lax.neg(x), x)
    at_ends = where(lax.eq(p, 0.0), -math.inf, where(lax.eq(p, 1.0), math.inf, math.nan))
    return where(is_inside, x, at_ends)


def _polynomial(x: Any, *coefficients: float) -> Any:
    """The polynomial with these coefficients, highest degree first."""
    out: Any = coefficients[0]
    for c in coefficients[1:]:
        out = lax.add(lax.mul(out, x), c)
    return out


_ndtri_of = unary(
    "ndtri",
    "",
    hlo=lower_by_primitives(_ndtri),
    kinds="f",
    jvp=lambda t, out, p: lax.div(t, _density_over(out, 0.0)),
)


@operation(static="series_order")
def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """The logarithm of `ndtr`, exact also where that is nearly 0.

    Arguments:
        x: real numbers.
        series_order: must be 3: how many terms of a series are used far from 0.
    """
    if series_order != 3:
        raise NotImplementedError(f"log_ndtr: series_order must be 3, found {series_order}")
    return _log_ndtr_of(*real_floats("log_ndtr", x))


@operation
def ndtri(p: Any) -> Any:
    """The number that a normally distributed one is at most with probability `p`."""
    return _ndtri_of(*real_floats("ndtri", p))


# --8<-- [end:ndtr]


@operation(static="axis")
def softmax(x: Any, *, axis: Axes = None) -> Any:
    """`exp(x)` scaled so that the sum over the axes, all if None, is 1."""
    return nn.softmax(x, axis)


@operation(static="axis")
def log_softmax(x: Any, *, axis: Axes = None) -> Any:
    """The logarithm of `softmax`, exact also where that is nearly 0."""
    return nn.log_softmax(x, axis)


__all__ = [
    "beta",
    "betaln",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "expit",
    "gamma",
    "gammaln",
    "gammasgn",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "rel_entr",
    "softmax",
    "xlog1py",
    "xlogy",
    "zeta",
]
