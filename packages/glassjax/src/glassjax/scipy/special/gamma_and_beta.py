"""The gamma, beta and binomial functions, and their logarithms."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.lax.formulas import artanh_series, in_64_bits, to_64_bits
from glassjax.lax.incomplete_beta import by_parts, log_beta
from glassjax.lax.series import where_any
from glassjax.lax.shapes import steps_of
from glassjax.lax.special import LANCZOS_SHIFT, lanczos_sum, log_gamma, log_of_normal
from glassjax.numpy.cases import where
from glassjax.numpy.dtypes import default_float
from glassjax.numpy.reductions import sum
from glassjax.numpy.transcendental import real_arrays, real_floats, strong_floats
from glassjax.primitives.declare import binary, lower_by_primitives, with_64_bits
from glassjax.runtime.array import Array, ArrayLike, to_array
from glassjax.runtime.nesting import written_in_jax
from glassjax.runtime.operation import operation
from glassjax_stage2 import typeof
from glassjax_stage2.functions import full_like

# The logarithm of the gamma function of complex numbers.


# Lanczos' approximation (1964) for g = 7 with nine terms, as computed by Godfrey.
_LANCZOS_G = 7
_LANCZOS_TERMS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
    -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
    1.5056327351493116e-7,
)  # fmt: skip


def _complex_log_gamma(z: Any) -> Any:
    """The logarithm that is real on the positive axis, continued up to the negative one."""
    dtype = typeof(z).dtype
    wide = stage2.astype(z, np.complex128)
    x, y = lax.real(wide), lax.imag(wide)
    upper = lax.complex(x, lax.abs(y))  # below the real axis values are conjugated
    is_left = x < 0.5
    right = _log_gamma_right(where(is_left, 1.0 - upper, upper))
    reflected = math.log(math.pi) - _log_sine(where(is_left, upper, 0.25)) - right
    found = where(is_left, reflected, right)
    is_lower = y < 0.0
    found = lax.complex(lax.real(found), where(is_lower, -lax.imag(found), lax.imag(found)))
    return stage2.astype(found, dtype)


def _log_gamma_right(z: Any) -> Any:
    """`log(gamma(z))` for a real part of 1/2 or more."""
    below = z - 1.0
    total: Any = _LANCZOS_TERMS[0]
    for i, term in enumerate(_LANCZOS_TERMS[1:], 1):
        total = total + term / (below + i)
    t = below + (_LANCZOS_G + 0.5)
    power = (below + 0.5) * lax.log(t) - t
    return power + 0.5 * math.log(2 * math.pi) + lax.log(total)


def _log_sine(z: Any) -> Any:
    """The logarithm of `sin(pi z)` above the real axis, continuous there, and without overflow."""
    x, y = lax.real(z), lax.imag(z)
    turn = 2 * math.pi * (x - lax.round(x))
    size = lax.exp(-2 * math.pi * y)
    # 1 - exp(2 i pi z), without cancellation near 1
    half = lax.sin(0.5 * turn)
    real = -lax.expm1(-2 * math.pi * y) + 2.0 * size * lax.square(half)
    rest = lax.complex(real, -(size * lax.sin(turn)))
    line = lax.complex(math.pi * y, math.pi * (0.5 - x))  # -i pi z + i pi/2
    return line + lax.log(rest) - math.log(2.0)


# The gamma function and its relatives.


@operation
def gammaln(x: ArrayLike) -> Array:
    """The logarithm of the absolute value of the gamma function of `x`.

    >>> f"{glassjax.scipy.special.gammaln(100.0):.2f}", glassjax.scipy.special.gamma(100.0).item()
    ('359.13', inf)
    """
    return lax.lgamma(*real_floats("gammaln", x))


@operation
def gammasgn(x: ArrayLike) -> Array:
    """The sign of the gamma function of `x`.

    >>> glassjax.scipy.special.gammasgn(jnp.array([0.5, -0.5, -1.5]))
    Array([ 1., -1.,  1.], dtype=float32)
    """
    (x,) = real_arrays("gammasgn", x)
    below = lax.floor(x)
    is_negative = x < 0
    is_pole = is_negative & (x == below)
    is_odd = lax.rem(*stage2.promote(below, 2.0)) != 0
    sign = where(is_negative & is_odd, -1.0, 1.0)
    sign = where(x == 0, lax.sign(1.0 / x), sign)
    return stage2.astype(where(is_pole | (x != x), np.nan, sign), typeof(x).dtype)


@operation
def gamma(x: ArrayLike) -> Array:
    """The gamma function of `x`, a real or complex number.

    >>> f"{glassjax.scipy.special.gamma(5.0):.1f}", f"{glassjax.scipy.special.gamma(-0.5):.3f}"
    ('24.0', '-3.545')
    """
    if typeof(x).dtype.kind == "c":
        return lax.exp(_complex_log_gamma(x))
    return gammasgn(x) * lax.exp(gammaln(x))


@operation
def digamma(x: ArrayLike) -> Array:
    """The derivative of `gammaln`.

    >>> f"{glassjax.scipy.special.digamma(1.0):.3f}"
    '-0.577'
    """
    return lax.digamma(*real_floats("digamma", x))


@operation
def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The `n`-th derivative of `digamma` at `x`; not differentiable in `n`.

    Raises:
        TypeError: `n` is not an integer.

    >>> f"{glassjax.scipy.special.polygamma(1, 1.0):.3f}", f"{jnp.pi**2 / 6:.3f}"
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

    >>> f"{glassjax.scipy.special.zeta(2.0, 1.0):.3f}", f"{jnp.pi**2 / 6:.3f}"
    ('1.645', '1.645')
    """
    return lax.zeta(*real_floats("zeta", x, 1.0 if q is None else q))


@operation(static="d")
def multigammaln(a: ArrayLike, d: int) -> Array:
    """The logarithm of the multivariate gamma function of `d` dimensions.

    Arguments:
        a: real numbers greater than `(d - 1) / 2`.
        d: the number of dimensions, an int.

    >>> f"{glassjax.scipy.special.multigammaln(3.0, 2):.3f}"
    '1.550'
    """
    (a,) = real_arrays("multigammaln", a)
    halves = (np.arange(d) / 2).astype(typeof(a).dtype)
    terms = gammaln(lax.expand_dims(a, (-1,)) - halves)
    return sum(terms, -1) + d * (d - 1) / 4 * math.log(math.pi)


@operation
def loggamma(x: ArrayLike) -> Array:
    """The logarithm of the gamma function of `x`; NaN where a real `x` is not positive.

    For complex numbers it is the branch that is continuous except across the negative axis.

    >>> f"{glassjax.scipy.special.loggamma(100.0):.2f}"
    '359.13'
    """
    if typeof(x).dtype.kind == "c":
        return _complex_log_gamma(x)
    (x,) = real_floats("loggamma", x)
    return where(x > 0, lax.lgamma(x), math.nan)


@operation(static="exact")
def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """The factorial of `n`, as a float; 0 if `n` is negative.

    Raises:
        NotImplementedError: `exact` is True.

    >>> f"{glassjax.scipy.special.factorial(5):.1f}"
    '120.0'
    """
    if exact:
        raise NotImplementedError("factorial: exact must be False; the result is a float")
    (n,) = real_arrays("factorial", n)
    return where(n < 0, 0, lax.exp(lax.lgamma(n + 1)))


def _comb(n: Any, k: Any) -> Any:
    rest = n - k
    log_n, log_k, log_rest = (lax.lgamma(x + 1.0) for x in (n, k, rest))
    number = lax.exp(log_n - (log_k + log_rest))
    is_whole = (n == lax.floor(n)) & (k == lax.floor(k))
    is_exact = is_whole & (number < 2.0**40)
    return where(is_exact, lax.round(number), number)


def _comb_log_slope(first: Any, second: Any) -> Any:
    return lax.digamma(first + 1) - lax.digamma(second + 1)


_comb_of = binary(
    "comb",
    "",
    hlo=in_64_bits(_comb),
    kinds="f",
    jvp=(
        lambda t, out, n, k: t * (out * _comb_log_slope(n, n - k)),
        lambda t, out, n, k: t * (out * _comb_log_slope(n - k, k)),
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

    >>> glassjax.scipy.special.comb(5, jnp.arange(6))
    Array([ 1.,  5., 10., 10.,  5.,  1.], dtype=float32)
    """
    n, k = strong_floats("comb", N, k)
    is_none = (n < 0) | (k < 0)
    if repetition:  # choosing 0 of 0 has one way
        n = where(k == 0, n, n + k - 1)
    is_none = is_none | (n < k)
    ways = _comb_of(where(is_none, 1, n), where(is_none, 1, k))
    return where(is_none, 0, ways)


def _poch(z: Any, m: Any) -> Any:
    return where(m == 0, 1.0, gamma(z + m) / gamma(z))


def _poch_slope(z: Any, m: Any) -> Any:
    return lax.digamma(z + m) - lax.digamma(z)


_poch_of = binary(
    "poch",
    "",
    hlo=lower_by_primitives(_poch),
    kinds="f",
    jvp=(
        lambda t, out, z, m: t * (out * _poch_slope(z, m)),
        lambda t, out, z, m: t * (out * lax.digamma(z + m)),
    ),
)


@operation
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """`gamma(z + m) / gamma(z)`: for an integer `m` the product `z * (z + 1) * ... * (z + m - 1)`.

    >>> f"{glassjax.scipy.special.poch(3.0, 2.0):.2f}"
    '12.00'
    """
    return _poch_of(*strong_floats("poch", z, m))


@operation
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularized lower incomplete gamma function of `a`, which grows from 0 to 1 with `x`.

    >>> f"{glassjax.scipy.special.gammainc(1.0, 1.0):.3f}", f"{1 - jnp.exp(-1.0):.3f}"
    ('0.632', '0.632')
    """
    return lax.igamma(*real_floats("gammainc", a, x))


@operation
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """The upper incomplete gamma function, `1 - gammainc(a, x)`, accurate even where that is small.

    >>> f"{glassjax.scipy.special.gammaincc(1.0, 1.0):.3f}", f"{jnp.exp(-1.0):.3f}"
    ('0.368', '0.368')
    """
    return lax.igammac(*real_floats("gammaincc", a, x))


@operation
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function, which grows from 0 to 1 with `x`.

    It is differentiable in `x` only.

    Arguments:
        a, b: the positive parameters.
        x: the upper limit of the integral, from 0 to 1.

    >>> f"{glassjax.scipy.special.betainc(2.0, 2.0, 0.5):.3f}"
    '0.500'
    """
    return lax.betainc(*real_floats("betainc", a, b, x))


@operation(static="n")
def bernoulli(n: int) -> Array:
    """The Bernoulli numbers 0 to `n`.

    Raises:
        ValueError: `n` is negative.

    >>> [f"{b:.3f}" for b in glassjax.scipy.special.bernoulli(4)]
    ['1.000', '-0.500', '0.167', '0.000', '-0.033']
    """
    n = steps_of("bernoulli: n", n)
    if n < 0:
        raise ValueError(f"bernoulli: n must be a non-negative integer, found {n}")
    dtype = default_float()
    # For even k it is 2 * zeta(k) * k! / (2 pi)**k with alternating signs (DLMF 25.6.2).
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


# The beta function, and its logarithm.


def _betaln_in_64_bits(a: Any, b: Any) -> Any:
    """`betaln` of float32 operands converted to float64, a quotient of Lanczos sums.

    The sums give `beta(a + 1, b + 1)`; the recurrence gives `beta(a, b)`.
    """
    is_positive = (a > 0.0) & (b > 0.0)
    is_inside = is_positive & (lax.max(a, b) < math.inf)
    small, large = (where(is_inside, x, 1.0) for x in (lax.min(a, b), lax.max(a, b)))
    total = small + large
    base = total + (LANCZOS_SHIFT + 1)
    above, below = lanczos_sum(small)
    above_large, below_large = lanczos_sum(large)
    below_total, above_total = lanczos_sum(total + 1.0)
    above = above * above_large * (above_total * (total + 1.0))
    below = below * below_large * (below_total * lax.sqrt(base))
    factor = above / below * (total / small / large)
    share = log_of_normal((small + LANCZOS_SHIFT) / base)
    rest = (small + 1.0) / base  # 1 minus the share of the larger
    s = rest / (rest - 2.0)
    other = 2.0 * s * (1.0 + lax.square(s) * artanh_series(s))
    powers = (small + 0.5) * share + (large + 0.5) * other
    scale = math.sqrt(2 * math.pi) * math.exp(1 - LANCZOS_SHIFT)
    out = powers + log_of_normal(factor * scale)
    out = where((small == 1.0) & (large == 1.0), 0.0, out)

    by_logs = functools.partial(by_parts, lgamma=log_gamma)
    return where_any(~is_inside, by_logs, out, a, b)


@with_64_bits
def _betaln(a: Any, b: Any) -> Any:
    dtype = typeof(a).dtype
    if dtype.itemsize == 8:
        return log_beta(a, b)
    return stage2.astype(_betaln_in_64_bits(to_64_bits(a), to_64_bits(b)), dtype)


# B(2k) / (2k) for the Bernoulli numbers B, from k = 1 on.
_DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_DIGAMMA_SHIFT = 10  # from here on these terms are accurate in float64


def _digamma_growth(a: Any, b: Any) -> Any:
    """`digamma(a + b) - digamma(a)` of positive numbers, as a sum of positive parts.

    It uses the recurrence and the asymptotic series (https://dlmf.nist.gov/5.5.2, 5.11.2), both
    subtracted term by term.
    """
    is_positive = (a > 0.0) & (b > 0.0)
    is_inside = is_positive & (a + b < math.inf)
    x, step = where(is_inside, a, 1.0), where(is_inside, b, 1.0)
    # The growth by a tiny step is linear: scale the growth by a larger one, so nothing underflows.
    share = step / (x * 2.0**-60)
    is_linear = share < 2.0**-40
    share, step = where(is_linear, share, 1.0), where(is_linear, x * 2.0**-60, step)
    out: Any = 0.0
    for k in range(_DIGAMMA_SHIFT):
        low = x + k
        out = out + step / (low + step) * (1.0 / low)
    low = x + _DIGAMMA_SHIFT
    one, other = 1.0 / low, 1.0 / (low + step)
    quotient = step / (low + step) * one
    out = out + (lax.log1p(step * one) + 0.5 * quotient)
    p, q = lax.square(one), lax.square(other)
    series: Any = 0.0
    power: Any = 1.0
    powers: Any = 1.0
    for coefficient in _DIGAMMA_SERIES:  # powers is (p**n - q**n) / (p - q)
        series = series + coefficient * powers
        power = power * q
        powers = powers * p + power
    out = out + quotient * (one + other) * series
    out = out * share

    def by_difference(a: Any, b: Any) -> Any:
        growth = lax.digamma(a + b) - lax.digamma(a)
        return where(a == 0.0, math.nan, growth)

    return where_any(~is_inside, by_difference, out, a, b)


def _trigamma(x: Any) -> Any:
    return lax.polygamma(full_like(x, 1.0), x)


_digamma_growth_of = binary(
    "growth_of_digamma",
    "",
    hlo=in_64_bits(_digamma_growth),
    kinds="f",
    jvp=(
        lambda t, out, a, b: t * (_trigamma(a + b) - _trigamma(a)),
        lambda t, out, a, b: t * _trigamma(a + b),
    ),
)
_betaln_of = binary(
    "betaln",
    "",
    hlo=lower_by_primitives(_betaln),
    kinds="f",
    jvp=(
        lambda t, out, a, b: -(t * _digamma_growth_of(a, b)),
        lambda t, out, a, b: -(t * _digamma_growth_of(b, a)),
    ),
)


@operation
@written_in_jax("special")
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """The logarithm of the absolute value of the beta function.

    >>> f"{glassjax.scipy.special.betaln(2.0, 3.0):.3f}", f"{jnp.log(1 / 12):.3f}"
    ('-2.485', '-2.485')
    """
    return _betaln_of(*real_floats("betaln", a, b))


@operation
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """The beta function.

    >>> f"{glassjax.scipy.special.beta(2.0, 3.0):.4f}", f"{1 / 12:.4f}"
    ('0.0833', '0.0833')
    """
    a, b = real_arrays("beta", a, b)
    return _beta_sign(a, b) * lax.exp(betaln(a, b))


def _beta_sign(a: Any, b: Any) -> Any:
    """The product of three signs; a sum flushed to 0 has the sign of the larger operand."""
    total = a + b
    sign_a, sign_b = gammasgn(a), gammasgn(b)
    sign_larger = where(_ordered_bits(a) > _ordered_bits(b), sign_a, sign_b)
    sign_total = where(total == 0.0, sign_larger, gammasgn(total))
    return sign_a * sign_b * sign_total


def _ordered_bits(x: Any) -> Any:
    """Integers in the order of the absolute values of floats, even of subnormal ones."""
    bits = np.dtype(f"int{typeof(x).dtype.itemsize * 8}")
    return lax.bitcast_convert_type(x, bits) & np.iinfo(bits).max
