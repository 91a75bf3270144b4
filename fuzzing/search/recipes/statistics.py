"""Distributions and statistics of scipy."""

from fuzzing.search.arguments import Arguments, call
from fuzzing.search.recipes.forms import Recipe, n_ary, recipes


def mode(a: Arguments, name: str) -> str:
    x = a.array("fi", ndims=(1, 2))
    return call(name, x, axis=a.one_of("None", a.axis(x)), **a.some(keepdims="True"))


def rankdata(a: Arguments, name: str) -> str:
    methods = "min", "max", "dense", "ordinal"
    x = a.array("fi", ndims=(1, 2))
    return call(name, x, **a.some(method=lambda: repr(a.one_of(*methods)), axis=lambda: a.axis(x)))


# The functions of each module, the domain of their first argument, and the others'.

CONTINUOUS = "pdf logpdf cdf logcdf sf logsf"
DISCRETE = "pmf logpmf"
DISTRIBUTIONS = {
    "norm": (CONTINUOUS + " isf ppf", ["any", "tame", "positive"]),
    "beta": (CONTINUOUS, ["unit", "positive", "positive"]),
    "cauchy": (CONTINUOUS + " isf ppf", ["any", "tame", "positive"]),
    "chi2": (CONTINUOUS, ["positive", "positive"]),
    "expon": (CONTINUOUS + " ppf", ["any", "tame", "positive"]),
    "gamma": (CONTINUOUS, ["positive", "positive"]),
    "gennorm": ("pdf logpdf cdf", ["any", "positive"]),
    "gumbel_l": (CONTINUOUS + " ppf", ["any", "tame", "positive"]),
    "gumbel_r": (CONTINUOUS + " ppf", ["any", "tame", "positive"]),
    "laplace": ("pdf logpdf cdf", ["any", "tame", "positive"]),
    "logistic": ("pdf logpdf cdf sf isf ppf", ["any", "tame", "positive"]),
    "pareto": (CONTINUOUS + " ppf", ["positive", "positive"]),
    "t": ("pdf logpdf", ["any", "positive", "tame"]),
    "truncnorm": (CONTINUOUS, ["unit", "whole", "positive"]),
    "uniform": ("pdf logpdf cdf ppf", ["any", "tame", "positive"]),
    "vonmises": ("pdf logpdf", ["tame", "positive"]),
    "wrapcauchy": ("pdf logpdf", ["tame", "unit"]),
    "bernoulli": (DISCRETE + " cdf", ["whole", "unit"]),
    "betabinom": (DISCRETE, ["whole", "whole", "positive", "positive"]),
    "binom": (DISCRETE, ["whole", "whole", "unit"]),
    "geom": (DISCRETE, ["whole", "unit"]),
    "nbinom": (DISCRETE, ["whole", "positive", "unit"]),
    "poisson": (DISCRETE + " cdf", ["whole", "positive"]),
}


def distributions() -> dict[str, Recipe]:
    found = {}
    for module, (names, domains) in DISTRIBUTIONS.items():
        found |= recipes(f"jax.scipy.stats.{module}", [(n_ary(*domains, kinds="ffi"), names)])
    return found


def dirichlet(a: Arguments, name: str) -> str:
    n = a.number(1, 3)
    x = a.input(a.dtype("f"), (n, *a.shape(0, 1)), "positive")
    return call(name, f"({x} / jnp.sum({x}, 0))", a.input(x.dtype, (n,), "positive"))


def multinomial(a: Arguments, name: str) -> str:
    x = a.input("int32", (*a.shape(0, 1), 3), "whole")
    return call(name, x, a.one_of(3, f"jnp.sum({x}, -1)"), "jnp.array([0.25, 0.5, 0.25])")


def multivariate_normal(a: Arguments, name: str) -> str:
    n = a.number(1, 3)
    x = a.input("float32", (*a.shape(0, 1), n), "tame")
    covariance = a.one_of(f"jnp.eye({n}) + 0.1", "2.0")
    return call(name, x, a.input("float32", (n,), "tame"), covariance)


RECIPES: dict[str, Recipe] = {
    **recipes("jax.scipy.stats", [(mode, "mode"), (rankdata, "rankdata"), (mode, "sem")]),
    **distributions(),
    **recipes("jax.scipy.stats.bernoulli", [(n_ary("unit", "unit"), "ppf")]),
    **recipes("jax.scipy.stats.poisson", [(n_ary("positive"), "entropy")]),
    **recipes("jax.scipy.stats.dirichlet", [(dirichlet, "pdf logpdf")]),
    **recipes("jax.scipy.stats.multinomial", [(multinomial, "pmf logpmf")]),
    **recipes("jax.scipy.stats.multivariate_normal", [(multivariate_normal, "pdf logpdf")]),
}
