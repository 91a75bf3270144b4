"""The incomplete beta function, and the logarithm of beta."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax.elementwise import (
    abs,
    add,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    div,
    eq,
    ge,
    gt,
    le,
    lt,
    max,
    min,
    mul,
    ne,
    neg,
    sign,
    square,
    sub,
    where,
)
from minijax.lax.formulas import converge, in_64_bits, minus_log1p, to_64_bits, where_any
from minijax.lax.special import LANCZOS_SHIFT, erfc, lanczos_sum, lgamma, log_of_normal
from minijax.lax.transcendental import exp, log, log1p, sqrt
from minijax.primitives.declare import declare, lower_by_primitives, no_derivative, require_kind
from minijax.primitives.sharding_rules import by_elements
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.number_types import promote
from minijax_stage2 import Primitive, ShapedArray, bind1, typeof
from minijax_stage2.vmap_rules import elementwise
from minijax_stage3.abstract_eval import arithmetic

# The logarithm of the beta function.


STIRLING_FROM = 10.0  # from here on the terms below are enough
# Stirling's series, of what the logarithm of the gamma function is beyond its leading terms.
_STIRLING = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156,
)  # fmt: skip


def beyond_stirling(x: Any) -> Any:
    """The logarithm of the gamma function, less Stirling's formula, of `x` that is not small."""
    inverse = div(1.0, x)
    of_square = square(inverse)
    series: ArrayLike = 0.0
    for coefficient in reversed(_STIRLING):
        series = add(coefficient, mul(of_square, series))
    return mul(inverse, series)


def by_parts(a: Any, b: Any, lgamma: Callable[[Any], Any]) -> Any:
    """The logarithms of `gamma(a) / gamma(a + b)`, with `a` the larger one, and of `gamma(b)`."""
    is_less = lt(abs(a), abs(b))
    near, far = where(is_less, a, b), where(is_less, b, a)
    total = add(far, near)
    growth = sub(lgamma(far), lgamma(total))
    asymptotic = neg(mul(near, log(abs(far))))
    growth = where(eq(far, total), where(eq(near, 0.0), 0.0, asymptotic), growth)
    log_of_near = lgamma(near)
    at_pole = bitwise_and(lt(near, 0.0), eq(log_of_near, math.inf))
    at_pole = bitwise_and(at_pole, gt(total, 0.0))  # even if the growth is not a number
    return where(at_pole, math.inf, add(growth, log_of_near))


def log_beta(a: Any, b: Any) -> Any:
    """`log(abs(beta(a, b)))` of float64 numbers, without subtracting large logarithms.

    After DiDonato and Morris (ACM TOMS 708, 1992).
    """
    small, large = min(a, b), max(a, b)
    is_ordinary = bitwise_or(lt(large, STIRLING_FROM), le(small, 0.0))
    logs = by_parts(a, b, lgamma)
    least, most = where(is_ordinary, 1.0, small), where(is_ordinary, STIRLING_FROM, large)
    total, ratio = add(least, most), div(least, most)
    is_tiny = lt(ratio, 1e-17)  # and infinity times zero is near
    growth = log1p(ratio)
    beyond = sub(beyond_stirling(most), beyond_stirling(total))
    power = where(is_tiny, least, mul(sub(total, 0.5), growth))
    one = sub(sub(beyond, power), mul(least, sub(log(most), 1.0)))
    one = add(lgamma(least), one)
    share = log(div(ratio, add(1.0, ratio)))
    both = sub(0.5 * math.log(2 * math.pi), mul(0.5, log(most)))
    both = add(both, add(beyond, beyond_stirling(where(lt(least, 1.0), 1.0, least))))
    both = add(both, mul(sub(least, 0.5), share))
    both = sub(both, where(is_tiny, least, mul(most, growth)))
    return where(is_ordinary, logs, where(lt(least, STIRLING_FROM), one, both))


# The incomplete beta function of large operands, and its density without large logarithms.
#
# With `mean = a / (a + b)` the powers of `x` and `1 - x` are those of the mean times
#
# exp(-exponent), exponent = a * g(x / mean - 1) + b * g((1 - x) / (1 - mean) - 1)
#
# where `g(t) = t - log1p(t)`. What remains is the normal distribution of `sqrt(2 * exponent)`,
# and a correction of the size of its density (https://dlmf.nist.gov/8.18).


LARGE = 1e7  # from here on, of both operands, one correction is enough for float64
_NEXT_TO_MEAN = 1e-4


def _distance(a: Any, b: Any, x: Any) -> Any:
    """`a - (a + b) * x`: how far `x` is below the mean."""
    total = add(a, b)
    return where(gt(a, b), sub(mul(total, sub(1.0, x)), b), sub(a, mul(total, x)))


def _exponent(a: Any, b: Any, x: Any, distance: Any) -> Any:
    total = add(a, b)
    of_a = minus_log1p(neg(div(distance, a)), mul(x, div(total, a)))
    of_b = minus_log1p(div(distance, b), mul(sub(1.0, x), div(total, b)))
    return add(mul(a, of_a), mul(b, of_b))


def powers_by_beta(a: Any, b: Any, x: Any) -> Any:
    """`x**a * (1 - x)**b / beta(a, b)`, for `a` and `b` that are not small."""
    total = add(a, b)
    rest = sub(add(beyond_stirling(a), beyond_stirling(b)), beyond_stirling(total))
    size = sqrt(div(mul(a, div(b, total)), 2 * math.pi))
    return mul(size, exp(neg(add(_exponent(a, b, x, _distance(a, b, x)), rest))))


def incomplete_beta(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function."""
    total, distance = add(a, b), _distance(a, b, x)
    exponent = _exponent(a, b, x, distance)
    root, side = sqrt(exponent), neg(sign(distance))
    spread = mul(sqrt(a), sqrt(b))
    is_far = gt(root, _NEXT_TO_MEAN)
    by_eta = div(sqrt(mul(total, 0.5)), mul(side, where(is_far, root, 1.0)))
    far = add(by_eta, div(spread, where(is_far, distance, 1.0)))
    correction = where(is_far, far, div(sub(b, a), mul(spread, 3.0)))
    normal = mul(0.5, erfc(neg(mul(side, root))))
    return add(normal, mul(correction, div(exp(neg(exponent)), sqrt(mul(total, 2 * math.pi)))))


# The regularized incomplete beta function, a continued fraction (https://dlmf.nist.gov/8.17).


MOST_STEPS = 20_000  # as many as it takes where both operands are nearly large


def _fraction(a: Any, b: Any, x: Any, is_active: Any, epsilon: float) -> Any:
    """`1 / (1 + d(1) / (1 + d(2) / (1 + ...)))` by Lentz' method, two terms at a time.

    It converges fast if `x` is below `(a + 1) / (a + b + 2)`.
    """
    tiny = 4 * float(np.finfo(typeof(x).dtype).tiny)

    def nonzero(x: Any) -> Any:
        return where(lt(abs(x), tiny), tiny, x)

    def term(numerator: Any, above: Any, below: Any, value: Any) -> list[Any]:
        below = div(1.0, nonzero(add(1.0, mul(numerator, below))))
        above = nonzero(add(1.0, div(numerator, above)))
        return [above, below, mul(value, mul(above, below))]

    def step(m: Any, *state: Any) -> list[Any]:
        even = add(a, mul(m, 2.0))
        first = div(mul(add(a, m), add(total, m)), mul(even, add(even, 1.0)))
        # Where `a` and `m` are 0, only the second factor has a value.
        first = where(eq(m, 0.0), start, first)
        next_m = add(m, 1.0)
        second = div(mul(next_m, sub(b, next_m)), mul(add(even, 1.0), add(even, 2.0)))
        state = tuple(term(neg(mul(first, x)), *state))
        return term(mul(second, x), *state)

    def is_unconverged(old: Any, new: Any) -> Any:
        return gt(abs(sub(new[2], old[2])), mul(abs(new[2]), epsilon))

    total = add(a, b)
    start = div(total, add(a, 1.0))
    one, zero = (stage2.functions.full_like(x, number) for number in (1.0, 0.0))
    return div(1.0, converge(step, [one, zero, one], is_active, is_unconverged, MOST_STEPS)[2])


def _powers_by_beta(a: Any, b: Any, x: Any) -> Any:
    """`x**a * (1 - x)**b / beta(a, b)`."""
    logs = sub(_log_of_powers(a, b, x), log_beta(a, b))
    has_large_logs = ge(min(a, b), STIRLING_FROM)  # which cancel
    first, second = where(has_large_logs, a, STIRLING_FROM), where(has_large_logs, b, STIRLING_FROM)
    return where(has_large_logs, powers_by_beta(first, second, x), exp(logs))


def _weight(a: Any, b: Any, x: Any, p: Any, q: Any) -> Any:
    """`x**a * (1 - x)**b / (p * beta(p, q))`, the factor of the fraction; `p, q` are `a, b` or
    `b, a`.
    """
    small = _over_first(p, q, _log_of_powers(a, b, x))
    return where(lt(max(a, b), STIRLING_FROM), small, div(_powers_by_beta(a, b, x), p))


def _narrow_weight(a: Any, b: Any, x: Any, q: Any) -> Any:
    """`_weight`, if the result need not have 53 bits.

    In `q * gamma(a + b + 1) / ((a + b) * gamma(a + 1) * gamma(b + 1))` each gamma function is a
    power, an exponential and Lanczos' sum. The exponentials leave a constant, and the powers are
    divided before their logarithms are taken.
    """
    total = add(a, b)
    base, first, second = (add(z, LANCZOS_SHIFT) for z in (total, a, b))
    of_first = mul(a, log_of_normal(mul(x, div(base, first))))
    of_second = mul(b, log_of_normal(mul(sub(1.0, x), div(base, second))))
    power = exp(add(add(of_first, of_second), LANCZOS_SHIFT))
    root = sqrt(div(base, mul(mul(first, second), 2 * math.pi)))
    (above, below), *others = map(lanczos_sum, (total, a, b))
    above = mul(above, mul(others[0][1], others[1][1]))
    below = mul(below, mul(others[0][0], others[1][0]))
    return mul(mul(power, root), div(mul(q, above), mul(total, below)))


def _log_of_powers(a: Any, b: Any, x: Any) -> Any:
    return add(mul(a, log(x)), mul(b, log1p(neg(x))))


def _over_first(p: Any, q: Any, logs: Any) -> Any:
    """`exp(logs) / (p * beta(p, q))`, even if `p` is the smallest number."""
    ratio = sub(lgamma(add(p, q)), lgamma(q))
    return exp(add(logs, sub(ratio, lgamma(add(p, 1.0)))))


def _betainc(a: Any, b: Any, x: Any) -> Any:
    """In float64: next to its mean, a fraction of narrower floats would lose most digits."""
    dtype = typeof(x).dtype
    is_narrow = dtype.itemsize < 8
    a, b, x = map(to_64_bits, (a, b, x))
    is_out = bitwise_or(lt(a, 0.0), lt(b, 0.0))
    is_out = bitwise_or(is_out, bitwise_not(bitwise_and(ge(x, 0.0), ge(1.0, x))))
    is_out = bitwise_or(is_out, bitwise_or(ne(a, a), ne(b, b)))
    # All of the distribution lies at 0, or all at 1.
    at_zero = bitwise_or(eq(a, 0.0), eq(b, math.inf))
    at_one = bitwise_or(eq(b, 0.0), eq(a, math.inf))
    is_out = bitwise_or(is_out, bitwise_and(at_zero, at_one))
    at_end = bitwise_or(at_zero, at_one)
    is_large = ge(min(a, b), LARGE)
    is_active = bitwise_not(bitwise_or(bitwise_or(is_out, at_end), is_large))

    is_fast = lt(x, div(add(a, 1.0), add(add(a, b), 2.0)))
    p, q = where(is_fast, a, b), where(is_fast, b, a)
    y = where(is_fast, x, sub(1.0, x))
    epsilon = 2.0**-32 if is_narrow else float(np.finfo(np.float64).eps)
    weight = _narrow_weight(a, b, x, q) if is_narrow else _weight(a, b, x, p, q)
    out = mul(weight, _fraction(p, q, y, is_active, epsilon))
    # The logarithms of extreme operands are so large that their difference is far off.
    out = where(is_fast, out, sub(1.0, out))
    out = where_any(is_large, incomplete_beta, out, a, b, x)
    out = max(min(out, 1.0), 0.0)
    out = where(at_zero, where(eq(x, 0.0), 0.0, 1.0), out)
    out = where(at_one, where(eq(x, 1.0), 1.0, 0.0), out)
    out = where(bitwise_or(at_end, ne(x, 0.0)), out, 0.0)
    out = where(bitwise_or(at_end, ne(x, 1.0)), out, 1.0)
    return stage2.astype(where(is_out, math.nan, out), dtype)


def _density(a: Any, b: Any, x: Any) -> Any:
    logs = _log_of_powers(sub(a, 1.0), sub(b, 1.0), x)
    has_large_logs = ge(min(a, b), STIRLING_FROM)
    by_powers = div(_powers_by_beta(a, b, x), mul(x, sub(1.0, x)))
    return where(has_large_logs, by_powers, exp(sub(logs, log_beta(a, b))))


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
        vmap=elementwise(primitive),
        sharding=by_elements(primitive),
        jvp=jvp,
    )
    return primitive


beta_density_p = _ternary(
    "beta_density", in_64_bits(_density),
    no_derivative("betainc", "a"),
    no_derivative("betainc", "b"),
    lambda t, out, a, b, x: mul(
        t, mul(out, sub(div(sub(a, 1.0), x), div(sub(b, 1.0), sub(1.0, x))))
    ),
)  # fmt: skip
regularized_incomplete_beta_p = _ternary(
    "regularized_incomplete_beta", lower_by_primitives(_betainc),
    no_derivative("betainc", "a"),
    no_derivative("betainc", "b"),
    lambda t, out, a, b, x: mul(t, bind1(beta_density_p, a, b, x)),
)  # fmt: skip


@operation
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function: the share of the integral from 0 to `x`.

    It is differentiable in `x` only.

    Arguments:
        a, b: the positive parameters.
        x: the upper limit of the integral, from 0 to 1.

    >>> f"{lax.betainc(2.0, 2.0, 0.5):.3f}", f"{lax.betainc(1.0, 1.0, 0.25):.3f}"
    ('0.500', '0.250')
    """
    operands = promote(a, b, x, inexact=True)
    return bind1(regularized_incomplete_beta_p, *operands)
