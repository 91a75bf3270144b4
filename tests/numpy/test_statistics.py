"""Averages, quantiles, covariances and histograms, beside JAX.

Values, dtypes, weak types and errors, over shapes and dtypes, under the transformations too.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from libraries import (
    assert_all_same_results,
    glassjax_of_constants,
    jax_of_constants,
    refused,
)
from numpy_operands import i, nothing, row, x, z
from shares import a_few, one_in
from tables import for_each
from transformations import along_an_axis, assert_alike_all, derivatives, in_one_program, types

import glassjax
import glassjax.numpy as gnp

b = x > 0.5


holes = np.where(b, x, np.float32(np.nan))


counts = np.array([1, 2, 0, 3])


weights = np.array([0.5, 1.0, 2.0, 0.25], np.float32)


shares = np.array([0.0, 0.3, 0.5, 1.0], np.float32)


ends = np.array([-2.0, 0.0, 0.5, 3.0], np.float32)


points = np.stack([x.ravel(), x.T.ravel(), np.arange(12) % 5], 1).astype(np.float32)


METHODS = ["linear", "lower", "higher", "midpoint", "nearest"]


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "average": [
        lambda n, lib: n.average(x),
        lambda n, lib: n.average(i, 0),
        lambda n, lib: n.average(b, axis=1, returned=True),
        lambda n, lib: n.average(x, axis=(0, 1), keepdims=True, returned=True),
        lambda n, lib: n.average(x, axis=1, weights=weights),
        lambda n, lib: n.average(x, weights=x + 3, returned=True),
        lambda n, lib: n.average(x, 0, x + 3, keepdims=True),
        lambda n, lib: n.average(i, 1, np.array([1, 2, 3]), True),
        lambda n, lib: n.average(z, axis=1, weights=weights, returned=True),
        lambda n, lib: n.average(x, axis=(1, 0), weights=x.T + 3),
        lambda n, lib: n.average(x.astype(np.float16), 1, np.array([1, 2, 0, 1])),
        lambda n, lib: n.average(x, axis=1, weights=weights * 0),
        lambda n, lib: n.average(nothing, axis=0),
        lambda n, lib: n.average(3),
        refused(lambda n, lib: n.average(x, weights=weights)),
        refused(lambda n, lib: n.average(x, axis=0, weights=weights)),
        refused(lambda n, lib: n.average(x, axis=0, weights=x[:2])),
        refused(lambda n, lib: n.average([1, 2])),
    ],
    "quantile": [
        *(lambda n, lib, m=m: n.quantile(x, shares, axis=1, method=m) for m in METHODS),
        *(lambda n, lib, m=m: n.nanquantile(holes, shares, axis=0, method=m) for m in METHODS),
        *(lambda n, lib, m=m: n.percentile(i, 30, method=m) for m in METHODS),
        lambda n, lib: n.quantile(x, 0.5),
        lambda n, lib: n.quantile(x, 0.3, axis=(0, 1), keepdims=True),
        lambda n, lib: n.quantile(x, shares, axis=0, keepdims=True),
        lambda n, lib: n.quantile(np.stack([x, -x]), shares, axis=(0, 2)),
        lambda n, lib: n.quantile(holes, 0.5, axis=0),
        lambda n, lib: n.nanquantile(np.full(3, np.nan, np.float32), shares),
        lambda n, lib: n.nanquantile(i, 0.25),
        lambda n, lib: n.percentile(x, np.array([10, 90]), axis=-1),
        lambda n, lib: n.percentile(x, 100 * shares, 0, method="nearest"),
        lambda n, lib: n.nanpercentile(holes, 30.0, axis=1, keepdims=True),
        lambda n, lib: n.nanpercentile(holes, 50, method="lower"),
        lambda n, lib: n.quantile(x, np.array([-0.5, 1.5])),
        lambda n, lib: n.quantile(x, np.array([np.nan])),
        lambda n, lib: n.quantile(x.astype(np.float16), shares),
        lambda n, lib: n.quantile(x.astype(n.bfloat16), 0.5),
        lambda n, lib: n.quantile(4, 0.5),
        lambda n, lib: n.quantile(np.array([np.inf, 1.0, 2.0]), 0.25),
        # refused
        refused(lambda n, lib: n.quantile(x, 0.5, method="guess")),
        refused(lambda n, lib: n.quantile(x, 0.5, overwrite_input=True)),
        refused(lambda n, lib: n.quantile(x, 0.5, out=x)),
        refused(lambda n, lib: n.quantile(z, 0.5)),
        refused(lambda n, lib: n.quantile(x, 0.5, axis=2)),
        refused(lambda n, lib: n.quantile([1, 2], 0.5)),
        refused(lambda n, lib: n.percentile(x, 50, method="guess")),
        refused(lambda n, lib: n.quantile(x, np.ones((2, 2)))),
    ],
    "median": [
        lambda n, lib: n.median(x),
        lambda n, lib: n.median(x, 0),
        lambda n, lib: n.median(x, axis=(0, 1), keepdims=True),
        lambda n, lib: n.median(i, axis=1),
        lambda n, lib: n.median(b),
        lambda n, lib: n.median(holes, axis=1),
        lambda n, lib: n.nanmedian(holes),
        lambda n, lib: n.nanmedian(holes, axis=0),
        lambda n, lib: n.nanmedian(holes, 1, keepdims=True),
        lambda n, lib: n.median(2.5),
        refused(lambda n, lib: n.median(x, overwrite_input=True)),
        refused(lambda n, lib: n.median(x, out=x)),
        refused(lambda n, lib: n.median(z)),
        refused(lambda n, lib: n.nanmedian([1, 2])),
    ],
    "cov": [
        lambda n, lib: n.cov(x),
        lambda n, lib: n.cov(x, rowvar=False),
        lambda n, lib: n.cov(row),
        lambda n, lib: n.cov(row, weights),
        lambda n, lib: n.cov(x, row, bias=True),
        lambda n, lib: n.cov(x, ddof=0),
        lambda n, lib: n.cov(x, x[::-1], ddof=2),
        lambda n, lib: n.cov(x.T, x.T, rowvar=False),
        lambda n, lib: n.cov(x.T, row[None], rowvar=False),  # one row is a variable
        refused(lambda n, lib: n.cov(row[None], row[None], rowvar=False)),
        lambda n, lib: n.cov(x, fweights=counts),
        lambda n, lib: n.cov(x, aweights=weights),
        lambda n, lib: n.cov(x, fweights=counts, aweights=weights, bias=True),
        lambda n, lib: n.cov(x, fweights=counts, aweights=weights, ddof=1),
        lambda n, lib: n.cov(z),
        lambda n, lib: n.cov(i),
        lambda n, lib: n.cov(b),
        lambda n, lib: n.cov(n.array([[1.0, 2, 3], [3, 1, 2]]), dtype=np.float16),  # exactly
        lambda n, lib: n.cov(i, dtype=np.float32),
        lambda n, lib: n.cov(i, x[:2, :3]),
        lambda n, lib: n.cov(nothing),
        lambda n, lib: n.cov(row[:, None]),
        lambda n, lib: n.cov(3.0),
        # refused
        refused(lambda n, lib: n.cov(x[None])),
        refused(lambda n, lib: n.cov(x, y=x[None])),
        refused(lambda n, lib: n.cov(x, x[:, :2])),
        lambda n, lib: n.cov(x, ddof=0.5),
        refused(lambda n, lib: n.cov(x, fweights=weights)),
        refused(lambda n, lib: n.cov(x, fweights=counts[:2])),
        refused(lambda n, lib: n.cov(x, aweights=weights[:2])),
        refused(lambda n, lib: n.cov(x, aweights=x)),
        refused(lambda n, lib: n.cov([1, 2])),
    ],
    "corrcoef": [
        lambda n, lib: n.corrcoef(x),
        lambda n, lib: n.corrcoef(x, rowvar=False),
        lambda n, lib: n.corrcoef(row, weights),
        lambda n, lib: n.corrcoef(row),
        lambda n, lib: n.corrcoef(i),
        lambda n, lib: n.corrcoef(z),
        lambda n, lib: n.corrcoef(i, dtype=np.float32),
        lambda n, lib: n.corrcoef(np.array([[1.0, 1.0], [1.0, 2.0]])),
        refused(lambda n, lib: n.corrcoef(x[None])),
        refused(lambda n, lib: n.corrcoef([1, 2])),
    ],
    "histogram": [
        lambda n, lib: n.histogram(x),
        lambda n, lib: n.histogram(i, 3),
        lambda n, lib: n.histogram(i, bins=4, range=(0, 6)),
        lambda n, lib: n.histogram(x, ends),
        lambda n, lib: n.histogram(x, bins=5, range=(-1.0, 1.0), density=True),
        lambda n, lib: n.histogram(x, ends, weights=x),
        lambda n, lib: n.histogram(x, 3, weights=b),
        lambda n, lib: n.histogram(i, 2, weights=np.ones((2, 3), np.float16)),
        lambda n, lib: n.histogram(x, 4, weights=x + 3, density=True),
        lambda n, lib: n.histogram(np.ones(3), 2),
        lambda n, lib: n.histogram(b, 2),
        lambda n, lib: n.histogram(2.0, 2),
        lambda n, lib: n.histogram_bin_edges(x),
        lambda n, lib: n.histogram_bin_edges(i, 4, (0, 8)),
        lambda n, lib: n.histogram_bin_edges(x, ends),
        lambda n, lib: n.histogram_bin_edges(x, np.array([1, 2, 5])),
        lambda n, lib: n.histogram_bin_edges(x, 3, weights=x),
        lambda n, lib: n.histogram_bin_edges(x.astype(np.float16), 2),
        refused(lambda n, lib: n.histogram_bin_edges(x, "auto")),
        refused(lambda n, lib: n.histogram(x, ends, weights=weights)),
        refused(lambda n, lib: n.histogram([1, 2])),
    ],
    "histograms of points": [
        lambda n, lib: n.histogram2d(points[:, 0], points[:, 1]),
        lambda n, lib: n.histogram2d(points[:, 0], points[:, 1], bins=4),
        lambda n, lib: n.histogram2d(points[:, 0], points[:, 1], bins=(2, ends)),
        lambda n, lib: n.histogram2d(points[:, 0], points[:, 1], bins=ends),
        lambda n, lib: n.histogram2d(
            points[:, 0], points[:, 1], 2, [(-1, 1), (-2, 2)], weights=points[:, 2]
        ),
        lambda n, lib: n.histogram2d(points[:, 0], points[:, 1], 4, density=True),
        lambda n, lib: n.histogram2d(i[0], i[1], 2),
        lambda n, lib: n.histogramdd(points, 2),
        lambda n, lib: n.histogramdd(points, (2, 3, ends), density=True),
        lambda n, lib: n.histogramdd(points, 2, [(-1, 1), None, (0, 4)]),
        lambda n, lib: n.histogramdd(points[:, :2], [ends, ends], weights=points[:, 2]),
        lambda n, lib: n.histogramdd(i, 2),
        refused(lambda n, lib: n.histogram2d(points, points)),
        refused(lambda n, lib: n.histogramdd(points, (2, 2))),
        refused(lambda n, lib: n.histogramdd(points, 2, [(0, 1)])),
        refused(lambda n, lib: n.histogramdd(points[0], 2)),
        refused(lambda n, lib: n.histogramdd(points, 2, weights=weights)),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])


# Of arrays of two axes.
WITH_DERIVATIVES = [
    lambda n, x: n.average(x, axis=0),
    lambda n, x: n.average(x, axis=-1, weights=n.arange(1, x.shape[-1] + 1), returned=True),
    lambda n, x: n.cov(x),
    lambda n, x: n.cov(x, rowvar=False, bias=True),
    lambda n, x: n.cov(x, fweights=n.arange(x.shape[-1]), aweights=n.arange(x.shape[-1]) + 1),
]


OF_REALS = [
    *(lambda n, x, m=m: n.quantile(x, n.asarray([0.3, 0.9]), axis=0, method=m) for m in METHODS),
    lambda n, x: n.percentile(x, 35, axis=-1, keepdims=True),
    lambda n, x: n.nanquantile(x, 0.35, axis=-1),
    lambda n, x: n.nanpercentile(x, 35),
    lambda n, x: n.median(x, axis=0),
    lambda n, x: n.nanmedian(x, axis=-1),
]


WITHOUT = [
    lambda n, x: n.histogram(x, 4),
    lambda n, x: n.histogram(x, n.asarray([0.0, 1.0, 3.0]), density=True),
    lambda n, x: n.histogramdd(x, 2),
    lambda n, x: n.corrcoef(x),
]


DTYPES = "bool int8 uint8 bfloat16 float16 float64 complex64"


@pytest.mark.parametrize("dtype", one_in(3, DTYPES.split()))
def test_of_every_dtype(dtype):
    functions = WITH_DERIVATIVES + (OF_REALS + WITHOUT if dtype != "complex64" else [])
    values = np.abs(i).astype(getattr(gnp, dtype).dtype)
    ours = in_one_program(functions, gnp, glassjax_of_constants, values)
    assert_alike_all(ours, in_one_program(functions, jnp, jax_of_constants, values))
    with jax.enable_x64(False), glassjax.enable_x64(False):
        ours = types(functions, gnp, glassjax, values)
        assert ours == types(functions, jnp, jax, values)


def test_along_an_axis():
    batch, functions = np.stack([x, x[::-1] ** 2]), WITH_DERIVATIVES + OF_REALS + WITHOUT
    ours = along_an_axis(functions, gnp, glassjax_of_constants, batch)
    assert_alike_all(ours, along_an_axis(functions, jnp, jax_of_constants, batch))


def test_derivatives():
    whole = [x.astype(float), np.cos(np.arange(12.0) // 2).reshape(3, 4)]
    # The older JAX has 0 for the derivative of a correlation that is not a number.
    for functions, values in [
        (WITH_DERIVATIVES + OF_REALS, a_few([*whole, holes.astype(float)])),
        ([lambda n, x: n.corrcoef(x)], a_few(whole)),
    ]:
        ours = derivatives(functions, gnp, glassjax_of_constants, *values)
        assert_alike_all(ours, derivatives(functions, jnp, jax_of_constants, *values))


def test_derivatives_of_complex_numbers():
    ours = derivatives(WITH_DERIVATIVES, gnp, glassjax_of_constants, z.astype(complex))
    assert_alike_all(ours, derivatives(WITH_DERIVATIVES, jnp, jax_of_constants, z.astype(complex)))


def test_derivatives_by_weights_and_shares():
    functions = [
        lambda n, w: n.average(x, axis=1, weights=w),
        lambda n, w: n.cov(x, aweights=w),
        lambda n, w: n.quantile(x, w / 3, axis=0),
        lambda n, w: n.histogram(x[0], n.asarray([-3.0, 0.0, 5.0]), weights=w)[0],
    ]
    ours = derivatives(functions, gnp, glassjax_of_constants, weights.astype(float))
    assert_alike_all(ours, derivatives(functions, jnp, jax_of_constants, weights.astype(float)))


@pytest.mark.newest_jax
def test_of_no_variables_there_are_no_covariances_of_the_default_dtype():
    assert_all_same_results(
        lambda n, lib, name=name, dtype=dtype: getattr(n, name)(n.zeros((0, 2), dtype))
        for name in ("cov", "corrcoef")
        for dtype in ("complex64", "bfloat16", "int8")
    )


RNG = np.random.default_rng(0)


X = RNG.normal(size=(3, 4, 5)).astype(np.float32)


WEIGHTS = RNG.uniform(size=(3, 4, 5)).astype(np.float32)


WITH_NAN = np.where(X > 1, np.nan, X).astype(np.float32)


BAD = np.where(WEIGHTS > 0.95, -1, WEIGHTS).astype(np.float32)


Q = np.array([0.0, 0.25, 0.9, 1.0], np.float32)


CASES = {
    "all": (X, Q, {"weights": WEIGHTS}),
    "one axis": (X, Q, {"weights": WEIGHTS, "axis": 1}),
    "one axis, its own weights": (X, Q, {"weights": WEIGHTS[0, :, 0], "axis": 1}),
    "two axes": (X, np.float32(0.3), {"weights": WEIGHTS, "axis": (0, 2)}),
    "two axes, their own weights": (X, np.float32(0.3), {"weights": WEIGHTS[:, 0], "axis": (0, 2)}),
    "axes kept": (X, Q, {"weights": WEIGHTS, "axis": -1, "keepdims": True}),
    "weights that count": (
        X,
        np.float32(0.5),
        {"weights": np.arange(5, dtype="float32"), "axis": 2},
    ),
    "NaN": (WITH_NAN, np.float32(0.5), {"weights": WEIGHTS, "axis": 1}),
    "negative weights": (X, np.float32(0.5), {"weights": BAD, "axis": 1}),
    "integers": (np.arange(6), 0.5, {"weights": np.array([1, 0, 0, 5, 1, 1])}),
}


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_weighted_quantiles(name):
    def quantiles(n, _, case):
        x, q, how = CASES[case]
        given = {**how, "method": "inverted_cdf"}
        percent = getattr(n, name.replace("quantile", "percentile"))
        return getattr(n, name)(x, q, **given), percent(x, 100 * np.asarray(q), **given)

    assert_all_same_results({case: partial(quantiles, case=case) for case in CASES}, 1e-7, 0)


@for_each(
    "how",
    [
        {"weights": WEIGHTS},
        {"weights": WEIGHTS + 0j, "method": "inverted_cdf"},
        {"weights": WEIGHTS[0], "axis": 1, "method": "inverted_cdf"},
        {"weights": WEIGHTS[0], "method": "inverted_cdf"},
    ],
    ids=["another method", "complex", "another shape", "of no axis"],
)
def test_weights_that_do_not_fit(how):
    errors = []
    for lib in (glassjax, jax):
        with pytest.raises((ValueError, NotImplementedError)) as found:
            lib.numpy.quantile(X, np.float32(0.5), **how)
        errors.append(found.type)
    assert errors[0] is errors[1]
