"""The transformations take what a user has, and answer in Arrays."""

import numpy as np
import pytest

import minijax.numpy as jnp
from minijax import (
    Array,
    block_until_ready,
    grad,
    hessian,
    jacfwd,
    jacobian,
    jacrev,
    jit,
    jvp,
    linear_transpose,
    linearize,
    make_jaxpr,
    tree,
    value_and_grad,
    vjp,
    vmap,
)


def are_arrays(*results):
    return all(isinstance(leaf, Array) for leaf in tree.leaves(results))


def cube(x):
    return x * x * x


# Each gives numbers or numpy's arrays to a transformation, whose results must be Arrays.
X = np.array([1.0, 2.0])
CALLS = {
    "jit": lambda: jit(cube)(X),
    "grad": lambda: grad(cube)(2.0),
    "grad of what is not used": lambda: grad(lambda x: 1.0)(2.0),
    "value_and_grad": lambda: value_and_grad(cube)(np.float32(2.0)),
    "value_and_grad with aux": lambda: value_and_grad(lambda x: (x, {"x": x}), has_aux=True)(2.0),
    "vjp": lambda: vjp(cube, X)[0],
    "vjp, backwards": lambda: vjp(cube, X)[1](X),
    "jvp": lambda: jvp(cube, (X,), (X,)),
    "jvp of what is not used": lambda: jvp(lambda x, y: y, (X, 1.0), (X, 0.0)),
    "linearize": lambda: linearize(cube, X)[0],
    "linearize, forwards": lambda: linearize(cube, X)[1](X),
    "linear_transpose": lambda: linear_transpose(jnp.sum, X)(2.0),
    "vmap": lambda: vmap(cube)(X),
    "vmap of the identity": lambda: vmap(lambda x: x)(X),
    "vmap of a constant": lambda: vmap(lambda x: 1.0)(X),
    "jacfwd": lambda: jacfwd(lambda x: -x)(X),
    "jacrev": lambda: jacrev(lambda x: -x)(X),
    "jacobian": lambda: jacobian(cube)(X),
    "hessian": lambda: hessian(lambda x: jnp.sum(cube(x)))(X),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_results_are_arrays(call):
    assert are_arrays(call())


def test_values():
    assert grad(cube)(2.0) == 12.0
    value, gradient = value_and_grad(lambda x, y: x * y, argnums=(0, -1))(2.0, 3.0)
    assert (value, gradient) == (6.0, (3.0, 2.0))
    np.testing.assert_array_equal(hessian(lambda x: jnp.sum(cube(x)))(X), np.diag(6 * X))
    np.testing.assert_array_equal(vjp(cube, X)[1](X)[0], 3 * X**3)
    out, f_vjp, aux = vjp(lambda x: (x * x, "a note"), 3.0, has_aux=True)
    assert (out, f_vjp(1.0), aux) == (9.0, (6.0,), "a note")


def test_arguments_that_are_not_differentiated_stay_what_they_are():
    def power(x, n, note):
        assert note == "as it is"
        for _ in range(n):  # a Python int
            x = x * x
        return x

    assert grad(power)(2.0, 2, "as it is") == 32.0
    assert grad(power)(2.0, n=2, note="as it is") == 32.0


def test_numbers_that_are_not_mapped_stay_what_they_are():
    def repeat(x, n):
        return jnp.stack([x] * n)

    assert vmap(repeat, in_axes=(0, None))(X, 3).shape == (2, 3)


def test_functions_keep_their_names_and_transformations_their_docstrings():
    for transformation in (grad, vmap, jit):
        assert transformation(cube).__name__ == "cube"
        assert "Arguments:" in transformation.__doc__


def test_numbers_stay_literals_of_a_staged_program():
    text = str(make_jaxpr(lambda x: x + jnp.zeros(3) * jnp.sin(2.0))(1.0))
    assert "sin 2.0" in text
    assert "lambda ;" in text  # and nothing became a constant


INSIDE = {
    "jvp": lambda f: lambda x: jvp(f, (x,), (x,)),
    "grad": lambda f: grad(lambda x: jnp.sum(f(x))),
    "vmap": lambda f: vmap(f),
    "linearize": lambda f: lambda x: linearize(f, x)[1](x),
    "vmap of grad": lambda f: vmap(grad(lambda x: jnp.sum(f(x)))),
    "grad of jit": lambda f: grad(lambda x: jnp.sum(jit(f)(x))),
}


@pytest.mark.parametrize("transform", INSIDE.values(), ids=INSIDE)
def test_what_is_made_inside_of_other_transformations_is_staged_too(transform):
    def f(x):
        return x * jnp.ones(2) * jnp.sin(2.0) + jnp.arange(2) - jnp.float32(3)

    jaxpr = make_jaxpr(transform(f))(jnp.ones(2))
    assert jaxpr.consts == []
    np.testing.assert_array_equal(tree.leaves(jit(transform(f))(X)), tree.leaves(transform(f)(X)))


@pytest.mark.parametrize("name", [name for name in INSIDE if "jit" not in name])
def test_what_is_made_inside_is_on_the_device_where_nothing_is_staged(name):
    def f(x):
        assert are_arrays(jnp.ones(2), jnp.exp(np.ones(2)), jnp.sin(2.0))
        return x

    INSIDE[name](f)(X)


def test_block_until_ready_takes_a_pytree():
    tree = {"x": jnp.ones(3), "note": "as it is"}
    assert block_until_ready(tree) is not None
    assert block_until_ready(tree)["note"] == "as it is"


def test_derivatives_of_jitted_functions_that_close_over_what_is_differentiated():
    def outer(x):
        return jit(lambda y: jnp.sum(jnp.tanh(x) * y))(x)

    x = np.array([0.5, -1.0])
    expected = np.tanh(x) + x * (1 - np.tanh(x) ** 2)
    np.testing.assert_allclose(grad(outer)(x), expected)
    np.testing.assert_allclose(jit(grad(outer))(x), expected)
    np.testing.assert_allclose(vmap(grad(outer))(np.stack([x, x])), [expected] * 2)
