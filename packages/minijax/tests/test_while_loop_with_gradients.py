"""`experimental.while_loop`: loops of an unknown number of steps, in reverse mode, too."""

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax import lax
from minijax.experimental import while_loop


def step(a, x):
    return x + 0.1 * jnp.sin(a * x)


def looped(a, x, n, max_steps=60, checkpoints=4):
    return while_loop(
        lambda carry: carry["i"] < n,
        lambda carry: {"x": step(a, carry["x"]), "i": carry["i"] + 1},
        {"x": x, "i": 0},
        max_steps=max_steps,
        checkpoints=checkpoints,
    )["x"]


def scanned(a, x, n):
    return lax.scan(lambda x, _: (step(a, x), None), x, length=n)[0]


A, X = jnp.array(1.1), jnp.array([0.3, 2.0])
DERIVATIVES = {
    "value": lambda f: f,
    "grad": lambda f: minijax.grad(lambda a, x: jnp.sum(f(a, x)), (0, 1)),
    "jit of grad": lambda f: minijax.jit(minijax.grad(lambda a, x: jnp.sum(f(a, x)), (0, 1))),
    "jacrev": lambda f: minijax.jacrev(f),
    "jacfwd": lambda f: minijax.jacfwd(f),
    "hessian": lambda f: minijax.hessian(lambda a, x: jnp.sum(f(a, x))),
    "grad of grad": lambda f: minijax.jacrev(minijax.grad(lambda a, x: jnp.sum(f(a, x)))),
    "linearize": lambda f: lambda a, x: minijax.linearize(f, a, x)[1](a, x),
}


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("n", [0, 1, 4, 17, 60])
def test_a_loop_is_a_scan_of_its_steps(derivative, n):
    ours = DERIVATIVES[derivative](lambda a, x: looped(a, x, n))(A, X)
    expected = DERIVATIVES[derivative](lambda a, x: scanned(a, x, n))(A, X)
    minijax.tree.map(
        lambda x, y: np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6), ours, expected
    )


@pytest.mark.parametrize("checkpoints", [2, 3, 16, 100])
@pytest.mark.parametrize("max_steps", [0, 1, 9, 16])
def test_it_ends_after_the_most_steps(max_steps, checkpoints):
    for derivative in ("value", "grad"):
        of = DERIVATIVES[derivative]
        ours = of(lambda a, x: looped(a, x, 1000, max_steps, checkpoints))(A, X)
        expected = of(lambda a, x: scanned(a, x, max_steps))(A, X)
        minijax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5), ours, expected)


def test_each_example_takes_its_own_steps():
    gradient = minijax.grad(lambda a, x, n: jnp.sum(looped(a, x, n)))
    xs, ns = jnp.linspace(0.1, 2.0, 6).reshape(2, 3), np.array([[0, 1, 2], [7, 30, 60]])
    mapped = minijax.vmap(minijax.vmap(gradient, (None, 0, 0)), (None, 0, 0))(A, xs, ns)
    one_by_one = [[gradient(A, xs[i, j], int(ns[i, j])) for j in range(3)] for i in range(2)]
    np.testing.assert_allclose(mapped, one_by_one, rtol=1e-5)


def counted_steps(function):
    """How many steps of loops a call takes."""
    steps = []

    def body(carry):
        minijax.debug.callback(lambda: steps.append(1))
        return carry * 1.01

    result = function(body)
    minijax.block_until_ready(result)
    minijax.effects_barrier()
    return len(steps)


def test_the_time_is_that_of_the_steps_taken():
    def gradient(body):
        f = lambda x: while_loop(lambda x: x < 1.1, body, x, max_steps=10**6, checkpoints=10)  # noqa: E731
        return minijax.jit(minijax.grad(f))(jnp.float32(1))

    def mapped(body):
        f = lambda x: while_loop(lambda x: x < 1.1, body, x, max_steps=10**6, checkpoints=10)  # noqa: E731
        return minijax.jit(minijax.vmap(f))(jnp.array([1.0, 1.05]))

    assert counted_steps(mapped) <= 2 * 10
    assert counted_steps(gradient) <= 10 * 7  # ten steps, at most once a level


def temporary_bytes(max_steps, checkpoints):
    def loss(x):
        return jnp.sum(looped(1.1, x, 5, max_steps, checkpoints))

    compiled = minijax.jit(minijax.grad(loss)).lower(jnp.ones(1000)).compile()
    return compiled.memory_analysis().temp_size_in_bytes


def test_memory_grows_with_the_logarithm_of_the_most_steps():
    kept = [temporary_bytes(10**power, 10) / 4000 for power in (1, 2, 3, 6)]
    assert kept[3] < kept[0] + 5 * 25  # carries: five levels more, not a million
    assert kept[2] - kept[1] < 25


def test_what_is_closed_over_has_derivatives():
    def loss(w):
        return while_loop(lambda x: x < 10 * w, lambda x: x * w, w, max_steps=20)

    assert minijax.grad(loss)(2.0) == 5 * 2.0**4  # which is w ** 5


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_steps": -1}, ValueError),
        ({"max_steps": 1.5}, TypeError),
        ({"max_steps": 3, "checkpoints": 1}, ValueError),
    ],
)
def test_wrong_options(options, error):
    with pytest.raises(error, match="while_loop"):
        while_loop(lambda x: x < 3, lambda x: x + 1, 0, **options)
