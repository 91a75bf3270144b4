"""Small arrays, and comparisons of results with numpy's."""

import numpy as np

from glassjax import Array


def numbers(shape, dtype, seed=0):
    return np.asarray(np.random.default_rng(seed).integers(0, 5, shape), dtype)


def is_same(found, expected, tolerance=1e-6):
    expected = np.asarray(expected)
    assert isinstance(found, Array)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance)


def of_each(names, library, *args, **options):
    """What each function gives; jitted, one program computes all."""
    return {name: getattr(library, name)(*args, **options) for name in names}


def are_same(found, expected, tolerance=1e-6):
    for name in expected:
        try:
            is_same(found[name], expected[name], tolerance)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
