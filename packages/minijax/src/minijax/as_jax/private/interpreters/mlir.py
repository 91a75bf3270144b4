"""The same as `jax.interpreters.mlir`."""

from minijax.interpreters.mlir import *  # noqa: F403
