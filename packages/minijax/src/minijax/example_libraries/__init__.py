"""Small libraries for training, by the names of `jax.example_libraries`."""

from minijax.example_libraries import optimizers

__all__ = ["optimizers"]
