"""Values and derivatives where a formula is easily wrong: JAX's, or the exact ones."""

import jax
import jax.scipy.special
import numpy as np
import pytest
from libraries import glassjax_of_constants, jax_of_constants
from tables import for_each

import glassjax
import glassjax.scipy.special

pytestmark = pytest.mark.newest_jax


INF, NAN = np.inf, np.nan


F32 = np.float32


FLOATS = np.array([0.0, -0.0, 1.5, -1.5, INF, -INF, NAN, 3.0, 2e38, 1e-40], F32)


PAIRS = [v.ravel() for v in np.meshgrid(FLOATS, FLOATS)]


def both(function, *args, libraries=(glassjax_of_constants, jax_of_constants)):
    """The numbers that each library finds, all arrays in one.

    XLA's evaluation of constants differs from its machine code for the smallest and the largest.
    """
    found = [lib.jit(function(lib))(*args) for lib in libraries]
    return [
        np.squeeze([np.asarray(out, np.float64) for out in jax.tree.leaves(outs)]) for outs in found
    ]


def assert_close(found, expected, ulps=2):
    np.testing.assert_allclose(found, expected, rtol=ulps * np.finfo(F32).eps, atol=1e-38)


@for_each("name", ["floor_divide", "remainder", "fmod", "heaviside"])
def test_division_at_zeros_and_infinities(name):
    """A quotient by zero was NaN; so was none of heaviside(nan, x)."""
    assert_close(*both(lambda lib: getattr(lib.numpy, name), *PAIRS, libraries=(glassjax, jax)))


def test_operators_that_divide_by_zero():
    x, y = glassjax.numpy.float32(1.5), glassjax.numpy.float32(0.0)
    assert x // y == INF
    assert divmod(x, y)[0] == INF
    assert np.isnan(x % y)


@pytest.mark.parametrize("name", ["xlogy", "xlog1py", "gammainc", "gammaincc"])
def test_special_functions_of_two_at_the_edges(name):
    """xlogy(0, nan) was 0, gammaincc(inf, 1) NaN."""
    edges = np.array([0.0, 1.0, 2.5, INF, NAN, -1.0, 2e38], F32)
    x, y = (v.ravel() for v in np.meshgrid(edges, edges))
    if "gamma" in name:  # of which JAX's are NaN, or never end, where both are large
        x, y = x[(x < 1e38) | (y < 1e38)], y[(x < 1e38) | (y < 1e38)]
    found = both(lambda lib: getattr(lib.scipy.special, name), x, y, libraries=(glassjax, jax))
    assert_close(*found, ulps=16)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_beta_is_infinite_at_its_poles(dtype):
    """However large the other argument is; it was NaN where its gamma function overflows."""
    large = np.finfo(dtype).max
    x, y = np.array([3, 2.5, large], dtype), np.array([-2, -1, -large * 0.6], dtype)
    for pair in ((x, y), (y, x)):
        assert glassjax.scipy.special.betaln(*pair).tolist() == [INF] * 3


@for_each("dtype", ["int32", "uint8", "bool", "float16", "bfloat16", "float32"])
def test_spacing_of_all_kinds_of_numbers(dtype):
    """The spacing of 0 and of subnormal numbers was 0."""
    x = np.array([0, 1, 2, 3, 100]).astype(dtype)
    if "float" in dtype:
        tiny = float(jax.numpy.finfo(dtype).tiny)
        x = np.array([*x, tiny, tiny / 4, -tiny / 4, -3, 0.1, INF, NAN]).astype(dtype)
    found, expected = glassjax.numpy.spacing(x), jax.numpy.spacing(x)
    assert found.dtype == expected.dtype
    found, expected = (np.asarray(v).astype(np.float64) for v in (found, expected))
    np.testing.assert_array_equal(found, expected)


VALUES = {
    "scipy.special.spence": [NAN, 0.0, -1.0, 0.3, 0.7, 1.2, 7.0],
    "scipy.special.exp1": [2e38, 1e30, INF, 0.0],
    "scipy.special.expi": [-2e38, -INF, 0.0],
    "scipy.special.gammaln": [1e-39, 1.0, 2.0, 1.9999999, -2.4570246, -2.7476826, 1e-45, 3e38],
    "scipy.special.ndtri": [0.0, 1e-30, 0.1, 0.4999999, 0.5, 0.5000001, 0.999, 1.0, 2.0, NAN],
    "numpy.sinc": [2e38, 1.0000001, 1.0, 100.5, 0.0, INF, NAN],
}


SLOPES = {
    "numpy.asinh": [1e20, -3e38, 0.0, 1.0, INF],
    "numpy.acosh": [1e20, 1.0001, 3e38],
    "numpy.atanh": [1e-30, 0.5, 0.999],
    "numpy.expm1": [-40.0, -5.0, 0.0, 3.0],
    "numpy.sinc": [2e38, 1.0, 2.5, 1e-30, 0.0],
    "nn.elu": [-40.0, -1.0, 0.0, 1.0],
    "nn.relu6": [0.0, 6.0, 3.0, -1.0, 7.0],
    "nn.hard_tanh": [-1.0, 1.0, 0.5, 2.0],
    "nn.hard_sigmoid": [-3.0, 3.0, 0.5],
    "nn.hard_silu": [-3.0, 3.0, 0.5],
    "lax.erf": [9.0, 0.5, 2e38],
    "lax.erfc": [9.0, 0.5, 2e38],
    "scipy.special.ndtri": [0.0, 1e-30, 0.1, 0.5, 0.999, 1.0],
}


def function_of(library, path):
    for part in path.split("."):
        library = getattr(library, part)
    return library


@for_each("path", VALUES)
def test_values(path):
    x = np.resize(np.array(VALUES[path], F32), 10)
    assert_close(*both(lambda lib: function_of(lib, path), x), ulps=4)


@for_each("path", SLOPES)
def test_slopes(path):
    """A square that overflows, or 1 added to what is nearly -1, left nothing of them."""
    x = np.resize(np.array(SLOPES[path], F32), 10)

    def slopes(library):
        return library.vmap(library.grad(function_of(library, path)))

    assert_close(*both(slopes, x), ulps=4)


@for_each(
    ("name", "pair"),
    [("power", (INF, 0.0)), ("power", (-INF, 0.0)), ("hypot", (3e38, -2e38)), ("hypot", (1, 2))],
)
def test_slopes_by_the_first_of_two(name, pair):
    """The power 0 of infinity had none, and a length too large for a number one of 0."""
    x, y = map(F32, pair)

    def slope(library):
        return library.grad(lambda x: getattr(library.numpy, name)(x, y))

    assert_close(*both(slope, x), ulps=4)


@for_each("bounds", [(0, 1), (1j, 1 + 1j), (1, 0), (np.nan, 1), (0, np.nan)])
def test_clamp_of_complex_numbers_between_constants(bounds):
    """In a program with bounds that it knows, it ended the process."""
    parts = [0, 0.5, 1, 2, -1, np.nan, np.inf]
    x = np.array([complex(a, b) for a in parts for b in (0, 1, np.nan)], np.complex64)
    low, high = np.array(bounds, np.complex64)
    ours, theirs = (
        lib.jit(lambda x, lib=lib: lib.lax.clamp(low, x, high))(x) for lib in (glassjax, jax)
    )
    np.testing.assert_array_equal(ours, theirs)


def test_slopes_of_logaddexp2_of_large_numbers():
    """They were taken from the sum, of which rounding left two digits."""
    x, y = F32(-52906.9688), F32(-52909.1406)
    found = glassjax.grad(glassjax.numpy.logaddexp2, (0, 1))(x, y)
    share = 1 / (1 + 2.0 ** (float(y) - float(x)))
    assert_close(np.array(found), [share, 1 - share], ulps=8)


def test_slopes_of_clamp_at_its_bounds():
    """They were shared between the number and the bound that it meets."""
    numbers = np.array([-1.0, 0.0, 0.5, 1.0, 2.0], F32)
    low, x, high = (v.ravel() for v in np.meshgrid(numbers, numbers, numbers))

    def slopes(library):
        return library.vmap(library.grad(library.lax.clamp, (0, 1, 2)))

    np.testing.assert_array_equal(*both(slopes, low, x, high))
    assert_close(*both(lambda lib: lib.lax.clamp, low, x, high))


FORMULAS = {
    "mish": lambda lib: lib.nn.mish,
    "gelu": lambda lib: lambda x: lib.nn.gelu(x, approximate=False),
    "log1mexp": lambda lib: lib.nn.log1mexp,
    "sinc": lambda lib: lib.numpy.sinc,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_derivatives_beyond_those_that_have_formulas(name):
    """The last formula is differentiated, in the dtype of its operand."""

    def fourth(lib):
        function = FORMULAS[name](lib)
        for _ in range(4):
            function = lib.grad(function)
        return lib.vmap(function)

    points = np.array([0.3, 1.5, 2.25], F32)
    expected = jax_of_constants.jit(fourth(jax))(points)
    for dtype, rtol in (("float32", 2e-4), ("bfloat16", 0.1)):
        given = glassjax.numpy.asarray(points, dtype)
        found = glassjax_of_constants.jit(fourth(glassjax))(given)
        assert found.dtype == dtype
        np.testing.assert_allclose(np.asarray(found, F32), expected, rtol=rtol)
