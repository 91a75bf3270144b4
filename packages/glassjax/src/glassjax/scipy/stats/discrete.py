"""Discrete distributions: a row for each, its formulas after the values of its functions."""

from glassjax import numpy as jnp
from glassjax.scipy import special
from glassjax.scipy.stats.distribution_functions import distribution

__all__ = ["bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson"]


@distribution(1, 0.3, logpmf=-1.204, pmf=0.300, cdf=1.000, ppf=0.000)
def bernoulli():
    """The Bernoulli distribution: 1 with probability `p`, else 0."""

    def logpmf(k, p, loc=0):
        x = k - loc
        logs = special.xlogy(x, p) + special.xlog1py(1 - x, -p)
        return jnp.where((x < 0) | (x > 1), -jnp.inf, logs)

    def cdf(k, p):
        out = jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1))
        return jnp.where(jnp.isnan(k) | ~is_probability(p), jnp.nan, out)

    def ppf(q, p):
        out = jnp.where(q <= 1 - p, jnp.zeros_like(q), 1)
        return jnp.where(is_probability(p) & is_probability(q), out, jnp.nan)

    def is_probability(p):
        return (p >= 0) & (p <= 1)

    return logpmf, cdf, ppf


@distribution(2, 5, 2.0, 3.0, logpmf=-1.435, pmf=0.238)
def betabinom():
    """The beta-binomial distribution: `n` trials with a beta-distributed probability."""

    def logpmf(k, n, a, b, loc=0):
        y = jnp.floor(k) - loc
        ways = -(jnp.log1p(n) + special.betaln(n - y + 1, y + 1))
        out = ways + (special.betaln(y + a, n - y + b) - special.betaln(a, b))
        out = jnp.where((y == 0) & (n == 0), 0, out)
        out = jnp.where((y < -loc) | (y > n) | (y + a <= 0), -jnp.inf, out)
        return jnp.where((n < 0) | (a <= 0) | (b <= 0), jnp.nan, out)

    return (logpmf,)


@distribution(2, 5, 0.4, logpmf=-1.062, pmf=0.346)
def binom():
    """The binomial distribution: the number of successes in `n` trials with probability `p`."""

    def logpmf(k, n, p, loc=0):
        y = k - loc
        ways = special.gammaln(n + 1) - (special.gammaln(y + 1) + special.gammaln(n - y + 1))
        logs = special.xlogy(y, p) + special.xlog1py(n - y, -p)
        is_sure = ((y == 0) & (n == 0)) | (logs == 0)
        out = jnp.where(is_sure, 0, ways + logs)
        return jnp.where((k >= loc) & (k < loc + n + 1), out, -jnp.inf)

    return (logpmf,)


@distribution(3, 0.4, logpmf=-1.938, pmf=0.144)
def geom():
    """The geometric distribution: how many trials with probability `p` the first success takes."""

    def logpmf(k, p, loc=0):
        x = k - loc
        return jnp.where(x <= 0, -jnp.inf, special.xlog1py(x - 1, -p) + jnp.log(p))

    return (logpmf,)


@distribution(2, 3, 0.4, logpmf=-1.979, pmf=0.138)
def nbinom():
    """The negative binomial distribution: failures before `n` successes of probability `p`."""

    def logpmf(k, n, p, loc=0):
        y = k - loc
        ways = special.gammaln(y + n) - special.gammaln(n) - special.gammaln(y + 1)
        logs = special.xlogy(n, p) + special.xlogy(y, 1 - p)
        return jnp.where(k < loc, -jnp.inf, ways + logs)

    return (logpmf,)


@distribution(2, 3.0, logpmf=-1.496, pmf=0.224, cdf=0.423, entropy=1.931)
def poisson():
    """Poisson's distribution of mean `mu`. Its entropy is NaN where `mu` is negative."""

    def logpmf(k, mu, loc=0):
        x = k - loc
        logs = special.xlogy(x, mu) - special.gammaln(x + 1) - mu
        return jnp.where((x < 0) | (jnp.round(k) != k), -jnp.inf, logs)

    def cdf(k, mu, loc=0):
        x = k - loc
        return jnp.where(x < 0, 0, special.gammaincc(jnp.floor(1 + x), mu))

    def entropy(mu, loc=0):
        """A sum over the likely numbers, or a series if these are too many."""
        # Where a formula does not count it gets a number for which it has a derivative.
        small = jnp.where((mu > 0) & (mu < 10), mu, 1)
        few = entropy_of_terms(small, 35, jnp.ceil(small + 20))
        medium = jnp.where((mu > 0) & (mu < 100), mu, 1)
        more = entropy_of_terms(medium, 250, jnp.ceil(medium + 10 * jnp.sqrt(medium) + 20))
        large = jnp.where(mu == 0, 1, mu)
        many = 0.5 * jnp.log(2 * jnp.pi * jnp.e * large) - 1 / (12 * large)
        out = jnp.where(mu < 10, few, jnp.where(mu < 100, more, many))
        out = jnp.where(mu < 0, jnp.nan, jnp.where(mu == 0, 0, out))
        return jnp.broadcast_to(out, jnp.broadcast_shapes(mu.shape, loc.shape))

    def entropy_of_terms(mu, most, last):
        """The sum over all numbers below `last`, at most `most`."""
        k = jnp.arange(most, dtype=mu.dtype).reshape(-1, *[1] * mu.ndim)
        logs = logpmf(k, mu)  # the derivative of `entr` where `pmf` is 0 is infinite
        return jnp.sum(jnp.where(k < last, -jnp.exp(logs) * logs, 0), axis=0)

    return logpmf, cdf, entropy
