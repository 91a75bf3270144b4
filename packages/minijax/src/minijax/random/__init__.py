"""Random numbers, by the names of `jax.random`: the same numbers for the same keys."""

# ruff: noqa: F403
from minijax.lax import _lacking
from minijax.random import bits as _bits
from minijax.random import keys
from minijax.random.bits import *
from minijax.random.keys import *

__all__ = [*_bits.__all__, *keys.__all__]
