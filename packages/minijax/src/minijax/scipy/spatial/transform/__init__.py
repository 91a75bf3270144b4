"""Rotations in space, under the names of `jax.scipy.spatial.transform`."""

from minijax.scipy.spatial.transform.rotation import Rotation
from minijax.scipy.spatial.transform.slerp import Slerp

__all__ = ["Rotation", "Slerp"]
