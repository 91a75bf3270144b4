"""The incomplete gamma functions, and their derivatives by the parameter.

Below `a`, and for small `x`, the lower one is computed as a power series, elsewhere the upper one
as a continued fraction; both as in the Cephes library. A derivative by `a` is that of each term.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import minijax_stage2 as stage2
from minijax.declare import Binary, binary, lower_by_primitives, no_derivative
from minijax.lax.bits import bitwise_and, bitwise_not, bitwise_or
from minijax.lax.complex_numbers import abs
from minijax.lax.elementwise import (
    add,
    div,
    eq,
    exp,
    ge,
    gt,
    log,
    lt,
    mul,
    ne,
    neg,
    sub,
    where,
)
from minijax.lax.reductions import reduce_or
from minijax.lax.special import digamma, lgamma
from minijax.lax.structural import full_like
from minijax.lax.while_loop import while_loop
from minijax.operation import operation
from minijax_stage2 import promote, typeof
from minijax_stage2.promotion import to_inexact
from minijax_stage2.tree import tree_map

LONGEST_FRACTION = 2000


# --8<-- [start:series]
class _Series(NamedTuple):
    is_going: Any
    denominator: Any
    term: Any
    total: Any
    term_slope: Any  # slopes are derivatives by a
    total_slope: Any


def _series(a: Any, x: Any, is_wanted: Any, slopes: bool) -> tuple[Any, Any]:
    """The lower function divided by `x**a * exp(-x) / gamma(a)`, and its derivative divided so.

    Arguments:
        a: the parameters.
        x: the numbers.
        is_wanted: where it is computed.
        slopes: whether it is the derivative that has to be exact, or the function.
    """

    def step(state: _Series) -> Any:
        denominator = add(state.denominator, 1)
        ratio = div(x, denominator)
        term_slope = sub(
            mul(state.term_slope, ratio), div(mul(state.term, x), mul(denominator, denominator))
        )
        term = mul(state.term, ratio)
        total, total_slope = add(state.total, term), add(state.total_slope, term_slope)
        last = abs(div(term_slope, total_slope)) if slopes else div(term, total)
        is_going = gt(last, _eps(x))
        new = _Series(is_going, denominator, term, total, term_slope, total_slope)
        return _where_going(state, new)

    one, zero = full_like(x, 1), full_like(x, 0)
    end = while_loop(_is_any_going, step, _Series(is_wanted, a, one, one, zero, zero))
    slope_of_factor = sub(log(x), digamma(add(a, 1)))
    slope = add(end.total_slope, mul(end.total, slope_of_factor))
    return div(end.total, a), div(slope, a)


# --8<-- [end:series]


class _Fraction(NamedTuple):
    is_going: Any
    y: Any
    z: Any
    value: Any
    value_slope: Any
    # Numerators and denominators of the last two approximations.
    p: tuple[Any, Any]
    q: tuple[Any, Any]
    p_slope: tuple[Any, Any]
    q_slope: tuple[Any, Any]


def _fraction(a: Any, x: Any, is_wanted: Any, slopes: bool) -> tuple[Any, Any]:
    """What `_series` is, of the upper function."""
    eps = _eps(x)

    def step(counted: tuple[Any, _Fraction]) -> tuple[Any, _Fraction]:
        last, state = counted
        count, y, z = add(last, 1), add(state.y, 1), add(state.z, 2)
        factor = mul(y, count)

        def following(pair: tuple[Any, Any]) -> Any:
            return sub(mul(pair[0], z), mul(pair[1], factor))

        def following_slope(slope: tuple[Any, Any], pair: tuple[Any, Any]) -> Any:
            return add(sub(following(slope), pair[0]), mul(pair[1], count))

        p, q = following(state.p), following(state.q)
        p_slope = following_slope(state.p_slope, state.p)
        q_slope = following_slope(state.q_slope, state.q)
        is_fraction = ne(q, 0)
        value = where(is_fraction, div(p, q), state.value)
        value_slope = where(
            is_fraction, div(sub(p_slope, mul(value, q_slope)), q), state.value_slope
        )
        if slopes:
            change = abs(sub(value_slope, state.value_slope))
        else:
            change = abs(div(sub(state.value, value), value))
        is_going = gt(where(is_fraction, change, 1), eps)

        # Both parts grow; the fraction stays the same where both are made smaller.
        scale = where(gt(abs(p), 1 / eps), eps, full_like(p, 1))
        p_pair, q_pair, p_slopes, q_slopes = (
            (mul(new, scale), mul(old[0], scale))
            for new, old in [
                (p, state.p),
                (q, state.q),
                (p_slope, state.p_slope),
                (q_slope, state.q_slope),
            ]
        )
        new = _Fraction(is_going, y, z, value, value_slope, p_pair, q_pair, p_slopes, q_slopes)
        return count, _where_going(state, new)

    def is_short_and_going(counted: tuple[Any, _Fraction]) -> Any:
        count, state = counted
        return bitwise_and(lt(count, LONGEST_FRACTION), _is_any_going(state))

    one, zero = full_like(x, 1), full_like(x, 0)
    y = sub(1, a)
    z = add(add(x, y), 1)
    p, q = add(x, 1), mul(z, x)
    value = div(p, q)
    start = _Fraction(
        is_wanted,
        y,
        z,
        value,
        div(mul(value, x), q),
        p=(p, one),
        q=(q, x),
        p_slope=(zero, zero),
        q_slope=(neg(x), zero),
    )
    count = stage2.astype(0, typeof(x).dtype)
    _, end = while_loop(is_short_and_going, step, (count, start))
    slope_of_factor = sub(log(x), digamma(a))
    return end.value, add(end.value_slope, mul(end.value, slope_of_factor))


def _is_any_going(state: Any) -> Any:
    return reduce_or(state.is_going, range(typeof(state.is_going).ndim))


def _where_going(old: Any, new: Any) -> Any:
    """The new state where the old one was not at its end."""
    return tree_map(lambda x, y: where(old.is_going, y, x), old, new)


def _eps(x: Any) -> float:
    return float(np.finfo(typeof(x).dtype).eps)


class _Parts(NamedTuple):
    factor: Any  # x**a * exp(-x) / gamma(a)
    is_upper: Any  # where the next two are of the upper function
    value: Any
    slope: Any


def _computed(a: Any, x: Any, slopes: bool) -> _Parts:
    """The function that is the better one to compute, divided by the factor; and its slope."""
    log_factor = sub(sub(mul(a, log(x)), x), lgamma(a))
    is_tiny = lt(log_factor, -math.log(np.finfo(typeof(x).dtype).max))
    is_inside = bitwise_and(gt(a, 0), bitwise_and(gt(x, 0), lt(x, math.inf)))
    is_wanted = bitwise_and(is_inside, bitwise_not(is_tiny))
    is_upper = bitwise_and(ge(x, 1), gt(x, a))
    of_series = _series(a, x, bitwise_and(is_wanted, bitwise_not(is_upper)), slopes)
    of_fraction = _fraction(a, x, bitwise_and(is_wanted, is_upper), slopes)
    value, slope = (
        where(is_upper, upper, lower) for lower, upper in zip(of_series, of_fraction, strict=True)
    )
    return _Parts(exp(log_factor), is_upper, value, slope)


def _igamma(a: Any, x: Any) -> Any:
    parts = _computed(a, x, slopes=False)
    computed = mul(parts.factor, parts.value)
    out = where(parts.is_upper, sub(1, computed), computed)
    out = where(eq(x, 0), 0, where(eq(x, math.inf), 1, out))
    return where(_is_outside(a, x), math.nan, out)


def _igammac(a: Any, x: Any) -> Any:
    parts = _computed(a, x, slopes=False)
    computed = mul(parts.factor, parts.value)
    out = where(parts.is_upper, computed, sub(1, computed))
    out = where(bitwise_or(eq(x, math.inf), eq(a, 0)), 0, out)
    return where(_is_outside(a, x), math.nan, out)


def _is_outside(a: Any, x: Any) -> Any:
    """Where there is no function: below 0, and at 0 of both."""
    is_inside = bitwise_and(ge(a, 0), ge(x, 0))
    return bitwise_not(bitwise_and(is_inside, bitwise_or(gt(a, 0), gt(x, 0))))


def _igamma_grad_a(a: Any, x: Any) -> Any:
    parts = _computed(a, x, slopes=True)
    slope = mul(parts.factor, parts.slope)
    return _inside(a, x, where(parts.is_upper, neg(slope), slope))


def _inside(a: Any, x: Any, out: Any) -> Any:
    """A derivative by `a`: 0 where `x` is, and only where both are numbers of its domain."""
    is_inside = bitwise_and(gt(a, 0), ge(x, 0))
    return where(is_inside, where(eq(x, 0), 0, out), math.nan)


def _in_32_bits_at_least(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def widened(a: Any, x: Any) -> Any:
        dtype = typeof(x).dtype
        if dtype.itemsize >= 4:
            return function(a, x)
        return stage2.astype(function(*(stage2.astype(y, np.float32) for y in (a, x))), dtype)

    return widened


def _density(a: Any, x: Any) -> Any:
    return exp(sub(sub(mul(sub(a, 1), log(x)), x), lgamma(a)))


_lower: Binary = binary(
    "igamma",
    "",
    hlo=lower_by_primitives(_in_32_bits_at_least(_igamma)),
    kinds="f",
    jvp=(
        lambda t, out, a, x: mul(t, _slope(a, x)),
        lambda t, out, a, x: mul(t, _density(a, x)),
    ),
)
_upper: Binary = binary(
    "igammac",
    "",
    hlo=lower_by_primitives(_in_32_bits_at_least(_igammac)),
    kinds="f",
    jvp=(
        lambda t, out, a, x: neg(mul(t, _slope(a, x))),
        lambda t, out, a, x: neg(mul(t, _density(a, x))),
    ),
)
_slope: Binary = binary(
    "igamma_grad_a",
    "",
    hlo=lower_by_primitives(_in_32_bits_at_least(_igamma_grad_a)),
    kinds="f",
    jvp=(
        no_derivative("igamma_grad_a", "a"),
        lambda t, out, a, x: mul(t, mul(_density(a, x), sub(log(x), digamma(a)))),
    ),
)


@operation
def igamma(a: Any, x: Any) -> Any:
    """The lower incomplete gamma function of `x` with parameter `a`, from 0 to 1 (regularized)."""
    return _lower(a, x)


@operation
def igammac(a: Any, x: Any) -> Any:
    """`1 - igamma(a, x)`, exact also where that is nearly 0."""
    return _upper(a, x)


@operation
def igamma_grad_a(a: Any, x: Any) -> Any:
    """The derivative of `igamma(a, x)` by `a`; this has a derivative by `x` only."""
    return _slope(a, x)


@operation
def random_gamma_grad(a: Any, x: Any) -> Any:
    """The derivative by `a` of a number `x` of the gamma distribution with parameter `a`."""
    return _in_32_bits_at_least(_random_gamma_grad)(*map(to_inexact, promote(a, x)))


def _random_gamma_grad(a: Any, x: Any) -> Any:
    # What the probability gains by a, it loses by x: the number moves to where they are equal.
    parts = _computed(a, x, slopes=True)
    slope = mul(parts.slope, x)
    return _inside(a, x, where(parts.is_upper, slope, neg(slope)))


__all__ = ["igamma", "igamma_grad_a", "igammac", "random_gamma_grad"]
