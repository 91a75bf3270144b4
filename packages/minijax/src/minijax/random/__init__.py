"""Random numbers, under the names of `jax.random`: the same numbers for the same keys."""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING

from minijax.settings.facades import lazy_facade as _lazy_facade

if _TYPE_CHECKING:
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

_lazy_facade(globals())
