"""Neural network functions, under the names of `jax.nn`."""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING

from minijax.settings.facades import lazy_facade as _lazy_facade

if _TYPE_CHECKING:
    from minijax.nn import initializers as initializers
    from minijax.nn.activations import *
    from minijax.nn.attention import *
    from minijax.nn.block_scaled import *

_lazy_facade(globals())
