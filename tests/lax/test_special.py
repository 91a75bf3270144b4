"""Special functions and polynomials of `lax`, beside JAX."""

import functools
import itertools

import jax
import numpy as np
import pytest
from libraries import assert_all_same_results, assert_close

import glassjax

F32 = np.float32


SPECIAL = {
    "erf_inv": (F32([-1, -0.9, -0.1, 0, 0.3, 0.999, 1, 1.5, np.nan]),),
    "lgamma": (F32([-1.5, -0.2, 0, 0.1, 1, 2, 3.7, 50, np.inf]),),
    "digamma": (F32([-1.5, -0.2, 0.1, 1, 2, 3.7, 50, np.inf]),),
    "bessel_i0e": (F32([-30, -2, -0.1, 0, 0.1, 3, 9, 100]),),
    "bessel_i1e": (F32([-30, -2, -0.1, 0, 0.1, 3, 9, 100]),),
    "zeta": (F32([1.5, 2, 3, 4.5, 1, 0.5]), F32([0.5, 1, 2.5, 10, 2, 2])),
    "polygamma": (F32([1, 2, 3, 0]), F32([0.5, 1, 2.5, 10])),
}


@pytest.mark.bits(32)
def test_special_functions():
    def program(n, lib, name):
        *before, last = SPECIAL[name]
        inner = [each[1:4] for each in (*before, last)]
        f = getattr(lib.lax, name)
        if name == "zeta":
            return [f(*before, last)]
        slopes = lib.grad(lambda y: f(*inner[:-1], y).sum())
        y = inner[-1]
        return [f(*before, last), *lib.jvp(slopes, (y,), (y + 1,))]

    programs = {name: functools.partial(program, name=name) for name in SPECIAL}
    assert_all_same_results(programs, rtol=4e-5)


def assert_same(function, rtol, atol=None):
    """What a function of a library gives, in one program, is the same for both."""
    assert_close(*(lib.jit(lambda lib=lib: function(lib))() for lib in (glassjax, jax)), rtol, atol)


def test_polynomials():
    x = np.array([[0.5, -1.5]], "float32")

    def polynomials(lib):
        out = []
        for count, unroll in itertools.product((0, 1, 3, 12), (None, 2)):
            numbers = [float(i) for i in range(count)]
            arrays = [np.full((2, 1), i, "float32") for i in range(count)]

            def of_numbers(x, numbers=numbers, unroll=unroll):
                return lib.lax.polynomial(x, numbers, unroll=unroll)

            out += [of_numbers(x), lib.lax.polynomial(x, arrays, unroll=unroll)]
            out.append(lib.grad(lambda x, f=of_numbers: f(x)[0, 0])(x))
        return out

    assert_same(polynomials, 1e-5)


def test_a_polynomial_is_transposed_in_its_coefficients_only():
    one = np.float32(1)
    transposed = glassjax.linear_transpose(lambda c: glassjax.lax.polynomial(3 * one, [c, c]), one)
    np.testing.assert_array_equal(transposed(one), [4.0])
    with pytest.raises(
        glassjax.errors.NonlinearError, match="`polynomial`, which is not linear in operand 0"
    ):
        glassjax.linear_transpose(lambda x: glassjax.lax.polynomial(x, [0.0, 1.0]), one)(one)
