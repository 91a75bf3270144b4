"""`roll`: equal results, and loops where blocks of equations are repeated."""

import itertools

import numpy as np
import pytest
from hypothesis import given, seed
from hypothesis import strategies as st
from libraries import OURS
from programs import programs, run
from shares import examples
from tables import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import grad, jit, random, vmap
from glassjax.experimental import roll
from glassjax.runtime.repetition import _find_in

WEIGHTS = np.random.default_rng(0).normal(size=(20, 4, 4)).astype(np.float32) / 2
X = np.linspace(0.1, 1.0, 4, dtype=np.float32)


def literals(x):
    for i in range(40):
        x = jnp.sin(x) * 1.5 + i * 0.125
    return x


def rows(ws, x):
    for i in range(len(ws)):
        x = jnp.tanh(ws[i] @ x) + i
    return x


def rows_backwards(ws, x):
    for w in ws[::-1]:
        x = jnp.tanh(w @ x)
    return x


def every_second_row(ws, x):
    for i in range(18, -1, -1):
        x = jnp.tanh(ws[i] @ x) if i % 2 == 0 else x + 1.0
    return x


def list_of_weights(ws, x):
    for w in [ws[i] * 0.5 for i in range(len(ws))]:
        x = jnp.cos(w @ x)
    return x


def windows(ws, x):
    for i in range(16):
        x = jnp.tanh(x + ws[i : i + 2, 0].sum(0))
    return x


def columns(ws, x):
    rows = ws.reshape(20, 16)[:4]
    for i in range(16):
        x = jnp.tanh(rows[:, i] + x)
    return x


def earlier_iterations(x):
    a, b, c = x, x + 1.0, x * 0.5
    for _ in range(30):
        a, b, c = b, c, jnp.sin(a) + b * 0.5
    return a * b + c


def all_iterations(ws, x):
    sums = []
    for w in ws:
        x = jnp.tanh(w @ x)
        sums.append(x.sum())
    return jnp.stack(sums) + x[0]


def with_constants(ws, x):
    mean = ws.mean(0)
    for i in range(30):
        x = jnp.tanh(mean @ x) + ws[3, 0] * i
    return x


def random_steps(x):
    key = random.key(0)
    for i in range(20):
        key, subkey = random.split(key)
        x = x + random.normal(subkey, x.shape) * 0.1 * i
    return x


def nested(x):
    for i in range(20):
        for _ in range(20):
            x = jnp.sin(x) * 1.25
        x = jnp.cos(x) + i
    return x


def calls(x):
    for i in range(20):
        x = jit(lambda x, i: jnp.sin(x) + i)(x, float(i))
    return x


def two_loops(x):
    for _ in range(20):
        x = jnp.sin(x) + x
    total = jnp.sum(x)
    for _ in range(30):
        x = jnp.exp(-x) * total
    return x


BOTH = [
    rows, rows_backwards, every_second_row, list_of_weights, windows, columns, all_iterations,
    with_constants,
]  # fmt: skip
REPEATED = [
    *((f, (WEIGHTS, X)) for f in BOTH),
    *((f, (X,)) for f in (literals, earlier_iterations, random_steps, nested, two_loops)),
]


def number_of_equations(fun, *args):
    return len(jit(fun).trace(*args).jaxpr.eqns)


def loss_of(fun):
    return lambda *args: jnp.sum(jnp.sin(fun(*args)))


@for_each(("fun", "args"), REPEATED)
def test_results_and_gradients_are_equal(fun, args):
    rolled = roll(fun, at_least=8)
    found, expected = jit(rolled)(*args), jit(fun)(*args)
    assert found.aval == expected.aval
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-5)
    last = len(args) - 1
    gradients = [jit(grad(loss_of(f), argnums=last))(*args) for f in (rolled, fun)]
    np.testing.assert_allclose(*gradients, rtol=2e-3, atol=1e-5)
    batch = np.stack([args[-1], args[-1] * 0.5])
    in_axes = (*[None] * last, 0)
    mapped = [jit(vmap(f, in_axes))(*args[:-1], batch) for f in (rolled, fun)]
    np.testing.assert_allclose(*mapped, rtol=2e-4, atol=1e-5)


@for_each(("fun", "args"), REPEATED)
def test_the_program_becomes_shorter(fun, args):
    program = jit(roll(fun, at_least=8)).trace(*args).jaxpr
    assert "scan" in {str(eqn.primitive) for eqn in program.eqns}
    if fun is not all_iterations:  # which uses the results of all iterations
        assert len(program.eqns) < 0.5 * number_of_equations(fun, *args)


def test_the_gradient_of_weights_is_that_of_the_unrolled_loop():
    for fun in (rows, rows_backwards, list_of_weights):
        gradients = [jit(grad(loss_of(f)))(WEIGHTS, X) for f in (roll(fun), fun)]
        np.testing.assert_allclose(*gradients, rtol=1e-3, atol=1e-5)


def test_few_repetitions_stay_unrolled():
    assert "scan" not in str(glassjax.make_jaxpr(roll(literals, at_least=41))(X))
    assert "scan" in str(glassjax.make_jaxpr(roll(literals, at_least=40))(X))


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="at_least must be 2 or more, found 1"):
        roll(literals, at_least=1)
    with pytest.raises(TypeError, match="roll"):
        roll(3)


def test_called_programs_are_rolled_too():
    inner = jit(roll(lambda x: jit(literals)(x) + 1.0)).trace(X).jaxpr
    assert "scan" in str(inner)
    np.testing.assert_allclose(jit(roll(calls))(X), calls(X), rtol=1e-5)


def repeated(program, count):
    """A loop over a program of the primitives, whose state stays small."""

    def f(*state):
        for k in range(count):
            outs = run(program, OURS, state)
            total = sum(OURS.reduce_sum(OURS.convert(out, "float64")) for out in outs)
            state = [OURS.sin(x + OURS.convert(total, x.dtype) + 0.125 * k) for x in state]
        return list(state)

    return f


@examples(12, 100)
@given(program=programs(), count=st.integers(3, 9))
@seed(0)
def test_loops_over_random_programs_have_equal_results(program, count):
    f, inputs = repeated(program, count), program.inputs()
    tolerance = {"rtol": 1e-3, "atol": 1e-4} if program.is_narrow else {"rtol": 1e-7, "atol": 1e-9}
    rolled = roll(f, at_least=2)
    for transformed in (lambda f: f, lambda f: grad(lambda *xs: sum(map(jnp.sum, f(*xs))))):
        found, expected = jit(transformed(rolled))(*inputs), jit(transformed(f))(*inputs)
        pairs = zip(*map(glassjax.tree.leaves, (found, expected)), strict=True)
        for one, other in pairs:
            np.testing.assert_allclose(one, other, **tolerance)


# The search for repetitions.


def longest_by_trial(symbols, at_least):
    """The number of symbols in the longest repetition, found by trying all."""
    best = 0
    for period in range(1, len(symbols) // at_least + 1):
        equal = [a == b for a, b in zip(symbols, symbols[period:], strict=False)]
        runs = [len(list(group)) for is_equal, group in itertools.groupby(equal) if is_equal]
        if runs and (max(runs) + period) // period >= at_least:
            best = max(best, max(runs) + period)
    return best


@examples(100, 1000)
@given(
    before=st.lists(st.integers(0, 3), max_size=12),
    block=st.lists(st.integers(0, 2), min_size=1, max_size=7),
    count=st.integers(1, 12),
    after=st.lists(st.integers(0, 3), max_size=12),
    at_least=st.integers(3, 6),
)
@seed(0)
def test_the_longest_repetition_is_found(before, block, count, after, at_least):
    symbols = [*before, *block * count, *after]
    found = _find_in(np.array(symbols), at_least)
    if count < at_least:
        assert found is None or found.count >= at_least
        return
    assert found.length >= len(block) * count
    assert found.length <= longest_by_trial(symbols, at_least)
    part = symbols[found.start : found.start + found.length]
    assert part[found.period :] == part[: -found.period]
