"""Neural network functions, under the names of `jax.nn`."""

# ruff: noqa: F403

from minijax.nn import initializers as initializers
from minijax.nn.activations import *
from minijax.nn.attention import *
from minijax.nn.scaled_dot_general import *
from minijax.nn.scaled_matmul import *
from minijax.nn.softmax import *
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals(), "initializers")
