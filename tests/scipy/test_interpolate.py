"""Interpolation on a grid: values and gradients, beside JAX."""

from functools import partial

import jax
import jax.scipy.cluster.vq
import jax.scipy.interpolate
import jax.scipy.spatial.transform
import numpy as np
import pytest
from libraries import assert_close, assert_same_program, glassjax_of_constants, jax_of_constants
from shares import IS_NIGHT

import glassjax
from glassjax.scipy.interpolate import RegularGridInterpolator

INF, NAN = np.inf, np.nan


def rng():
    return np.random.default_rng(0)


POINTS = (np.array([1.0, 2, 4]), np.array([0.0, 1.0, 1.5, 3]))


OPTIONS = [
    *({"method": "linear", "fill_value": fill_value} for fill_value in (np.nan, 7.0, None)),
    {"method": "nearest", "fill_value": 7.0},
]


XI = np.array([[1.5, 0.5], [4, 3], [1, 0], [0, 1], [2, 9], [NAN, 1], [3.1, 1.2]], "float32")


def test_interpolation_on_a_grid():
    values = rng().normal(size=(3, 4)).astype("float32")

    def function(lib, xi):
        def interpolated(options):
            f = lib.scipy.interpolate.RegularGridInterpolator(POINTS, values, **options)
            return [f(xi), f((xi[:3, 0], 1.0))]

        return [interpolated(options) for options in OPTIONS]

    theirs = jax_of_constants.jit(partial(function, jax))(XI)
    assert_close(glassjax_of_constants.jit(partial(function, glassjax))(XI), theirs, 1e-6)
    if IS_NIGHT:  # also where it is not traced
        assert_close(RegularGridInterpolator(POINTS, values)(XI), theirs[0][0], 1e-6, 1e-6)


def test_interpolation_of_vectors_on_a_grid():
    """With which JAX's fill does not fit."""
    values = rng().normal(size=(3, 4, 2)).astype("float32")

    @glassjax.jit
    def interpolated(xi):
        return [
            [
                RegularGridInterpolator(POINTS, given, **options)(xi)
                for given in (values, values[..., 0], values[..., 1])
            ]
            for options in OPTIONS
        ]

    for found, *parts in interpolated(XI):
        np.testing.assert_allclose(found, np.stack(parts, -1), 1e-6, 1e-6)


def test_gradients_of_interpolation():
    values = rng().normal(size=(3, 4)).astype("float32")
    xi = np.array([1.5, 0.7], "float32")

    def function(lib):
        interpolator = lib.scipy.interpolate.RegularGridInterpolator
        return lib.grad(lambda v, x: interpolator(POINTS, v)(x)[0], (0, 1))

    assert_same_program(function, values, xi, tolerance=1e-5)


def test_bad_grids():
    for call, error in (
        (lambda: RegularGridInterpolator(POINTS, np.ones((2, 4))), ValueError),
        (lambda: RegularGridInterpolator(POINTS, np.ones((3, 4)), "cubic"), ValueError),
        (lambda: RegularGridInterpolator(POINTS, np.ones((3, 4)), fill_value=1j), ValueError),
        (
            lambda: RegularGridInterpolator(POINTS, np.ones((3, 4)), bounds_error=True),
            NotImplementedError,
        ),
        (lambda: RegularGridInterpolator(POINTS, np.ones((3, 4)))(np.ones(3)), ValueError),
    ):
        with pytest.raises(error, match="RegularGridInterpolator"):
            call()
