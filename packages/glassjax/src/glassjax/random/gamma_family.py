"""Gamma variates, and the distributions that are built on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax import numpy as jnp
from glassjax.dtypes import DTypeLike
from glassjax.lax.shapes import sizes_of
from glassjax.primitives.declare import declare, leading_batch
from glassjax.primitives.regions import lower_as
from glassjax.primitives.sharding_rules import agreed
from glassjax.random import continuous
from glassjax.random.continuous import Shape
from glassjax.random.keys import random_split_p, single_key
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax.shardings.types import Spec, spec_of
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof

# Approximate samplers of the gamma and the Poisson distribution, which need no loops.
#
# Both map normal numbers to numbers of about the right distribution, and are differentiated as
# this map.


# The cube root of a chi-squared number over its degrees of freedom n is nearly a polynomial in
# x / sqrt(n) with x a normal number; its coefficients are these polynomials in 1 / n. (R. B.
# Goldstein, "Algorithm 451: Chi-square quantiles", 1973; the first constant is 1, the limit.)
_CUBE_ROOT = (
    (1.0, -0.2237368, -0.01513904),
    (0.4713941, 0.02607083, -0.008986007),
    (0.0001348028, 0.01128186, 0.02277679),
    (-0.008553069, -0.01153761, -0.01323293),
    (0.00312558, 0.005169654, -0.006950356),
    (-0.0008426812, 0.00253001, 0.001060438),
    (0.00009780499, -0.001450117, 0.001565326),
)
_GAMMA_STEPS = 4  # the polynomial is accurate from a shape parameter of 4 on


def gamma_numbers(
    key: Any, a: Any, shape: tuple[int, ...], dtype: np.dtype[Any], log_space: bool
) -> Any:
    """Numbers of the gamma distribution, or their logarithms.

    A number for `a` is one for `a + 1` times `u ** (1 / a)`, with `u` uniform. (A. Stuart,
    "Gamma-distributed products of independent random variables", 1962.)
    """
    wide = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    a = continuous.broadcast_parameter(a, shape, wide)
    key_of_normal, key_of_steps = continuous.new_keys(key, 2)
    log_u = -continuous.exponential(key_of_steps, (_GAMMA_STEPS, *shape), wide)
    steps = np.arange(_GAMMA_STEPS, dtype=wide).reshape(_GAMMA_STEPS, *[1] * len(shape))
    logs = _large_log_gamma(key_of_normal, a + wide.type(_GAMMA_STEPS))
    logs = logs + jnp.sum(log_u / (jnp.expand_dims(a, 0) + steps), axis=0)
    return lax.convert_element_type(logs if log_space else lax.exp(logs), dtype)


def _large_log_gamma(key: Any, a: Any) -> Any:
    aval = typeof(a)
    freedom = 2 * a
    t = continuous.normal_numbers(key, aval.shape, aval.dtype) * lax.rsqrt(freedom)
    inverse = 1 / freedom
    root = _polynomial_at(t, [_polynomial_at(inverse, row) for row in _CUBE_ROOT])
    root = jnp.maximum(root, np.finfo(aval.dtype).tiny)
    return lax.log(a) + 3 * lax.log(root)


def _polynomial_at(x: Any, coefficients: Any) -> Any:
    """The polynomial of these coefficients, the constant first."""
    *rest, total = coefficients
    for coefficient in reversed(rest):
        total = total * x + coefficient
    return total


ROOT_OF_HALF = math.sqrt(0.5)
_SMALL_MEAN = 7.0  # below, the sum of the first terms is accurate
_POISSON_TERMS = 20


def poisson_numbers(key: Any, lam: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Numbers of the Poisson distribution, to within 1e-4 in total variation."""
    given = typeof(lam).dtype
    is_wide = (given.kind == "f" and given.itemsize > 4) or dtype.itemsize > 4
    wide = np.dtype(np.float64 if is_wide else np.float32)
    lam = continuous.as_dtype(lam, wide)
    lam = jnp.reshape(lam, (1,) * (len(shape) - typeof(lam).ndim) + typeof(lam).shape)
    z = continuous.normal_numbers(key, shape, wide)
    drawn = jnp.where(
        lam < _SMALL_MEAN, _count_below(_normal_probability(z), lam), _round_score_up(z, lam)
    )
    return lax.convert_element_type(drawn, dtype)


def _normal_probability(z: Any) -> Any:
    """The probability that a normal number is below `z`."""
    w = z * ROOT_OF_HALF
    distance = lax.abs(w)
    tail = lax.erfc(distance)
    far = jnp.where(w > 0, 2 - tail, tail)
    return 0.5 * jnp.where(distance < ROOT_OF_HALF, 1 + lax.erf(w), far)


def _count_below(u: Any, lam: Any) -> Any:
    """The number of sums of the first probabilities that are below `u`."""
    dtype = typeof(u).dtype
    term = total = lax.exp(-lam)
    count = lax.convert_element_type(total < u, dtype)
    for k in range(1, _POISSON_TERMS - 1):
        term = term * (lam / k)
        total = total + term
        count = count + lax.convert_element_type(total < u, dtype)
    return count


def _round_score_up(z: Any, lam: Any) -> Any:
    """The least integer whose normal score is at least `z`, searched near a guess."""
    root = lax.sqrt(lam)
    square = lax.square(z)
    # A Cornish-Fisher expansion, shifted so that its error is at most 1.
    guess = lam + root * z - 2 / 3 + square / 6 + z * (1 - square) / (72 * root) + 0.6
    nearest = lax.ceil(guess)

    def is_enough(x: Any) -> Any:
        score = jnp.where(x < 0, -np.inf, _poisson_score(jnp.maximum(x, 0.0), lam))
        return lax.convert_element_type(score >= z, typeof(z).dtype)

    return jnp.maximum(nearest + 1 - is_enough(nearest) - is_enough(nearest - 1), 0.0)


def _poisson_score(x: Any, lam: Any) -> Any:
    """The normal quantile of the probability of at most `x`.

    (D. B. Peizer and J. W. Pratt, "A normal approximation for binomial, F, beta, and other common,
    related tail probabilities", 1968.)
    """
    y = (x + 0.5) / lam
    return (x - lam + 2 / 3 + 0.02 / (x + 1)) * lax.sqrt((1 + _score_skewness(y)) / lam)


def _score_skewness(y: Any) -> Any:
    """`(1 - y ** 2 + 2 * y * log(y)) / (1 - y) ** 2`, near 1 by its power series."""
    d = y - 1
    is_near = lax.abs(d) < 0.25
    series = jnp.zeros_like(d)
    for k in range(9, 0, -1):
        series = d * (series + 2 * (-1) ** k / ((k + 1) * (k + 2)))
    far, distance = jnp.where(is_near, 2.0, y), jnp.where(is_near, 1.0, d)
    direct = (1 - lax.square(far) + 2 * far * lax.log(far)) / lax.square(distance)
    return jnp.where(is_near, series, direct)


# The gamma distribution, by rejection, and the distributions built on it.


@operation(static=("shape", "dtype", "method", "out_sharding"))
def gamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Array:
    """Numbers of the gamma distribution with shape parameter `a` and scale 1.

    Arguments:
        key: the key.
        a: the positive shape parameter, or an array that broadcasts to `shape`.
        shape: the shape of the result; None: the shape of `a`.
        dtype: a real dtype; None: the default float.
        method: "exact", or "approximate", which is faster, for it needs no loops.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        ValueError: `a` does not broadcast to `shape`, or `dtype` is not real.

    >>> x = random.gamma(random.key(0), 3.0, (1000,))
    >>> f"{jnp.mean(x):.0f}"
    '3'
    """
    return _gamma("gamma", key, a, shape, dtype, method, log_space=False)


@operation(like=gamma)
def loggamma(key: Any, a: Any, shape: Any, dtype: Any, *, method: Any, out_sharding: Any) -> Any:
    """Logarithms of samples of the gamma distribution, accurate even where these are nearly 0.

    Arguments:
        key, a, shape, dtype, method, out_sharding: as in `gamma`.

    Raises:
        ValueError: as in `gamma`.

    >>> small = random.loggamma(random.key(0), 1e-3, (100,))
    >>> bool(jnp.all(jnp.isfinite(small))), bool(jnp.any(jnp.exp(small) == 0))
    (True, True)
    """
    return _gamma("loggamma", key, a, shape, dtype, method, log_space=True)


def _gamma(
    caller: str, key: Any, a: Any, shape: Shape | None, dtype: Any, method: str, *, log_space: bool
) -> Any:
    key, dtype = single_key(caller, key), continuous.float_dtype(caller, dtype)
    sizes = continuous.result_shape(caller, shape, a)
    if not continuous.is_exact(caller, method):
        return gamma_numbers(key, a, sizes, dtype, log_space)
    return bind1(
        random_gamma_p, key, continuous.broadcast_parameter(a, sizes, dtype), log_space=log_space
    )


def _gamma_numbers(keys: Any, a: Any, *, log_space: bool) -> list[Any]:
    """A number for each shape parameter; the last axes share a key, which is split."""
    shape, count = typeof(a).shape, typeof(keys).ndim
    keys = bind1(random_split_p, keys, shape=shape[count:])
    keys, alphas = (stage2.reshape(x, (-1,)) for x in (keys, a))
    # One sample at a time: under vmap, every sample would take as many steps as the slowest.
    out = lax.map(lambda pair: _one_gamma(pair[0], pair[1], log_space), (keys, alphas))
    return [lax.reshape(out, shape)]


def _one_gamma(key: Any, alpha: Any, log_space: bool) -> Any:
    """Sampling by rejection (Marsaglia and Tsang, "A simple method for gamma variables", 2000)."""
    dtype = typeof(alpha).dtype
    zero, one = dtype.type(0), dtype.type(1)
    is_at_least_1 = alpha >= 1
    boosted = lax.select(is_at_least_1, alpha, alpha + 1)
    d = boosted - 1 / 3
    c = 1 / 3 / lax.sqrt(d)

    def is_rejected(state: Any) -> Any:
        _, x_squared, v_cubed, u = state
        squeeze = 1 - 0.0331 * (x_squared * x_squared)
        bound = x_squared * 0.5 + d * (1 - v_cubed + lax.log(v_cubed))
        return (u >= squeeze) & (lax.log(u) >= bound)

    def propose(state: Any) -> Any:
        key, key_of_x, key_of_u = continuous.new_keys(state[0], 3)

        def draw_x(state: Any) -> Any:
            key, key_of_x = continuous.new_keys(state[0], 2)
            x = continuous.normal_numbers(key_of_x, (), dtype)
            return key, x, 1 + x * c

        _, x, v = lax.while_loop(
            lambda state: state[2] <= 0, draw_x, (key_of_x, zero, dtype.type(-1))
        )
        u = continuous.uniform_numbers(key_of_u, (), dtype, 0.0, 1.0)
        return key, x * x, v * v * v, u

    key, key_of_boost = continuous.new_keys(key, 2)
    _, _, v_cubed, _ = lax.while_loop(is_rejected, propose, (key, zero, one, dtype.type(2)))
    inverse = 1 / alpha
    if log_space:
        log_u = -continuous.exponential(key_of_boost, (), dtype)
        is_plain = is_at_least_1 | (log_u == 0)
        log_boost = lax.select(is_plain, zero, log_u * inverse)
        return lax.log(d) + lax.log(v_cubed) + log_boost
    u = 1 - continuous.uniform_numbers(key_of_boost, (), dtype, 0.0, 1.0)
    boost = lax.select(is_at_least_1, one, lax.pow(u, inverse))
    return d * v_cubed * boost


def _gamma_jvp(t: Any, out: Any, keys: Any, a: Any, *, log_space: bool) -> Any:
    """The derivative of a sample with respect to `a`, at constant cumulative probability.

    (M. Figurnov and others, "Implicit reparameterization gradients", 2018.) The rejection steps
    have no meaningful derivative.
    """
    if not log_space:
        return t * lax.random_gamma_grad(a, out)
    dtype = typeof(out).dtype
    number = lax.exp(out)
    number = jnp.where(number == 0, float(continuous.finfo(dtype).tiny), number)
    return t * (lax.random_gamma_grad(a, number) / number)


def _gamma_sharding(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[Spec]:
    keys, a = in_avals
    columns = zip_longest(spec_of(keys), spec_of(a), fillvalue=())
    return [agreed(random_gamma_p, in_avals, columns)]


def _gamma_type(keys: ShapedArray, a: ShapedArray, *, log_space: bool) -> list[ShapedArray]:
    if a.shape[: keys.ndim] != keys.shape:
        raise TypeError(f"random_gamma: parameters begin with the axes of keys, found {keys}, {a}")
    return [ShapedArray(a.shape, a.dtype)]


random_gamma_p = Primitive("random_gamma")
declare(
    random_gamma_p,
    abstract_eval=_gamma_type,
    lower=lower_as(_gamma_numbers),
    vmap=leading_batch(random_gamma_p),
    sharding=_gamma_sharding,
    jvp=(None, _gamma_jvp),
)


@operation(static=("shape", "dtype", "method", "out_sharding"))
def beta(
    key: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Array:
    """Numbers of the beta distribution with parameters `a` and `b`.

    Arguments:
        key: the key.
        a: the positive first parameter, or an array that broadcasts to `shape`.
        b: the positive second parameter, or an array that broadcasts to `shape`.
        shape: the shape of the result; by default the broadcast shape of the parameters.
        dtype: a real dtype; None: the default float.
        method: "exact", or "approximate", which is faster, for it needs no loops.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, a parameter does not broadcast to `shape`, or `dtype` is
            not real.

    >>> x = random.beta(random.key(0), 2.0, 3.0, (1000,))
    >>> f"{jnp.mean(x):.1f}"
    '0.4'
    """
    key, dtype = single_key("beta", key), continuous.float_dtype("beta", dtype)
    sizes = continuous.result_shape("beta", shape, a, b)
    log_a, log_b = (
        loggamma(new, x, sizes, dtype, method=method)
        for new, x in zip(continuous.new_keys(key, 2), (a, b), strict=True)
    )
    largest = lax.max(log_a, log_b)
    share_a, share_b = lax.exp(log_a - largest), lax.exp(log_b - largest)
    return share_a / (share_a + share_b)


@operation(static=("shape", "dtype", "out_sharding"))
def dirichlet(
    key: ArrayLike,
    alpha: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Samples of the Dirichlet distribution: vectors of positive numbers whose sum is 1.

    Arguments:
        key: the key.
        alpha: the concentrations, along the last axis.
        shape: the shape of the result without its last axis; None: the shape of `alpha`.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        ValueError: `alpha` has no axis, or does not broadcast.

    >>> shares = random.dirichlet(random.key(0), jnp.ones(3), (100,))
    >>> shares.shape, bool(jnp.allclose(shares.sum(axis=1), 1))
    ((100, 3), True)
    """
    key, dtype = single_key("dirichlet", key), continuous.float_dtype("dirichlet", dtype)
    alpha_shape = typeof(alpha).shape
    if not alpha_shape:
        raise ValueError("dirichlet: alpha must have an axis, found a scalar")
    lead = alpha_shape[:-1] if shape is None else sizes_of("dirichlet", shape)
    logs = loggamma(key, alpha, (*lead, alpha_shape[-1]), dtype)
    largest = jnp.max(logs, axis=-1, keepdims=True, initial=-jnp.inf)
    shifted = logs - lax.stop_gradient(largest)
    shares = lax.exp(shifted)
    return shares / jnp.sum(shares, axis=-1, keepdims=True)


@operation(static=("shape", "dtype", "method", "out_sharding"))
def chisquare(
    key: ArrayLike,
    df: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "exact",
    out_sharding: Any = None,
) -> Array:
    """Numbers of the chi-square distribution with `df` degrees of freedom.

    Arguments:
        key: the key.
        df: the positive degrees of freedom, or an array that broadcasts to `shape`.
        shape: the shape of the result; by default the broadcast shape of the parameters.
        dtype: a real dtype; None: the default float.
        method: "exact", or "approximate", which is faster, for it needs no loops.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, a parameter does not broadcast to `shape`, or `dtype` is
            not real.

    >>> x = random.chisquare(random.key(0), 4.0, shape=(1000,))
    >>> f"{jnp.mean(x):.0f}"
    '4'
    """
    key, dtype = single_key("chisquare", key), continuous.float_dtype("chisquare", dtype)
    sizes = continuous.result_shape("chisquare", shape, df)
    half = continuous.as_dtype(df, dtype) / 2
    return lax.exp(loggamma(key, half, sizes, dtype, method=method)) * 2


@operation(static=("shape", "dtype", "out_sharding"))
def f(
    key: ArrayLike,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Numbers of the F distribution with these degrees of freedom.

    Arguments:
        key: the key.
        dfnum: the degrees of freedom of the numerator, or an array that broadcasts to `shape`.
        dfden: the degrees of freedom of the denominator, or an array that broadcasts to `shape`.
        shape: the shape of the result; by default the broadcast shape of the parameters.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, a parameter does not broadcast to `shape`, or `dtype` is
            not real.

    >>> random.f(random.key(0), 5.0, jnp.array([8.0, 9.0]), (3, 2)).shape
    (3, 2)
    """
    key, dtype = single_key("f", key), continuous.float_dtype("f", dtype)
    sizes = continuous.result_shape("f", shape, dfnum, dfden)
    key_of_den, key_of_num = continuous.new_keys(key, 2)
    above, below = (
        chisquare(new, df, sizes, dtype) / continuous.as_dtype(df, dtype)
        for new, df in ((key_of_num, dfnum), (key_of_den, dfden))
    )
    return above / below


@operation(static=("shape", "dtype", "out_sharding"))
def t(
    key: ArrayLike,
    df: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Numbers of Student's t distribution with `df` degrees of freedom.

    Arguments:
        key: the key.
        df: the positive degrees of freedom, or an array that broadcasts to `shape`.
        shape: the shape of the result; None: the shape of `df`.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, a parameter does not broadcast to `shape`, or `dtype` is
            not real.

    >>> random.t(random.key(0), jnp.array([3.0, 30.0]), (4, 2)).shape
    (4, 2)
    """
    key, dtype = single_key("t", key), continuous.float_dtype("t", dtype)
    sizes = continuous.result_shape("t", shape, df)
    key_of_numbers, key_of_gamma = continuous.new_keys(key, 2)
    numbers = continuous.normal_numbers(key_of_numbers, sizes, dtype)
    half = continuous.as_dtype(df, dtype) / 2
    ratio = half / gamma(key_of_gamma, half, sizes, dtype)
    return numbers * lax.sqrt(ratio)


@operation(static=("shape", "dtype", "out_sharding"))
def generalized_normal(
    key: ArrayLike,
    p: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Numbers whose density falls as `exp(-abs(x) ** p)`.

    Arguments:
        key: the key.
        p: the positive power, or an array that broadcasts to `shape`.
        shape: the shape of the result.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, a parameter does not broadcast to `shape`, or `dtype` is
            not real.

    >>> x = random.generalized_normal(random.key(0), 8.0, (1000,))
    >>> bool(jnp.all(jnp.abs(x) < 1.5))
    True
    """
    key, dtype = (
        single_key("generalized_normal", key),
        continuous.float_dtype("generalized_normal", dtype),
    )
    sizes = sizes_of("generalized_normal", shape)
    inverse = jnp.divide(1, p)
    key_of_powers, key_of_signs = continuous.new_keys(key, 2)
    powers = gamma(key_of_powers, inverse, sizes, dtype)
    signs = continuous.rademacher(key_of_signs, sizes, dtype)
    return signs * lax.pow(*stage2.promote(powers, continuous.as_dtype(inverse, dtype)))


@operation(static=("d", "shape", "dtype", "out_sharding"))
def ball(
    key: ArrayLike,
    d: int,
    p: ArrayLike = 2,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Points uniformly distributed in the unit ball of the p-norm in `d` dimensions.

    Arguments:
        key: the key.
        d: the number of dimensions.
        p: the order of the norm, at least 1; 2 is the Euclidean norm, infinity the largest
            coordinate.
        shape: the shape of the result without its last axis, which has the coordinates.
        dtype: a real dtype; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        TypeError: `key` is not a key.
        ValueError: `key` is more than one, or `dtype` is not real.

    >>> points = random.ball(random.key(0), d=2, shape=(100,))
    >>> points.shape, bool(jnp.all(jnp.linalg.norm(points, axis=1) <= 1))
    ((100, 2), True)
    """
    key, dtype = single_key("ball", key), continuous.float_dtype("ball", dtype)
    sizes = sizes_of("ball", shape)
    key_of_points, key_of_radius = continuous.new_keys(key, 2)
    points = generalized_normal(key_of_points, p, (*sizes, d), dtype)
    radius = continuous.exponential(key_of_radius, sizes, dtype)
    powers = lax.pow(*stage2.promote(lax.abs(points), continuous.as_dtype(p, dtype)))
    inverse = continuous.as_dtype(jnp.divide(1, p), dtype)
    norm = lax.pow(*stage2.promote(jnp.sum(powers, axis=-1) + radius, inverse))
    return points / jnp.expand_dims(norm, -1)
