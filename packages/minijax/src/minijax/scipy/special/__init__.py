"""Special functions, by the names of `jax.scipy.special`."""

# ruff: noqa: F403
from minijax.nn import logsumexp
from minijax.numpy.math.transcendental import i0
from minijax.scipy.special import (
    bessel,
    beta_functions,
    bivariate_normal,
    dilogarithm,
    entropies,
    error_functions,
    exponential_integrals,
    fresnel_integrals,
    gamma_functions,
    logistic,
    normal_distribution,
    sine_integrals,
    spherical_harmonics,
)
from minijax.scipy.special.bessel import *
from minijax.scipy.special.beta_functions import *
from minijax.scipy.special.bivariate_normal import *
from minijax.scipy.special.dilogarithm import *
from minijax.scipy.special.entropies import *
from minijax.scipy.special.error_functions import *
from minijax.scipy.special.exponential_integrals import *
from minijax.scipy.special.fresnel_integrals import *
from minijax.scipy.special.gamma_functions import *
from minijax.scipy.special.logistic import *
from minijax.scipy.special.normal_distribution import *
from minijax.scipy.special.sine_integrals import *
from minijax.scipy.special.spherical_harmonics import *

__all__ = [
    "i0",
    "logsumexp",
    *bessel.__all__,
    *beta_functions.__all__,
    *bivariate_normal.__all__,
    *dilogarithm.__all__,
    *entropies.__all__,
    *error_functions.__all__,
    *exponential_integrals.__all__,
    *fresnel_integrals.__all__,
    *gamma_functions.__all__,
    *logistic.__all__,
    *normal_distribution.__all__,
    *sine_integrals.__all__,
    *spherical_harmonics.__all__,
]
