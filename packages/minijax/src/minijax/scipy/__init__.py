"""scipy's functions for Arrays, under the names of `jax.scipy`."""

from minijax.scipy import (
    fft,
    integrate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    special,
    stats,
)

__all__ = [
    "fft", "integrate", "linalg", "ndimage", "optimize", "signal", "sparse", "special", "stats",
]  # fmt: skip
