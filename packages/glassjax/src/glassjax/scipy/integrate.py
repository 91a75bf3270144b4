"""Integrals of samples, under the names of `jax.scipy.integrate`."""

from glassjax.numpy import trapezoid

__all__ = [
    "trapezoid",
]
