"""`experimental.random`: stateful generators, beside JAX."""

import importlib

import jax
import numpy as np
import pytest
from libraries import assert_same_results, refused

import glassjax


def generator(lib, *args, **kwargs):
    made = importlib.import_module(f"{lib.__name__}.experimental.random")
    return made.stateful_rng(*args, **kwargs)


def compare(program, jitted=False):
    """Of a library, its numpy, and a generator; what JAX gives, in one program if it can."""

    def run(numpy, lib):
        def results():
            return program(lib, numpy, generator(lib, 42))

        return lib.jit(results)() if jitted and lib is jax else results()

    run.is_refused = getattr(program, "is_refused", False)
    assert_same_results(run, rtol=2e-6)


def test_each_use_changes_the_state():
    compare(lambda lib, n, rng: [
        rng.uniform(),
        rng.uniform(1, np.float32([2, 3])),
        rng.uniform(size=(2, 3), dtype="float16"),
        rng.random(3),
        rng.random(),
        rng.normal(),
        rng.normal(np.float32([1, 2]), 3),
        rng.normal(1.0, 2.0, (2,)),
        rng.integers(10, size=4),
        rng.integers(5, np.array([7, 8, 9])),
        lib.random.key_data(rng.key()),
        lib.random.key_data(rng.key(3)),
        lib.random.key_data(rng.key((2, 1))),
        [child.integers(0, 10, 2) for child in rng.spawn(2)],
    ], jitted=True)  # fmt: skip


def test_in_transformations():
    compare(lambda lib, n, rng: [
        lib.jit(rng.uniform)(),
        lib.jit(rng.uniform)(),
        lib.jit(lambda rng: rng.normal(size=(2,)))(rng),
        lib.vmap(lambda rng, x: x + rng.uniform())(rng.split(3), n.zeros(3)),
        lib.lax.fori_loop(0, 3, lambda i, x: x + rng.uniform(), 0.0),
        rng.uniform(),
        lib.jit(lambda seed: generator(lib, seed).uniform(size=2))(7),
        len(lib.tree.leaves(rng)),
    ])  # fmt: skip


def test_implementations():
    assert_same_results(lambda n, lib: generator(lib, 3, impl="rbg").uniform(size=3))
    assert generator(glassjax).random() != generator(glassjax).random()


def test_what_is_refused():
    for program in [
        lambda lib, n, rng: rng.split(2).key(),
        lambda lib, n, rng: rng.normal(dtype="int32"),
        lambda lib, n, rng: type(rng)(n.ones(2), None),
        lambda lib, n, rng: lib.jit(lambda: generator(lib).uniform())(),
    ]:
        compare(refused(program))


@pytest.mark.newest_jax
def test_the_state_is_shown():
    assert repr(generator(glassjax, 42)) == repr(generator(jax, 42))
