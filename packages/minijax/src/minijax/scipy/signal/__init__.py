"""Convolutions and spectra, under the names of `jax.scipy.signal`."""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING

from minijax.settings.facades import lazy_facade as _lazy_facade

if _TYPE_CHECKING:
    from minijax.scipy.signal.convolution import *
    from minijax.scipy.signal.segments import detrend as detrend
    from minijax.scipy.signal.short_time import *
    from minijax.scipy.signal.spectral_density import *

_lazy_facade(globals())
