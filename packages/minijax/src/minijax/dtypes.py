"""What dtypes are, which kinds they are of, and where they meet; `jax.dtypes`."""

# ruff: noqa: F401, F403
from minijax.runtime.dtypes import *
from minijax.runtime.dtypes import __all__
