"""Probability distributions and statistics, under the names of `jax.scipy.stats`.

Each distribution is a module, made of its formulas; `__init__.pyi` shows them to type checkers.
"""

# ruff: noqa: F401, F403
from minijax.scipy.stats import continuous, discrete, multivariate
from minijax.scipy.stats.continuous import *
from minijax.scipy.stats.discrete import *
from minijax.scipy.stats.multivariate import *
from minijax.scipy.stats.statistics import gaussian_kde, mode, rankdata, sem

_DISTRIBUTIONS = [*continuous.__all__, *discrete.__all__, *multivariate.__all__]

__all__ = sorted([*_DISTRIBUTIONS, "gaussian_kde", "mode", "rankdata", "sem"])
