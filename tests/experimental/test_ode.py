"""`odeint`, against JAX and known solutions."""

from functools import partial

import jax
import jax.experimental.ode
import numpy as np
import pytest
from shares import a_few, one_in

import glassjax
import glassjax.experimental.ode

TIMES = np.array([0.0, 0.3, 1.0, 1.1, 2.5])


def decay(library, y0, t, rate):
    return library.experimental.ode.odeint(lambda y, t, rate: -rate * y, y0, t, rate)


def pendulum(library, y0, t, rate):
    jnp = library.numpy
    start = {"angle": y0, "speed": 0.5 * y0}

    def fun(y, t, g):
        return {"angle": y["speed"], "speed": -g["of"] * jnp.sin(y["angle"]) * (1 + 0.1 * t)}

    return library.experimental.ode.odeint(fun, start, t, {"of": rate})["angle"]


def closed_over(library, y0, t, rate):
    return library.experimental.ode.odeint(lambda y, t: library.numpy.cos(rate * t) * y, y0, t)


def van_der_pol(library, y0, t, rate):
    def fun(y, t, mu):
        return library.numpy.stack([y[1], 2 * mu * (1 - y[0] ** 2) * y[1] - y[0]])

    start = library.numpy.stack([y0, 0.0 * y0])
    return library.experimental.ode.odeint(fun, start, t, rate)[:, 0]


PROGRAMS = [pendulum, decay, closed_over, van_der_pol]


def same(ours, theirs, tolerance=1e-5):
    for found, expected in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("program", one_in(2, PROGRAMS))
def test_values_and_gradients(program):
    """With respect to the start, each of the times, and what the function is given."""

    def everything(library, *args):
        def loss(*xs):
            out = program(library, *xs)
            return (out**2 * np.arange(1.0, 6.0)).sum(), out

        return library.grad(loss, argnums=(0, 1, 2), has_aux=True)(*args)

    same(*(lib.jit(partial(everything, lib))(0.7, TIMES, 1.3) for lib in (glassjax, jax)))


def test_values_of_32_bits():
    def everything(library, *args):
        return [program(library, *args) for program in a_few(PROGRAMS)]

    args = np.float32(0.7), TIMES.astype(np.float32), np.float32(1.3)
    same(*(lib.jit(partial(everything, lib))(*args) for lib in (glassjax, jax)))


def test_the_known_solution_and_its_derivatives():
    def last(rate):
        return decay(glassjax, 2.0, np.array([0.5, 2.0]), rate)[-1]

    @glassjax.jit
    def derivatives(rate):
        return glassjax.value_and_grad(last)(rate), glassjax.grad(glassjax.grad(last))(rate)

    (value, slope), second = derivatives(1.3)
    np.testing.assert_allclose([value, slope], [2 * np.exp(-1.95), -3 * np.exp(-1.95)], rtol=1e-6)
    np.testing.assert_allclose(second, 4.5 * np.exp(-1.95), rtol=1e-5)


def test_arguments_of_other_dtypes_have_no_gradient():
    def last(rate):
        fun = lambda y, t, rate, count, signs: -y * rate * count * signs["one"]  # noqa: E731
        signs = {"one": np.array(1), "yes": np.array(True)}
        return glassjax.experimental.ode.odeint(fun, 1.0, np.array([0.0, 1.0]), rate, 2, signs)[-1]

    np.testing.assert_allclose(glassjax.jit(glassjax.grad(last))(0.5), -2 * np.exp(-1.0), rtol=1e-6)


def test_mapped_problems_are_problems_of_their_own():
    """Steps adapt to each example, so that one does not change another."""
    rates = np.array([0.1, 3.0, 20.0])
    solve = glassjax.jit(lambda rate: decay(glassjax, 1.0, TIMES, rate))
    found = glassjax.vmap(solve)(rates)
    np.testing.assert_allclose(found, np.exp(-rates[:, None] * TIMES), atol=1e-7)
    np.testing.assert_allclose(found, np.stack([solve(rate) for rate in rates]), rtol=1e-9)


def test_tolerances_and_limits():
    odeint = glassjax.experimental.ode.odeint

    @glassjax.jit
    def solutions():
        return (
            odeint(lambda y, t: -y, 1.0, TIMES, rtol=1e-3, atol=1e-3),
            odeint(lambda y, t: -y, 1.0, TIMES, hmax=0.01),
            odeint(lambda y, t: -y, 1.0, np.array([1.0, 1.0, 2.0])),
        )

    rough, fine, backwards = map(np.asarray, solutions())
    assert 1e-8 < np.abs(rough - np.exp(-TIMES)).max() < 1e-3
    assert np.abs(fine - np.exp(-TIMES)).max() < 1e-9
    np.testing.assert_allclose(backwards, [1, 1, np.exp(-1)], rtol=1e-7)
    assert odeint(lambda y, t: -y, 1.0, TIMES[:1]).shape == (1,)


def test_what_cannot_be_solved_is_nan():
    odeint = glassjax.experimental.ode.odeint
    times = np.array([0.0, 1.0, 2.0])

    @glassjax.jit
    def solutions():
        return (
            odeint(lambda y, t: y * np.nan, 1.0, times),
            odeint(lambda y, t: glassjax.numpy.where(t > 1.5, np.nan, -y), 1.0, times),
            odeint(lambda y, t: -y, 1.0, times[::-1]),
            odeint(lambda y, t: -y, 1.0, times, mxstep=3),
            odeint(lambda y, t: y * y, 1.0, times),
        )

    nan, later, backwards, few_steps, blown_up = (np.isnan(x).tolist() for x in solutions())
    assert nan == backwards == few_steps == [False, True, True]
    assert later == [False, False, True]
    assert blown_up[2]  # at the time 1


def test_numbers_of_32_bits():
    with glassjax.enable_x64(False):
        out = glassjax.experimental.ode.odeint(lambda y, t: -y, 1.0, np.array([0.0, 1.0]))
        assert out.dtype == np.float32
        np.testing.assert_allclose(out, [1, np.exp(-1)], rtol=1e-6)


def test_step_sizes():
    for args in [(1.0, 0.5), (0.3, 2.0), (1.0, 1e9), (1.0, 1e-9)]:
        found, expected = (
            library.experimental.ode.optimal_step_size(*map(np.float64, args))
            for library in (glassjax, jax)
        )
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((None, 1.0, TIMES), TypeError, "odeint"),
        ((lambda y, t: y, 1, TIMES), TypeError, "y0 must be of a floating-point dtype"),
        ((lambda y, t: y, 1.0, np.arange(3)), TypeError, "t must be of a floating-point dtype"),
        ((lambda y, t: y, 1.0, 0.5), ValueError, "a row of times"),
        ((lambda y, t: y, 1.0, TIMES[:0]), ValueError, "a row of times"),
        ((lambda y, t: (y, y), 1.0, TIMES), TypeError, "must return the derivative"),
        ((lambda y, t: y[:1], np.ones(2), TIMES), TypeError, r"shape \(2,\), and .* shape \(1,\)"),
        ((lambda y, t, a: y, 1.0, TIMES, "a"), TypeError, "pytrees of arrays, found 'a'"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        glassjax.experimental.ode.odeint(*arguments)
