"""Spherical harmonics: the waves that a sphere has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.errors.tracebacks import hiding_frames
from minijax.lax import promoting as lax
from minijax.lax.shapes.creation import steps_of
from minijax.numpy.dtypes import default_float
from minijax.numpy.math.operands import real_arrays
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import Tracer, typeof
from minijax_stage2.errors import ConcretizationTypeError


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
        theta: polar angles, from 0 to pi; of others what counts is the cosine.
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
    elif isinstance(n, Tracer):
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
    if not typeof(m).weak_type:  # as of the phase, `1j * m`
        wide = jnp.promote_types(theta.dtype, default_float())
        theta, phi = theta.astype(wide), phi.astype(wide)
    shape = jnp.broadcast_shapes(*[typeof(x).shape for x in (n, m, theta, phi)])
    cos, sin = (jnp.broadcast_to(f(theta), shape) for f in (jnp.cos, jnp.sin))
    sin = jnp.where(sin < 0, -sin, sin)  # the root of 1 - cos**2, with the slope of sin at 0
    degree, order = jnp.broadcast_to(n, shape), jnp.broadcast_to(m, shape)
    wanted = jnp.abs(order)
    squared = jnp.square(wanted.astype(theta.dtype))

    def next_degree(d: Any, carry: Any) -> Any:
        """From degree d - 1 to d: until the order is as large, both grow; then only the degree."""
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
    """The square root; its derivative at 0 never matters, since `x` depends on integers only."""
    return lax.stop_gradient(jnp.sqrt(jnp.maximum(x, 0)))


__all__ = ["sph_harm_y"]
