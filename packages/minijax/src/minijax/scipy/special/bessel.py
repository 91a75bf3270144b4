"""Bessel functions."""

from typing import Any

from minijax import lax
from minijax.numpy.transcendental import real_floats
from minijax.operation import operation


@operation
def i0e(x: Any) -> Any:
    """The modified Bessel function of order 0, times `exp(-abs(x))`.

    >>> f"{minijax.scipy.special.i0e(1.0):.3f}", minijax.scipy.special.i0(1e3).item()
    ('0.466', inf)
    """
    return lax.bessel_i0e(*real_floats("i0e", x))


@operation
def i1e(x: Any) -> Any:
    """The modified Bessel function of order 1, times `exp(-abs(x))`.

    >>> f"{minijax.scipy.special.i1e(1.0):.3f}", minijax.scipy.special.i1(1e3).item()
    ('0.208', inf)
    """
    return lax.bessel_i1e(*real_floats("i1e", x))


@operation
def i1(x: Any) -> Any:
    """The modified Bessel function of order 1.

    >>> f"{minijax.scipy.special.i1(1.0):.3f}"
    '0.565'
    """
    (x,) = real_floats("i1", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))


__all__ = [
    "i0e",
    "i1",
    "i1e",
]
