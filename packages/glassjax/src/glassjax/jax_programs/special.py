"""JAX's programs of functions of `glassjax.nn` and `glassjax.scipy`."""

import math
from typing import Any

from glassjax import lax, nn
from glassjax import numpy as jnp
from glassjax.lax.elementwise import copy
from glassjax.nn.attention import masked
from glassjax.numpy.transcendental import real_floats
from glassjax_stage2 import typeof


def gelu(x: Any) -> Any:
    """The product of `x` and the normal distribution function, as a copy."""
    return copy(0.5 * x * lax.erfc(-x * math.sqrt(0.5)))


# The coefficients of the series of Didonato and Morris (1992, ACM TOMS 708), from the constant on.
_SERIES = (
    0.0833333333333333, -0.00277777777760991, 0.00079365066682539, -0.00059520293135187,
    0.000837308034031215, -0.00165322962780713,
)  # fmt: skip


def betaln(a: Any, b: Any) -> Any:
    """By logarithms of gamma functions, or where an operand is large by a series of their parts."""
    a, b = real_floats("betaln", a, b)
    small = jnp.where(jnp.less_equal(a, b), a, b)
    large = jnp.where(jnp.less_equal(a, b), b, a)
    by_parts = lax.lgamma(small) + (lax.lgamma(large) - lax.lgamma(small + large))

    smaller, ratio = lax.lgamma(small), small / large
    factor, share = ratio / (1 + ratio), ratio / (1 + ratio)
    shifted, power = large + (small - 0.5), share * share
    sums = [1 + (share + power)]
    for _ in _SERIES[2:]:
        sums.append(1 + (share + power * sums[-1]))
    inverse = (1 / large) ** 2
    total = _SERIES[-1] * sums.pop()
    for coefficient in reversed(_SERIES[1:-1]):
        total = total * inverse + coefficient * sums.pop()
    total = (total * inverse + _SERIES[0]) * (factor / large)
    u, v = shifted * lax.log1p(small / large), small * (lax.log(large) - 1)
    by_series = smaller + jnp.where(u <= v, total - v - u, total - u - v)
    return jnp.where(large < 8, by_parts, by_series)


def _means_by_similarity(
    query: Any, key: Any, value: Any, scale: Any, bias: Any, seen: Any, return_residual: bool
) -> tuple[Any, Any]:
    """Attention mapped over the heads that a key head serves, an axis that becomes the first."""
    numbers = ((4,), (3,)), ((0, 2), (0, 2))
    logits = lax.dot_general(query, key, numbers, preferred_element_type=typeof(scale).dtype)
    batch, heads, positions, group, keys = logits.shape
    shape = batch, heads, group, positions, keys
    bias, seen = (
        x if x is None else jnp.swapaxes(jnp.broadcast_to(x, shape), 2, 3) for x in (bias, seen)
    )
    logits = masked(logits * scale, bias, seen)
    largest = lax.transpose(jnp.max(logits, 4, initial=-jnp.inf), (3, 0, 1, 2))
    largest = lax.stop_gradient(lax.expand_dims(largest, [4]))
    exps = jnp.exp(lax.transpose(logits, (3, 0, 1, 2, 4)) - largest)
    weights = jnp.astype(exps / jnp.sum(exps, 4, keepdims=True), typeof(key).dtype)
    numbers = ((1,), (4,)), ((0, 2), (1, 2))
    out = lax.dot_general(value, weights, numbers, preferred_element_type=weights.dtype)
    out = lax.transpose(lax.transpose(out, (3, 0, 4, 1, 2)), (1, 2, 3, 0, 4))
    out = lax.reshape(out, (batch, positions, heads * group, value.shape[3]))
    residual = jnp.swapaxes(nn.logsumexp(logits, -1), 1, 2) if return_residual else None
    return out, residual
