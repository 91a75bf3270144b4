"""Quantiles of elements that count with weights."""

from functools import partial

import jax
import numpy as np
import pytest
from libraries import assert_all_same_results
from tables import for_each

import minijax

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
    for lib in (minijax, jax):
        with pytest.raises((ValueError, NotImplementedError)) as found:
            lib.numpy.quantile(X, np.float32(0.5), **how)
        errors.append(found.type)
    assert errors[0] is errors[1]
