"""`jet`, against JAX and against nested derivatives."""

import jax
import numpy as np
import pytest
from jax.experimental.jet import jet as jax_jet

import glassjax
import glassjax.numpy as jnp
from glassjax import grad, jit, jvp, lax, vmap
from glassjax.core import Primitive, bind, declare, lower_by, types_by
from glassjax.errors import TangentTypeError, TreeMismatchError
from glassjax.experimental.jet import def_comp, def_deriv, jet

X, SERIES = np.float32(0.7), list(np.float32([1.0, 0.3, -0.2, 0.5]))
FUNCTIONS = {
    "sum and product": lambda jnp: lambda x: x * x + 3.0 * x - 1.0,
    "power": lambda jnp: lambda x: x**3 + x**2.5 + 2.0**x,
    "quotient": lambda jnp: lambda x: jnp.sin(x) / (1.0 + x * x) + 1.0 / x - x / 3.0,
    "constant divided": lambda jnp: lambda x: (1.0 + x * 0.0) / jnp.exp(x),
    "exponential": lambda jnp: lambda x: jnp.exp(jnp.cos(x)) + jnp.expm1(x),
    "logarithm": lambda jnp: lambda x: jnp.log(x) * jnp.log1p(x),
    "roots": lambda jnp: lambda x: jnp.sqrt(x) + 1.0 / jnp.sqrt(x),
    "tanh": lambda jnp: lambda x: jnp.tanh(x) * x,
    "select": lambda jnp: lambda x: jnp.where(x > 0, x * x, -x),
    "dot": lambda jnp: lambda x: jnp.dot(x * np.float32([1, 2]), jnp.stack([x, jnp.cos(x)])),
    "reduction": lambda jnp: lambda x: jnp.sum(jnp.sin(x * np.arange(3, dtype=np.float32))),
    "pytree": lambda jnp: lambda x: {"a": x * x, "b": (jnp.sin(x), x)},
    "constant": lambda jnp: lambda x: (x, 3.0),
}


@pytest.mark.parametrize("factorial_scaled", [True, False])
def test_the_derivatives_are_those_of_jax(factorial_scaled):
    options = {} if factorial_scaled else {"factorial_scaled": False}

    def everything(jet, jnp):
        return {name: jet(f(jnp), (X,), (SERIES,), **options) for name, f in FUNCTIONS.items()}

    found = glassjax.jit(lambda: everything(jet, jnp))()
    expected = jax.jit(lambda: everything(jax_jet, jax.numpy))()
    assert glassjax.tree.structure(found) == glassjax.tree.structure(expected)
    for name in FUNCTIONS:
        pairs = zip(jax.tree.leaves(expected[name]), jax.tree.leaves(found[name]), strict=True)
        for x, y in pairs:
            np.testing.assert_allclose(y, x, rtol=3e-5, atol=1e-5, err_msg=name)


ANY = {  # also what has no rule of its own, and none in JAX
    "inverse": lambda x: jnp.linalg.inv(x[:, None] * jnp.ones(3) + jnp.eye(3)),
    "eigenvalues": lambda x: jnp.linalg.eigvalsh(jnp.diag(x) + 0.1 * x[:, None] * x),
    "gather": lambda x: x[jnp.array([2, 0, 0])] * x,
    "jit": jit(lambda x: jnp.sin(x) * x),
    "scan": lambda x: lax.scan(lambda c, y: (c * y, jnp.sin(c)), 1.0, x),
    "while": lambda x: lax.fori_loop(0, 3, lambda i, y: y * jnp.cos(y), x),
    "cond": lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
    "custom_jvp": lambda x: glassjax.nn.relu(x) * x,
    "special": lambda x: glassjax.scipy.special.gammaln(x) + glassjax.scipy.special.erf(x),
    "cumulative": lambda x: jnp.cumprod(x),
}


def test_the_derivatives_are_derivatives_of_derivatives():
    """Along a straight line the second one is the derivative of the derivative along it."""
    is_list = lambda x: isinstance(x, list)  # noqa: E731

    @glassjax.jit
    def everything(x, v):
        found = {}
        for name, f in ANY.items():
            first = lambda x, f=f: jvp(f, (x,), (v,))[1]  # noqa: E731
            _, derivatives = jet(f, (x,), ([v, jnp.zeros(3)],))
            terms = [
                glassjax.tree.map(lambda terms, k=k: terms[k], derivatives, is_leaf=is_list)
                for k in range(2)
            ]
            found[name] = terms, [first(x), jvp(first, (x,), (v,))[1]]
        return found

    found = everything(jnp.array([0.5, 1.5, 0.8]), jnp.array([1.0, -0.5, 0.3]))
    for name, both in found.items():
        for a, b in zip(*map(glassjax.tree.leaves, both), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5, err_msg=name)


def test_the_derivatives_are_the_same_outside_of_programs():
    for name in ("power", "tanh", "dot", "pytree", "constant"):
        f = FUNCTIONS[name](jnp)
        found = jet(f, (X,), (SERIES,))
        expected = glassjax.jit(lambda f=f: jet(f, (X,), (SERIES,)))()
        for x, y in zip(*map(glassjax.tree.leaves, (found, expected)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, err_msg=name)


def third(x):
    return jet(jnp.sin, (x,), ([jnp.ones_like(x), *[jnp.zeros_like(x)] * 2],))[1][2]


def test_it_is_transformed_as_other_functions_are():
    x = jnp.array([0.1, 0.2])
    for found in (jit(third)(x), vmap(third)(x), third(x)):
        np.testing.assert_allclose(found, -np.cos(x), rtol=1e-6)
    np.testing.assert_allclose(grad(third)(0.5), np.sin(0.5), rtol=1e-6)
    np.testing.assert_allclose(grad(grad(third))(0.5), np.cos(0.5), rtol=1e-6)


def test_derivatives_in_derivatives_are_told_apart():
    def f(x):
        return x * jet(lambda y: x * y, (1.0,), ([1.0],))[1][0]

    value, (slope, curvature) = jet(f, (3.0,), ([1.0, 0.0],))
    assert (value, slope, curvature) == (9.0, 6.0, 2.0)


def test_no_derivatives_are_asked_for():
    assert jet(lambda x: x, (2.0,), ([],)) == (2.0, [])


@pytest.mark.parametrize(
    ("primals", "series", "error", "message"),
    [
        ((1.0, 2.0), ([1.0], [1.0, 2.0]), ValueError, "must have one length, found \\[1, 2\\]"),
        ((1.0,), ([1.0], [2.0]), ValueError, "each of the 1 arguments, found 2"),
        ((1.0,), ([{"a": 1.0}],), TreeMismatchError, "series\\[0\\]\\[0\\] must have the struct"),
        ((np.ones(3),), ([1.0],), TangentTypeError, "derivative of order 1 of argument 0"),
    ],
)
def test_series_that_do_not_fit(primals, series, error, message):
    with pytest.raises(error, match=message):
        jet(lambda *x: x[0], primals, series)


def test_rules_by_a_derivative_and_by_a_composition():
    """The rules of primitives that have no other."""
    softplus_p, scaled_p = Primitive("softplus"), Primitive("scaled")
    for primitive, function in (
        (softplus_p, lambda x: [jnp.log1p(jnp.exp(x))]),
        (scaled_p, lambda x, y, *, by: [by * x * y]),
    ):
        declare(primitive, abstract_eval=types_by(function), lower=lower_by(function))
    def_deriv(softplus_p, glassjax.nn.sigmoid)
    def_comp(scaled_p, lambda x, y, by: by * (x * y))
    series = ([1.0, 0.5, 0.25], [0.5, 1.0, 2.0])
    for by_rule, plain, args in (
        (lambda x: bind(softplus_p, x)[0], glassjax.nn.softplus, 1),
        (lambda x, y: bind(scaled_p, x, y, by=3.0)[0], lambda x, y: 3.0 * x * y, 2),
        (lambda x: bind(softplus_p, 2 * x)[0] ** 2, lambda x: glassjax.nn.softplus(2 * x) ** 2, 1),
    ):
        primals = (0.5, 2.0)[:args]
        found = jet(by_rule, primals, series[:args])
        expected = jet(plain, primals, series[:args])
        for one, other in zip(*map(glassjax.tree.leaves, (found, expected)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)
