"""Special functions, under the names of `jax.scipy.special`."""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING

from minijax.settings.facades import lazy_facade as _lazy_facade

if _TYPE_CHECKING:
    from minijax.nn.softmax import logsumexp as logsumexp
    from minijax.numpy.math.transcendental import i0 as i0
    from minijax.scipy.special.bessel import *
    from minijax.scipy.special.beta_functions import *
    from minijax.scipy.special.box_cox import *
    from minijax.scipy.special.entropies import *
    from minijax.scipy.special.error_functions import *
    from minijax.scipy.special.exponential_integrals import *
    from minijax.scipy.special.faddeeva import *
    from minijax.scipy.special.fresnel_integrals import *
    from minijax.scipy.special.gamma_functions import *
    from minijax.scipy.special.hypergeometric import *
    from minijax.scipy.special.logistic import *
    from minijax.scipy.special.normal_distribution import *
    from minijax.scipy.special.owens_t import *
    from minijax.scipy.special.sine_integrals import *
    from minijax.scipy.special.spence import *
    from minijax.scipy.special.spherical_harmonics import *

_lazy_facade(globals())
