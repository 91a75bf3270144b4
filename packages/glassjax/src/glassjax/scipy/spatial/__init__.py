"""Geometry, under the names of `jax.scipy.spatial`."""

from glassjax.scipy.spatial import transform

__all__ = ["transform"]
