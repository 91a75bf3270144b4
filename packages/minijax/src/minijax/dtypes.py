"""What dtypes are, which kinds they are of, and where they meet; `jax.dtypes`."""

# ruff: noqa: F403
from minijax.runtime.dtypes import *
