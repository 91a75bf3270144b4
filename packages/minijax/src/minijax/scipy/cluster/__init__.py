"""Clustering, under the names of `jax.scipy.cluster`."""

from minijax.scipy.cluster import vq

__all__ = ["vq"]
