"""A short run of `./noxw -s ulps`: every function and its derivatives in float32."""

import jax
import numpy as np
import pytest
from mpmath import mp, mpf
from shares import one_in
from tables import for_each

import glassjax
from fuzzing.ulps import jets
from fuzzing.ulps.differences import DIFFERENCES
from fuzzing.ulps.exact import Exactly, exact_value
from fuzzing.ulps.functions import Function
from fuzzing.ulps.measure import compute, errors, measure
from fuzzing.ulps.table import FUNCTIONS

# The time limit of an exact value may end in a destructor, where what is raised is lost, and told.
pytestmark = [
    pytest.mark.as_for_users,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

newest = pytest.mark.skipif(
    jax.__version_info__ < (0, 11), reason="JAX is the measure, and its edges were other ones then"
)
CASES = [(f, by) for f in FUNCTIONS for by in f.derivatives() if len(by) < 2]


@newest
@pytest.mark.parametrize(
    ("function", "by"), one_in(10, CASES), ids=lambda x: getattr(x, "name", str(x))
)
def test_no_function_is_less_exact_than_jax(function, by):
    line = measure(function, by, "float32", count=40, seed=0, seconds=1.0, cache=None)
    assert line.is_good or line.name in DIFFERENCES, line


@newest
@pytest.mark.parametrize("by", [(), (0,)])
@pytest.mark.parametrize(
    "name", ["scipy.special.erfcx", "scipy.special.fresnel", "scipy.special.ndtri"]
)
def test_no_function_is_less_exact_than_jax_in_float64(name, by):
    """erfcx was 11 units off below 1, and fresnel lost its waves from 2**30 on."""
    for function in FUNCTIONS:
        if function.path == name:
            line = measure(function, by, "float64", count=300, seed=3, seconds=2.0, cache=None)
            assert line.is_good, line


TINY = 1.17549435e-38
CANCELLING = {
    # next to a zero of the slope
    "nn.gelu, approximate=False": [("float32", (0,), (-0.751964033,))],
    "nn.mish": [("float16", (0,), (-11.3515625,))],
    "scipy.special.fresnel[1]": [("float64", (0,), (1.0000001,)), ("float64", (0,), (9.00000001,))],
    # floats of 16 bits, rounded at every step
    "numpy.sinc": [("float16", (0, 0), (-0.662109375,)), ("float64", (0, 0), (-4.9e228,))],
    "numpy.hypot": [
        ("float16", (0,), (5.96046448e-08, 5.96046448e-08)),
        ("float16", (0, 0), (3.05175781e-05, 5.48362732e-06)),
    ],
    "scipy.special.kl_div": [
        ("bfloat16", (), (23.25, 15.375)),
        ("float16", (0,), (0.000592708588, 17376.0)),
    ],
    "scipy.special.rel_entr": [("float16", (), (0.000751018524, 20000.0))],
    # what is 1 but for a little, subtracted from 1
    "scipy.special.betainc": [
        ("float16", (), (9.5, 0.000212550163, 0.933105469)),
        ("float32", (), (TINY, TINY, TINY)),
    ],
    # next to the smallest number
    "scipy.special.beta": [
        ("bfloat16", (), (9.18354962e-41, -1.10202595e-39)),
        ("float32", (), (1.05794531e-39, -5.87747175e-39)),
        ("float64", (1,), (8.26667988e-305, 9.52443372)),
    ],
    "scipy.special.gammaincc": [
        ("bfloat16", (), (9.18354962e-41, TINY)),
        ("float32", (), (1e-7, 0.5)),
        ("float64", (), (1e-30, 1e-5)),
    ],
    "scipy.special.owens_t": [("float64", (), (2.25773776e-307, 2.25773776e-307))],
}


@pytest.mark.parametrize("name", one_in(2, CANCELLING))
def test_nothing_is_lost_where_it_is_lost_most_easily(name):
    (function,) = (f for f in FUNCTIONS if f.name == name)
    for dtype, by, point in CANCELLING[name]:
        args = [np.array([x], dtype) for x in point]
        high, low, _ = Exactly(function, by, dtype, None).at(args, 10.0)
        found = np.asarray(compute(glassjax, function, by, args)).astype(np.float64)
        units = errors(found, high, low, dtype).item()
        assert units < (2 if "16" in dtype else 200), (dtype, by, point, found, high)


ROUNDED = ["sici", "betaln", "expi", "gammaln", "exp1", "spence"]


@pytest.mark.parametrize("name", one_in(3, ROUNDED))
def test_what_is_evaluated_in_float64_is_the_exact_number_rounded(name):
    """An integral of sines was 4 units off, next to where its series ended."""
    for function in FUNCTIONS:
        if function.path == f"scipy.special.{name}":
            line = measure(function, (), "float32", count=200, seed=1, seconds=2.0, cache=None)
            assert line.is_good, line
            assert line.ours < 0.75, line


def test_errors_are_in_units_in_the_last_place():
    """Also next to a power of two, beyond the largest number, and for what is no number."""
    eps, largest = np.finfo(np.float32).eps, float(np.finfo(np.float32).max)
    computed = np.array([1 + eps, 1.0, 2 + 2 * eps, np.inf, largest, np.nan, 0.0, np.inf])
    exact = np.array([1.0, 1.0, 2.0, 2 * largest, 2 * largest, 1.0, 1e-40, largest])
    found = errors(computed, exact, np.zeros(8), "float32")
    np.testing.assert_array_equal(found, [1, 0, 1, 0, 0, np.inf, 0, 1])
    low = np.array([0.25 * eps])
    np.testing.assert_allclose(errors(np.array([1.0]), np.array([1.0]), low, "float32"), 0.25)


@for_each("name", ["sin", "erf", "asinh", "lgamma", "i0e", "ndtri", "logistic"])
def test_derivatives_of_formulas_are_those_of_mpmath(name):
    function = getattr(jets, name)
    with mp.workprec(200):
        x = mpf("0.375")
        terms = function(jets.Jet(x, mpf(1), mpf(0))).terms
        for order, term in enumerate(terms):
            assert abs(term - mp.diff(function, x, order)) < mpf(2) ** -80


@for_each("a", [0.25, -1.0, 3.0])
@for_each("h", [0.5, 2.0, -20.0, 40.0])
def test_slope_of_owens_t_is_that_of_its_formula(h, a):
    """A quadrature lost three per cent of it at h = 40, a = 3."""
    (owens_t,) = (each for each in FUNCTIONS if each.path == "scipy.special.owens_t")
    with mp.workprec(600):
        slope = mp.diff(lambda h: owens_t.exact(h, mpf(a)), mpf(h))
        exact = owens_t.partials[0](mpf(h), mpf(a))
        assert abs(slope - exact) <= abs(exact) * mpf(2) ** -80


def test_exact_values_are_refined_until_two_agree():
    """1 - cos(x) of a small x has no digits at all in the first precision."""
    small = Function("numpy.cos", lambda x: 1 - mp.cos(x))
    x = 1e-100
    assert abs(exact_value(small, (), [x]) / (mpf(x) ** 2 / 2) - 1) < mpf(2) ** -70
    assert exact_value(Function("numpy.log", jets.log), (), [-1.0]) is None
