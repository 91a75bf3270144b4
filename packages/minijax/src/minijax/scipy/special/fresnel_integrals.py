"""`fresnel`: the integrals of the sine and the cosine of a square."""

import math
from typing import Any

import numpy as np

from minijax import lax
from minijax import numpy as jnp
from minijax.floats import real_arrays
from minijax.operation import operation

_NEAR = 1.6  # up to here the series loses little; beyond, the sums below lose nothing
_TERMS = 16
# Where the trapezoidal rule looks at a bell curve: half of it, for it is even.
_STEP = 0.25
_NODES = _STEP * np.arange(26)
_WEIGHTS = _STEP * np.exp(-(_NODES**2)) * np.where(_NODES == 0, 0.5, 1.0)


@operation
def fresnel(x: Any) -> tuple[Any, Any]:
    """The integrals of `sin(pi t**2 / 2)` and of `cos(pi t**2 / 2)` from 0 to `x`.

    Returns:
        Both, first that of the sine.

    Raises:
        ValueError: `x` is complex.

    >>> s, c = fresnel(1.0)
    >>> print(f"{s:.4f} {c:.4f}")
    0.4383 0.7799
    """
    (x,) = real_arrays("fresnel", x)
    size = jnp.abs(x)
    is_near = size < _NEAR
    near = _near(jnp.where(is_near, x, 0))
    far = _far(jnp.where(is_near, _NEAR, size))
    s, c = (jnp.where(is_near, n, jnp.sign(x) * f) for n, f in zip(near, far, strict=True))
    return s, c


def _near(x: Any) -> tuple[Any, Any]:
    """The series of both integrals."""
    half_turns = math.pi / 2 * x * x
    square = half_turns * half_turns
    s = c = jnp.zeros_like(x)
    for k in reversed(range(_TERMS)):
        s = (-1) ** k / (math.factorial(2 * k + 1) * (4 * k + 3)) + square * s
        c = (-1) ** k / (math.factorial(2 * k) * (4 * k + 1)) + square * c
    return x * half_turns * s, x * c


def _far(x: Any) -> tuple[Any, Any]:
    """What both integrals lack to one half: waves, whose sizes are integrals of bell curves."""
    nodes, weights = (jnp.asarray(numbers, x.dtype) for numbers in (_NODES, _WEIGHTS))
    scale = math.sqrt(math.pi / 2) * x
    squares = jnp.square(nodes / scale[..., None])
    parts = weights / (1 + jnp.square(squares))
    factor = math.sqrt(2) / math.pi / scale
    f, g = factor * jnp.sum(parts, -1), factor * jnp.sum(squares * parts, -1)
    turns = jnp.where(jnp.isfinite(x * x), lax.rem(x * x, jnp.full_like(x, 4)), 0)
    sin, cos = jnp.sin(math.pi / 2 * turns), jnp.cos(math.pi / 2 * turns)
    return 0.5 - f * cos - g * sin, 0.5 + f * sin - g * cos


__all__ = ["fresnel"]
