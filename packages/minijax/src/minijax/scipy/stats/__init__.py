"""Probability distributions, by the names of `jax.scipy.stats`."""

from minijax.scipy.stats import norm

__all__ = [
    "norm",
]
