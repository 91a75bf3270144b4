"""scipy's functions for Arrays, by the names of `jax.scipy`."""

from minijax.scipy import linalg, ndimage, optimize, sparse, special, stats

__all__ = [
    "linalg",
    "ndimage",
    "optimize",
    "sparse",
    "special",
    "stats",
]
