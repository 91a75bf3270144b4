"""Probability distributions and statistics, under the names of `jax.scipy.stats`.

Each distribution is a module, made of its formulas; `__init__.pyi` shows them to type checkers.
"""

# ruff: noqa: F401, F403
from glassjax.scipy.stats import continuous, discrete, multivariate
from glassjax.scipy.stats.continuous import *
from glassjax.scipy.stats.discrete import *
from glassjax.scipy.stats.multivariate import *
from glassjax.scipy.stats.statistics import gaussian_kde, mode, rankdata, sem

_DISTRIBUTIONS = [*continuous.__all__, *discrete.__all__, *multivariate.__all__]

__all__ = sorted([*_DISTRIBUTIONS, "gaussian_kde", "mode", "rankdata", "sem"])
