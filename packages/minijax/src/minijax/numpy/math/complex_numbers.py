"""The parts of complex numbers, under numpy's names; a real number is its own real part."""

from __future__ import annotations

import math
from typing import Any

import minijax_stage2 as stage2
from minijax.lax import promoting as lax
from minijax.numpy.dtypes import default_float
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.shaped_array import is_inexact


def _is_complex(x: Any) -> bool:
    return typeof(x).dtype.kind == "c"


@operation
def real(val: ArrayLike) -> Array:
    """The real part of `val`.

    >>> jnp.real(jnp.array([1.0 + 2.0j])), jnp.real(jnp.array([3.0]))
    (Array([1.], dtype=float32), Array([3.], dtype=float32))
    """
    return lax.real(val) if _is_complex(val) else val  # type: ignore[return-value]


@operation
def imag(val: ArrayLike) -> Array:
    """The imaginary part of `val`.

    >>> jnp.imag(jnp.array([1.0 + 2.0j])), jnp.imag(jnp.array([3.0]))
    (Array([2.], dtype=float32), Array([0.], dtype=float32))
    """
    return lax.imag(val) if _is_complex(val) else stage2.functions.full_like(val, 0)


@operation
def conjugate(x: ArrayLike) -> Array:
    """`x` with its imaginary part negated; a real `x` itself.

    >>> jnp.conj(jnp.array([1.0 + 2.0j]))
    Array([1.-2.j], dtype=complex64)
    """
    return lax.conj(x) if _is_complex(x) else x  # type: ignore[return-value]


conj = conjugate


@operation(static="deg")
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """The angle of each complex number, from -pi to pi; for real numbers 0, or pi if negative.

    Arguments:
        z: the numbers.
        deg: whether to give degrees instead of radians.

    >>> jnp.angle(jnp.array([1.0j, -1.0]), deg=True)
    Array([ 90., 180.], dtype=float32)
    """
    if _is_complex(z):
        angles = lax.atan2(lax.imag(z), lax.real(z))
    else:
        dtype = typeof(z).dtype
        z = lax.convert_element_type(z, dtype if is_inexact(dtype) else default_float())
        # Minus zero lies at an angle of pi.
        angles = lax.atan2(stage2.functions.full_like(z, 0), z)
    return lax.mul(angles, 180 / math.pi) if deg else angles


__all__ = ["angle", "conj", "conjugate", "imag", "real"]
