"""The same as `jax.interpreters.ad`."""

from minijax.interpreters.ad import *  # noqa: F403
