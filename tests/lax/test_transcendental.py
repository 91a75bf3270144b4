"""Transcendental functions of `lax`, and their accuracy, beside JAX."""

import jax
import numpy as np
import pytest
from libraries import assert_close

import glassjax
from glassjax import lax


def assert_same(function, rtol, atol=None):
    """What a function of a library gives, in one program, is the same for both."""
    assert_close(*(lib.jit(lambda lib=lib: function(lib))() for lib in (glassjax, jax)), rtol, atol)


@pytest.mark.parametrize("name", ["log2", "one_minus_square"])
def test_unary_functions(name):
    def values_and_tangents(lib):
        of = [np.array([0.5, 2, 3.25, 1], dtype) for dtype in ("float32", "complex64")]
        return [lib.jvp(getattr(lib.lax, name), (x,), (np.ones_like(x),)) for x in of]

    assert_same(values_and_tangents, 1e-6, 1e-7)


ACCURACIES = ["AccuracyMode.HIGHEST", "AccuracyMode.DEFAULT", "Tolerance(rtol=1e-3)"]


FUNCTIONS = [
    "cbrt",
    "cos",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "logistic",
    "rsqrt",
    "sin",
    "sqrt",
    "tan",
    "tanh",
]


def test_accuracy():
    x = np.array([0.5, 0.75], "float32")
    accuracies = [None, *(eval(f"lax.{text}") for text in ACCURACIES)]
    found = glassjax.jit(
        lambda x: [[getattr(lax, name)(x, accuracy=a) for a in accuracies] for name in FUNCTIONS]
    )(x)
    for name, (expected, *others) in zip(FUNCTIONS, found, strict=True):
        for other in others:
            np.testing.assert_allclose(other, expected, rtol=1e-6, err_msg=name, strict=True)
        with pytest.raises(NotImplementedError, match="accuracy must be"):
            getattr(lax, name)(x, accuracy=3)
    with pytest.raises(ValueError, match="not negative"):
        lax.Tolerance(-1.0)
