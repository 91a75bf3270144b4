"""Convolutions and spectra, under the names of `jax.scipy.signal`."""

# ruff: noqa: F403
from minijax.scipy.signal.convolution import *
from minijax.scipy.signal.segments import detrend as detrend
from minijax.scipy.signal.short_time import *
from minijax.scipy.signal.spectral_density import *
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
