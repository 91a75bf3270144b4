"""Probability distributions and statistics, under the names of `jax.scipy.stats`.

Each distribution is a module, made of its formulas; `__init__.pyi` shows them to type checkers.
"""

from glassjax.runtime.array import Array, ArrayLike
from glassjax.scipy.stats.statistics import gaussian_kde as gaussian_kde
from glassjax.scipy.stats.statistics import mode as mode
from glassjax.scipy.stats.statistics import rankdata as rankdata
from glassjax.scipy.stats.statistics import sem as sem

class bernoulli:
    @staticmethod
    def cdf(k: ArrayLike, p: ArrayLike) -> Array: ...
    @staticmethod
    def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array: ...
    pmf = logpmf
    @staticmethod
    def ppf(q: ArrayLike, p: ArrayLike) -> Array: ...

class beta:
    @staticmethod
    def cdf(
        x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
    ) -> Array: ...
    logcdf = cdf
    logpdf = cdf
    logsf = cdf
    pdf = cdf
    sf = cdf

class betabinom:
    @staticmethod
    def logpmf(
        k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0
    ) -> Array: ...
    pmf = logpmf

class binom:
    @staticmethod
    def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array: ...
    pmf = logpmf

class cauchy:
    @staticmethod
    def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    @staticmethod
    def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    logcdf = cdf
    logpdf = cdf
    logsf = cdf
    pdf = cdf
    ppf = isf
    sf = cdf

class chi2:
    @staticmethod
    def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    logcdf = cdf
    logpdf = cdf
    logsf = cdf
    pdf = cdf
    sf = cdf

class dirichlet:
    @staticmethod
    def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array: ...
    pdf = logpdf

class expon:
    @staticmethod
    def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    logcdf = cdf
    logpdf = cdf
    logsf = cdf
    pdf = cdf
    @staticmethod
    def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    sf = cdf

class gamma:
    @staticmethod
    def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    logcdf = cdf
    logpdf = cdf
    logsf = cdf
    pdf = cdf
    sf = cdf

class gennorm:
    @staticmethod
    def cdf(x: ArrayLike, beta: ArrayLike) -> Array: ...
    logpdf = cdf
    pdf = cdf

class geom:
    @staticmethod
    def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array: ...
    pmf = logpmf

class gumbel_l:
    @staticmethod
    def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    logcdf = cdf
    logpdf = cdf
    logsf = cdf
    pdf = cdf
    @staticmethod
    def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    sf = cdf

class gumbel_r:
    @staticmethod
    def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    logcdf = cdf
    logpdf = cdf
    logsf = cdf
    pdf = cdf
    @staticmethod
    def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    sf = cdf

class laplace:
    @staticmethod
    def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    logpdf = cdf
    pdf = cdf

class logistic:
    @staticmethod
    def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    isf = cdf
    logpdf = cdf
    pdf = cdf
    ppf = cdf
    sf = cdf

class multinomial:
    @staticmethod
    def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array: ...
    pmf = logpmf

class multivariate_normal:
    @staticmethod
    def logpdf(
        x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None
    ) -> Array: ...
    @staticmethod
    def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array: ...

class nbinom:
    @staticmethod
    def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array: ...
    pmf = logpmf

class norm:
    @staticmethod
    def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    @staticmethod
    def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    logcdf = cdf
    logpdf = cdf
    logsf = cdf
    pdf = cdf
    ppf = isf
    sf = cdf

class pareto:
    @staticmethod
    def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    logcdf = cdf
    logpdf = cdf
    logsf = cdf
    pdf = cdf
    @staticmethod
    def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    sf = cdf

class poisson:
    @staticmethod
    def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array: ...
    @staticmethod
    def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array: ...
    logpmf = cdf
    pmf = cdf

class t:
    @staticmethod
    def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    pdf = logpdf

class truncnorm:
    @staticmethod
    def cdf(
        x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
    ) -> Array: ...
    logcdf = cdf
    logpdf = cdf
    logsf = cdf
    pdf = cdf
    sf = cdf

class uniform:
    @staticmethod
    def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...
    logpdf = cdf
    pdf = cdf
    @staticmethod
    def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array: ...

class vonmises:
    @staticmethod
    def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array: ...
    pdf = logpdf

class wrapcauchy:
    @staticmethod
    def logpdf(x: ArrayLike, c: ArrayLike) -> Array: ...
    pdf = logpdf
