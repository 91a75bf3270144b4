"""The same as `jax.interpreters.partial_eval`."""

from minijax.interpreters.partial_eval import *  # noqa: F403
