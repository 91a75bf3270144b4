"""Transcendental functions of `lax`, and their accuracy, beside JAX."""

import re

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


@pytest.mark.newest_jax
@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"exp2", "log2", "erfc"}))
@pytest.mark.parametrize("accuracy", ACCURACIES[:2])
def test_the_accuracy_is_a_parameter_that_the_compiler_reads(name, accuracy):
    def texts(lib):
        given = eval(f"lib.lax.{accuracy}", {"lib": lib})
        function = lib.jit(lambda x: getattr(lib.lax, name)(x, accuracy=given))
        lowered = function.lower(np.float32(0.5)).as_text()
        (eqn,) = lib.make_jaxpr(function)(0.5).eqns[0].params["jaxpr"].eqns
        attributes = re.findall(r"result_accuracy = .*>>", lowered)
        return eqn.primitive.name, str(eqn.params["accuracy"]), attributes

    ours, theirs = texts(glassjax), texts(jax)
    assert ours == theirs


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_a_function_with_an_accuracy_is_transformed_as_without(name, dtype):
    x = np.array([0.5, 0.75], dtype)
    if dtype == "complex64":
        if name in ("cbrt", "erfc"):
            return
        x = x + np.array([0.25j, -0.5j], dtype)

    def transformed(**accuracy):
        def function(x):
            return getattr(lax, name)(x, **accuracy)

        slopes = glassjax.vmap(glassjax.grad(function, holomorphic=dtype == "complex64"))
        return (
            function(x),
            glassjax.vmap(function)(x),
            glassjax.jvp(function, (x,), (x,)),
            slopes(x),
        )

    found = transformed(accuracy=lax.AccuracyMode.HIGHEST)
    expected = transformed()
    for value, other in zip(*map(glassjax.tree.leaves, (found, expected)), strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-6, strict=True)
