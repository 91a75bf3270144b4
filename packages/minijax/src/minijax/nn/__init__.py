"""What neural networks are made of, by the names of `jax.nn`."""

# ruff: noqa: F403
from minijax.nn import activations, initializers
from minijax.nn.activations import *

__all__ = [*activations.__all__, "initializers"]
