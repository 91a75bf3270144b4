"""Special functions: values, derivatives and edges, against JAX and scipy."""

import functools
import itertools
import math

import jax
import jax.scipy.special
import numpy as np
import pytest
import scipy.special
from libraries import assert_all_same_results, assert_same_program
from shares import IS_NIGHT, a_few
from tables import for_each

import glassjax
import glassjax.scipy.special
from glassjax.scipy import special

RNG = np.random.default_rng(0)


A, X = 10 ** RNG.uniform(-3, 3, size=(2, 40))


X[:20] = A[:20] * RNG.uniform(0.8, 1.2, 20)


B = A[::-1]


UNIT = RNG.uniform(0, 1, 40)


UNIT[:20] = np.clip((A / (A + B))[:20] + RNG.normal(size=20) * 0.01, 0, 1)


SIGNED = np.concatenate([RNG.uniform(-9, 9, 20), [0.0, 0.5, 1.0, 1.5, 2.0, 4.0, 8.0, 39.0, 41.0]])


SIGNED = np.resize(SIGNED, 40)  # all are of one shape, so that operations compile once


POSITIVE = np.abs(SIGNED) + 0.01


EDGES = [0.0, 1.0, 2.5, np.inf, np.nan, -1.0]


EDGE_A, EDGE_X = (np.resize(edges, 40) for edges in np.meshgrid(EDGES, EDGES))


# Small numbers count, too.
assert_same = functools.partial(assert_same_program, atol=1e-300)


# The functions, their arguments, and by which of them they have a derivative.
CASES = {
    "gammainc": ((A, X), (0, 1)),
    "gammaincc": ((A, X), (0, 1)),
    "betainc": ((A, B, UNIT), (2,)),
    "poch": ((np.minimum(A, 50), np.minimum(X, 50) / 100), (0, 1)),
    "erfcx": ((SIGNED,), (0,)),
    "exp1": ((POSITIVE,), (0,)),
    "expi": ((np.where(SIGNED == 0, 0.3, SIGNED),), (0,)),
    "sici": ((SIGNED,), ()),
    "spence": ((POSITIVE,), ()),
    "loggamma": ((POSITIVE,), (0,)),
    "factorial": ((np.resize(SIGNED[:20], 40),), ()),
    "xlogy": ((SIGNED, POSITIVE), (0, 1)),
    "xlog1py": ((SIGNED, POSITIVE), (0, 1)),
    "entr": ((POSITIVE,), (0,)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    args, by = CASES[name]

    def function(lib):
        f = getattr(lib.scipy.special, name)
        slope = lib.grad(lambda *args: f(*args).sum(), argnums=by)
        return lambda *args: [f(*args), slope(*args) if by else ()]

    assert_same(function, *args)
    # Results of these are too large, and those in float32 have tests of their own.
    if name not in ("factorial", "poch", "betainc", "gammainc", "gammaincc"):
        narrow = [x.astype(np.float32) for x in args]
        assert_same(
            lambda lib: lambda *args: getattr(lib.scipy.special, name)(*args),
            *narrow,
            tolerance=1e-3,
        )


@pytest.mark.newest_jax
@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_gamma_functions_at_the_edges(name):
    assert_same(lambda lib: getattr(lib.scipy.special, name), EDGE_A, EDGE_X)


def test_the_beta_function_at_the_edges():
    a, b, x = (v.ravel() for v in np.meshgrid(EDGES, EDGES, [0.0, 0.4, 1.0, 1.5, np.nan]))
    assert_same(lambda lib: lib.scipy.special.betainc, a, b, x)


def test_expn():
    def function(lib):
        expn = lib.scipy.special.expn
        slopes = [lib.grad(lambda x, n=n: expn(n, x).sum()) for n in (2, 5)]
        return lambda x: [[expn(n, x) for n in (1, 2, 5)], [slope(x) for slope in slopes]]

    assert_same(function, POSITIVE)


def test_derivatives_where_a_logarithm_is_infinite():
    def function(lib):
        of = lib.scipy.special
        return lambda x, y: (
            [lib.grad(f, argnums=(0, 1))(x, y) for f in (of.xlogy, of.xlog1py)]
            + [lib.grad(of.entr)(x)]
        )

    assert_same(function, np.float64(0.0), np.float64(0.3))
    assert_same(function, np.float64(0.0), np.float64(0.0))


def test_the_derivative_of_drawn_numbers():
    a, x = np.resize(A[:20], 40), np.resize(X[:20], 40)
    assert_same(lambda lib: lib.lax.random_gamma_grad, a, x)
    assert_same(lambda lib: lib.lax.igamma_grad_a, A, X)


def test_bessel_functions():
    """JAX's are not numbers at 0, nor in 32 bits."""
    x = np.array([0.3, 2.0, -2.0, 9.5])

    def function(lib):
        def of(z):
            return lib.scipy.special.bessel_jn(z, v=3)

        return lambda z: [
            of(z),
            lib.scipy.special.bessel_jn(z[1:2], v=0, n_iter=30),
            lib.grad(lambda z: (of(z) ** 2).sum())(z),
            lib.jvp(of, (z,), (z,)),
        ]

    assert_same(function, x)
    jv = pytest.importorskip("scipy.special").jv
    x, orders = np.append(x, 0.0), np.arange(4)[:, None]
    for dtype, tolerance in a_few([("float64", 1e-14), ("float32", 1e-6), ("bfloat16", 4e-3)]):
        of = glassjax.jit(lambda z: glassjax.scipy.special.bessel_jn(z, v=3))
        found = of(glassjax.numpy.asarray(x, dtype))
        assert found.dtype == dtype
        np.testing.assert_allclose(found, jv(orders, x), atol=tolerance)
    slopes = glassjax.jit(glassjax.jacfwd(lambda z: glassjax.scipy.special.bessel_jn(z, v=3)))(0.0)
    np.testing.assert_allclose(slopes, [0, 0.5, 0, 0])


def test_owens_function():
    h = np.array([0.0, 0.1, 0.5, -1.0, 2.0, 5.0, 8.0])[:, None]
    a = np.array([0.1, -0.3, 0.99, 1.0, 1.01, -3.0, 50.0])

    def function(lib):
        of = lib.scipy.special.owens_t
        return lambda h, a, i: [
            of(h, a),
            of(i, 2.0),
            of(h[1:], -np.inf),
            of(h, 0.0),
            of(-np.inf, a),
        ]

    assert_same(function, h, a, np.arange(3), tolerance=1e-7)
    h, a = np.broadcast_arrays(h, np.append(a, 0.0))

    @glassjax.jit
    def of_ours(h, a):
        of, ndtr = glassjax.scipy.special.owens_t, glassjax.scipy.special.ndtr
        edges = of(0.0, -np.inf), of(np.nan, 0.5), of(0.5, np.nan)
        return *edges, ndtr(a * h), glassjax.grad(lambda h, a: of(h, a).sum(), (0, 1))(h, a)

    at_zero, *of_nan, below, (by_h, by_a) = of_ours(h, a)
    np.testing.assert_allclose(at_zero, -0.25)  # of which JAX makes no number
    assert np.all(np.isnan(of_nan))
    normal = np.exp(-(h**2) / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(by_h, -normal * (np.asarray(below) - 0.5), atol=1e-14)
    expected = np.exp(-(h**2) * (1 + a**2) / 2) / (2 * np.pi * (1 + a**2))
    np.testing.assert_allclose(by_a, expected, atol=1e-14)


def test_the_curvature_of_owens_function_at_zero():
    """Absolute values and bounds in its formula once quartered it."""
    a = np.array([-2.0, -1.0, 0.3, 1.0])

    def curvature(lib):
        by_h = lib.grad(lambda h, a: lib.scipy.special.owens_t(h, a).sum())
        return lib.jit(lambda h, a: lib.jvp(lambda h: by_h(h, a), (h,), (1 + h,))[1])

    ours, theirs = (curvature(lib)(0 * a, a) for lib in (glassjax, jax))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    np.testing.assert_allclose(ours, -a / (2 * np.pi), atol=1e-14)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 3e-14), ("float32", 1e-6)])
def test_fresnels_integrals(dtype, tolerance):
    x = np.append(np.linspace(-6, 6, 121), [1.599, 1.6, 1.601, np.inf, -np.inf, np.nan])
    x = x.astype(dtype)
    of = glassjax.scipy.special.fresnel
    for found, expected in zip(of(x), jax.jit(jax.scipy.special.fresnel)(x), strict=True):
        assert (found.dtype, found.weak_type) == (expected.dtype, expected.weak_type)
        np.testing.assert_allclose(found, expected, atol=tolerance)
    if dtype != "float64":
        return
    x = x[np.isfinite(x)]
    for which, wave in enumerate((np.sin, np.cos)):
        slopes = glassjax.jit(glassjax.grad(lambda x, which=which: of(x)[which].sum()))(x)
        np.testing.assert_allclose(slopes, wave(np.pi / 2 * x * x), atol=3e-14)


def test_spherical_harmonics():
    n = np.array([0, 1, 1, 2, 3, 5, 8, 2, 7, 20])
    m = np.array([0, 1, -1, -2, 2, -4, 0, 1, -7, 19])
    theta, phi = np.linspace(0.1, 3, 10), np.linspace(-7, 7, 10)

    def function(lib):
        of = lib.scipy.special.sph_harm_y

        def loss(theta, phi):
            return (of(n, m, theta, phi) * np.arange(10)).real.sum()

        return lambda theta, phi: [
            of(n, m, theta, phi),
            of(np.full(10, 3), np.full(10, -2), theta, phi, n_max=4),
            lib.jit(lambda n: of(n, m, theta, phi, n_max=20))(n) if IS_NIGHT else (),
            lib.grad(loss, (0, 1))(theta, phi),
        ]

    assert_same(function, theta, phi)

    @glassjax.jit
    def of_ours(theta, phi):
        of = glassjax.scipy.special.sph_harm_y
        return (
            of(np.full(10, 3), np.full(10, -2), theta, phi),
            of(3, -2, theta, phi),
            of(1, np.array([2, -2]), 0.5, 0.5),
        )

    expected, of_numbers, zero = of_ours(theta, phi)
    np.testing.assert_array_equal(of_numbers, expected)  # which JAX does not broadcast
    np.testing.assert_array_equal(zero, 0)
    assert np.isnan(glassjax.scipy.special.sph_harm_y(3, 0, 0.5, 0.5, n_max=2))
    for lib in (jax, glassjax):
        with pytest.raises(lib.errors.ConcretizationTypeError):
            lib.jit(lambda n, of=lib.scipy.special.sph_harm_y: of(n, m, theta, phi))(n)


def test_bernoullis_numbers():
    sizes = (0, 1, 2, 3, 4, 20, 61)
    programs = {n: lambda _, lib, n=n: lib.scipy.special.bernoulli(n) for n in sizes}
    assert_all_same_results(programs, 1e-12, 1e-300)


@for_each(
    ("call", "error"),
    [
        (lambda of: of.bernoulli(-1), ValueError),
        (lambda of: of.factorial(3, exact=True), NotImplementedError),
        (lambda of: of.spence(np.arange(3)), TypeError),
        (lambda of: of.betainc(1j, 1.0, 0.5), ValueError),
        (lambda of: of.bessel_jn(1j, v=1), ValueError),
        (lambda of: of.sph_harm_y(*np.ones((4, 1), int), diff_n=1), NotImplementedError),
        (lambda of: of.sph_harm_y(*np.ones((4, 1))), TypeError),
    ],
)
def test_bad_arguments(call, error):
    for lib in (jax, glassjax):
        with pytest.raises(error):
            call(lib.scipy.special)


INF, NAN = np.inf, np.nan


def rng():
    return np.random.default_rng(0)


def spread(count=60):
    return np.concatenate([rng().normal(size=count) * size for size in (1e-6, 0.1, 1, 5, 20, 1e4)])


def close(ours, exact, rtol):
    np.testing.assert_allclose(np.asarray(ours), exact, rtol=rtol)


# Special functions, exact to nearly all digits.


def complex_numbers():
    z = spread() + 1j * np.abs(spread()[::-1])
    return np.concatenate([z, np.conj(z[np.abs(z) < 15])])


OPERANDS = {
    "dawsn": lambda: [spread()],
    "wofz": lambda: [complex_numbers()],
    "erfcinv": lambda: [np.concatenate([rng().uniform(0, 2, 50), 10.0 ** -np.arange(1, 200, 9)])],
    "boxcox": lambda: [rng().exponential(size=100), np.repeat([1e-9, 0, 0.1, -2], 25)],
    "boxcox1p": lambda: [rng().exponential(size=100) * 1e-3, np.repeat([1e-9, 0, 0.1, -2], 25)],
    "comb": lambda: list(rng().integers(0, 40, (2, 100)).astype(float)),
    "hyp1f1": lambda: [*rng().uniform(0.1, 5, (2, 200)), rng().normal(size=200) * 30],
    "hyp2f1": lambda: [*rng().uniform(0.1, 5, (3, 200)), rng().uniform(-4, 1, 200)],
}


@pytest.mark.parametrize("name", OPERANDS)
def test_a_function_has_nearly_all_digits(name):
    operands = OPERANDS[name]()
    exact = getattr(scipy.special, name)(*operands)
    with glassjax.enable_x64():
        close(getattr(special, name)(*operands), exact, 2e-11)
    single = [x.astype("complex64" if x.dtype.kind == "c" else "float32") for x in operands]
    found = getattr(special, name)(*single)
    assert found.dtype == ("complex64" if name == "wofz" else "float32")
    widened = [x.astype(y.dtype) for x, y in zip(single, operands, strict=True)]
    with np.errstate(over="ignore"):
        exact = np.asarray(getattr(scipy.special, name)(*widened)).astype(found.dtype)
    is_normal = np.abs(exact) > 1e-36
    close(np.asarray(found)[is_normal], exact[is_normal], 2e-6)


AT = {
    "dawsn": [0.7, 9.0],
    "wofz": [0.7],
    "erfcinv": [0.3],
    "boxcox": [(2.0, 0.7), (2.0, 0.3)],
    "boxcox1p": [(0.4, 0.7)],
    "comb": [(7.0, 3.0)],
    "hyp1f1": [(1.0, 2.0, 3.0), (1.5, 2.5, -0.5)],
    "hyp2f1": [(1.0, 2.0, 3.5, 0.4)],
}


@pytest.mark.parametrize("name", AT)
def test_derivatives_are_jaxs(name):
    points = np.array([np.atleast_1d(point) for point in AT[name]])
    operands = np.resize(points, (2, points.shape[1])).T

    def function(lib):
        def total(*operands):
            return lib.numpy.real(getattr(lib.scipy.special, name)(*operands)).sum()

        return lib.grad(total, tuple(range(len(operands))))

    assert_same_program(function, *operands, tolerance=1e-4)


AT_EDGES = [
    ("boxcox", ([-1.0, 0, 0, 0, 1, 2, INF, NAN], [1.0, 0, 1, -1, 0, 0, 1, 1])),
    ("boxcox1p", ([-2.0, -1, -1, -1, 1, INF], [1.0, 0, 1, -1, 0, 1])),
    ("comb", ([5.0, 5, 5, -3, 0], [-1.0, 0, 6, 2, 0])),
    ("dawsn", ([0.0, -0.0, INF, -INF, NAN],)),
    ("erfcinv", ([0.0, 1, 2, 2.1, -1, NAN],)),
    ("hyp1f1", ([1.0, 0, 0, 1, -1], [0.0, 0, 2, -2, -2], [1.0, 1, 0, 3, 0.5])),
    ("hyp2f1", ([1.0, 1, 0, 1], [2.0, 1, 2, 2], [3.0, 3, 3, 0], [1.0, 1, 0.4, 0.4])),
]


@pytest.mark.parametrize(("name", "operands"), AT_EDGES, ids=[name for name, _ in AT_EDGES])
def test_edges_are_jaxs(name, operands):
    operands = [np.resize(np.array(x, np.float32), 8) for x in operands]
    assert_same_program(lambda lib: getattr(lib.scipy.special, name), *operands, tolerance=1e-6)


def test_combinations_with_repetition():
    n, k = np.array([5, 0, 3, 0]), np.array([2, 0, -1, 3])
    assert_same_program(
        lambda lib: lambda n, k: lib.scipy.special.comb(n, k, repetition=True), n, k, tolerance=1e-5
    )


def test_complex_operands_of_real_functions_are_refused():
    for name in ("dawsn", "erfcinv"):
        with pytest.raises(ValueError, match="expected real operands"):
            getattr(special, name)(1j)


@pytest.mark.bits(32)
def test_entropies_of_nan_are_nan():
    special = [
        lambda n, lib, f=f, p=p, q=q: getattr(lib.scipy.special, f)(p, q)
        for f in ("rel_entr", "kl_div")
        for p, q in itertools.product((math.nan, 0.0, 1.0, -1.0, 114.0), repeat=2)
    ]
    assert_all_same_results(special)
    rates = np.array([-1.0, 0.0, math.nan, 3.0], np.float32)
    assert_all_same_results([lambda n, lib: lib.scipy.stats.poisson.entropy(rates)], rtol=1e-5)
