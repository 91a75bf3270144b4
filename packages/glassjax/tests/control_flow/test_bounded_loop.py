"""`while_loop` with `max_steps`: loops with unknown trip counts, also in reverse mode."""

import numpy as np
import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import lax


def step(a, x):
    return x + 0.1 * jnp.sin(a * x)


def looped(a, x, n, max_steps=60, checkpoints=4):
    return lax.while_loop(
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
    "grad": lambda f: glassjax.grad(lambda a, x: jnp.sum(f(a, x)), (0, 1)),
    "jit of grad": lambda f: glassjax.jit(glassjax.grad(lambda a, x: jnp.sum(f(a, x)), (0, 1))),
    "jacrev": lambda f: glassjax.jacrev(f),
    "jacfwd": lambda f: glassjax.jacfwd(f),
    "hessian": lambda f: glassjax.hessian(lambda a, x: jnp.sum(f(a, x))),
    "grad of grad": lambda f: glassjax.jacrev(glassjax.grad(lambda a, x: jnp.sum(f(a, x)))),
    "linearize": lambda f: lambda a, x: glassjax.linearize(f, a, x)[1](a, x),
}


def close(ours, expected):
    glassjax.tree.map(
        lambda x, y: np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6), ours, expected
    )


def test_a_loop_is_a_scan_of_its_steps():
    def steps(a, x, n):
        """As many as are taken of the most."""
        each = lambda x, i: (jnp.where(i < n, step(a, x), x), None)  # noqa: E731
        return lax.scan(each, x, jnp.arange(60))[0]

    @glassjax.jit
    def of_each_derivative(n):
        return {
            name: (of(lambda a, x: looped(a, x, n))(A, X), of(lambda a, x: steps(a, x, n))(A, X))
            for name, of in DERIVATIVES.items()
        }

    for n in (0, 1, 4, 17, 60):
        for name, (ours, expected) in of_each_derivative(n).items():
            try:
                close(ours, expected)
            except AssertionError as error:
                raise AssertionError(f"{name} of {n} steps") from error


@for_each("derivative", ["value", "grad", "linearize"])
def test_a_loop_that_nothing_is_around(derivative):
    of = DERIVATIVES[derivative]
    close(of(lambda a, x: looped(a, x, 4))(A, X), of(lambda a, x: scanned(a, x, 4))(A, X))


def test_a_loop_may_take_the_most_steps():
    cases = [(most, count) for most in (0, 1, 9, 16) for count in (2, 3, 16, 100)]

    def value_and_gradient(f):
        return f(A, X), DERIVATIVES["grad"](f)(A, X)

    @glassjax.jit
    def ends():
        ours = [
            value_and_gradient(lambda a, x, case=case: looped(a, x, case[0], *case))
            for case in cases
        ]
        return ours, {
            most: value_and_gradient(lambda a, x, most=most: scanned(a, x, most))
            for most, _ in cases
        }

    ours, expected = ends()
    for (most, _), found in zip(cases, ours, strict=True):
        close(found, expected[most])


@for_each("derivative", DERIVATIVES)
def test_a_loop_that_needs_more_steps_has_no_number(derivative):
    """A result after the last step would be silently wrong."""
    for most in (1, 16):
        of = DERIVATIVES[derivative](lambda a, x, most=most: looped(a, x, most + 1, most))
        for found in glassjax.tree.leaves(glassjax.jit(of)(A, X)):
            # what does not depend on the carry is zero in any case
            assert np.isnan(found).any()
            assert not np.any(np.nan_to_num(found))


def test_what_stands_for_numbers_of_other_kinds():
    def loop(n):
        init = (jnp.int8(5), jnp.uint8(5), True, jnp.complex64(2j), jnp.float16(2), jnp.int32(0))
        return lax.while_loop(
            lambda carry: carry[-1] < n,
            lambda carry: (
                carry[0],
                carry[1] + 1,
                carry[2] & True,
                carry[3] * 1,
                -carry[4],
                carry[5] + 1,
            ),
            init,
            max_steps=2,
        )

    finished, unfinished = glassjax.vmap(loop)(jnp.array([2, 3]))[:-1], loop(3)
    assert [x[0].item() for x in finished] == [5, 7, True, 2j, 2.0]
    for found in (unfinished[:-1], [x[1] for x in finished]):
        constant, unsigned, truth, *inexact = found
        assert (constant, unsigned, truth) == (5, 255, True)
        assert np.isnan(inexact).all()
    assert unfinished[-1] == np.iinfo(np.int32).min


def test_each_example_takes_its_own_steps():
    gradient = glassjax.jit(glassjax.grad(lambda a, x, n: jnp.sum(looped(a, x, n))))
    xs, ns = jnp.linspace(0.1, 2.0, 6).reshape(2, 3), np.array([[0, 1, 2], [7, 30, 60]])
    of_rows = glassjax.vmap(glassjax.vmap(gradient, (None, 0, 0)), (None, 0, 0))
    mapped = glassjax.jit(of_rows)(A, xs, ns)
    one_by_one = [[gradient(A, xs[i, j], ns[i, j]) for j in range(3)] for i in range(2)]
    np.testing.assert_allclose(mapped, one_by_one, rtol=1e-5)


def counted_steps(function):
    """How many steps of loops a call takes."""
    steps = []

    def body(carry):
        glassjax.debug.callback(lambda: steps.append(1))
        return carry * 1.01

    result = function(body)
    glassjax.block_until_ready(result)
    glassjax.effects_barrier()
    return len(steps)


def test_the_time_is_that_of_the_steps_taken():
    def gradient(body):
        f = lambda x: lax.while_loop(lambda x: x < 1.1, body, x, max_steps=10**6, checkpoints=10)  # noqa: E731
        return glassjax.jit(glassjax.grad(f))(jnp.float32(1))

    def mapped(body):
        f = lambda x: lax.while_loop(lambda x: x < 1.1, body, x, max_steps=10**6, checkpoints=10)  # noqa: E731
        return glassjax.jit(glassjax.vmap(f))(jnp.array([1.0, 1.05]))

    assert counted_steps(mapped) <= 2 * 10
    assert counted_steps(gradient) <= 10 * 7  # ten steps, at most once a level


def temporary_bytes(max_steps, checkpoints):
    def loss(x):
        return jnp.sum(looped(1.1, x, 5, max_steps, checkpoints))

    compiled = glassjax.jit(glassjax.grad(loss)).lower(jnp.ones(1000)).compile()
    return compiled.memory_analysis().temp_size_in_bytes


def test_memory_grows_with_the_logarithm_of_the_most_steps():
    kept = [temporary_bytes(10**power, 10) / 4000 for power in (1, 2, 3, 6)]
    assert kept[3] < kept[0] + 5 * 25  # carries: five levels more, not a million
    assert kept[2] - kept[1] < 25


def test_what_is_closed_over_has_derivatives():
    def loss(w):
        return lax.while_loop(lambda x: x < 10 * w, lambda x: x * w, w, max_steps=20)

    assert glassjax.grad(loss)(2.0) == 5 * 2.0**4  # which is w ** 5


@for_each(
    ("options", "error"),
    [
        ({"max_steps": -1}, ValueError),
        ({"max_steps": 1.5}, TypeError),
        ({"max_steps": 3, "checkpoints": 1}, ValueError),
    ],
)
def test_wrong_options(options, error):
    with pytest.raises(error, match="while_loop"):
        lax.while_loop(lambda x: x < 3, lambda x: x + 1, 0, **options)
