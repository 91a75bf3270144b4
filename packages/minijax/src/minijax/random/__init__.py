"""Random numbers, under the names of `jax.random`: the same numbers for the same keys."""

# ruff: noqa: F403

from minijax.random.binomial import *
from minijax.random.bits import *
from minijax.random.choice import *
from minijax.random.continuous import *
from minijax.random.gamma import *
from minijax.random.keys import *
from minijax.random.multivariate import *
from minijax.random.normal import *
from minijax.random.poisson import *
from minijax.random.uniform import *
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
