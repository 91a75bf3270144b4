"""`owens_t`: the probability of a wedge under the bivariate normal distribution."""

import math
from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.numpy.dtypes import default_float
from minijax.numpy.math.operands import real_arrays
from minijax.runtime.operation import operation
from minijax.scipy.special.normal_distribution import ndtr


@operation
def owens_t(h: Any, a: Any) -> Any:
    """Owen's T: the probability of `X > h` and `0 < Y < a * X`, for two normal variables.

    Returns:
        Floats of the default dtype, whatever the dtype of the arguments.

    Raises:
        ValueError: an argument is complex.

    >>> print(f"{owens_t(0.0, 1.0):.4f}")
    0.1250
    """
    h, a = (lax.convert_element_type(x, default_float()) for x in real_arrays("owens_t", h, a))
    h = jnp.clip(jnp.abs(h), 0, 1e3)  # beyond, nothing is left
    is_steep = jnp.abs(a) > 1
    steep = jnp.where(is_steep, jnp.clip(jnp.abs(a), 0, 1e18), 1)
    # A steep line leaves what a flat one does, seen from the other axis.
    flat_part = _flat_t(jnp.where(is_steep, h * steep, h), jnp.where(is_steep, 1 / steep, a))
    above_h, above_line = ndtr(-h), ndtr(-h * steep)
    steep_part = (above_h + above_line) / 2 - above_h * above_line - flat_part
    return jnp.where(is_steep, jnp.sign(a) * steep_part, flat_part)


def _flat_t(h: Any, a: Any) -> Any:
    """The defining integral, for `a` up to 1, by Gauss quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    tilted = 1 + jnp.square(a[..., None] * jnp.asarray((nodes + 1) / 2, a.dtype))
    densities = jnp.exp(-jnp.square(h)[..., None] / 2 * tilted) / tilted
    return a / (4 * math.pi) * jnp.sum(jnp.asarray(weights, a.dtype) * densities, -1)


__all__ = ["owens_t"]
