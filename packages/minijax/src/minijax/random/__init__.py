"""Random numbers, under the names of `jax.random`: the same numbers for the same keys."""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING

from minijax.settings.facades import lazy_facade as _lazy_facade

if _TYPE_CHECKING:
    from minijax.random.continuous import *
    from minijax.random.discrete import *
    from minijax.random.gamma_family import *
    from minijax.random.keys import *

_lazy_facade(globals())
