"""Functions with the names of `scipy`."""

from minijax.scipy import linalg

__all__ = [
    "linalg",
]
