"""Hypergeometric and Bessel functions, and spherical harmonics."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax import numpy as jnp
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.formulas import in_64_bits
from glassjax.lax.series import converge
from glassjax.lax.shapes import steps_of
from glassjax.numpy.cases import where
from glassjax.numpy.dtypes import computation_dtype, default_float
from glassjax.numpy.transcendental import real_arrays, real_floats, strong_floats
from glassjax.primitives import sparsity_rules
from glassjax.primitives.declare import declare, no_derivative
from glassjax.primitives.sharding_rules import by_elements
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation, require_kind
from glassjax.scipy.special.gamma_and_beta import gammasgn
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.errors import ConcretizationTypeError
from glassjax_stage2.promotion import broadcast_shapes
from glassjax_stage2.vmap_rules import elementwise

# The hypergeometric functions 1F1 and 2F1 of real numbers, by their series (DLMF, 13 and 15).


Formula = Callable[..., Any]

MOST_TERMS = 40_000
FAR = 100.0  # from here on the asymptotic series of 1F1 is exact


def _any_of(*conditions: Any) -> Any:
    return functools.reduce(operator.or_, conditions)


def _all_of(*conditions: Any) -> Any:
    return functools.reduce(operator.and_, conditions)


def _hypergeometric_series(
    above: Sequence[Any], below: Sequence[Any], x: Any, is_active: Any
) -> Any:
    """The sum of the series with parameters `above` and `below` (DLMF 16.2.1).

    Each term is the last one times `x`, times the product of `above + n`, divided by the product of
    `below + n` and by `n + 1`. The series ends where a factor above is 0.
    """
    epsilon = float(np.finfo(typeof(x).dtype).eps)

    def series_step(n: Any, ratio: Any, term: Any, total: Any) -> list[Any]:
        ratio = x / (n + 1.0)
        for q in below:
            ratio = ratio / (q + n)
        factors = [p + n for p in above]
        for factor in factors:
            ratio = ratio * factor
        ratio = where(_any_of(*[factor == 0.0 for factor in factors]), 0.0, ratio)
        term = term * ratio
        return [ratio, term, total + term]

    def term_matters(old: Any, new: Any) -> Any:
        ratio, term, total = new
        is_large = lax.abs(term) > lax.abs(total) * (epsilon / 4)
        is_growing = (lax.abs(ratio) > 1.0) & (term != 0.0)
        return _all_of(lax.is_finite(total), is_large | is_growing)

    one = lax.full_like(x, 1.0)
    return converge(series_step, [one, one, one], is_active, term_matters, MOST_TERMS)[2]


def _gamma_ratio(above: Sequence[Any], below: Sequence[Any]) -> Any:
    """A quotient of products of gamma functions."""
    log: Any = 0.0
    sign: Any = 1.0
    for x in above:
        log, sign = log + lax.lgamma(x), sign * gammasgn(x)
    for x in below:
        log, sign = log - lax.lgamma(x), sign * gammasgn(x)
    is_zero = _any_of(*[(x <= 0.0) & (x == lax.floor(x)) for x in below])
    return where(is_zero, 0.0, sign * lax.exp(where(is_zero, 0.0, log)))


def _terminates(*parameters: Any) -> Any:
    """True where one of the parameters is 0 or a negative integer, at which a series ends."""
    return _any_of(*[(p <= 0.0) & (p == lax.floor(p)) for p in parameters])


def _hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """1F1 by its series in `x`, or for negative `x` in `-x` by Kummer's transformation."""
    is_negative = (x < 0.0) & ~_terminates(a, b)
    a = where(is_negative, b - a, a)
    scale = where(is_negative, lax.exp(where(is_negative, x, 0.0)), 1.0)
    size = where(is_negative, -x, x)
    reach = lax.max(*stage2.promote(FAR, 2.0 * (lax.square(a) + lax.square(b))))
    is_far = (size > reach) & ~_terminates(a, b)
    is_valid = _all_of(*[y == y for y in (a, b, x)])
    near = _hypergeometric_series([a], [b], where(is_far, 0.0, size), _all_of(is_valid, x != 0.0))
    far_size = where(is_far, size, 2 * FAR)
    far_a, far_b = where(is_far, a, 1.0), where(is_far, b, 1.0)
    parameters = [far_b - far_a, 1.0 - far_a]
    tail = _hypergeometric_series(parameters, [], 1.0 / far_size, is_far)
    exponent = where(is_negative, 0.0, far_size) + (far_a - far_b) * lax.log(far_size)
    far = _gamma_ratio([far_b], [far_a]) * lax.exp(exponent) * tail
    return where(is_valid, where(is_far, far, scale * near), math.nan)


def _hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """2F1 by its series in `x` up to 0.9, in `1 - x` beyond, in `x / (x - 1)` for negative `x`."""
    is_polynomial = _terminates(a, b)
    is_negative = (x < 0.0) & ~is_polynomial
    scale = where(is_negative, lax.pow(1.0 - where(is_negative, x, 0.0), -a), 1.0)
    b = where(is_negative, c - b, b)
    x = where(is_negative, x / (x - 1.0), x)
    excess = c - a - b
    is_one = (x == 1.0) & ~is_polynomial
    is_beyond = (x > 1.0) & ~is_polynomial
    is_whole = excess == lax.round(excess)
    is_reflected = _all_of(x > 0.9, x < 1.0, ~_terminates(a, b, c))
    is_reflected = is_reflected & ~is_whole
    is_valid = _all_of(*[y == y for y in (a, b, c, x)])
    is_summed = is_valid & ~_any_of(is_one, is_beyond, is_reflected)
    direct = _hypergeometric_series([a, b], [c], where(is_summed, x, 0.0), is_summed)

    rest = where(is_reflected, 1.0 - x, 0.0)
    ca, cb = c - a, c - b
    first = _hypergeometric_series([a, b], [1.0 - excess], rest, is_reflected)
    second = _hypergeometric_series([ca, cb], [1.0 + excess], rest, is_reflected)
    power = lax.pow(where(is_reflected, rest, 1.0), excess)
    at_one = _gamma_ratio([c, excess], [ca, cb])
    reflected = at_one * first + power * _gamma_ratio([c, -excess], [a, b]) * second
    out = where(is_reflected, reflected, direct)
    out = where(is_one, where(excess > 0.0, at_one, math.inf), out)
    return where(is_valid, where(is_beyond, math.inf, scale * out), math.nan)


def _hypergeometric(name: str, formula: Formula, jvps: Sequence[Formula]) -> Callable[..., Any]:
    primitive = Primitive(name)

    def abstract_eval(*avals: ShapedArray) -> list[ShapedArray]:
        require_kind(name, "f", *avals)
        shape = broadcast_shapes(*[aval.shape for aval in avals])
        return [ShapedArray(shape, avals[0].dtype)]

    declare(
        primitive,
        abstract_eval=abstract_eval,
        lower=in_64_bits(formula),
        vmap=elementwise(primitive),
        sharding=by_elements(primitive),
        sparsity=sparsity_rules.by_elements,
        jvp=jvps,
    )
    return lambda *operands: bind1(primitive, *operands)


def _parameter_slope(name: str, formula: Formula, count: int, which: int) -> Formula:
    """The formula of the tangent by a parameter: the derivative of the series, term by term."""

    def parameter_derivative(*operands: Any) -> Any:
        unit = [lax.full_like(x, float(i == which)) for i, x in enumerate(operands)]
        return stage2.jvp(formula, operands, tuple(unit))[1]

    again = [no_derivative(f"the derivative of {name} by a parameter", "it")] * count
    slope = _hypergeometric(f"{name}_slope_{which}", parameter_derivative, again)
    return lambda t, out, *operands: t * slope(*operands)


def _slope_1f1(t: Any, out: Any, a: Any, b: Any, x: Any) -> Any:
    return t * (a / b * _1f1(a + 1.0, b + 1.0, x))


def _slope_2f1(t: Any, out: Any, a: Any, b: Any, c: Any, x: Any) -> Any:
    above = _2f1(*[p + 1.0 for p in (a, b, c)], x)
    return t * (a * b / c * above)


_1f1 = _hypergeometric(
    "hyp1f1", _hyp1f1, [*(_parameter_slope("hyp1f1", _hyp1f1, 3, i) for i in range(2)), _slope_1f1]
)
_2f1 = _hypergeometric(
    "hyp2f1", _hyp2f1, [*(_parameter_slope("hyp2f1", _hyp2f1, 4, i) for i in range(3)), _slope_2f1]
)


@operation
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Kummer's function: the sum of `(a)_k / (b)_k * x**k / k!`.

    Here `(a)_k = a (a+1) ... (a+k-1)`.

    It is infinite where a denominator is 0 before a numerator is. All three derivatives exist.

    Arguments:
        a, b: the parameters.
        x: where to evaluate it.

    Raises:
        ValueError: an argument is complex.

    >>> f"{glassjax.scipy.special.hyp1f1(1.0, 2.0, 3.0):.4f}", f"{(jnp.exp(3.0) - 1) / 3:.4f}"
    ('6.3618', '6.3618')
    """
    return _1f1(*strong_floats("hyp1f1", a, b, x))


@operation
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Gauss' function: the sum of `(a)_k (b)_k / (c)_k * x**k / k!`.

    Here `(a)_k = a (a+1) ... (a+k-1)`.

    It is infinite for `x` above 1, unless the series ends, and where a denominator is 0. All four
    derivatives exist.

    Arguments:
        a, b, c: the parameters.
        x: where to evaluate it.

    Raises:
        ValueError: an argument is complex.

    >>> f"{glassjax.scipy.special.hyp2f1(1.0, 1.0, 2.0, 0.5):.4f}", f"{2 * jnp.log(2.0):.4f}"
    ('1.3863', '1.3863')
    """
    return _2f1(*strong_floats("hyp2f1", a, b, c, x))


# Bessel functions.


@operation
def i0e(x: ArrayLike) -> Array:
    """The modified Bessel function of order 0, times `exp(-abs(x))`.

    >>> f"{glassjax.scipy.special.i0e(1.0):.3f}", glassjax.scipy.special.i0(1e3).item()
    ('0.466', inf)
    """
    return lax.bessel_i0e(*real_floats("i0e", x))


@operation
def i1e(x: ArrayLike) -> Array:
    """The modified Bessel function of order 1, times `exp(-abs(x))`.

    >>> f"{glassjax.scipy.special.i1e(1.0):.3f}", glassjax.scipy.special.i1(1e3).item()
    ('0.208', inf)
    """
    return lax.bessel_i1e(*real_floats("i1e", x))


@operation
def i1(x: ArrayLike) -> Array:
    """The modified Bessel function of order 1.

    >>> f"{glassjax.scipy.special.i1(1.0):.3f}"
    '0.565'
    """
    (x,) = real_floats("i1", x)
    return lax.exp(lax.abs(x)) * lax.bessel_i1e(x)


@operation(static=("v", "n_iter"))
def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """The Bessel functions of the first kind, of all orders from 0 to `v`.

    Arguments:
        z: real numbers.
        v: the largest order.
        n_iter: the order from which to recur downwards: larger than `v`, and at least a quarter
            larger than the absolute values of `z`.

    Returns:
        An array with a leading axis of orders, before the axes of `z`.

    Raises:
        ValueError: `z` is complex.

    >>> print(bessel_jn(jnp.array([0.0, 2.0]), v=1).round(3))
    [[1.    0.224]
     [0.    0.577]]
    """
    (z,) = real_arrays("bessel_jn", z)
    dtype = typeof(z).dtype
    z = jnp.astype(z, computation_dtype(dtype))
    last, first = steps_of("bessel_jn: v", v), steps_of("bessel_jn: n_iter", n_iter)
    if last < 0 or first < 0:
        raise ValueError(f"bessel_jn: v and n_iter must not be negative, found {last} and {first}")
    is_zero = z == 0
    x = jnp.where(is_zero, 1, z)
    largest = float(np.finfo(typeof(z).dtype).max) ** 0.25
    orders = jnp.arange(first, 0, -1)

    def down(carry: Any, order: Any) -> Any:
        """A step from two orders to the next lower one, rescaled to avoid overflow."""
        above, here, total, wanted = carry
        below = 2 * order.astype(z.dtype) / x * here - above
        # The sum J(0) + 2 J(2) + 2 J(4) + ... is 1; the results are scaled by it.
        total = total + jnp.where(order % 2 == 1, jnp.where(order == 1, 1, 2), 0) * below
        numbers = jnp.arange(last + 1).reshape(-1, *[1] * typeof(z).ndim)
        wanted = jnp.where(numbers == order - 1, below, wanted)
        scale = jnp.where(jnp.abs(below) > largest, 1 / largest, 1)
        return (here * scale, below * scale, total * scale, wanted * scale), None

    start = jnp.zeros_like(z), jnp.full_like(z, 1 / largest), jnp.zeros_like(z)
    wanted = jnp.zeros((last + 1, *typeof(z).shape), z.dtype)
    (_, _, total, wanted), _ = lax.scan(down, (*start, wanted), orders)
    # Near 0, the terms of the series that matter for derivatives up to the second.
    terms = jnp.stack([1 - z * z / 4, z / 2, z * z / 8])[: last + 1]
    at_zero = jnp.zeros_like(wanted).at[:3].set(terms)
    return jnp.where(is_zero, at_zero, wanted / total).astype(dtype)


# Spherical harmonics.


@hiding_frames
def sph_harm_y(
    n: ArrayLike,
    m: ArrayLike,
    theta: ArrayLike,
    phi: ArrayLike,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Array:
    """The spherical harmonics of degree `n` and order `m`, with the phase of Condon and Shortley.

    Arguments:
        n: integers, the degrees, at least 0.
        m: integers, the orders, from `-n` to `n`; beyond these the result is 0.
        theta: polar angles, from 0 to pi; others count by their cosine.
        phi: azimuths.
        diff_n: must be None.
        n_max: the largest degree, required if `n` is traced; for a larger degree the result is NaN.

    Returns:
        Complex numbers, of the broadcast shape of all arguments.

    Raises:
        ConcretizationTypeError: `n` is traced, and there is no `n_max`.
        NotImplementedError: `diff_n` is given.
        TypeError: `n` or `m` are not integers.

    >>> print(sph_harm_y(1, 0, jnp.array([0.0]), jnp.array([0.5])).real)
    [0.48860252]
    """
    if diff_n is not None:
        raise NotImplementedError("sph_harm_y: diff_n must be None; use grad, jvp or jacfwd")
    for name, given in (("n", n), ("m", m)):
        if typeof(given).dtype.kind not in "iu":
            raise TypeError(f"sph_harm_y: {name} must be integers, found {typeof(given)}")
    if n_max is not None:
        largest = steps_of("sph_harm_y: n_max", n_max)
    elif isinstance(n, stage2.Tracer):
        raise ConcretizationTypeError(
            f"sph_harm_y: n is traced, {typeof(n)}, so that its largest number is not known; give "
            "it as n_max, an int"
        )
    else:
        largest = int(np.max(np.asarray(n), initial=0))
    return _harmonics(n, m, theta, phi, largest)


@operation(static="n_max")
def _harmonics(n: Any, m: Any, theta: Any, phi: Any, n_max: int) -> Any:
    theta, phi = real_arrays("sph_harm_y", theta, phi)
    if not typeof(m).weak_type:  # promote like the phase, `1j * m`
        wide = jnp.promote_types(theta.dtype, default_float())
        theta, phi = theta.astype(wide), phi.astype(wide)
    shape = jnp.broadcast_shapes(*[typeof(x).shape for x in (n, m, theta, phi)])
    cos, sin = (jnp.broadcast_to(f(theta), shape) for f in (jnp.cos, jnp.sin))
    sin = jnp.where(sin < 0, -sin, sin)  # the root of 1 - cos**2, with the slope of sin at 0
    degree, order = jnp.broadcast_to(n, shape), jnp.broadcast_to(m, shape)
    wanted = jnp.abs(order)
    squared = jnp.square(wanted.astype(theta.dtype))

    def next_degree(d: Any, carry: Any) -> Any:
        """A step from degree d - 1 to d; the order grows with the degree until it is reached."""
        before, last, found = carry
        x = d.astype(theta.dtype)
        both = -jnp.sqrt((2 * x + 1) / (2 * x)) * sin * last
        is_both = d <= wanted
        gap = jnp.where(is_both, 1, x * x - squared)
        part = jnp.where(is_both, 0, ((x - 1) ** 2 - squared) / (4 * (x - 1) ** 2 - 1))
        one = jnp.sqrt((4 * x * x - 1) / gap) * (cos * last - _root(part) * before)
        new = jnp.where(is_both, both, one)
        return jnp.where(is_both, 0, last), new, jnp.where(degree == d, new, found)

    first = jnp.full(shape, 1 / math.sqrt(4 * math.pi), theta.dtype)
    found = jnp.where(degree == 0, first, jnp.nan)
    _, _, found = lax.fori_loop(1, n_max + 1, next_degree, (jnp.zeros_like(first), first, found))
    sign = jnp.where((order < 0) & (wanted % 2 == 1), -1, 1)
    found = jnp.where(wanted > degree, 0, found) * sign
    angle = order.astype(theta.dtype) * phi
    return lax.complex(found * jnp.cos(angle), found * jnp.sin(angle))


def _root(x: Any) -> Any:
    """The square root without a derivative at 0, since `x` depends on integers only."""
    return lax.stop_gradient(jnp.sqrt(jnp.maximum(x, 0)))
