"""The hypergeometric functions 1F1 and 2F1 of real numbers, by their series (DLMF, 13 and 15)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.widening import in_64_bits
from minijax.lax.special.series import converge
from minijax.numpy.math.operands import strong_floats
from minijax.primitives.declare import declare, no_derivative, require_kind
from minijax.primitives.sharding_rules import by_elements
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.scipy.special.gamma_functions import gammasgn
from minijax_stage2 import Primitive, ShapedArray, bind1, jvp, typeof
from minijax_stage2.vmap_rules import elementwise

Formula = Callable[..., Any]

MOST_TERMS = 40_000
FAR = 100.0  # from here on 1F1 is its asymptotic series, whose terms fall below all digits


def _any(first: Any, *rest: Any) -> Any:
    for x in rest:
        first = lax.bitwise_or(first, x)
    return first


def _all(first: Any, *rest: Any) -> Any:
    for x in rest:
        first = lax.bitwise_and(first, x)
    return first


def _sum_of_series(above: Sequence[Any], below: Sequence[Any], x: Any, is_active: Any) -> Any:
    """The sum of the terms whose n-th is the last times the product of `above + n`, divided by that
    of `below + n` and `n + 1`, times `x`. It ends where a factor above is 0.
    """
    epsilon = float(np.finfo(typeof(x).dtype).eps)

    def step(n: Any, ratio: Any, term: Any, total: Any) -> list[Any]:
        ratio = lax.div(x, lax.add(n, 1.0))
        for q in below:
            ratio = lax.div(ratio, lax.add(q, n))
        factors = [lax.add(p, n) for p in above]
        for factor in factors:
            ratio = lax.mul(ratio, factor)
        ratio = where(_any(*[lax.eq(factor, 0.0) for factor in factors]), 0.0, ratio)
        term = lax.mul(term, ratio)
        return [ratio, term, lax.add(total, term)]

    def is_unconverged(old: Any, new: Any) -> Any:
        ratio, term, total = new
        is_large = lax.gt(lax.abs(term), lax.mul(lax.abs(total), epsilon / 4))
        is_growing = lax.bitwise_and(lax.gt(lax.abs(ratio), 1.0), lax.ne(term, 0.0))
        return _all(lax.is_finite(total), lax.bitwise_or(is_large, is_growing))

    one = lax.full_like(x, 1.0)
    return converge(step, [one, one, one], is_active, is_unconverged, MOST_TERMS)[2]


def _gamma_ratio(above: Sequence[Any], below: Sequence[Any]) -> Any:
    """A quotient of products of gamma functions."""
    log: Any = 0.0
    sign: Any = 1.0
    for x in above:
        log, sign = lax.add(log, lax.lgamma(x)), lax.mul(sign, gammasgn(x))
    for x in below:
        log, sign = lax.sub(log, lax.lgamma(x)), lax.mul(sign, gammasgn(x))
    is_zero = _any(*[lax.bitwise_and(lax.le(x, 0.0), lax.eq(x, lax.floor(x))) for x in below])
    return where(is_zero, 0.0, lax.mul(sign, lax.exp(where(is_zero, 0.0, log))))


def _ends(*parameters: Any) -> Any:
    """True where one of the parameters is 0 or a negative integer, at which a series ends."""
    return _any(*[lax.bitwise_and(lax.le(p, 0.0), lax.eq(p, lax.floor(p))) for p in parameters])


def _hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """The series of `x`; for negative `x` that of `-x` by Kummer's transformation."""
    is_negative = lax.bitwise_and(lax.lt(x, 0.0), lax.bitwise_not(_ends(a, b)))
    a = where(is_negative, lax.sub(b, a), a)
    scale = where(is_negative, lax.exp(where(is_negative, x, 0.0)), 1.0)
    size = where(is_negative, lax.neg(x), x)
    reach = lax.max(FAR, lax.mul(2.0, lax.add(lax.square(a), lax.square(b))))
    is_far = lax.bitwise_and(lax.gt(size, reach), lax.bitwise_not(_ends(a, b)))
    is_valid = _all(*[lax.eq(y, y) for y in (a, b, x)])
    near = _sum_of_series([a], [b], where(is_far, 0.0, size), _all(is_valid, lax.ne(x, 0.0)))
    far_size = where(is_far, size, 2 * FAR)
    far_a, far_b = where(is_far, a, 1.0), where(is_far, b, 1.0)
    parameters = [lax.sub(far_b, far_a), lax.sub(1.0, far_a)]
    tail = _sum_of_series(parameters, [], lax.div(1.0, far_size), is_far)
    exponent = lax.add(
        where(is_negative, 0.0, far_size), lax.mul(lax.sub(far_a, far_b), lax.log(far_size))
    )
    far = lax.mul(lax.mul(_gamma_ratio([far_b], [far_a]), lax.exp(exponent)), tail)
    return where(is_valid, where(is_far, far, lax.mul(scale, near)), math.nan)


def _hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """The series of `x` up to 0.9; of `1 - x` beyond; of `x / (x - 1)` for negative `x`."""
    is_polynomial = _ends(a, b)
    is_negative = lax.bitwise_and(lax.lt(x, 0.0), lax.bitwise_not(is_polynomial))
    scale = where(is_negative, lax.pow(lax.sub(1.0, where(is_negative, x, 0.0)), lax.neg(a)), 1.0)
    b = where(is_negative, lax.sub(c, b), b)
    x = where(is_negative, lax.div(x, lax.sub(x, 1.0)), x)
    excess = lax.sub(lax.sub(c, a), b)
    is_one = lax.bitwise_and(lax.eq(x, 1.0), lax.bitwise_not(is_polynomial))
    is_beyond = lax.bitwise_and(lax.gt(x, 1.0), lax.bitwise_not(is_polynomial))
    is_whole = lax.eq(excess, lax.round(excess))
    is_reflected = _all(lax.gt(x, 0.9), lax.lt(x, 1.0), lax.bitwise_not(_ends(a, b, c)))
    is_reflected = lax.bitwise_and(is_reflected, lax.bitwise_not(is_whole))
    is_valid = _all(*[lax.eq(y, y) for y in (a, b, c, x)])
    is_summed = lax.bitwise_and(is_valid, lax.bitwise_not(_any(is_one, is_beyond, is_reflected)))
    direct = _sum_of_series([a, b], [c], where(is_summed, x, 0.0), is_summed)

    rest = where(is_reflected, lax.sub(1.0, x), 0.0)
    ca, cb = lax.sub(c, a), lax.sub(c, b)
    first = _sum_of_series([a, b], [lax.sub(1.0, excess)], rest, is_reflected)
    second = _sum_of_series([ca, cb], [lax.add(1.0, excess)], rest, is_reflected)
    power = lax.pow(where(is_reflected, rest, 1.0), excess)
    at_one = _gamma_ratio([c, excess], [ca, cb])
    reflected = lax.add(
        lax.mul(at_one, first),
        lax.mul(lax.mul(power, _gamma_ratio([c, lax.neg(excess)], [a, b])), second),
    )
    out = where(is_reflected, reflected, direct)
    out = where(is_one, where(lax.gt(excess, 0.0), at_one, math.inf), out)
    return where(is_valid, where(is_beyond, math.inf, lax.mul(scale, out)), math.nan)


def _declare(name: str, formula: Formula, jvps: Sequence[Formula]) -> Callable[..., Any]:
    primitive = Primitive(name)

    def abstract_eval(*avals: ShapedArray) -> list[ShapedArray]:
        require_kind(name, "f", *avals)
        shape = np.broadcast_shapes(*[aval.shape for aval in avals])
        return [ShapedArray(shape, avals[0].dtype)]

    declare(
        primitive,
        abstract_eval=abstract_eval,
        lower=in_64_bits(formula),
        vmap=elementwise(primitive),
        sharding=by_elements(primitive),
        jvp=jvps,
    )
    return lambda *operands: bind1(primitive, *operands)


def _slope(name: str, formula: Formula, count: int, which: int) -> Formula:
    """The formula of the tangent by a parameter: the derivative of the series, term by term."""

    def derivative(*operands: Any) -> Any:
        unit = [lax.full_like(x, float(i == which)) for i, x in enumerate(operands)]
        return jvp(formula, operands, tuple(unit))[1]

    again = [no_derivative(f"the derivative of {name} by a parameter", "it")] * count
    slope = _declare(f"{name}_slope_{which}", derivative, again)
    return lambda t, out, *operands: lax.mul(t, slope(*operands))


def _slope_1f1(t: Any, out: Any, a: Any, b: Any, x: Any) -> Any:
    return lax.mul(t, lax.mul(lax.div(a, b), _1f1(lax.add(a, 1.0), lax.add(b, 1.0), x)))


def _slope_2f1(t: Any, out: Any, a: Any, b: Any, c: Any, x: Any) -> Any:
    above = _2f1(*[lax.add(p, 1.0) for p in (a, b, c)], x)
    return lax.mul(t, lax.mul(lax.div(lax.mul(a, b), c), above))


_1f1 = _declare(
    "hyp1f1", _hyp1f1, [*(_slope("hyp1f1", _hyp1f1, 3, i) for i in range(2)), _slope_1f1]
)
_2f1 = _declare(
    "hyp2f1", _hyp2f1, [*(_slope("hyp2f1", _hyp2f1, 4, i) for i in range(3)), _slope_2f1]
)


@operation
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Kummer's function: the sum of `(a)_k / (b)_k * x**k / k!`.

    Here `(a)_k = a (a+1) ... (a+k-1)`.

    It is infinite where a denominator is 0 before a numerator is. All three derivatives exist.

    Raises:
        ValueError: an argument is complex.

    >>> f"{minijax.scipy.special.hyp1f1(1.0, 2.0, 3.0):.4f}", f"{(jnp.exp(3.0) - 1) / 3:.4f}"
    ('6.3618', '6.3618')
    """
    return _1f1(*strong_floats("hyp1f1", a, b, x))


@operation
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Gauss' function: the sum of `(a)_k (b)_k / (c)_k * x**k / k!`.

    Here `(a)_k = a (a+1) ... (a+k-1)`.

    It is infinite for `x` above 1, unless the series ends, and where a denominator is 0. All four
    derivatives exist.

    Raises:
        ValueError: an argument is complex.

    >>> f"{minijax.scipy.special.hyp2f1(1.0, 1.0, 2.0, 0.5):.4f}", f"{2 * jnp.log(2.0):.4f}"
    ('1.3863', '1.3863')
    """
    return _2f1(*strong_floats("hyp2f1", a, b, c, x))


__all__ = ["hyp1f1", "hyp2f1"]
