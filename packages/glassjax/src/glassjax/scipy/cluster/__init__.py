"""Clustering, under the names of `jax.scipy.cluster`."""

from glassjax.scipy.cluster import vq

__all__ = ["vq"]
