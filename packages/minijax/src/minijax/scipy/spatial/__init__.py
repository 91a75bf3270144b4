"""Geometry, under the names of `jax.scipy.spatial`."""

from minijax.scipy.spatial import transform

__all__ = ["transform"]
