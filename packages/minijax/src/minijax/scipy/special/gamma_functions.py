"""The gamma function and its relatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.widening import in_64_bits
from minijax.lax.shapes.creation import steps_of
from minijax.numpy.dtypes import default_float
from minijax.numpy.math.operands import real_floats, strong_floats
from minijax.numpy.reductions import sum
from minijax.primitives.declare import binary, lower_by_primitives
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.conversion import to_array
from minijax.runtime.operation import operation
from minijax.scipy.special.complex_gamma import log_gamma_of_complex
from minijax.settings.public_names import set_all
from minijax_stage2 import typeof


@operation
def gammaln(x: ArrayLike) -> Array:
    """The logarithm of the absolute value of the gamma function of `x`.

    >>> f"{minijax.scipy.special.gammaln(100.0):.2f}", minijax.scipy.special.gamma(100.0).item()
    ('359.13', inf)
    """
    return lax.lgamma(*real_floats("gammaln", x))


@operation
def gammasgn(x: ArrayLike) -> Array:
    """The sign of the gamma function of `x`.

    >>> minijax.scipy.special.gammasgn(jnp.array([0.5, -0.5, -1.5]))
    Array([ 1., -1.,  1.], dtype=float32)
    """
    (x,) = real_floats("gammasgn", x)
    below = lax.floor(x)
    is_pole = lax.bitwise_and(lax.lt(x, 0), lax.eq(x, below))
    is_pole = lax.bitwise_or(is_pole, lax.ne(x, x))
    is_odd = lax.ne(lax.rem(below, 2.0), 0)
    sign = where(lax.bitwise_and(lax.lt(x, 0), is_odd), -1.0, 1.0)
    at_zero = where(lax.eq(x, 0), lax.sign(lax.div(1.0, x)), sign)
    has_none = lax.bitwise_or(is_pole, lax.ne(x, x))
    return stage2.astype(where(has_none, np.nan, at_zero), typeof(x).dtype)


@operation
def gamma(x: ArrayLike) -> Array:
    """The gamma function of `x`, a real or complex number.

    >>> f"{minijax.scipy.special.gamma(5.0):.1f}", f"{minijax.scipy.special.gamma(-0.5):.3f}"
    ('24.0', '-3.545')
    """
    if typeof(x).dtype.kind == "c":
        return lax.exp(log_gamma_of_complex(x))
    return lax.mul(gammasgn(x), lax.exp(gammaln(x)))


@operation
def digamma(x: ArrayLike) -> Array:
    """The derivative of `gammaln`.

    >>> f"{minijax.scipy.special.digamma(1.0):.3f}"
    '-0.577'
    """
    return lax.digamma(*real_floats("digamma", x))


@operation
def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The `n`-th derivative of `digamma` at `x`; not differentiable in `n`.

    Raises:
        TypeError: `n` is not an integer.

    >>> f"{minijax.scipy.special.polygamma(1, 1.0):.3f}", f"{jnp.pi**2 / 6:.3f}"
    ('1.645', '1.645')
    """
    if typeof(n).dtype.kind not in "iu":
        raise TypeError(f"polygamma: n must be an integer, or an array of them, found {typeof(n)}")
    n, x = real_floats("polygamma", n, x)
    shape = stage2.promotion.broadcast_shapes(typeof(n).shape, typeof(x).shape)
    return lax.polygamma(stage2.broadcast_to(n, shape), stage2.broadcast_to(x, shape))


@operation
def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Hurwitz' zeta function, the sum of `1 / (q + k)**x` over k = 0, 1, 2, ... .

    >>> f"{minijax.scipy.special.zeta(2.0, 1.0):.3f}", f"{jnp.pi**2 / 6:.3f}"
    ('1.645', '1.645')
    """
    return lax.zeta(*real_floats("zeta", x, 1.0 if q is None else q))


@operation(static="d")
def multigammaln(a: ArrayLike, d: int) -> Array:
    """The logarithm of the multivariate gamma function of `d` dimensions.

    Arguments:
        a: real numbers greater than `(d - 1) / 2`.
        d: the number of dimensions, an int.

    >>> f"{minijax.scipy.special.multigammaln(3.0, 2):.3f}"
    '1.550'
    """
    (a,) = real_floats("multigammaln", a)
    terms = gammaln(lax.sub(lax.expand_dims(a, (-1,)), (np.arange(d) / 2).astype(typeof(a).dtype)))
    return lax.add(sum(terms, -1), d * (d - 1) / 4 * math.log(math.pi))


@operation
def loggamma(x: ArrayLike) -> Array:
    """The logarithm of the gamma function of `x`; NaN where a real `x` is not positive.

    Of complex numbers it is the one that is continuous but for the negative axis.

    >>> f"{minijax.scipy.special.loggamma(100.0):.2f}"
    '359.13'
    """
    if typeof(x).dtype.kind == "c":
        return log_gamma_of_complex(x)
    (x,) = real_floats("loggamma", x)
    return where(lax.gt(x, 0), lax.lgamma(x), math.nan)


@operation(static="exact")
def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """The factorial of `n`, as a float; 0 if `n` is negative.

    Raises:
        NotImplementedError: `exact` is True.

    >>> f"{minijax.scipy.special.factorial(5):.1f}"
    '120.0'
    """
    if exact:
        raise NotImplementedError("factorial: exact must be False; the result is a float")
    (n,) = real_floats("factorial", n)
    return where(lax.lt(n, 0), 0, lax.exp(lax.lgamma(lax.add(n, 1))))


def _comb(n: Any, k: Any) -> Any:
    rest = lax.sub(n, k)
    logs = [lax.lgamma(lax.add(x, 1.0)) for x in (n, k, rest)]
    number = lax.exp(lax.sub(logs[0], lax.add(logs[1], logs[2])))
    is_whole = lax.bitwise_and(lax.eq(n, lax.floor(n)), lax.eq(k, lax.floor(k)))
    is_exact = lax.bitwise_and(is_whole, lax.lt(number, 2.0**40))
    return where(is_exact, lax.round(number), number)


def _log_slope_of_comb(first: Any, second: Any) -> Any:
    return lax.sub(lax.digamma(lax.add(first, 1)), lax.digamma(lax.add(second, 1)))


_comb_of = binary(
    "comb",
    "",
    hlo=in_64_bits(_comb),
    kinds="f",
    jvp=(
        lambda t, out, n, k: lax.mul(t, lax.mul(out, _log_slope_of_comb(n, lax.sub(n, k)))),
        lambda t, out, n, k: lax.mul(t, lax.mul(out, _log_slope_of_comb(lax.sub(n, k), k))),
    ),
)


@operation(static="repetition")
def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """The number of ways to choose `k` of `N` things, as a float; of real numbers, too.

    Arguments:
        N: the number of things.
        k: how many are chosen.
        repetition: whether one thing may be chosen more than once.

    Returns:
        The binomial coefficient; 0 if `N` or `k` is negative, or `k` greater than `N` without
        repetition.

    Raises:
        ValueError: `N` or `k` is complex.

    >>> minijax.scipy.special.comb(5, jnp.arange(6))
    Array([ 1.,  5., 10., 10.,  5.,  1.], dtype=float32)
    """
    n, k = strong_floats("comb", N, k)
    is_none = lax.bitwise_or(lax.lt(n, 0), lax.lt(k, 0))
    if repetition:  # of no things, none can be chosen
        n = where(lax.eq(k, 0), n, lax.sub(lax.add(n, k), 1))
    is_none = lax.bitwise_or(is_none, lax.lt(n, k))
    ways = _comb_of(where(is_none, 1, n), where(is_none, 1, k))
    return where(is_none, 0, ways)


def _poch(z: Any, m: Any) -> Any:
    return where(lax.eq(m, 0), 1.0, lax.div(gamma(lax.add(z, m)), gamma(z)))


def _poch_slope(z: Any, m: Any) -> Any:
    return lax.sub(lax.digamma(lax.add(z, m)), lax.digamma(z))


_poch_of = binary(
    "poch",
    "",
    hlo=lower_by_primitives(_poch),
    kinds="f",
    jvp=(
        lambda t, out, z, m: lax.mul(t, lax.mul(out, _poch_slope(z, m))),
        lambda t, out, z, m: lax.mul(t, lax.mul(out, lax.digamma(lax.add(z, m)))),
    ),
)


@operation
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """`gamma(z + m) / gamma(z)`: for an integer `m` the product `z * (z + 1) * ... * (z + m - 1)`.

    >>> f"{minijax.scipy.special.poch(3.0, 2.0):.2f}"
    '12.00'
    """
    return _poch_of(*strong_floats("poch", z, m))


@operation
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularized lower incomplete gamma function of `a`, which grows from 0 to 1 with `x`.

    >>> f"{minijax.scipy.special.gammainc(1.0, 1.0):.3f}", f"{1 - jnp.exp(-1.0):.3f}"
    ('0.632', '0.632')
    """
    return lax.igamma(*real_floats("gammainc", a, x))


@operation
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """The upper incomplete gamma function, `1 - gammainc(a, x)`, accurate even where that is small.

    >>> f"{minijax.scipy.special.gammaincc(1.0, 1.0):.3f}", f"{jnp.exp(-1.0):.3f}"
    ('0.368', '0.368')
    """
    return lax.igammac(*real_floats("gammaincc", a, x))


@operation
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function, which grows from 0 to 1 with `x`.

    It is differentiable in `x` only.

    >>> f"{minijax.scipy.special.betainc(2.0, 2.0, 0.5):.3f}"
    '0.500'
    """
    return lax.betainc(*real_floats("betainc", a, b, x))


@operation(static="n")
def bernoulli(n: int) -> Array:
    """The Bernoulli numbers 0 to `n`.

    Raises:
        ValueError: `n` is negative.

    >>> [f"{b:.3f}" for b in minijax.scipy.special.bernoulli(4)]
    ['1.000', '-0.500', '0.167', '0.000', '-0.033']
    """
    n = steps_of("bernoulli: n", n)
    if n < 0:
        raise ValueError(f"bernoulli: n must be a non-negative integer, found {n}")
    dtype = default_float()
    # By the zeta function: of even k, 2 * zeta(k) * k! / (2 pi)**k, with alternating signs.
    numbers = [1.0, -0.5]
    for k in range(2, n + 1):
        powers = float(np.sum(np.arange(1.0, 50.0)[::-1] ** -k)) if k > 2 else math.pi**2 / 6
        try:
            size = 2 * powers * math.exp(math.lgamma(k + 1) - k * math.log(2 * math.pi))
        except OverflowError:
            size = math.inf
        numbers.append(0.0 if k % 2 else (-1) ** (k // 2 + 1) * size)
    with np.errstate(over="ignore"):
        return to_array(np.asarray(numbers[: n + 1], dtype))


set_all(globals())
