"""Integrals of samples, under the names of `jax.scipy.integrate`."""

from minijax.numpy import trapezoid

__all__ = [
    "trapezoid",
]
