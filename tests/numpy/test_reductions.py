"""Reductions and cumulative sums, beside JAX.

Values, dtypes, weak types and errors, over shapes and dtypes, under the transformations too.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from libraries import (
    assert_all_same_results,
    assert_close,
    glassjax_of_constants,
    jax_of_constants,
    refused,
)
from numpy_operands import i, x, z
from shares import a_few, one_in
from transformations import along_an_axis, assert_alike_all, derivatives, in_one_program, types

import glassjax
import glassjax.numpy as gnp

w = np.array([[True, False, True, True], [False, False, False, True], [True, True, True, False]])


holes = np.where(w, x, np.float32(np.nan))


row = w[0]


nothing = np.zeros((2, 0, 3), np.float32)


kept = x.mean(1, keepdims=True)


nan_row = np.array([[np.nan, np.nan], [1.0, np.nan]], np.float32)


TOTALS = "sum prod nansum nanprod"


EXTREMES = "max min amax amin nanmax nanmin"


MOMENTS = "mean var std nanmean nanvar nanstd"


TRUTHS = "all any count_nonzero ptp"


PLACES = "argmax argmin nanargmax nanargmin"


CUMULATIVE = "cumsum cumprod nancumsum nancumprod"


FROM_THE_FIRST = "cumulative_sum cumulative_prod"


def of_names(names, *taken, wrong=()):
    """Programs that call each function with each of the options: what is taken, and what is not."""

    def program(name, of, options):
        return lambda n, lib: getattr(n, name)(of, **options)

    names = names.split()
    return [
        *(program(name, of, options) for name in names for of, options in taken),
        *(refused(program(name, of, options)) for name in names for of, options in wrong),
    ]


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "totals": of_names(
        TOTALS,
        (x, {"axis": (0, -1)}),
        (x, {"axis": ()}),
        (x, {"where": w, "initial": 2}),
        (holes, {"axis": 0, "where": row}),
        (i, {"dtype": np.float16, "axis": 1}),
        (i, {"dtype": "int8"}),
        (x, {"dtype": int}),
        (x, {"dtype": bool}),
        (z, {"axis": 0, "initial": 1j}),
        (i, {"initial": 2.5}),
        (nothing, {"axis": 1}),
        (nothing, {"axis": 0, "initial": 3.0}),
        (3, {}),
        (2.5, {"axis": None}),
        (np.float32(2), {"keepdims": True}),
        (True, {}),
        wrong=[
            (x, {"axis": 2}),
            (x, {"axis": (0, 0)}),
            (x, {"axis": 1.0}),
            (x, {"out": x}),
            (x, {"initial": np.ones(4)}),
            (x, {"where": np.ones(4)}),
            (x, {"where": np.ones(3, bool)}),
            ([1, 2], {}),
            (None, {}),
            ("abc", {}),
        ],
    ),
    "totals of integers": of_names(
        "sum prod",
        (i.astype(np.int8), {"promote_integers": False}),
        (i > 1, {"promote_integers": False, "axis": 0}),
        (i.astype(np.uint8), {"promote_integers": False, "dtype": np.int16}),
    ),
    "extremes": of_names(
        EXTREMES,
        (x, {"axis": (0, 1)}),
        (x, {"axis": ()}),
        (x, {"axis": -2, "keepdims": True}),
        (holes, {"axis": 1}),
        (nan_row, {"axis": 1}),
        (nan_row, {"axis": 1, "initial": 0}),
        (x, {"axis": 0, "initial": 2}),
        (x, {"axis": 0, "initial": 1.0, "where": row}),
        (holes, {"initial": -1.0, "where": w}),
        (i, {"initial": 2.7}),
        (i, {"initial": -9, "where": i > 0, "axis": 1}),
        (z, {"axis": 1}),
        (z, {"initial": 9.0}),
        (w, {"axis": 0}),
        (nothing, {"axis": 0}),
        (nothing, {"axis": 1, "initial": 2.0}),
        (4, {}),
        wrong=[
            (nothing, {"axis": 1}),
            (nothing, {}),
            (x, {"where": w}),
            (x, {"axis": 2}),
            (x, {"out": x}),
            (x, {"initial": np.ones(4)}),
            ([1, 2], {}),
        ],
    ),
    "moments": of_names(
        MOMENTS,
        (x, {"axis": (0, 1)}),
        (x, {"axis": -1, "keepdims": True}),
        (x, {"where": w, "axis": 1}),
        (holes, {"axis": 0}),
        (holes, {"axis": 0, "where": row}),
        (nan_row, {"axis": 1}),
        (x, {"where": np.zeros(4, bool)}),
        (i, {"axis": 0}),
        (i, {"dtype": np.float16}),
        (x.astype(np.float16), {"dtype": np.float32, "axis": 1}),
        (w, {}),
        (z, {"axis": 0}),
        (z, {"where": w[:2]}),
        (nothing, {"axis": 1}),
        (nothing, {"axis": 0}),
        (4, {}),
        (np.float32(4), {"keepdims": True}),
        wrong=[
            (x, {"out": x}),
            (x, {"where": np.ones(4)}),
            ([1, 2], {}),
        ],
    ),
    "means in a dtype": of_names("mean nanmean", (x, {"dtype": int}), (z, {"dtype": np.float32})),
    "variances": of_names(
        "var std nanvar nanstd",
        (x, {"ddof": 1}),
        (x, {"axis": 0, "ddof": 3}),
        (x, {"axis": 0, "ddof": 5}),
        (x, {"axis": 0, "ddof": 0.5}),
        (x, {"axis": 1, "ddof": 1, "where": w}),
        (x, {"axis": 1, "mean": kept}),
        (z, {"dtype": np.complex64, "ddof": 1}),
        (i, {"dtype": np.complex64}),
        wrong=[
            (z, {"dtype": np.float32}),
        ],
    ),
    "corrections": of_names(
        "var std",
        (x, {"axis": 1, "correction": 1}),
        wrong=[(x, {"ddof": 1, "correction": 1})],
    )
    + of_names("std", wrong=[(x, {"dtype": int})]),
    "truths": of_names(
        TRUTHS,
        (x, {"axis": (0, 1)}),
        (holes, {"axis": 0}),
        (i, {"axis": -1, "keepdims": True}),
        (z[:, :1], {"axis": 1}),
        (nothing, {"axis": 0}),
        (0, {}),
        (2.0, {"keepdims": True}),
        wrong=[(x, {"axis": 2}), ([0, 1], {})],
    )
    + of_names("all any count_nonzero", (w, {"axis": 0}), (nothing, {"axis": 1}))
    + of_names("ptp", wrong=[(w, {"axis": 0}), (nothing, {"axis": 1})])
    + of_names(
        "all any",
        (x, {"axis": 1, "where": w}),
        (x, {"where": np.zeros(4, bool)}),
        wrong=[(x, {"where": np.zeros(4)}), (x, {"out": x})],
    ),
    "places": of_names(
        PLACES,
        (x, {}),
        (x, {"axis": 0}),
        (x, {"axis": -1, "keepdims": True}),
        (x, {"keepdims": True}),
        (holes, {"axis": 1}),
        (holes, {}),
        (nan_row, {"axis": 1}),
        (nan_row, {"axis": 1, "keepdims": True}),
        (nan_row[:1], {}),
        (i, {"axis": 1}),
        (w, {"axis": 0}),
        (i.astype(np.uint8), {}),
        (nothing, {"axis": 0}),
        (4, {}),
        (4, {"keepdims": True}),
        wrong=[
            (nothing, {"axis": 1}),
            (nothing, {}),
            (z, {}),
            (x, {"axis": (0, 1)}),
            (x, {"out": x}),
            ([1, 2], {}),
        ],
    ),
    "up to each": of_names(
        CUMULATIVE,
        (x, {}),
        (x, {"axis": 1}),
        (x, {"axis": -2}),
        (holes, {"axis": 0}),
        (i, {"dtype": np.float16, "axis": 1}),
        (i, {"dtype": bool, "axis": 1}),
        (x, {"dtype": int}),
        (z, {"axis": 0}),
        (w, {"axis": 0}),
        (i.astype(np.uint8), {}),
        (nothing, {"axis": 1}),
        (nothing, {}),
        (3, {}),
        (2.0, {"axis": 0}),
        wrong=[
            (x, {"axis": 2}),
            (x, {"axis": (0, 1)}),
            (x, {"out": x}),
            ([1, 2], {}),
        ],
    ),
    "up to each, of the array API": of_names(
        FROM_THE_FIRST,
        (x[0], {}),
        (x, {"axis": 1}),
        (x, {"axis": -2, "include_initial": True}),
        (i, {"axis": 0, "include_initial": True, "dtype": np.float16}),
        (i.astype(np.int8), {"axis": 1}),
        (i.astype(np.uint8)[0], {"include_initial": True}),
        (w, {"axis": 0}),
        (z, {"axis": 1, "include_initial": True}),
        (nothing, {"axis": 1, "include_initial": True}),
        wrong=[
            (x, {}),
            (3.0, {}),
            (x, {"axis": 2}),
            ([1, 2], {}),
        ],
    ),
    "methods": [
        lambda n, lib: n.asarray(x).sum(0),
        lambda n, lib: n.asarray(x).prod(axis=1, keepdims=True),
        lambda n, lib: n.asarray(x).mean(1, where=w),
        lambda n, lib: n.asarray(x).var(0, ddof=1),
        lambda n, lib: n.asarray(x).std(),
        lambda n, lib: n.asarray(x).max(1, initial=1.0),
        lambda n, lib: n.asarray(x).min(initial=0.0, where=w),
        lambda n, lib: n.asarray(w).all(0),
        lambda n, lib: n.asarray(w).any(1),
        lambda n, lib: n.asarray(x).argmax(1),
        lambda n, lib: n.asarray(x).argmin(keepdims=True),
        lambda n, lib: n.asarray(i).cumsum(),
        lambda n, lib: n.asarray(i).cumprod(1),
        lambda n, lib: n.asarray(i).ptp(1),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])


def of_one_array(names, *options):
    """Functions of a library's numpy and an array."""
    return [
        lambda n, x, name=name, given=given: getattr(n, name)(x, **given)
        for name in names.split()
        for given in options
    ]


ALONG = {"axis": -1}


SMOOTH = " ".join([TOTALS, EXTREMES, MOMENTS, CUMULATIVE, "ptp"])


WITH_DERIVATIVES = [
    *of_one_array(SMOOTH, {}, ALONG),
    *of_one_array(FROM_THE_FIRST, ALONG),
    *of_one_array("var nanstd", ALONG | {"ddof": 0.5}),
    lambda n, x: n.nanvar(x, -1, ddof=1),
    lambda n, x: n.std(x, -1, ddof=0.5, where=x == x),
    lambda n, x: n.mean(x, -1, where=x != 0),
    lambda n, x: n.max(x, -1, initial=1),
    lambda n, x: n.min(x, -1, initial=1, where=x == x),
    lambda n, x: n.sum(x, -1, initial=1, where=x == x),
]


OF_COMPLEX = WITH_DERIVATIVES + of_one_array("all any count_nonzero", {}, ALONG)


OF_NUMBERS = of_one_array(SMOOTH + " all any count_nonzero", {}, {"keepdims": True})


FUNCTIONS = OF_COMPLEX + of_one_array(PLACES, {}, ALONG)


DTYPES = "bool int8 uint8 uint64 bfloat16 float16 complex64"


@pytest.mark.parametrize("dtype", one_in(3, DTYPES.split()))
def test_of_every_dtype(dtype):
    functions = OF_COMPLEX if dtype == "complex64" else FUNCTIONS
    values = (abs(i) if dtype.startswith("u") else i)[:, 1:].astype(getattr(gnp, dtype).dtype)
    ours = in_one_program(functions, gnp, glassjax_of_constants, values)
    assert_alike_all(ours, in_one_program(functions, jnp, jax_of_constants, values))
    with jax.enable_x64(False), glassjax.enable_x64(False):
        ours = types(functions, gnp, glassjax, values)
        assert ours == types(functions, jnp, jax, values)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 2), (2, 1, 3)], ids=str)
def test_of_every_shape(shape):
    values = np.cos(np.arange(np.prod(shape, dtype=int), dtype=np.float32)).reshape(shape)
    ours = in_one_program(FUNCTIONS, gnp, glassjax_of_constants, values)
    assert_alike_all(ours, in_one_program(FUNCTIONS, jnp, jax_of_constants, values))


@pytest.mark.parametrize("x64", one_in(2, [False, True]))
def test_of_numbers(x64):
    with jax.enable_x64(x64), glassjax.enable_x64(x64):
        for number in (True, 3, 2.5, 1j, np.float32(2), np.array(4)):
            ours = types(OF_NUMBERS, gnp, glassjax, number)
            assert ours == types(OF_NUMBERS, jnp, jax, number)


def test_along_an_axis():
    ours = along_an_axis(FUNCTIONS, gnp, glassjax_of_constants, holes)
    assert_alike_all(ours, along_an_axis(FUNCTIONS, jnp, jax_of_constants, holes))


# Those that one element, or none that counts, makes special.
OF_ONE_COLUMN = of_one_array(f"{EXTREMES} {MOMENTS}", ALONG, ALONG | {"keepdims": True})


ties = np.array([[2.0, 0.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0], [-1.0, 3.0, 3.0, -1.0]])


@pytest.mark.parametrize(
    ("functions", "points"),
    [
        (WITH_DERIVATIVES, a_few([ties, x.astype(float), holes.astype(float)])),
        (OF_ONE_COLUMN, [x[:, :1].astype(float)]),
    ],
    ids=["numbers, ties, zeros and NaN", "one column"],
)
def test_derivatives(functions, points):
    ours = derivatives(functions, gnp, glassjax_of_constants, *points)
    assert_alike_all(ours, derivatives(functions, jnp, jax_of_constants, *points))


def test_derivatives_of_complex_numbers():
    functions = of_one_array(SMOOTH, ALONG)
    ours = derivatives(functions, gnp, glassjax_of_constants, z.astype(complex))
    assert_alike_all(ours, derivatives(functions, jnp, jax_of_constants, z.astype(complex)))


@pytest.mark.newest_jax
def test_counts_beyond_32_bits_are_floats():
    huge = glassjax.ShapeDtypeStruct((2**16, 2**16), np.float32)
    with glassjax.enable_x64(False):
        for function in (gnp.mean, gnp.var, gnp.std, gnp.nanmean, gnp.nanvar, gnp.average):
            assert glassjax.eval_shape(function, huge).dtype == np.float32


def assert_same(function, rtol, atol=None):
    """What a function of a library gives, in one program, is the same for both."""
    assert_close(*(lib.jit(lambda lib=lib: function(lib))() for lib in (glassjax, jax)), rtol, atol)


def test_minmax():
    x = np.array([[3, 1], [-2, 7]])
    options = [
        {},
        {"axis": 1, "keepdims": True},
        {"initial": 2},
        {"initial": (5, 0), "where": np.array([True, False])},
    ]
    assert_same(lambda lib: [lib.numpy.minmax(x, **kwargs) for kwargs in options], 0)


LEFT_OUT = [math.inf, -math.inf, math.nan]


@pytest.mark.bits(32)
@pytest.mark.parametrize("other", LEFT_OUT)
def test_what_is_left_out_has_no_slope(other):
    x = np.array([1.0, 2.0, other], np.float32)
    mask = np.array([True, True, False])
    programs = [
        lambda n, lib: lib.value_and_grad(lambda x: lib.nn.logsumexp(x, where=mask))(x),
        lambda n, lib: lib.value_and_grad(lambda x: lib.nn.softmax(x, where=mask)[0])(x),
        lambda n, lib: lib.value_and_grad(lambda x: n.sum(x, where=mask))(x),
        lambda n, lib: lib.value_and_grad(lambda x: n.mean(x, where=mask))(x),
        lambda n, lib: lib.value_and_grad(lambda x: n.max(x, where=mask, initial=0))(x),
    ]
    assert_all_same_results(programs)
