"""`owens_t`: the probability of a wedge under the bivariate normal distribution."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.numpy.dtypes import default_float
from minijax.numpy.math.operands import real_arrays
from minijax.primitives.declare import binary, lower_by_primitives
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.scipy.special.normal_distribution import ndtr


def _owens_t(h: Any, a: Any) -> Any:
    h = jnp.clip(jnp.abs(h), 0, _FARTHEST)
    is_steep = jnp.abs(a) > 1
    steep = jnp.where(is_steep, jnp.clip(jnp.abs(a), 0, _STEEPEST), 1)
    # A steep line leaves what a flat one does, seen from the other axis.
    flat_part = _flat_t(jnp.where(is_steep, h * steep, h), jnp.where(is_steep, 1 / steep, a))
    above_h, above_line = ndtr(-h), ndtr(-h * steep)
    steep_part = (above_h + above_line) / 2 - above_h * above_line - flat_part
    return jnp.where(is_steep, jnp.sign(a) * steep_part, flat_part)


def _flat_t(h: Any, a: Any) -> Any:
    """The defining integral, for `a` up to 1, by Gauss quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(40)

    def term(node: float, weight: float) -> Any:
        tilted = 1 + jnp.square(a * node)
        return weight * jnp.exp(-jnp.square(h) / 2 * tilted) / tilted

    terms = list(map(term, ((nodes + 1) / 2).tolist(), weights.tolist()))
    while len(terms) > 1:  # by pairs, whose sums round less often
        terms = [*map(operator.add, terms[::2], terms[1::2]), *terms[len(terms) // 2 * 2 :]]
    return a * (terms[0] / (4 * math.pi))


def _tangent_by_h(t: Any, out: Any, h: Any, a: Any) -> Any:
    """The normal density at `h`, times the probability of `Y` between 0 and `a * h`."""
    h, to_end = _finite(h), _finite(a)
    slope = jnp.exp(-jnp.square(h) / 2) * lax.erf(h * to_end * math.sqrt(0.5))
    return t * slope * (-0.5 / math.sqrt(2 * math.pi))


def _tangent_by_a(t: Any, out: Any, h: Any, a: Any) -> Any:
    """The density at the end of the line."""
    h, to_end = _finite(h), _finite(a)
    density = jnp.exp(-(jnp.square(h) + jnp.square(h * to_end)) / 2)
    return t * density / (2 * math.pi * (1 + jnp.square(a)))


def _finite(x: Any) -> Any:
    """A number with whose product 0 is 0."""
    most = float(jnp.finfo(x.dtype).max)
    return jnp.clip(x, -most, most)


# Beyond `h` nothing is left; steeper lines are the axis.
_FARTHEST, _STEEPEST = 1e3, 1e18

_owens_t_of = binary(
    "owens_t",
    "",
    hlo=lower_by_primitives(_owens_t),
    kinds="f",
    jvp=(_tangent_by_h, _tangent_by_a),
)


@operation
def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's T: the probability of `X > h` and `0 < Y < a * X`, for two normal variables.

    Returns:
        Floats of the default dtype, whatever the dtype of the arguments.

    Raises:
        ValueError: an argument is complex.

    >>> print(f"{owens_t(0.0, 1.0):.4f}")
    0.1250
    """
    h, a = (lax.convert_element_type(x, default_float()) for x in real_arrays("owens_t", h, a))
    return _owens_t_of(h, a)


__all__ = ["owens_t"]
