"""Continuous distributions: a row for each, its formulas after the values of its functions.

Functions without a formula follow from the others.
"""

import math

import glassjax_stage2 as stage2
from glassjax import lax, nn
from glassjax import numpy as jnp
from glassjax.numpy.dtypes import default_float
from glassjax.scipy import special
from glassjax.scipy.stats.distribution_functions import distribution

__all__ = [
    "beta", "cauchy", "chi2", "expon", "gamma", "gennorm", "gumbel_l", "gumbel_r", "laplace",
    "logistic", "norm", "pareto", "t", "truncnorm", "uniform", "vonmises", "wrapcauchy",
]  # fmt: skip


@distribution(
    0.25, 2.0, 3.0,
    logpdf=0.523, pdf=1.688, cdf=0.262, logcdf=-1.340, sf=0.738, logsf=-0.303,
)  # fmt: skip
def beta():
    """The beta distribution with the exponents `a - 1` and `b - 1`, from `loc` to `loc + scale`."""

    def logpdf(x, a, b, loc=0, scale=1):
        log_factor, z = -special.betaln(a, b), (x - loc) / scale
        logs = special.xlogy(stage2.sub(a, 1), z) + special.xlog1py(stage2.sub(b, 1), -z)
        logs = log_factor + logs - jnp.log(scale)
        out = jnp.where((x > stage2.add(loc, scale)) | (x < loc), -jnp.inf, logs)
        is_undefined = stage2.le(a, 0) | stage2.le(b, 0) | stage2.le(scale, 0)
        return jnp.where(is_undefined, jnp.nan, out)

    def cdf(x, a, b, loc=0, scale=1):
        return special.betainc(a, b, lax.clamp(*stage2.promote(0.0, (x - loc) / scale, 1.0)))

    def sf(x, a, b, loc=0, scale=1):
        return special.betainc(b, a, 1 - lax.clamp(*stage2.promote(0.0, (x - loc) / scale, 1.0)))

    return logpdf, cdf, sf


@distribution(
    1.0,
    logpdf=-1.838, pdf=0.159, cdf=0.750, logcdf=-0.288, sf=0.250, logsf=-1.386,
    ppf=-1.000, isf=1.000,
)  # fmt: skip
def cauchy():
    """The Cauchy distribution, shifted by `loc` and stretched by `scale`."""

    def logpdf(x, loc=0, scale=1):
        z = (x - loc) / scale
        return -(jnp.log(jnp.pi * scale) + jnp.log1p(z * z))

    def cdf(x, loc=0, scale=1):
        return 0.5 + jnp.arctan((x - loc) / scale) / jnp.pi

    def sf(x, loc=0, scale=1):
        return 0.5 - jnp.arctan((x - loc) / scale) / jnp.pi

    def ppf(q, loc=0, scale=1):
        return jnp.where((q < 0) | (q > 1), jnp.nan, loc + scale * standard_quantile(q))

    def isf(q, loc=0, scale=1):
        return jnp.where((q < 0) | (q > 1), jnp.nan, loc - scale * standard_quantile(q))

    def standard_quantile(q):
        """The quantile of the standard distribution, infinite at 0 and 1 despite rounding."""
        q = jnp.where(q == 0, q + lax.stop_gradient(q * q), q)  # -0 becomes 0
        tail = 1 / jnp.tan(jnp.pi * jnp.where(q <= 0.5, q, 1 - q))
        middle = jnp.tan(jnp.pi * (q - 0.5))
        return jnp.where(jnp.abs(q - 0.5) < 0.25, middle, jnp.where(q <= 0.5, -tail, tail))

    return logpdf, cdf, sf, ppf, isf


@distribution(
    2.0, 3.0,
    logpdf=-1.572, pdf=0.208, cdf=0.428, logcdf=-0.850, sf=0.572, logsf=-0.558,
)  # fmt: skip
def chi2():
    """The chi-square distribution with `df` degrees of freedom, shifted and stretched."""

    def logpdf(x, df, loc=0, scale=1):
        z = (x - loc) / scale
        log_normaliser = special.gammaln(df / 2) + math.log(2) * df / 2 + jnp.log(scale)
        logs = (df / 2 - 1) * jnp.log(z) - z / 2 - log_normaliser
        return jnp.where(x < loc, -jnp.inf, logs)

    def cdf(x, df, loc=0, scale=1):
        return special.gammainc(
            df / 2, lax.clamp(*stage2.promote(0.0, (x - loc) / (2 * scale), jnp.inf))
        )

    def sf(x, df, loc=0, scale=1):
        return special.gammaincc(
            df / 2, lax.clamp(*stage2.promote(0.0, (x - loc) / (2 * scale), jnp.inf))
        )

    return logpdf, cdf, sf


@distribution(
    1.0,
    logpdf=-1.000, pdf=0.368, cdf=0.632, logcdf=-0.459, sf=0.368, logsf=-1.000, ppf=0.288,
)  # fmt: skip
def expon():
    """The exponential distribution, shifted by `loc` and stretched by `scale`."""

    def logpdf(x, loc=0, scale=1):
        log_scale = jnp.log(scale)
        logs = -((x - loc) / scale + log_scale)
        return jnp.where(x < loc, -jnp.inf, logs)

    def cdf(x, loc=0, scale=1):
        return jnp.where(x < loc, 0, -jnp.expm1((loc - x) / scale))

    def logcdf(x, loc=0, scale=1):
        z = jnp.where(x < loc, 1, (x - loc) / scale)  # where its derivative is finite
        return jnp.where(x < loc, -jnp.inf, nn.log1mexp(z))

    def logsf(x, loc=0, scale=1):
        return jnp.where(x < loc, 0, (loc - x) / scale)

    def ppf(q, loc=0, scale=1):
        return jnp.where((q >= 0) & (q <= 1), loc - scale * jnp.log1p(-q), jnp.nan)

    return logpdf, cdf, logcdf, logsf, ppf


@distribution(
    2.0, 3.0,
    logpdf=-1.307, pdf=0.271, cdf=0.323, logcdf=-1.129, sf=0.677, logsf=-0.391,
)  # fmt: skip
def gamma():
    """The gamma distribution of shape `a`, shifted by `loc` and stretched by `scale`."""

    def logpdf(x, a, loc=0, scale=1):
        is_there = x >= loc
        z = jnp.where(is_there, (x - loc) / scale, x.dtype.type(1))
        logs = special.xlogy(stage2.sub(a, 1), z) - z - (special.gammaln(a) + jnp.log(scale))
        return jnp.where(is_there, logs, -jnp.inf)

    def cdf(x, a, loc=0, scale=1):
        return special.gammainc(a, lax.clamp(*stage2.promote(0.0, (x - loc) / scale, jnp.inf)))

    def sf(x, a, loc=0, scale=1):
        z = (x - loc) / scale
        return jnp.where(z < 0, 1, special.gammaincc(a, z))

    return logpdf, cdf, sf


@distribution(1.0, 3.0, logpdf=-1.580, pdf=0.206, cdf=0.952)
def gennorm():
    """The generalized normal distribution, whose density falls as `exp(-abs(x) ** beta)`."""

    def logpdf(x, beta):
        return jnp.log(0.5 * beta) - special.gammaln(1 / beta) - jnp.abs(x) ** beta

    def cdf(x, beta):
        return 0.5 * (1 + jnp.sign(x) * special.gammainc(1 / beta, jnp.abs(x) ** beta))

    return logpdf, cdf


@distribution(
    0.5,
    logpdf=-1.149, pdf=0.317, cdf=0.808, logcdf=-0.214, sf=0.192, logsf=-1.649, ppf=-1.246,
)  # fmt: skip
def gumbel_l():
    """The Gumbel distribution of the smallest of many numbers, shifted and stretched."""

    def logpdf(x, loc=0, scale=1):
        z = (x - loc) / scale
        return jnp.where(scale > 0, z - jnp.exp(z) - jnp.log(scale), jnp.nan)

    def logcdf(x, loc=0, scale=1):
        z = (x - loc) / scale
        return jnp.where(scale > 0, jnp.log(-jnp.expm1(-jnp.exp(z))), jnp.nan)

    def logsf(x, loc=0, scale=1):
        return jnp.where(scale > 0, -jnp.exp((x - loc) / scale), jnp.nan)

    def ppf(p, loc=0, scale=1):
        return jnp.where((p > 0) & (p < 1), loc + scale * jnp.log(-jnp.log1p(-p)), jnp.nan)

    return logpdf, logcdf, logsf, ppf


@distribution(
    0.5,
    logpdf=-1.107, pdf=0.331, cdf=0.545, logcdf=-0.607, sf=0.455, logsf=-0.788, ppf=-0.327,
)  # fmt: skip
def gumbel_r():
    """The Gumbel distribution of the largest of many numbers, shifted and stretched."""

    def logpdf(x, loc=0, scale=1):
        z = (x - loc) / scale
        return jnp.where(scale > 0, -(z + jnp.exp(-z)) - jnp.log(scale), jnp.nan)

    def logcdf(x, loc=0, scale=1):
        return jnp.where(scale > 0, -jnp.exp(-((x - loc) / scale)), jnp.nan)

    def sf(x, loc=0, scale=1):
        z = (x - loc) / scale
        return jnp.where(scale > 0, 1 - jnp.exp(-jnp.exp(-z)), jnp.nan)

    def logsf(x, loc=0, scale=1):
        z = (x - loc) / scale
        return jnp.where(scale > 0, nn.log1mexp(jnp.exp(-z)), jnp.nan)

    def ppf(p, loc=0, scale=1):
        return jnp.where((p > 0) & (p < 1), loc - scale * jnp.log(-jnp.log(p)), jnp.nan)

    return logpdf, logcdf, sf, logsf, ppf


@distribution(1.0, logpdf=-1.693, pdf=0.184, cdf=0.816)
def laplace():
    """The Laplace distribution, exponential on both sides of `loc`, stretched by `scale`."""

    def logpdf(x, loc=0, scale=1):
        return -(jnp.abs(x - loc) / scale + jnp.log(2 * scale))

    def cdf(x, loc=0, scale=1):
        z = (x - loc) / scale
        is_below = z <= 0
        # Only the near tail: far out, the other one overflows, and so does its derivative.
        tail = 0.5 * jnp.exp(jnp.where(is_below, z, -z))
        return jnp.where(is_below, tail, 1 - tail)

    return logpdf, cdf


@distribution(
    1.0,
    logpdf=-1.627, pdf=0.197, cdf=0.731, sf=0.269, ppf=-1.099, isf=1.099,
)  # fmt: skip
def logistic():
    """The logistic distribution, shifted by `loc` and stretched by `scale`."""

    def logpdf(x, loc=0, scale=1):
        half = (x - loc) / scale / 2
        return -2 * jnp.logaddexp(half, -half) - jnp.log(scale)

    def cdf(x, loc=0, scale=1):
        return special.expit((x - loc) / scale)

    def sf(x, loc=0, scale=1):
        return special.expit(-((x - loc) / scale))

    def ppf(x, loc=0, scale=1):
        return loc + scale * special.logit(x)

    def isf(x, loc=0, scale=1):
        return loc - scale * special.logit(x)

    return logpdf, cdf, sf, ppf, isf


@distribution(
    1.0, is_real=False,
    logpdf=-1.419, pdf=0.242, cdf=0.841, logcdf=-0.173, sf=0.159, logsf=-1.841,
    ppf=-0.674, isf=0.674,
)  # fmt: skip
def norm():
    """The normal distribution of mean `loc` and standard deviation `scale`.

    `logcdf` and `logsf` are accurate even in the tails. `ppf` is of the default dtype at least.
    """

    def logpdf(x, loc=0, scale=1):
        variance = jnp.square(scale)
        return (jnp.log(2 * jnp.pi * variance) + jnp.square(x - loc) / variance) / -2

    def cdf(x, loc=0, scale=1):
        return special.ndtr((x - loc) / scale)

    def logcdf(x, loc=0, scale=1):
        return special.log_ndtr((x - loc) / scale)

    def sf(x, loc=0, scale=1):
        return special.ndtr(-((x - loc) / scale))

    def logsf(x, loc=0, scale=1):
        return special.log_ndtr(-((x - loc) / scale))

    def ppf(q, loc=0, scale=1):
        out = loc + scale * special.ndtri(q)
        return out.astype(jnp.promote_types(out.dtype, default_float()))

    def isf(q, loc=0, scale=1):
        return ppf(1 - q, loc, scale)

    return logpdf, cdf, logcdf, sf, logsf, ppf, isf


@distribution(
    2.0, 3.0,
    logpdf=-1.674, pdf=0.188, cdf=0.875, logcdf=-0.134, sf=0.125, logsf=-2.079, ppf=1.101,
)  # fmt: skip
def pareto():
    """The Pareto distribution, whose density falls as the power `b + 1` from `loc + scale`."""

    def logpdf(x, b, loc=0, scale=1):
        logs = -(jnp.log(scale / b) + (b + 1) * jnp.log((x - loc) / scale))
        return jnp.where(x < loc + scale, -jnp.inf, logs)

    def cdf(x, b, loc=0, scale=1):
        return jnp.where(x < loc + scale, 0, 1 - ((x - loc) / scale) ** -b)

    def logcdf(x, b, loc=0, scale=1):
        return jnp.where(x < loc + scale, -jnp.inf, jnp.log1p(-(((x - loc) / scale) ** -b)))

    def logsf(x, b, loc=0, scale=1):
        return jnp.where(x < loc + scale, 0, -b * jnp.log((x - loc) / scale))

    def ppf(q, b, loc=0, scale=1):
        return jnp.where((q >= 0) & (q <= 1), loc + scale * (1 - q) ** (-1 / b), jnp.nan)

    return logpdf, cdf, logcdf, logsf, ppf


@distribution(1.0, 4.0, logpdf=-1.539, pdf=0.215)
def t():
    """Student's t distribution with `df` degrees of freedom, shifted and stretched."""

    def logpdf(x, df, loc=0, scale=1):
        z, half = (x - loc) / scale, stage2.div(df, 2)
        exponent = half + 0.5
        log_normaliser = jnp.log(stage2.mul(scale, scale) * jnp.pi * df) / 2
        log_normaliser = special.gammaln(half) + log_normaliser - special.gammaln(exponent)
        return -(log_normaliser + exponent * jnp.log1p(lax.mul(z, z) / df))

    return (logpdf,)


@distribution(
    0.5, -1.0, 2.0,
    logpdf=-0.844, pdf=0.430, cdf=0.651, logcdf=-0.429, sf=0.349, logsf=-1.052,
)  # fmt: skip
def truncnorm():
    """The normal distribution truncated to `a` to `b` times `scale`, all shifted by `loc`."""

    def logpdf(x, a, b, loc=0, scale=1):
        z = (x - loc) / scale
        out = norm.logpdf(x, loc, scale) - log_mass(a, b)
        out = jnp.where((z < a) | (z > b), -jnp.inf, out)
        return jnp.where(a >= b, jnp.nan, out)

    def logcdf(x, a, b, loc=0, scale=1):
        z, a, b = jnp.broadcast_arrays((x - loc) / scale, a, b)
        whole = log_mass(a, b)
        below, above = log_mass(a, z) - whole, log_mass(z, b) - whole
        # Near 1, the complement of the upper probability is more accurate.
        conditions = [z >= b, z <= a, below > -0.1, z > a]
        out = jnp.select(conditions, [0, -jnp.inf, jnp.log1p(-jnp.exp(above)), below])
        return jnp.where(a >= b, jnp.nan, out)

    def logsf(x, a, b, loc=0, scale=1):
        return logcdf(-x, -b, -a, -loc, scale)

    def log_mass(a, b):
        """The logarithm of the probability of numbers from `a` to `b`, taken in the left tail."""
        a, b = jnp.broadcast_arrays(a, b)
        is_right = a > 0
        is_central = ~((b <= 0) | is_right)
        left, right = jnp.where(is_right, -b, a), jnp.where(is_right, -a, b)
        tail = log_difference(special.log_ndtr(right), special.log_ndtr(left))
        return jnp.where(is_central, jnp.log1p(-special.ndtr(a) - special.ndtr(-b)), tail)

    def log_difference(x, y):
        """`log(exp(x) - exp(y))`."""
        signs = jnp.stack([jnp.ones_like(x), -jnp.ones_like(y)])
        return special.logsumexp(jnp.stack([x, y]), b=signs, axis=0)

    return logpdf, logcdf, logsf


@distribution(0.5, 0.0, 4.0, logpdf=-1.386, pdf=0.250, cdf=0.125, ppf=1.000)
def uniform():
    """The uniform distribution from `loc` to `loc + scale`."""

    def logpdf(x, loc=0, scale=1):
        z, inside = (x - loc) / scale, -jnp.log(scale)
        is_outside, is_inside = (z < 0) | (z > 1), (z >= 0) & (z <= 1)
        return jnp.select([is_outside, is_inside], [-jnp.inf, inside], jnp.nan)

    def cdf(x, loc=0, scale=1):
        return jnp.minimum(jnp.maximum((x - loc) / scale, 0), 1)

    def ppf(q, loc=0, scale=1):
        return jnp.where((q >= 0) & (q <= 1), loc + scale * q, jnp.nan)

    return logpdf, cdf, ppf


@distribution(0.5, 2.0, logpdf=-0.907, pdf=0.404)
def vonmises():
    """The von Mises distribution of angles, with concentration `kappa`."""

    def logpdf(x, kappa):
        logs = kappa * (jnp.cos(x) - 1) - jnp.log(2 * jnp.pi * special.i0e(kappa))
        return jnp.where(kappa > 0, logs, jnp.nan)

    return (logpdf,)


@distribution(0.5, 0.3, logpdf=-1.359, pdf=0.257)
def wrapcauchy():
    """The Cauchy distribution wrapped around the circle from 0 to 2 pi; `c` is between 0 and 1."""

    def logpdf(x, c):
        turn = 2 * math.pi
        logs = jnp.log(1 - c * c) - math.log(turn) - jnp.log(1 + c * c - 2 * c * jnp.cos(x))
        inside = jnp.where((x >= 0) & (x <= turn), logs, -jnp.inf)
        return jnp.where((c > 0) & (c < 1), inside, jnp.nan)

    return (logpdf,)
