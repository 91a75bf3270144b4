"""`linear_call`: transposes and errors, beside JAX."""

import jax
import jax.debug
import jax.errors
import jax.export
import jax.extend
import jax.ffi
import jax.interpreters.batching
import jax.interpreters.mlir
import numpy as np
import pytest

import glassjax
import glassjax.ad_checkpoint
import glassjax.debug
import glassjax.export
import glassjax.extend
import glassjax.extend.core
import glassjax.interpreters.batching
import glassjax.interpreters.mlir

X = np.float32(3)


# Linear functions with a transpose.
def divided(j):
    return lambda x, r=2.0: j.custom_derivatives.linear_call(
        lambda r, x: x / r, lambda r, ct: 7 * ct / r, r, x
    )


CALLS = {
    "eager": lambda j, f: f(3.0),
    "jit": lambda j, f: j.jit(f)(3.0),
    "grad": lambda j, f: j.grad(f)(3.0),
    "grad of jit": lambda j, f: j.grad(j.jit(f))(3.0),
    "jvp": lambda j, f: j.jvp(f, (3.0,), (1.0,)),
    "linearize": lambda j, f: j.linearize(f, 3.0)[1](1.0),
    "transpose": lambda j, f: j.linear_transpose(f, 1.0)(1.0),
    "transpose twice": lambda j, f: j.linear_transpose(
        lambda y: j.linear_transpose(f, 1.0)(y)[0], 1.0
    )(1.0),
    "grad of product": lambda j, f: j.grad(lambda x: f(x) * f(x))(3.0),
    "second": lambda j, f: j.grad(j.grad(lambda x: f(x) ** 3))(3.0),
    "value": lambda j, f: j.value_and_grad(lambda x: f(x * 2, 4.0))(3.0),
}


def test_linear_calls_agree():
    def called(j):
        return {name: call(j, divided(j)) for name, call in CALLS.items()}

    theirs = jax.jit(lambda: called(jax))()
    for ours in (called(glassjax), glassjax.jit(lambda: called(glassjax))()):
        glassjax.tree.map(np.testing.assert_allclose, ours, theirs)


def test_linear_calls_of_trees(lib):
    call = lib.custom_derivatives.linear_call

    def f(x, y):
        return call(
            lambda r, xs: {"sum": r[0] * xs[0] + xs[1]},
            lambda r, ct: (r[0] * ct["sum"], ct["sum"]),
            (2.0,),
            (x, y),
        )["sum"]

    assert f(3.0, 4.0) == 10
    assert lib.grad(f, (0, 1))(3.0, 4.0) == (2, 1)


def test_linear_calls_are_mapped_and_residuals_differentiated_where_jax_cannot():
    f, xs = divided(glassjax), glassjax.numpy.arange(3.0)
    np.testing.assert_allclose(glassjax.vmap(f)(xs), xs / 2)
    np.testing.assert_allclose(glassjax.vmap(glassjax.grad(f))(xs), np.full(3, 3.5))
    np.testing.assert_allclose(glassjax.vmap(f)(xs, xs + 1), xs / (xs + 1))
    np.testing.assert_allclose(glassjax.grad(f, 1)(3.0, 2.0), -3 / 4)


def test_wrong_transposes_are_errors(lib):
    def f(transpose):
        return lambda x: lib.custom_derivatives.linear_call(lambda r, x: x, transpose, (), x)

    with pytest.raises(TypeError):
        lib.grad(f(lambda r, ct: (ct, ct)))(3.0)
    with pytest.raises(ValueError, match="float32" if lib is jax else "f32"):
        lib.grad(f(lambda r, ct: ct * lib.numpy.ones(3)))(X)
