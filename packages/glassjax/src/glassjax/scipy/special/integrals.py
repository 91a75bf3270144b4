"""Functions that are integrals: expn, expi, sici, fresnel, spence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.lax.formulas import horner, in_64_bits
from glassjax.lax.incomplete_gamma import igammac_fraction
from glassjax.lax.series import converge
from glassjax.numpy.cases import where
from glassjax.numpy.transcendental import strong_floats
from glassjax.primitives.declare import Unary, binary, no_derivative, unary
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax_stage2 import typeof
from glassjax_stage2.functions import full_like

# Exponential integrals.
#
# Near 0 they are power series (https://dlmf.nist.gov/6.6). Elsewhere they are continued fractions,
# like the incomplete gamma function (https://dlmf.nist.gov/8.19); the integral of first order is a
# factor times its Chebyshev series (Clenshaw, Chebyshev series for mathematical functions, 1962),
# written in powers.


MOST_TERMS = 500


def _series_sum(next_term: Any, first: Any, is_active: Any) -> Any:
    """The sum of a series.

    Arguments:
        next_term: function of the number of earlier terms, and of a factor that is passed from term
            to term; it returns the next factor and the term.
        first: the first factor. No term is larger than its factor, which decides convergence, since
            a term may be 0.
    """
    epsilon = float(np.finfo(typeof(first).dtype).eps)

    def sum_step(n: Any, factor: Any, total: Any) -> list[Any]:
        factor, term = next_term(n, factor)
        return [factor, total + term]

    def sum_changes(old: Any, new: Any) -> Any:
        return lax.abs(new[0]) > lax.abs(new[1]) * epsilon

    start = [first, full_like(first, 0.0)]
    return converge(sum_step, start, is_active, sum_changes, MOST_TERMS)[1]


def _expn(n: Any, x: Any) -> Any:
    is_small = (x <= 0.7) & (x > 0.0)
    is_inside = (x > 0.0) & (n > 0.0)
    near, far = where(is_small, x, 0.5), where(is_small, 2.0, x)
    last = n - 1.0

    def next_term(k: Any, power: Any) -> Any:
        below = k - last
        term = where(below == 0.0, 0.0, power / where(below == 0.0, 1.0, below))
        return power * -near / (k + 1.0), term

    one = full_like(x, 1.0)
    series = _series_sum(next_term, one, is_small & is_inside)
    logs = last * lax.log(near) - lax.lgamma(n)
    is_odd = lax.rem(*stage2.promote(last, 2.0)) != 0.0
    power = where(is_odd, -1.0, 1.0) * lax.exp(logs)
    lower = power * (lax.digamma(n) - lax.log(near)) - series

    # Beyond 1e3 the exponential is zero, so the fraction is not needed.
    is_far = is_inside & ~is_small & (x < 1e3)
    upper = lax.exp(-far) * igammac_fraction(1.0 - n, far, is_far)
    out = where(is_small, lower, upper)
    out = where(n == 0.0, lax.exp(-x) / x, out)
    at_zero = where(n <= 1.0, math.inf, 1.0 / where(n == 1.0, 1.0, last))
    out = where(x == 0.0, at_zero, out)
    return where((n < 0.0) | (x < 0.0), math.nan, out)


def _expn_tangent(t: Any, out: Any, n: Any, x: Any) -> Any:
    slope_at_zero = out * (1.0 + 1.0 / x)
    slope = where(n == 0.0, slope_at_zero, _expn_of(n - 1.0, x))
    return -(t * slope)


_expn_of = binary(
    "expn",
    "",
    hlo=in_64_bits(_expn),
    kinds="f",
    jvp=(no_derivative("expn", "n"), _expn_tangent),
)


# E1(x) * x * exp(x) for x from 1 on, in 6 / (x + 2) - 1, highest degree first.
_E1_BEYOND = (
    1.6653605630210352e-09, -2.2833791588047637e-09, -8.884869602603872e-09,
    1.1242555759612937e-08, 2.308454459271108e-08, -2.8530020944707464e-08, -3.563055711250494e-08,
    3.866861189273486e-08, 3.59847775087085e-08, -4.927132707516047e-08, -3.401080059476726e-08,
    -1.3562838183210082e-08, -3.3895594783596894e-08, -1.988326883196929e-07,
    -2.757892838197972e-07, -9.093660485625875e-07, -1.5231163467442538e-06,
    -4.759418936062513e-06, -8.721850614330528e-06, -2.653610548185957e-05, -5.219395827001712e-05,
    -0.00016176761759105962, -0.00033798581482425506, -0.0011289560037625775,
    -0.002507852571851941, -0.010133650725821937, -0.024300313654295764, -0.19036949703167486,
    0.8253825996042233,
)  # fmt: skip
# Ei(x) * x * exp(-x) for x from 8 to 24, in 24 / x - 2, highest degree first.
_EI_BETWEEN = (
    7.295997498271392e-11, -1.2986684344394544e-09, 2.7972774696205398e-09, 3.75392960845311e-09,
    -1.9173579130465075e-08, 2.135103303335394e-08, 1.1783504890075976e-08, -9.342202199094821e-08,
    2.1442411002090458e-07, -1.958821152049133e-07, -4.291846892992687e-07, 1.9023240099659114e-06,
    -2.5347046021936673e-06, -2.7610538146517924e-06, 1.6579946630548978e-05,
    -1.7692294852930692e-05, -4.616656010674406e-05, 0.00013732291612991314, 9.334164293044166e-05,
    -0.0006719540776297963, -0.0007168215029051482, 0.0022845381279430407, 0.01143817510780101,
    0.0663599969871745, 1.1029745449067592,
)  # fmt: skip
# Ei(x) * x * exp(-x) for x from 24 on, in 48 / x - 1, highest degree first.
_EI_BEYOND = (
    -7.958362416674816e-12, -4.3128144278422854e-11, 1.0585359469972874e-11,
    2.6369414725278334e-10, 1.9271607413852916e-10, -5.758981872455477e-10, -9.45986420556208e-10,
    -6.621219535716691e-11, 1.0652237994055923e-09, 1.648386298285285e-09, 2.4525109826562722e-09,
    5.036596429762775e-09, 1.3569421721248852e-08, 4.6844841027596855e-08, 2.053127853729203e-07,
    1.1430188598494646e-06, 8.211967484590294e-06, 7.863790798684312e-05, 0.001063768785547162,
    0.022753072027360828, 1.0217607036601566,
)  # fmt: skip
# Numbers of terms of the power series that float64 resolves below 1, and below 8.
_E1_TERMS, _EI_TERMS = 19, 45


def _exp1(x: Any) -> Any:
    is_small = x <= 1.0
    near, far = where(x > 0.0, where(is_small, x, 1.0), 1.0), where(is_small, 1.0, x)
    logs = np.euler_gamma + lax.log(near)
    lower = -(logs + _exp1_series(-near, _E1_TERMS))
    series = horner(_E1_BEYOND, 6.0 / (far + 2.0) - 1.0)
    upper = lax.exp(-far) * series / far
    out = where(is_small, lower, upper)
    return where(x == 0.0, math.inf, where(x < 0.0, math.nan, out))


def _exp1_series(x: Any, count: int) -> Any:
    """The sum of x**k / (k * k!) over k = 1, ..., `count`."""
    coefficients = [1 / (k * math.factorial(k)) for k in range(count, 0, -1)]
    return x * horner(coefficients, x)


def _expi(x: Any) -> Any:
    is_small, is_far = x <= 8.0, x > 24.0
    near, far = where(x > 0.0, where(is_small, x, 1.0), 1.0), where(is_small, 8.0, x)
    logs = np.euler_gamma + lax.log(near)
    lower = logs + _exp1_series(near, _EI_TERMS)
    inverse = 1.0 / far
    between = horner(_EI_BETWEEN, 24.0 * where(is_far, 1 / 24, inverse) - 2.0)
    beyond = horner(_EI_BEYOND, 48.0 * where(is_far, inverse, 0.0) - 1.0)
    upper = lax.exp(far) * inverse * where(is_far, beyond, between)
    out = where(is_small, lower, where(x == math.inf, math.inf, upper))
    out = where(x == 0.0, -math.inf, out)
    return where(x < 0.0, -_exp1(lax.abs(x)), out)


def _exp1_slope(x: Any) -> Any:
    """The derivative of `exp1`: minus infinity at 0.0 and -0.0, NaN below."""
    positive = where(x < 0.0, math.nan, where(x == 0.0, 0.0, x))
    return -(lax.exp(-x) / positive)


_exp1_of = unary(
    "exp1",
    "",
    hlo=in_64_bits(_exp1),
    kinds="f",
    jvp=lambda t, out, x: t * _exp1_slope(x),
)
_expi_of = unary(
    "expi",
    "",
    hlo=in_64_bits(_expi),
    kinds="f",
    jvp=lambda t, out, x: t * (lax.exp(x) / x),
)


@operation
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """The integral of `exp(-x * t) / t**n` over t from 1 on, for whole numbers `n`.

    It is differentiable in `x` only.

    >>> f"{glassjax.scipy.special.expn(2, 1.0):.3f}"
    '0.148'
    """
    return _expn_of(*strong_floats("expn", n, x))


@operation
def exp1(x: ArrayLike) -> Array:
    """The integral of `exp(-t) / t` over t from `x` on.

    >>> f"{glassjax.scipy.special.exp1(1.0):.3f}"
    '0.219'
    """
    return _exp1_of(*strong_floats("exp1", x))


@operation
def expi(x: ArrayLike) -> Array:
    """The integral of `exp(t) / t` over t up to `x`, as a principal value at 0.

    >>> f"{glassjax.scipy.special.expi(1.0):.3f}"
    '1.895'
    """
    return _expi_of(*strong_floats("expi", x))


# Sine and cosine integrals.
#
# Near 0 they are power series (https://dlmf.nist.gov/6.6); elsewhere waves whose amplitudes are
# Chebyshev series (Clenshaw, Chebyshev series for mathematical functions, 1962), written in
# powers.


# f(x) * x for x from 4 on, in 64 / (x**2 + 16) - 1, highest degree first.
_SICI_F = (
    2.546344575525734e-07, -2.3313902400363535e-07, -1.821496011303083e-06, 1.605402982240343e-06,
    5.9578190184959345e-06, -5.045379268866871e-06, -1.1741124199046975e-05, 9.521281025042883e-06,
    1.551794266254385e-05, -1.2000794097326917e-05, -1.44882929202573e-05, 1.0625891277058739e-05,
    9.82512034718429e-06, -6.793182846001089e-06, -4.880579040546493e-06, 3.14489680649286e-06,
    1.8056771674810734e-06, -1.0964545540283575e-06, -4.329324600185008e-07, 1.775532978400108e-07,
    1.8888421384469817e-07, -3.394778770255392e-07, 9.726257501317788e-08, -1.6117695420127453e-06,
    -1.6650534469528336e-06, -1.330337881255021e-05, -2.9640105363212635e-05,
    -0.00014349117094824635, -0.0004196948437558114, -0.001909308746177727, -0.0064942337606289065,
    -0.039546715483186834, 0.9653300868964378,
)  # fmt: skip
# g(x) * x**2 in the same variable.
_SICI_G = (
    8.181547719256631e-06, -7.1333133494201825e-06, -6.736548075537232e-05, 5.68626769323721e-05,
    0.00025542116646028694, -0.0002083220429760774, -0.000590047901281633, 0.0004637760666199817,
    0.0009268982480288045, -0.0006998404238816185, -0.0010468088207314951, 0.000756274809736584,
    0.0008765667524936682, -0.0006031312320885273, -0.0005532535042905157, 0.00036045610706479566,
    0.0002651240928837803, -0.00016248072148574816, -9.623249855796443e-05, 5.4877497276397106e-05,
    2.6571187510316787e-05, -1.4214285505720697e-05, -4.828060481308619e-06,
    1.7288546508375164e-06, 2.101356612738045e-06, -2.6531994748640844e-06, 3.5207185548914473e-06,
    -7.837121209119437e-06, 9.744452131816983e-06, -3.749853868161989e-05, 1.1565714281867291e-05,
    -0.0002883178411735829, -0.00031069499617770004, -0.0036611702949871615, -0.008301232896802754,
    -0.0985761322482133, 0.9060100136716552,
)  # fmt: skip
_SINE_TERMS = 20  # the terms of the power series that float64 resolves below 4


def _sine_series(x: Any, first: int) -> Any:
    """The sum of (-1)**k * x**n / (n * n!) for every second n, from `first` on."""
    orders = range(first + 2 * _SINE_TERMS - 2, first - 2, -2)
    signs = [(-1) ** (n // 2) for n in orders]
    coefficients = [sign / (n * math.factorial(n)) for n, sign in zip(orders, signs, strict=True)]
    square = lax.square(x)
    return (x if first == 1 else square) * horner(coefficients, square)


def _sici_auxiliary(x: Any) -> tuple[Any, Any]:
    """The functions f and g of https://dlmf.nist.gov/6.2#iii, for `x` from 4 on."""
    inverse = 1.0 / x
    point = 64.0 / (lax.square(x) + 16.0) - 1.0
    f, g = horner(_SICI_F, point), horner(_SICI_G, point)
    return f * inverse, g * lax.square(inverse)


def _si(x: Any) -> Any:
    size = lax.abs(x)
    is_near = size < 4.0
    near, far = where(is_near, size, 0.0), where(is_near, 4.0, size)
    f, g = _sici_auxiliary(far)
    waves = f * lax.cos(far) + g * lax.sin(far)
    upper = where(size == math.inf, math.pi / 2, math.pi / 2 - waves)
    return lax.sign(x) * where(is_near, _sine_series(near, 1), upper)


def _ci(x: Any) -> Any:
    size = lax.abs(x)
    is_near = size < 4.0
    near, far = where(is_near, size, 1.0), where(is_near, 4.0, size)
    logs = lax.log(near) + np.euler_gamma
    lower = logs + _sine_series(near, 2)
    lower = where(x == 0.0, -math.inf, lower)
    f, g = _sici_auxiliary(far)
    upper = f * lax.sin(far) - g * lax.cos(far)
    upper = where(x == math.inf, 0.0, where(x == -math.inf, math.nan, upper))
    return where(is_near, lower, upper)


def _sinc(x: Any) -> Any:
    ratio = lax.sin(x) / where(x == 0.0, 1.0, x)
    return where(x == 0.0, 1.0, where(lax.abs(x) == math.inf, 0.0, ratio))


_si_of = unary(
    "sine_integral",
    "",
    hlo=in_64_bits(_si),
    kinds="f",
    jvp=lambda t, out, x: t * _sinc(x),
)
_ci_of = unary(
    "cosine_integral",
    "",
    hlo=in_64_bits(_ci),
    kinds="f",
    jvp=lambda t, out, x: t * (lax.cos(x) / x),
)


@operation
def sici(x: ArrayLike) -> tuple[Array, Array]:
    """The integral of `sin(t) / t` from 0 to `x`; minus the integral of `cos(t) / t` from `x` on.

    >>> [f"{x:.3f}" for x in glassjax.scipy.special.sici(1.0)]
    ['0.946', '0.337']
    """
    (x,) = strong_floats("sici", x)
    return _si_of(x), _ci_of(x)


# Fresnel integrals, of the sine and the cosine of a square.


_FRESNEL_NEAR = 1.25  # up to here the series loses few digits, beyond it the sums below lose none
_FRESNEL_TERMS = 16
# Nodes and weights of the trapezoidal rule for the positive half of a bell curve.
_FRESNEL_STEP = 0.1875
_FRESNEL_NODES = _FRESNEL_STEP * np.arange(35)
_FRESNEL_WEIGHTS = (
    _FRESNEL_STEP * np.exp(-(_FRESNEL_NODES**2)) * np.where(_FRESNEL_NODES == 0, 0.5, 1.0)
)


@operation
def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """The integrals of `sin(pi t**2 / 2)` and of `cos(pi t**2 / 2)` from 0 to `x`.

    Returns:
        The integral of the sine, then the integral of the cosine.

    Raises:
        ValueError: `x` is complex.

    >>> s, c = fresnel(1.0)
    >>> print(f"{s:.4f} {c:.4f}")
    0.4383 0.7799
    """
    (x,) = strong_floats("fresnel", x)
    return _fresnel_s_of(x), _fresnel_c_of(x)


def _quarter_turns(x: Any) -> tuple[Any, Any]:
    """`x**2` modulo 4, in quarter turns: a whole number, and the rest, accurate even near 0.

    The square is the sum of three products without an error, of the upper and the lower half of
    the digits of `x`. Floats too large to be odd have whole turns only.
    """
    x = where(lax.abs(x) < 2.0**54, x, 0.0)
    upper = lax.bitcast_convert_type(lax.bitcast_convert_type(x, np.int64) & -(2**27), np.float64)
    lower = x - upper
    products = lax.square(upper), 2.0 * (upper * lower), lax.square(lower)
    whole: Any = 0.0
    rest: Any = 0.0
    lost: Any = 0.0
    for product in products:
        turns = lax.rem(*stage2.promote(product, 4.0))
        nearest = lax.round(turns, lax.RoundingMethod.TO_NEAREST_EVEN)
        whole = whole + nearest
        rest, error = _sum_and_error(rest, turns - nearest)
        lost = lost + error
    nearest = lax.round(rest, lax.RoundingMethod.TO_NEAREST_EVEN)
    return whole + nearest, rest - nearest + lost


def _sum_and_error(x: Any, y: Any) -> tuple[Any, Any]:
    """The rounded sum, and its rounding error (Knuth's two-sum)."""
    total = x + y
    y_rounded = total - x
    return total, x - (total - y_rounded) + (y - y_rounded)


def _fresnel_wave(x: Any, phase: int) -> Any:
    """`sin(pi / 2 * (x**2 + phase))`, from sines and cosines of at most an eighth of a turn."""
    quarter, rest = _quarter_turns(x)
    angle = math.pi / 2 * rest
    which = lax.rem(*stage2.promote(quarter + (8.0 + phase), 4.0))
    is_odd = lax.rem(*stage2.promote(which, 2.0)) == 1.0
    out = where(is_odd, lax.cos(angle), lax.sin(angle))
    return where(x == x, where(which >= 2.0, -out, out), math.nan)


def _fresnel_near(x: Any, which: int) -> Any:
    """The series of the sine for `which` 0, of the cosine for 1."""
    square = math.pi / 2 * lax.square(x)
    series: Any = 0.0
    for k in reversed(range(_FRESNEL_TERMS)):
        n = 2 * k + 1 - which
        term = (-1) ** k / (math.factorial(n) * (2 * n + 1))
        series = term + lax.square(square) * series
    return x * (series if which else square * series)


def _fresnel_far(x: Any, which: int) -> Any:
    """1/2 plus waves whose amplitudes are integrals of bell curves."""
    scale = math.sqrt(math.pi / 2) * x
    f: Any = 0.0
    g: Any = 0.0
    for node, weight in zip(_FRESNEL_NODES.tolist(), _FRESNEL_WEIGHTS.tolist(), strict=True):
        square = lax.square(node / scale)
        part = weight / (1.0 + lax.square(square))
        f, g = f + part, g + square * part
    sin, cos = _fresnel_wave(x, 0), _fresnel_wave(x, 1)
    first, second = (sin, -cos) if which else (-cos, -sin)
    waves = f * first + g * second
    factor = math.sqrt(2) / math.pi / scale
    return 0.5 + factor * waves


def _fresnel_integral(x: Any, which: int) -> Any:
    size = lax.abs(x)
    is_near = size < _FRESNEL_NEAR
    near = _fresnel_near(where(is_near, x, 0.0), which)
    far = lax.sign(x) * _fresnel_far(where(is_near, _FRESNEL_NEAR, size), which)
    return where(is_near, near, far)


def _declare_fresnel(name: str, which: int) -> Unary:
    wave = unary(
        f"{name}_of_square",
        "",
        hlo=in_64_bits(lambda x: where(lax.is_finite(x), _fresnel_wave(x, which), math.nan)),
        kinds="f",
        jvp=lambda t, out, x: t * slope(x),
    )

    def slope(x: Any) -> Any:
        other = _FRESNEL_WAVES[1 - which](x)
        return math.pi * x * (-other if which else other)

    _FRESNEL_WAVES.append(wave)
    return unary(
        f"fresnel_{name}",
        "",
        hlo=in_64_bits(lambda x: _fresnel_integral(x, which)),
        kinds="f",
        jvp=lambda t, out, x: t * wave(x),
    )


_FRESNEL_WAVES: list[Unary] = []
_fresnel_s_of = _declare_fresnel("sin", 0)
_fresnel_c_of = _declare_fresnel("cos", 1)


# The dilogarithm, under scipy's name: Spence's function.


# B(2k) / (2k + 1)! for the Bernoulli numbers B, highest k first.
_BERNOULLI = (
    4.518980029619918e-16, -1.9939295860721075e-14, 8.921691020456452e-13, -4.064761645144226e-11,
    1.8978869988970999e-09, -9.185773074661964e-08, 4.72411186696901e-06, -0.0002777777777777778,
    0.027777777777777776,
)  # fmt: skip


def _spence(x: Any) -> Any:
    """The method of 't Hooft and Veltman (Nuclear Physics B153, 1979, appendix A).

    In `-log(x)` it is a series of Bernoulli numbers; nine suffice between 1/2 and 2. Larger `x`
    are mapped to `1 / x`, smaller ones to `1 - x`.
    """
    is_positive = (x > 0.0) & (x < math.inf)
    at = where(is_positive, x, 1.0)
    is_large = at > 2.0
    y = where(is_large, 1.0 / at, at)
    is_reflected = y < 0.5
    log_x = lax.log(at)
    log_rest = lax.log1p(-where(is_reflected, y, 0.0))
    u = -where(is_reflected, log_rest, log_x)
    square = lax.square(u)
    odd = u * (1.0 + square * horner(_BERNOULLI, square))
    out = odd - 0.25 * square
    product = where(is_large, -log_x, log_x) * log_rest
    out = where(is_reflected, math.pi**2 / 6 - product - out, out)
    out = where(is_large, -0.5 * lax.square(log_x) - out, out)
    out = where(x == 0.0, math.pi**2 / 6, where(x == math.inf, -math.inf, out))
    return where(x >= 0.0, out, math.nan)


def _subnormal_log(x: Any) -> Any:
    """The logarithm, from the bits of subnormal numbers, which XLA flushes to zero."""
    limits = np.finfo(typeof(x).dtype)
    bits = lax.bitcast_convert_type(lax.abs(x), np.dtype(f"int{limits.bits}"))
    log_of_count = lax.log(stage2.astype(bits, limits.dtype))
    subnormal = log_of_count + math.log(2) * (limits.minexp - limits.nmant)
    return where(lax.abs(x) < limits.tiny.item(), subnormal, lax.log(x))


def _spence_tangent(t: Any, out: Any, x: Any) -> Any:
    is_one = x == 1.0
    slope = _subnormal_log(x) / (1.0 - where(is_one, 0.0, x))
    return t * where(is_one, -1.0, slope)


_spence_of = unary("spence", "", hlo=in_64_bits(_spence), kinds="f", jvp=_spence_tangent)


@operation
def spence(x: ArrayLike) -> Array:
    """The integral of `log(t) / (1 - t)` over t from 1 to `x`.

    Raises:
        TypeError: `x` is not an array of 32-bit or 64-bit floats.

    >>> f"{glassjax.scipy.special.spence(2.0):.3f}", f"{-(jnp.pi**2) / 12:.3f}"
    ('-0.822', '-0.822')
    """
    if typeof(x).dtype not in (np.float32, np.float64):
        raise TypeError(f"spence: x must have dtype float32 or float64, found {typeof(x)}")
    return _spence_of(*strong_floats("spence", x))
