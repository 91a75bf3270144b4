"""Special functions, under the names of `jax.scipy.special`."""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING

from minijax.settings.facades import lazy_facade as _lazy_facade

if _TYPE_CHECKING:
    from minijax.nn.activations import logsumexp as logsumexp
    from minijax.numpy.transcendental import i0 as i0
    from minijax.scipy.special.error_functions import *
    from minijax.scipy.special.gamma_and_beta import *
    from minijax.scipy.special.hypergeometric import *
    from minijax.scipy.special.integrals import *
    from minijax.scipy.special.logarithms import *

_lazy_facade(globals())
