"""Random numbers, by the names of `jax.random`: the same numbers for the same keys."""

# ruff: noqa: F403
from minijax.random import binomial as _binomial
from minijax.random import bits as _bits
from minijax.random import choice as selection
from minijax.random import continuous as _normal
from minijax.random import continuous as inversion
from minijax.random import gamma as _gamma
from minijax.random import keys
from minijax.random import multivariate as vectors
from minijax.random import poisson as counting
from minijax.random import uniform as _uniform
from minijax.random.binomial import *
from minijax.random.bits import *
from minijax.random.choice import *
from minijax.random.continuous import *
from minijax.random.gamma import *
from minijax.random.keys import *
from minijax.random.multivariate import *
from minijax.random.poisson import *
from minijax.random.uniform import *

__all__ = [
    *_binomial.__all__,
    *_bits.__all__,
    *_gamma.__all__,
    *_normal.__all__,
    *_uniform.__all__,
    *counting.__all__,
    *inversion.__all__,
    *keys.__all__,
    *selection.__all__,
    *vectors.__all__,
]
