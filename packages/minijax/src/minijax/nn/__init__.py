"""What neural networks are made of, by the names of `jax.nn`."""

# ruff: noqa: F403
from minijax.nn import activations, attention, exponentials, initializers
from minijax.nn.activations import *
from minijax.nn.attention import *
from minijax.nn.exponentials import *

__all__ = [*activations.__all__, *attention.__all__, *exponentials.__all__, "initializers"]
