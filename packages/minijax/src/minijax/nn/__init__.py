"""Neural network functions, by the names of `jax.nn`."""

# ruff: noqa: F403

from minijax.nn import initializers as initializers
from minijax.nn.activations import *
from minijax.nn.attention import *
from minijax.nn.exponentials import *
from minijax.runtime.public_names import public_names as _public_names

__all__ = _public_names(globals(), "initializers")
