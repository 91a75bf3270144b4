"""Small neural networks and their training, under the names of `jax.example_libraries`."""

from glassjax.example_libraries import optimizers, stax

__all__ = ["optimizers", "stax"]
