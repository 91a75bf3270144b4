"""Integrals of samples, by the names of `jax.scipy.integrate`."""

from minijax.numpy import trapezoid

__all__ = [
    "trapezoid",
]
