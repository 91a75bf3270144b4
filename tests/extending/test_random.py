"""`extend.random` and the primitives of random keys, beside JAX."""

import importlib

import jax
import jax.extend.random
import numpy as np
import pytest
from libraries import assert_same_results, refused

import glassjax
import glassjax.extend.random


def compare(program):
    """Of a program of a library, its numpy, its `random` and its `extend.random`."""

    def run(numpy, lib):
        return lib.jit(lambda: program(lib, numpy, lib.random, lib.extend.random))()

    run.is_refused = getattr(program, "is_refused", False)
    assert_same_results(run, rtol=1e-6)


def squares(lib, n, tag="?", shape=(2,)):
    """An implementation that is easy to follow."""
    size = int(np.prod(shape))
    return lib.extend.random.define_prng_impl(
        key_shape=shape,
        seed=lambda seed: n.full(shape, seed.astype(n.uint32)),
        split=lambda key, sizes: (
            key.reshape(-1) * n.arange(1, 1 + size * int(np.prod(sizes)), dtype=n.uint32)
            .reshape(-1, size)
        ).reshape(*sizes, *shape),
        random_bits=lambda key, width, sizes: (
            n.full(sizes, key.reshape(-1)[0], f"uint{width}")
            + n.arange(int(np.prod(sizes)), dtype=f"uint{width}").reshape(sizes)
        ),
        fold_in=lambda key, data: key ^ data,
        name="squares",
        tag=tag,
    )  # fmt: skip


def test_implementations_of_users():
    def program(lib, n, r, x, shape):
        impl = squares(lib, n, shape=shape)
        key = r.key(7, impl=impl)
        keys = r.split(key, 3)
        words = np.arange(np.prod(shape), dtype=np.uint32).reshape(shape)
        return [
            *map(r.key_data, [key, keys, r.fold_in(key, 5), r.split(key, (2, 2)), keys[::-1]]),
            r.key_data(r.wrap_key_data(words, impl=impl)),
            r.PRNGKey(3, impl=impl),
            r.bits(key, (2, 2)),
            r.bits(key, (3,), "uint8"),
            lib.vmap(lambda k: r.bits(k, (2,)))(keys),
            lib.jit(lambda k: r.uniform(r.split(k)[1], (3,)))(key),
            r.key_impl(key) == impl,
            key.dtype == r.key_dtype(impl),
            key.dtype == r.key_dtype(squares(lib, n, shape=shape)),
            keys == keys[1],
        ]

    compare(lambda *given: [
        [program(*given, shape) for shape in [(1,), (2,), (3,), (4,), (2, 2)]],
        given[2].gamma(given[2].key(1), 2.0),
    ])  # fmt: skip


def test_implementations_of_users_outside_of_programs():
    r = glassjax.random
    key = r.key(7, impl=squares(glassjax, glassjax.numpy))
    np.testing.assert_array_equal(r.key_data(r.split(key, 3)), [[7, 14], [21, 28], [35, 42]])
    np.testing.assert_array_equal(r.bits(key, (2, 2)), [[7, 8], [9, 10]])
    np.testing.assert_array_equal(r.key_data(r.fold_in(key, 5)), [7 ^ 5, 7 ^ 5])


def test_functions_of_implementations():
    def program(lib, n, r, x):
        count = np.arange(7, dtype=np.uint32)
        words = np.uint32([3, 4])
        return [
            *(r.key_data(x.random_seed(5, impl)) for impl in (
                x.threefry_prng_impl, x.rbg_prng_impl, x.unsafe_rbg_prng_impl)),
            r.key_data(x.random_seed(np.arange(3), x.rbg_prng_impl)),
            r.key_data(x.seed_with_impl(x.threefry_prng_impl, -1)),
            x.threefry_2x32(words, count),
            x.threefry_2x32(words, count[:6].reshape(2, 3)),
            x.threefry_2x32((words[0], words[1]), count[:0]),
            lib.jit(x.threefry_2x32)(words, n.asarray(count)),
            *x.threefry2x32_p.bind(words[0], words[1], count, n.asarray(count)),
        ]  # fmt: skip

    compare(program)


def test_primitives():
    def program(lib, n, r, x):
        p = importlib.import_module(f"{lib.__name__}.extend.core.primitives")
        keys = p.random_seed_p.bind(n.arange(2), impl=x.threefry_prng_impl)
        alone = r.key(3)
        return [
            r.key_data(keys),
            r.key_data(p.random_split_p.bind(keys, shape=(3,))),
            r.key_data(p.random_fold_in_p.bind(keys, n.uint32([4, 5]))),
            r.key_data(p.random_fold_in_p.bind(alone, n.uint32([4, 5]))),
            p.random_bits_p.bind(keys, bit_width=16, shape=(3,)),
            r.random_gamma_p.bind(keys, np.float32([[1, 2, 3], [4, 5, 6]]), log_space=False),
            r.random_gamma_p.bind(alone, np.float32([1, 2, 3]), log_space=True),
        ]

    compare(program)


def test_jaxprs_name_the_primitives_as_jaxs():
    for lib in (jax, glassjax):
        r = lib.random

        def program(key, r=r):
            return r.bits(r.split(r.fold_in(key, 3))[0], (3,))

        names = [eqn.primitive.name for eqn in lib.make_jaxpr(program)(r.key(0)).eqns]
        for name in ("random_fold_in", "random_split", "random_bits"):
            assert name in names


WRONG = {
    "counts of another dtype": lambda lib, n, r, x: x.threefry_2x32(
        np.uint32([1, 2]), np.arange(3, dtype=np.int32)
    ),
    "a key of another dtype": lambda lib, n, r, x: x.threefry_2x32(
        np.int32([1, 2]), np.arange(3, dtype=np.uint32)
    ),
}


def test_what_is_refused():
    for wrong in WRONG.values():
        compare(refused(wrong))


def test_a_key_of_many_words_is_refused():
    with pytest.raises(NotImplementedError, match="1 to 4 words here, found key_shape"):
        squares(glassjax, glassjax.numpy, shape=(5,))
