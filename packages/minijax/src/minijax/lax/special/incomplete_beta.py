"""The regularized incomplete beta function, a continued fraction (https://dlmf.nist.gov/8.17)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax.elementwise.abs_and_sign import abs
from minijax.lax.elementwise.arithmetic import add, div, mul, neg, sub
from minijax.lax.elementwise.bits import bitwise_and, bitwise_not, bitwise_or
from minijax.lax.elementwise.comparisons import eq, ge, gt, lt, ne
from minijax.lax.elementwise.extremes import max, min
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.transcendental import exp, log, log1p
from minijax.lax.elementwise.widening import in_64_bits, to_64_bits
from minijax.lax.special.gamma_functions import lgamma
from minijax.lax.special.series import converge
from minijax.primitives.declare import declare, no_derivative, require_kind
from minijax.primitives.sharding_rules import by_elements
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import promote
from minijax_stage2 import Primitive, ShapedArray, bind1, typeof
from minijax_stage2.vmap_rules import elementwise
from minijax_stage3.abstract_eval import arithmetic

MOST_STEPS = 1000


def _fraction(a: Any, b: Any, x: Any, is_active: Any) -> Any:
    """`1 / (1 + d(1) / (1 + d(2) / (1 + ...)))` by Lentz' method, two terms at a time.

    It converges fast if `x` is below `(a + 1) / (a + b + 2)`.
    """
    info = np.finfo(typeof(x).dtype)
    epsilon, tiny = float(info.eps), 4 * float(info.tiny)

    def nonzero(x: Any) -> Any:
        return where(lt(abs(x), tiny), tiny, x)

    def term(numerator: Any, above: Any, below: Any, value: Any) -> list[Any]:
        below = div(1.0, nonzero(add(1.0, mul(numerator, below))))
        above = nonzero(add(1.0, div(numerator, above)))
        return [above, below, div(value, mul(above, below))]

    def step(m: Any, *state: Any) -> list[Any]:
        even = add(a, mul(m, 2.0))
        first = mul(div(add(a, m), even), div(add(add(a, b), m), add(even, 1.0)))
        # Where `a` and `m` are 0, only the second factor has a value.
        first = where(eq(m, 0.0), div(add(a, b), add(a, 1.0)), first)
        next_m = add(m, 1.0)
        second = mul(div(next_m, add(even, 1.0)), div(sub(b, next_m), add(even, 2.0)))
        state = tuple(term(neg(mul(first, x)), *state))
        return term(mul(second, x), *state)

    def is_unconverged(old: Any, new: Any) -> Any:
        return gt(abs(sub(new[2], old[2])), mul(abs(new[2]), epsilon))

    one, zero = (stage2.functions.full_like(x, number) for number in (1.0, 0.0))
    return converge(step, [one, zero, one], is_active, is_unconverged, MOST_STEPS)[2]


def _log_beta(a: Any, b: Any) -> Any:
    return sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))


def _weight(a: Any, b: Any, x: Any, is_fast: Any) -> Any:
    """The factor of the fraction, in float64, for its logarithms are large, and cancel.

    Of the first operand and the beta function it needs the product, which overflows nowhere.
    """
    dtype = typeof(x).dtype
    a, b, x = map(to_64_bits, (a, b, x))
    p, q = where(is_fast, a, b), where(is_fast, b, a)
    powers = add(mul(a, log(x)), mul(b, log1p(neg(x))))
    product = sub(add(lgamma(add(p, 1.0)), lgamma(q)), lgamma(add(a, b)))
    return stage2.astype(exp(sub(powers, product)), dtype)


def _betainc(a: Any, b: Any, x: Any) -> Any:
    is_out = bitwise_or(lt(a, 0.0), lt(b, 0.0))
    is_out = bitwise_or(is_out, bitwise_not(bitwise_and(ge(x, 0.0), ge(1.0, x))))
    is_out = bitwise_or(is_out, bitwise_or(ne(a, a), ne(b, b)))
    # All of the distribution lies at 0, or all at 1.
    at_zero = bitwise_or(eq(a, 0.0), eq(b, math.inf))
    at_one = bitwise_or(eq(b, 0.0), eq(a, math.inf))
    is_out = bitwise_or(is_out, bitwise_and(at_zero, at_one))
    at_end = bitwise_or(at_zero, at_one)
    is_active = bitwise_not(bitwise_or(is_out, at_end))

    is_fast = lt(x, div(add(a, 1.0), add(add(a, b), 2.0)))
    p, q = where(is_fast, a, b), where(is_fast, b, a)
    y = where(is_fast, x, sub(1.0, x))
    out = mul(_weight(a, b, x, is_fast), _fraction(p, q, y, is_active))
    # The logarithms of extreme operands are so large that their difference is far off.
    out = max(min(where(is_fast, out, sub(1.0, out)), 1.0), 0.0)
    out = where(at_zero, where(eq(x, 0.0), 0.0, 1.0), out)
    out = where(at_one, where(eq(x, 1.0), 1.0, 0.0), out)
    out = where(bitwise_or(at_end, ne(x, 0.0)), out, 0.0)
    out = where(bitwise_or(at_end, ne(x, 1.0)), out, 1.0)
    return where(is_out, math.nan, out)


def _density(a: Any, b: Any, x: Any) -> Any:
    logs = add(mul(sub(b, 1.0), log1p(neg(x))), mul(sub(a, 1.0), log(x)))
    return exp(sub(logs, _log_beta(a, b)))


regularized_incomplete_beta_p = Primitive("regularized_incomplete_beta")


def _type_of_betainc(a: ShapedArray, b: ShapedArray, x: ShapedArray) -> Sequence[ShapedArray]:
    require_kind("betainc", "f", a, b, x)
    two_at_a_time = arithmetic(regularized_incomplete_beta_p)
    return two_at_a_time(two_at_a_time(a, b)[0], x)


declare(
    regularized_incomplete_beta_p,
    abstract_eval=_type_of_betainc,
    lower=in_64_bits(_betainc, below=4),
    vmap=elementwise(regularized_incomplete_beta_p),
    sharding=by_elements(regularized_incomplete_beta_p),
    jvp=(
        no_derivative("betainc", "a"),
        no_derivative("betainc", "b"),
        lambda t, out, a, b, x: mul(t, _density(a, b, x)),
    ),
)


@operation
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularized incomplete beta function: the share of the integral from 0 to `x`.

    It is differentiable in `x` only.

    >>> f"{lax.betainc(2.0, 2.0, 0.5):.3f}", f"{lax.betainc(1.0, 1.0, 0.25):.3f}"
    ('0.500', '0.250')
    """
    operands = promote(a, b, x, inexact=True)
    return bind1(regularized_incomplete_beta_p, *operands)


__all__ = [
    "betainc",
]
