"""scipy's functions for Arrays, by the names of `jax.scipy`."""

from minijax.scipy import linalg, special, stats

__all__ = [
    "linalg",
    "special",
    "stats",
]
