"""The incomplete beta function, and the logarithm of beta."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.lax import elementwise, formulas, special
from glassjax.lax.elementwise import abs, sign, square, where
from glassjax.lax.series import converge, where_any
from glassjax.lax.transcendental import exp, log, log1p, sqrt
from glassjax.primitives import sparsity_rules
from glassjax.primitives.declare import declare, lower_by_primitives, no_derivative
from glassjax.primitives.sharding_rules import by_elements
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation, require_kind
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.vmap_rules import elementwise as vmap_elementwise
from glassjax_stage3.abstract_eval import arithmetic

# The logarithm of the beta function.


STIRLING_FROM = 10.0  # from here on Stirling's series is accurate enough
# Stirling's series of the logarithm of the gamma function, after its leading terms (DLMF 5.11.1).
_STIRLING = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156,
)  # fmt: skip


def beyond_stirling(x: Any) -> Any:
    """The logarithm of the gamma function minus Stirling's formula, for `x` that is not small."""
    inverse = 1.0 / x
    inverse_square = square(inverse)
    series: ArrayLike = 0.0
    for coefficient in reversed(_STIRLING):
        series = coefficient + inverse_square * series
    return inverse * series


def by_parts(a: Any, b: Any, lgamma: Callable[[Any], Any]) -> Any:
    """The logarithms of `gamma(a) / gamma(a + b)`, with `a` the larger one, and of `gamma(b)`."""
    is_less = abs(a) < abs(b)
    near, far = where(is_less, a, b), where(is_less, b, a)
    total = far + near
    growth = lgamma(far) - lgamma(total)
    asymptotic = -(near * log(abs(far)))
    growth = where(far == total, where(near == 0.0, 0.0, asymptotic), growth)
    log_of_near = lgamma(near)
    at_pole = (near < 0.0) & (log_of_near == math.inf)
    at_pole = at_pole & (total > 0.0)  # even if the growth is NaN
    return where(at_pole, math.inf, growth + log_of_near)


def log_beta(a: Any, b: Any) -> Any:
    """`log(abs(beta(a, b)))` of float64 numbers, without subtracting large logarithms.

    After DiDonato and Morris (ACM TOMS 708, 1992).
    """
    small, large = elementwise.min(a, b), elementwise.max(a, b)
    is_ordinary = (large < STIRLING_FROM) | (small <= 0.0)
    logs = by_parts(a, b, special.lgamma)
    least, most = where(is_ordinary, 1.0, small), where(is_ordinary, STIRLING_FROM, large)
    total, ratio = least + most, least / most
    is_tiny = ratio < 1e-17  # guards against infinity times zero
    growth = log1p(ratio)
    beyond = beyond_stirling(most) - beyond_stirling(total)
    power = where(is_tiny, least, (total - 0.5) * growth)
    one = beyond - power - least * (log(most) - 1.0)
    one = special.lgamma(least) + one
    share = log(ratio / (1.0 + ratio))
    both = 0.5 * math.log(2 * math.pi) - 0.5 * log(most)
    both = both + (beyond + beyond_stirling(where(least < 1.0, 1.0, least)))
    both = both + (least - 0.5) * share
    both = both - where(is_tiny, least, most * growth)
    return where(is_ordinary, logs, where(least < STIRLING_FROM, one, both))


# The incomplete beta function of large operands, and its density without large logarithms.
#
# With `mean = a / (a + b)`, `x**a * (1 - x)**b` is `mean**a * (1 - mean)**b` times
#
# exp(-exponent), exponent = a * g(x / mean - 1) + b * g((1 - x) / (1 - mean) - 1)
#
# where `g(t) = t - log1p(t)`. What remains is the normal distribution of `sqrt(2 * exponent)`,
# and a correction of the size of its density (https://dlmf.nist.gov/8.18).


LARGE = 1e7  # beyond, one correction term is enough for float64
_NEXT_TO_MEAN = 1e-4


def _below_mean(a: Any, b: Any, x: Any) -> Any:
    """`a - (a + b) * x`: how far `x` is below the mean."""
    total = a + b
    return where(a > b, total * (1.0 - x) - b, a - total * x)


def _normal_exponent(a: Any, b: Any, x: Any, distance: Any) -> Any:
    total = a + b
    a_exponent = formulas.minus_log1p(-(distance / a), x * (total / a))
    b_exponent = formulas.minus_log1p(distance / b, (1.0 - x) * (total / b))
    return a * a_exponent + b * b_exponent


def powers_by_beta(a: Any, b: Any, x: Any) -> Any:
    """`x**a * (1 - x)**b / beta(a, b)`, for `a` and `b` that are not small."""
    total = a + b
    rest = beyond_stirling(a) + beyond_stirling(b) - beyond_stirling(total)
    size = sqrt(a * (b / total) / (2 * math.pi))
    return size * exp(-(_normal_exponent(a, b, x, _below_mean(a, b, x)) + rest))


def incomplete_beta(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function."""
    total, distance = a + b, _below_mean(a, b, x)
    exponent = _normal_exponent(a, b, x, distance)
    root, side = sqrt(exponent), -sign(distance)
    scale = sqrt(a) * sqrt(b)
    is_far = root > _NEXT_TO_MEAN
    by_eta = sqrt(total * 0.5) / (side * where(is_far, root, 1.0))
    far = by_eta + scale / where(is_far, distance, 1.0)
    correction = where(is_far, far, (b - a) / (scale * 3.0))
    normal = 0.5 * special.erfc(-(side * root))
    return normal + correction * (exp(-exponent) / sqrt(2 * math.pi * total))


# The regularized incomplete beta function, a continued fraction (https://dlmf.nist.gov/8.17).


MOST_STEPS = 20_000  # the continued fraction converges slowest where both operands are nearly LARGE


def _beta_fraction(a: Any, b: Any, x: Any, is_active: Any, epsilon: float) -> Any:
    """`1 / (1 + d(1) / (1 + d(2) / (1 + ...)))` by Lentz' method, two terms at a time.

    It converges fast if `x` is below `(a + 1) / (a + b + 2)`.
    """
    tiny = 4 * float(np.finfo(typeof(x).dtype).tiny)

    def nonzero(x: Any) -> Any:
        return where(abs(x) < tiny, tiny, x)

    def term(numerator: Any, above: Any, below: Any, value: Any) -> list[Any]:
        below = 1.0 / nonzero(1.0 + numerator * below)
        above = nonzero(1.0 + numerator / above)
        return [above, below, value * (above * below)]

    def beta_step(m: Any, *state: Any) -> list[Any]:
        even = a + m * 2.0
        first = (a + m) * (total + m) / (even * (even + 1.0))
        # Where `a` and `m` are 0, the first factor would be 0 / 0.
        first = where(m == 0.0, start, first)
        next_m = m + 1.0
        second = next_m * (b - next_m) / ((even + 1.0) * (even + 2.0))
        state = tuple(term(-(first * x), *state))
        return term(second * x, *state)

    def still_changes(old: Any, new: Any) -> Any:
        return abs(new[2] - old[2]) > abs(new[2]) * epsilon

    total = a + b
    start = total / (a + 1.0)
    one, zero = (stage2.functions.full_like(x, number) for number in (1.0, 0.0))
    return 1.0 / converge(beta_step, [one, zero, one], is_active, still_changes, MOST_STEPS)[2]


def _powers_by_beta(a: Any, b: Any, x: Any) -> Any:
    """`x**a * (1 - x)**b / beta(a, b)`."""
    logs = _log_of_powers(a, b, x) - log_beta(a, b)
    has_large_logs = elementwise.min(a, b) >= STIRLING_FROM  # large logarithms cancel
    first, second = where(has_large_logs, a, STIRLING_FROM), where(has_large_logs, b, STIRLING_FROM)
    return where(has_large_logs, powers_by_beta(first, second, x), exp(logs))


def _fraction_weight(a: Any, b: Any, x: Any, p: Any, q: Any) -> Any:
    """`x**a * (1 - x)**b / (p * beta(p, q))`, the factor of the fraction; `p, q` are `a, b` or
    `b, a`.
    """
    small = _over_first_beta(p, q, _log_of_powers(a, b, x))
    return where(elementwise.max(a, b) < STIRLING_FROM, small, _powers_by_beta(a, b, x) / p)


def _narrow_fraction_weight(a: Any, b: Any, x: Any, q: Any) -> Any:
    """`_fraction_weight` for results of fewer than 53 bits.

    In `q * gamma(a + b + 1) / ((a + b) * gamma(a + 1) * gamma(b + 1))` each gamma function is a
    power, an exponential and Lanczos' sum. The exponentials leave a constant, and the powers are
    divided before their logarithms are taken.
    """
    total = a + b
    base, first, second = (z + special.LANCZOS_SHIFT for z in (total, a, b))
    first_log = a * special.log_of_normal(x * (base / first))
    second_log = b * special.log_of_normal((1.0 - x) * (base / second))
    power = exp(first_log + second_log + special.LANCZOS_SHIFT)
    root = sqrt(base / (2 * math.pi * (first * second)))
    above, below = special.lanczos_sum(total)
    above_a, below_a = special.lanczos_sum(a)
    above_b, below_b = special.lanczos_sum(b)
    lanczos = q * (above * (below_a * below_b)) / (total * (below * (above_a * above_b)))
    return power * root * lanczos


def _log_of_powers(a: Any, b: Any, x: Any) -> Any:
    return a * log(x) + b * log1p(-x)


def _over_first_beta(p: Any, q: Any, logs: Any) -> Any:
    """`exp(logs) / (p * beta(p, q))`, even if `p` is the smallest number."""
    ratio = special.lgamma(p + q) - special.lgamma(q)
    return exp(logs + (ratio - special.lgamma(p + 1.0)))


def _betainc(a: Any, b: Any, x: Any) -> Any:
    """`betainc` in float64: near the mean, narrower floats would lose most digits."""
    dtype = typeof(x).dtype
    is_narrow = dtype.itemsize < 8
    a, b, x = map(formulas.to_64_bits, (a, b, x))
    # The whole distribution lies at 0, or at 1.
    at_zero = (a == 0.0) | (b == math.inf)
    at_one = (b == 0.0) | (a == math.inf)
    is_out = ~((a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0)) | (at_zero & at_one)
    at_end = at_zero | at_one
    is_large = elementwise.min(a, b) >= LARGE
    is_active = ~(is_out | at_end | is_large)

    is_fast = x < (a + 1.0) / (a + b + 2.0)
    p, q = where(is_fast, a, b), where(is_fast, b, a)
    y = where(is_fast, x, 1.0 - x)
    epsilon = 2.0**-32 if is_narrow else float(np.finfo(np.float64).eps)
    weight = _narrow_fraction_weight(a, b, x, q) if is_narrow else _fraction_weight(a, b, x, p, q)
    out = weight * _beta_fraction(p, q, y, is_active, epsilon)
    # The logarithms of extreme operands are so large that their difference cancels completely.
    out = where(is_fast, out, 1.0 - out)
    out = where_any(is_large, incomplete_beta, out, a, b, x)
    out = elementwise.max(*stage2.promote(elementwise.min(*stage2.promote(out, 1.0)), 0.0))
    out = where(at_zero, where(x == 0.0, 0.0, 1.0), out)
    out = where(at_one, where(x == 1.0, 1.0, 0.0), out)
    out = where(at_end | (x != 0.0), out, 0.0)
    out = where(at_end | (x != 1.0), out, 1.0)
    return stage2.astype(where(is_out, math.nan, out), dtype)


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    logs = _log_of_powers(a - 1.0, b - 1.0, x)
    has_large_logs = elementwise.min(a, b) >= STIRLING_FROM
    by_powers = _powers_by_beta(a, b, x) / (x * (1.0 - x))
    return where(has_large_logs, by_powers, exp(logs - log_beta(a, b)))


def _ternary(name: str, lower: Any, *jvp: Any) -> Primitive:
    """An elementwise primitive of three floats."""
    primitive = Primitive(name)
    two_at_a_time = arithmetic(primitive)

    def type_of(a: ShapedArray, b: ShapedArray, x: ShapedArray) -> Sequence[ShapedArray]:
        require_kind("betainc", "f", a, b, x)
        return two_at_a_time(two_at_a_time(a, b)[0], x)

    declare(
        primitive,
        abstract_eval=type_of,
        lower=lower,
        vmap=vmap_elementwise(primitive),
        sharding=by_elements(primitive),
        sparsity=sparsity_rules.by_elements,
        jvp=jvp,
    )
    return primitive


beta_density_p = _ternary(
    "beta_density", formulas.in_64_bits(_beta_density),
    no_derivative("betainc", "a"),
    no_derivative("betainc", "b"),
    lambda t, out, a, b, x: t * (out * ((a - 1.0) / x - (b - 1.0) / (1.0 - x))),
)  # fmt: skip
regularized_incomplete_beta_p = _ternary(
    "regularized_incomplete_beta", lower_by_primitives(_betainc),
    no_derivative("betainc", "a"),
    no_derivative("betainc", "b"),
    lambda t, out, a, b, x: t * bind1(beta_density_p, a, b, x),
)  # fmt: skip


@operation(kinds="f")
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function: the share of the integral from 0 to `x`.

    It is differentiable in `x` only.

    Arguments:
        a, b: the positive parameters.
        x: the upper limit of the integral, from 0 to 1.

    >>> f"{lax.betainc(2.0, 2.0, 0.5):.3f}", f"{lax.betainc(1.0, 1.0, 0.25):.3f}"
    ('0.500', '0.250')
    """
    return bind1(regularized_incomplete_beta_p, *stage2.promote(a, b, x))
