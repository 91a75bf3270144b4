"""The same as `jax.interpreters.batching`."""

from minijax.interpreters.batching import *  # noqa: F403
