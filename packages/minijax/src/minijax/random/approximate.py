"""Approximate samplers of the gamma and the Poisson distribution, which need no loops.

Both map normal numbers to numbers of about the right distribution; their derivatives are those of
that map.
"""

import math
from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.random.arguments import as_dtype, new_keys, spread
from minijax.random.continuous import exponential
from minijax.random.normal import normal_numbers
from minijax_stage2 import typeof

# The cube root of a chi-squared number over its degrees of freedom n is about a polynomial in
# x / sqrt(n), of a normal number x, whose coefficients are these polynomials in 1 / n. (R. B.
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
_STEPS = 4  # the polynomial is accurate from a shape parameter of 4 on


def gamma_numbers(
    key: Any, a: Any, shape: tuple[int, ...], dtype: np.dtype[Any], log_space: bool
) -> Any:
    """Numbers of the gamma distribution, or their logarithms.

    One of shape parameter `a` is one of `a + 1` times `u ** (1 / a)`, of a uniform `u`. (A. Stuart,
    "Gamma-distributed products of independent random variables", 1962.)
    """
    wide = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    a = spread(a, shape, wide)
    key_of_normal, key_of_steps = new_keys(key, 2)
    log_u = -exponential(key_of_steps, (_STEPS, *shape), wide)
    steps = np.arange(_STEPS, dtype=wide).reshape(_STEPS, *[1] * len(shape))
    logs = _large_log_gamma(key_of_normal, a + wide.type(_STEPS))
    logs = logs + jnp.sum(log_u / (jnp.expand_dims(a, 0) + steps), axis=0)
    return lax.convert_element_type(logs if log_space else lax.exp(logs), dtype)


def _large_log_gamma(key: Any, a: Any) -> Any:
    aval = typeof(a)
    freedom = 2 * a
    t = normal_numbers(key, aval.shape, aval.dtype) * lax.rsqrt(freedom)
    inverse = 1 / freedom
    root = _polynomial(t, [_polynomial(inverse, row) for row in _CUBE_ROOT])
    root = jnp.maximum(root, np.finfo(aval.dtype).tiny)
    return lax.log(a) + 3 * lax.log(root)


def _polynomial(x: Any, coefficients: Any) -> Any:
    """The polynomial of these coefficients, the constant first."""
    *rest, total = coefficients
    for coefficient in reversed(rest):
        total = total * x + coefficient
    return total


ROOT_OF_HALF = math.sqrt(0.5)
_SPLIT = 7.0  # below this mean, sums of few probabilities are accurate
_TERMS = 20


def poisson_numbers(key: Any, lam: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Numbers of the Poisson distribution, up to 1e-4 in total variation."""
    given = typeof(lam).dtype
    is_wide = (given.kind == "f" and given.itemsize > 4) or dtype.itemsize > 4
    wide = np.dtype(np.float64 if is_wide else np.float32)
    lam = as_dtype(lam, wide)
    lam = jnp.reshape(lam, (1,) * (len(shape) - typeof(lam).ndim) + typeof(lam).shape)
    z = normal_numbers(key, shape, wide)
    drawn = jnp.where(lam < _SPLIT, _terms_below(_probability(z), lam), _rounded_up(z, lam))
    return lax.convert_element_type(drawn, dtype)


def _probability(z: Any) -> Any:
    """The probability that a normal number is below `z`."""
    w = z * ROOT_OF_HALF
    distance = lax.abs(w)
    tail = lax.erfc(distance)
    far = jnp.where(w > 0, 2 - tail, tail)
    return 0.5 * jnp.where(distance < ROOT_OF_HALF, 1 + lax.erf(w), far)


def _terms_below(u: Any, lam: Any) -> Any:
    """The number of sums of the first probabilities that are below `u`."""
    dtype = typeof(u).dtype
    term = total = lax.exp(-lam)
    count = lax.convert_element_type(total < u, dtype)
    for k in range(1, _TERMS - 1):
        term = term * (lam / k)
        total = total + term
        count = count + lax.convert_element_type(total < u, dtype)
    return count


def _rounded_up(z: Any, lam: Any) -> Any:
    """The least integer whose normal score is at least `z`, near a guess of where it is `z`."""
    root = lax.sqrt(lam)
    square = lax.square(z)
    # A Cornish-Fisher expansion, moved so that what it misses is at most 1.
    guess = lam + root * z - 2 / 3 + square / 6 + z * (1 - square) / (72 * root) + 0.6
    nearest = lax.ceil(guess)

    def is_enough(x: Any) -> Any:
        score = jnp.where(x < 0, -np.inf, _score(jnp.maximum(x, 0.0), lam))
        return lax.convert_element_type(score >= z, typeof(z).dtype)

    return jnp.maximum(nearest + 1 - is_enough(nearest) - is_enough(nearest - 1), 0.0)


def _score(x: Any, lam: Any) -> Any:
    """The normal number up to which there is as much probability as up to `x`.

    (D. B. Peizer and J. W. Pratt, "A normal approximation for binomial, F, beta, and other common,
    related tail probabilities", 1968.)
    """
    y = (x + 0.5) / lam
    return (x - lam + 2 / 3 + 0.02 / (x + 1)) * lax.sqrt((1 + _skewness(y)) / lam)


def _skewness(y: Any) -> Any:
    """`(1 - y ** 2 + 2 * y * log(y)) / (1 - y) ** 2`, near 1 by its power series."""
    d = y - 1
    is_near = lax.abs(d) < 0.25
    series = jnp.zeros_like(d)
    for k in range(9, 0, -1):
        series = d * (series + 2 * (-1) ** k / ((k + 1) * (k + 2)))
    far, distance = jnp.where(is_near, 2.0, y), jnp.where(is_near, 1.0, d)
    direct = (1 - lax.square(far) + 2 * far * lax.log(far)) / lax.square(distance)
    return jnp.where(is_near, series, direct)
