"""Small neural networks and their training, under the names of `jax.example_libraries`."""

from minijax.example_libraries import optimizers, stax

__all__ = ["optimizers", "stax"]
