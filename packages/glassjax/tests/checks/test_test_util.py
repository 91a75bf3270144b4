"""`test_util.check_grads` finds wrong derivatives, and only those."""

import numpy as np
import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import lax
from glassjax.test_util import check_grads, check_jvp, check_vjp

FUNCTIONS = {
    "sine": (lambda x: jnp.sin(x) * x, (np.linspace(0.0, 1.0, 3),)),
    "complex": (lambda x: x**2 * 1j, (np.ones(2) * (1 + 2j),)),
    "trees": (
        lambda d: {"product": d["a"] @ d["b"]},
        ({"a": np.ones((3, 2)), "b": np.full((2, 3), 2.0)},),
    ),
    "integers": (lambda x, n: (x * n, n + 1), (np.ones(3), 3)),
    "nothing": (lambda x: x, (np.ones(0),)),
}


@for_each("wide", [False, True])
@for_each("name", FUNCTIONS)
def test_right_derivatives_are_found_right(name, wide):
    function, args = FUNCTIONS[name]
    with glassjax.enable_x64(wide):
        check_grads(function, args, order=2)


@for_each("mode", ["fwd", "rev"])
def test_wrong_derivatives_are_found(mode):
    with pytest.raises(AssertionError, match="Mismatched elements: 1 / 1"):
        check_grads(lambda x: lax.stop_gradient(x) * x, (2.0,), order=1, modes=(mode,))


@for_each("mode", ["fwd", "rev"])
def test_wrong_second_derivatives_are_found(mode):
    @glassjax.custom_jvp
    def square(x):
        return x * x

    square.defjvp(lambda primals, tangents: (primals[0] ** 2, 2 * primals[0] * tangents[0]))

    @glassjax.custom_jvp
    def broken(x):
        return x * x

    broken.defjvp(
        lambda primals, tangents: (
            primals[0] ** 2,
            2 * lax.stop_gradient(primals[0]) * tangents[0],
        )
    )
    check_grads(square, (1.5,), order=2, modes=(mode,))
    check_grads(broken, (1.5,), order=1, modes=(mode,))
    with pytest.raises(AssertionError):
        check_grads(broken, (1.5,), order=2, modes=(mode,))


def test_the_function_of_the_derivative_is_the_callers():
    check_jvp(jnp.sin, lambda x, t: (jnp.sin(*x), jnp.cos(*x) * t[0]), (0.5,))
    check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (jnp.cos(x) * ct,)), (0.5,))
    with pytest.raises(AssertionError, match="mine JVP primal"):
        check_jvp(jnp.sin, lambda x, t: (jnp.cos(*x), t[0]), (0.5,), err_msg="mine")
    with pytest.raises(AssertionError, match="mine VJP cotangent"):
        check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (ct,)), (0.5,), err_msg="mine")


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="modes must be of 'fwd' and 'rev', found 'fwd'"):
        check_grads(jnp.sin, (1.0,), order=1, modes="fwd")
