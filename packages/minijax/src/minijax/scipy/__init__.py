"""scipy's functions for Arrays, by the names of `jax.scipy`."""

from minijax.scipy import special, stats

__all__ = [
    "special",
    "stats",
]
