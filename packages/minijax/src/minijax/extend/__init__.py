"""Modules for libraries that extend JAX, under the names of `jax.extend`.

They show the mechanisms of `minijax.core` by JAX's conventions. What a library defines by them
works in every interpreter here; `minijax.core` has the shorter way.
"""

from minijax.extend import backend, core, linear_util, source_info_util

__all__ = ["backend", "core", "linear_util", "source_info_util"]
