"""Distributions and statistics: values, dtypes and derivatives, beside JAX."""

import functools
import importlib
import pickle
import subprocess
import sys
import textwrap

import jax
import jax.scipy.fft
import jax.scipy.special
import jax.scipy.stats
import numpy as np
import pytest
from libraries import assert_same_program, glassjax_of_constants
from shares import a_few
from tables import for_each

import glassjax

X = np.array([-2.5, -0.4, 0.0, 0.3, 0.8, 1.0, 1.7, 4.0])


UNIT = np.array([-0.1, 0.0, 0.05, 0.3, 0.5, 0.77, 0.95, 1.0])


COUNTS = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 9.0])


LOC, SCALE = 0.1, 1.3


def of_one_shape(*numbers):
    """All operands are of one shape, so that operations compile once."""
    return np.resize(numbers, X.shape)


# The shape parameters of a distribution.
CONTINUOUS = {
    "beta": (0.7, 2.5),
    "cauchy": (),
    "chi2": (3.3,),
    "expon": (),
    "gamma": (1.7,),
    "gumbel_l": (),
    "gumbel_r": (),
    "laplace": (),
    "logistic": (),
    "norm": (),
    "pareto": (1.4,),
    "t": (4.5,),
    "truncnorm": (-1.0, 1.5),
    "uniform": (),
}


WITHOUT_LOC = {"gennorm": (1.6,), "vonmises": (0.9,), "wrapcauchy": (0.4,)}


DISCRETE = {
    "betabinom": (5.0, 0.8, 2.2),
    "binom": (5.0, 0.3),
    "geom": (0.3,),
    "nbinom": (3.0, 0.4),
    "poisson": (2.4,),
    "bernoulli": (0.3,),
}


NAMES = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "logpmf", "pmf", "entropy")


def module_of(lib, name):
    return importlib.import_module(f"{lib.__name__}.scipy.stats.{name}")


def functions_of(module):
    return [name for name in NAMES if hasattr(module, name)]


def continuous(name):
    """A program of a library, of all functions and slopes of a distribution, and its arguments."""
    shapes = CONTINUOUS.get(name) or WITHOUT_LOC.get(name, ())
    shapes += (LOC, SCALE) if name in CONTINUOUS else ()
    x = X if name != "wrapcauchy" else np.abs(X) + 0.01
    # Slopes away from the ends, where they are what `where` lets through; there are none by the
    # parameters of incomplete beta functions, and a test of its own has those of gamma functions.
    inside = of_one_shape(0.3, 0.8) if name in ("beta", "uniform") else of_one_shape(1.55, 1.7, 1.9)
    # JAX has none of Gumbel's distributions, whose formulas have an integer in them.
    has_slopes = not name.startswith("gumbel")
    by = () if name in ("beta", "gamma", "chi2") else range(1, 1 + len(shapes))
    # At the median the slope of Cauchy's quantiles is 0 in JAX, instead of pi times the scale.
    probabilities = of_one_shape(*UNIT[2 : 4 if name == "cauchy" else 5])

    def function(lib):
        module = module_of(lib, name)

        def results(n, *shapes):
            f, is_inverse = getattr(module, n), n in ("ppf", "isf")
            slope = lib.grad(lambda *args: f(*args).sum(), argnums=(0, *by))
            out = f(UNIT if is_inverse else x, *shapes)
            if not has_slopes or not (is_inverse or n.startswith("log")):
                return out
            return out, slope(probabilities if is_inverse else inside, *shapes)

        return lambda *shapes: [results(n, *shapes) for n in functions_of(module)]

    return function, [np.float64(x) for x in shapes]


@pytest.mark.newest_jax("cauchy")
@pytest.mark.parametrize("name", [*CONTINUOUS, *WITHOUT_LOC])
def test_continuous_distributions(name):
    function, shapes = continuous(name)
    assert_same_program(function, *shapes)


def test_the_slope_of_cauchys_quantiles_at_the_median():
    cauchy = glassjax.scipy.stats.cauchy
    assert glassjax.grad(cauchy.ppf)(0.5, 0.3, 1.3) == pytest.approx(1.3 * np.pi)
    assert glassjax.grad(cauchy.isf)(0.5, 0.3, 1.3) == pytest.approx(-1.3 * np.pi)


def discrete(name):
    shapes = DISCRETE[name]
    inside = of_one_shape(*(COUNTS[1:3] if name == "bernoulli" else COUNTS[2:4]))

    def function(lib):
        module = module_of(lib, name)

        def slopes(k, *shapes):
            by = tuple(range(len(shapes)))
            return lib.grad(lambda *shapes: module.logpmf(k, *shapes).sum(), by)(*shapes)

        return lambda *shapes: [
            [
                getattr(module, n)(UNIT if n == "ppf" else k, *shapes)
                for k in (COUNTS, COUNTS.astype(np.int32))
                for n in functions_of(module)
                if n != "entropy"
            ],
            module.logpmf(COUNTS, *shapes, 1),
            slopes(inside, *shapes),
        ]

    return function, [np.float64(x) for x in shapes]


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions(name):
    function, shapes = discrete(name)
    assert_same_program(function, *shapes)


@for_each("name", [*CONTINUOUS, *WITHOUT_LOC, *DISCRETE])
def test_both_libraries_have_the_same_functions(name):
    assert functions_of(module_of(glassjax, name)) == functions_of(module_of(jax, name))


def test_gamma_has_derivatives_by_its_shape():
    def function(lib):
        gamma, x = lib.scipy.stats.gamma, of_one_shape(*X[3:])
        return lambda a: [
            lib.jvp(lambda a, f=f: f(x, a), (a,), (a,)) for f in (gamma.cdf, gamma.logsf)
        ]

    assert_same_program(function, np.float64(1.7), tolerance=1e-8)


def test_the_entropy_of_poissons_distribution():
    mu = np.array([0.0, 0.1, 3.0, 9.99, 10.0, 20.0, 50.0, 200.0])
    assert_same_program(lambda lib: lib.scipy.stats.poisson.entropy, mu)


def test_vectors():
    rng = np.random.default_rng(0)
    x, mean = rng.normal(size=(4, 3)), rng.normal(size=3)
    root = rng.normal(size=(3, 3))
    cov = root @ root.T + np.eye(3)
    shares = rng.dirichlet(np.ones(3), size=4).T
    alpha = np.array([0.7, 1.5, 2.0])
    counts = np.array([2, 0, 3])

    def function(lib):
        stats = lib.scipy.stats

        def loss(x, mean, cov):
            return stats.multivariate_normal.logpdf(x, mean, cov).sum()

        return lambda x, mean, cov, shares, alpha: [
            stats.multivariate_normal.logpdf(x, mean, cov),
            stats.multivariate_normal.pdf(x, mean, 2.0),
            stats.multivariate_normal.pdf(x, 0.3, 2.0),
            stats.multivariate_normal.logpdf(x[0], x[:2], cov),
            lib.grad(loss, argnums=(0, 1, 2))(x, mean, cov),
            stats.dirichlet.logpdf(shares, alpha),
            stats.dirichlet.pdf(shares[:2], alpha),
            stats.dirichlet.logpdf(shares[:, 0] * 1.1, alpha),
            lib.grad(lambda a: stats.dirichlet.logpdf(shares, a).sum())(alpha),
            stats.multinomial.logpmf(counts, 5, shares[:, 0]),
            stats.multinomial.pmf(counts, 6, shares[:, 0]),
        ]

    assert_same_program(function, x, mean, cov, shares, alpha)


def test_ranks_and_modes():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, size=(5, 6)).astype(float)
    with_nan = np.where(x == 3, np.nan, x)

    def function(lib):
        stats = lib.scipy.stats
        return lambda x, y, i: [
            [stats.rankdata(x, method) for method in ("average", "min", "max", "dense", "ordinal")],
            stats.rankdata(i, "min", axis=0),
            stats.rankdata(x, axis=1),
            stats.rankdata(y, axis=-1),
            tuple(stats.mode(i)),
            tuple(stats.mode(y, axis=1, keepdims=True)),
            tuple(stats.mode(x, axis=None, keepdims=True)),
            tuple(stats.mode(x[:0])),
            stats.sem(x),
            stats.sem(y, axis=None, nan_policy="omit"),
            stats.sem(i, axis=1, ddof=0, keepdims=True),
        ]

    args = x, with_nan, x.astype(np.int32)
    assert_same_program(function, *args, tolerance=1e-6)  # some are of 32 bits


def test_densities_estimated_from_samples():
    rng = np.random.default_rng(0)
    x, places = rng.normal(size=(2, 20)), rng.normal(size=(2, 3))
    bandwidths = None, "silverman", 0.4, lambda kde: kde.neff**-0.3

    def function(lib):
        def estimates(x, places):
            of = lib.scipy.stats.gaussian_kde
            kdes = [of(x, bw_method=bandwidth) for bandwidth in bandwidths]
            weighted = [of(x[0], bandwidth, weights=x[1] ** 2) for bandwidth in bandwidths]
            kde = kdes[2]
            return [
                [(kde.logpdf(places), lib.tree.leaves(kde)) for kde in a_few(kdes[::-1])],
                [kde.evaluate(places[0]) for kde in a_few(weighted)],
                kde(places),
                kde.pdf(places[:, 0]),
                kde.integrate_gaussian(places[:, 0], np.eye(2)),
                kde.integrate_kde(of(places)),
                weighted[2].integrate_box_1d(-0.5, 1.0),
                kde.resample(lib.random.PRNGKey(0), (3,)),
                lib.grad(lambda x: of(x).logpdf(places).sum())(x),
            ]

        return estimates

    assert_same_program(function, x, places, tolerance=1e-7)


def test_numbers_of_32_bits():
    import scipy.stats  # takes a while

    x, k = X.astype(np.float32), np.arange(8, dtype=np.int32)

    def function(stats):
        return lambda x, k: [
            stats.beta.cdf(x, 2, 3),
            stats.truncnorm.cdf(x, -1, 2),
            stats.poisson.cdf(k, 3),
            stats.gamma.logpdf(k, 2),
            stats.rankdata(k),
        ]

    def of_16_bits(lib):
        return lambda x: lib.scipy.stats.uniform.cdf(x.astype(lib.numpy.bfloat16))

    with jax.enable_x64(False), glassjax.enable_x64(False):
        ours, theirs = (function(lib.scipy.stats) for lib in (glassjax, jax))
        found, types = glassjax_of_constants.jit(ours)(x, k), jax.eval_shape(theirs, x, k)
        for y, exact, t in zip(
            found, function(scipy.stats)(x.astype(float), k), types, strict=True
        ):
            assert (y.shape, y.dtype, y.weak_type) == (t.shape, t.dtype, t.weak_type)
            np.testing.assert_allclose(y, exact, rtol=1e-5, atol=1e-6)
        assert_same_program(of_16_bits, x)


@for_each(
    ("call", "error"),
    [
        (lambda stats: stats.dirichlet.logpdf(X, np.ones(3)), ValueError),
        (lambda stats: stats.multinomial.pmf(X, 1, np.ones(8)), ValueError),
        (lambda stats: stats.multivariate_normal.pdf(X, X, np.eye(3)), ValueError),
        (lambda stats: stats.rankdata(X, "first"), ValueError),
        (lambda stats: stats.rankdata(X, nan_policy="omit"), NotImplementedError),
        (lambda stats: stats.mode(X, nan_policy="ignore"), ValueError),
        (lambda stats: stats.sem(X, nan_policy="raise"), ValueError),
        (lambda stats: stats.gaussian_kde(np.ones(1)), ValueError),
        (lambda stats: stats.gaussian_kde(X, "wide"), ValueError),
        (lambda stats: stats.gaussian_kde(X)(np.ones((2, 3))), ValueError),
    ],
)
def test_bad_arguments(call, error):
    for lib in (jax, glassjax):
        with pytest.raises(error):
            call(lib.scipy.stats)


@for_each(
    ("density", "parameters"),
    [("truncnorm.pdf", (2.0, 2.0)), ("betabinom.pmf", (0.0, 1.0, -1.0))],
)
def test_densities_of_no_distribution_are_nan(density, parameters):
    """Also in float32, where XLA's exponential of vectors of NaN may be any number."""
    name, function = density.split(".")
    module = importlib.import_module(f"glassjax.scipy.stats.{name}")
    given = [np.float32(each) for each in parameters]
    found = getattr(module, function)(np.full(8, 0.6, np.float32), *given)
    assert found.dtype == np.float32
    assert np.all(np.isnan(found))


def test_distributions_are_modules():
    """Also for programs that import nothing else, and for pickles of their functions."""
    program = """
        import glassjax.scipy.stats.norm
        from glassjax.scipy.stats import gamma, norm
        from glassjax.scipy.stats.norm import cdf, logpdf
        assert cdf is norm.cdf and glassjax.scipy.stats.norm is norm and logpdf(0.0) < 0
        assert gamma.__all__ == [name for name in dir(gamma) if not name.startswith("_")]
        """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)
    function = glassjax.scipy.stats.gamma.logsf
    assert pickle.loads(pickle.dumps(function)) is function
    with pytest.raises(AttributeError, match="has no attribute 'cdf'"):
        glassjax.scipy.stats.t.cdf  # noqa: B018


@pytest.mark.newest_jax
def test_the_slope_of_a_density_is_not_a_number_where_it_is_none():
    """It was that of its logarithm, which for some is a number."""
    x = np.array([np.nan, 1.0], np.float32)

    def slopes(lib):
        densities = [getattr(lib.scipy.stats, name).pdf for name in names]
        return [lib.numpy.diag(lib.jacfwd(f)(lib.numpy.asarray(x))) for f in densities]

    names = ["laplace", "norm", "logistic", "cauchy"]
    theirs, ours = (lib.jit(functools.partial(slopes, lib))() for lib in (jax, glassjax))
    for name, found, expected in zip(names, ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=name)
        assert np.isnan(found[0]), name
