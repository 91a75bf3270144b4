"""The generators "rbg", "unsafe_rbg" and older Threefry: the same bits as JAX."""

from functools import partial

import jax
import numpy as np
import pytest
from libraries import assert_all_same_results, assert_same_results, refused
from shares import IS_NIGHT, one_in

import glassjax

compare = partial(assert_same_results, rtol=0)
MODES = {
    "rbg": {"default_prng_impl": "rbg"},
    "unsafe_rbg": {"default_prng_impl": "unsafe_rbg"},
    "one stream": {"threefry_partitionable": False},
}
NAMES = ["threefry2x32", "rbg", "unsafe_rbg"]
every_mode = pytest.mark.parametrize("mode", MODES)


def in_mode(mode, program):
    """A program that is compiled under the settings of a mode, in both libraries."""

    def run(numpy, lib):
        (setting,) = MODES[mode].items()
        with lib.enable_x64(False), getattr(lib, setting[0])(setting[1]):
            return lib.jit(lambda: program(lib, numpy, lib.random))()

    return run


def words(lib, keys):
    return [NAMES.index(str(lib.random.key_impl(keys))), keys.shape, lib.random.key_data(keys)]


@every_mode
def test_keys(mode):
    def program(lib, n, r):
        keys = r.split(r.key(7), 4)
        typed = [
            r.key(2**31 + 5),
            r.key(n.array(-3)),
            r.split(r.key(1), (2, 3)),
            r.split(r.key(1), 3)[1],
            r.fold_in(r.key(1), 5),
            r.fold_in(r.key(1), 2**32 - 1),
            r.wrap_key_data(r.key_data(keys)),
            lib.vmap(r.split)(keys),
            lib.vmap(lambda k: r.split(k, (2, 2)))(keys),
            lib.vmap(r.fold_in)(keys, n.arange(4)),
            lib.vmap(r.fold_in, (None, 0))(keys[0], n.arange(4)),
            lib.vmap(r.fold_in, (0, None))(keys, 5),
            lib.vmap(lambda k: lib.vmap(lambda i: r.fold_in(k, i))(n.arange(3)))(keys),
            lib.vmap(lambda i: lib.vmap(lambda k: r.fold_in(k, i))(keys))(n.arange(3)),
            lib.vmap(r.key)(n.arange(3)),
        ]  # fmt: skip
        # These are of one rule for all implementations.
        typed += [
            keys[n.array([2, 0])],
            n.where(n.array([True, False, True, False]), keys, keys[0]),
            n.stack([keys[1], r.key(3)]),
            keys.reshape(2, 2).T[::-1],
            keys.at[1].set(keys[0]),
            n.take(keys, n.array([2, 5])),
            n.full((2,), 7, keys.dtype),
            lib.jit(r.clone)(keys),
            lib.lax.scan(lambda k, i: (r.fold_in(k, i), k), r.key(1), n.arange(3)),
            lib.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, r.split(s[1])[0]),
                               (0, keys[2]))[1],
            lib.vmap(lambda p, k: lib.lax.cond(p, r.clone, lambda k: r.fold_in(k, 2), k))(
                n.array([True, False, True, False]), keys),
            lib.lax.dynamic_slice(keys, (n.array(1),), (2,)),
        ] if IS_NIGHT or mode == "rbg" else []  # fmt: skip
        older = r.PRNGKey(5)
        return [
            [
                words(lib, keys)
                for keys in jax.tree.leaves(typed, is_leaf=lambda x: hasattr(x, "at"))
            ],
            older,
            r.split(older, 3),
            r.fold_in(older, 3),
            r.uniform(older, (3,)),
            lib.vmap(r.split)(r.split(older)),
            keys == keys[1],
            keys != keys[1],
            keys.dtype == r.key_dtype(),
            keys.dtype == r.key_dtype("rbg"),
            keys.dtype == r.key(0, impl="threefry2x32").dtype,
        ]

    compare(in_mode(mode, program))


@pytest.mark.parametrize(
    ("mode", "x64"), one_in(2, [(mode, x64) for mode in MODES for x64 in (True, False)])
)
def test_bits(mode, x64):
    def program(lib, n, r):
        (setting,) = MODES[mode].items()
        with lib.enable_x64(x64), getattr(lib, setting[0])(setting[1]):
            return lib.jit(lambda key, keys: draws(lib, n, r, key, keys))(
                r.key(3), r.split(r.key(4), 5)
            )

    def draws(lib, n, r, key, keys):
        return [
            *(
                r.bits(key, shape, dtype)
                for i, dtype in enumerate(["uint8", "uint16", "uint32", "uint64"][: 3 + x64])
                for j, shape in enumerate([(5,), (130,), (), (2, 0)])
                if IS_NIGHT or (i + j) % 2 == 0
            ),
            lib.vmap(lambda k: r.bits(k, (3,)))(keys),
            lib.vmap(lambda k: r.bits(k, (3,), "uint8"), out_axes=1)(keys),
            lib.vmap(lib.vmap(lambda k: r.bits(k, (2,))))(keys[:4].reshape(2, 2)),
            lib.vmap(lambda k: r.bits(r.split(k)[0], (3,)))(keys),
            lib.vmap(lambda i: r.bits(r.fold_in(key, i), (3,)))(n.arange(4)),
            lib.lax.map(lambda k: r.bits(k, (3,)), keys),
        ]

    compare(lambda numpy, lib: program(lib, numpy, lib.random))


# By day those of which the others are made.
BY_DAY = {"bernoulli", "gamma", "normal", "permutation", "randint", "uniform"}
DRAWS = {
    "bernoulli": (0.3, (5,)),
    "beta": (np.float32([0.5, 3]), 2.0),
    "binomial": (np.float32([5, 100]), np.float32([0.4, 0.3])),
    "categorical": (np.float32([0, 1, 2]), -1, (5,)),
    "choice": (10, (3,), False),
    "exponential": ((3,),),
    "gamma": (np.float32([0.5, 3]), (3, 2)),
    "gumbel": ((3,),),
    "lognormal": (0.5, (3,)),
    "multinomial": (10.0, np.float32([0.2, 0.8])),
    "normal": ((3,), "complex64"),
    "permutation": (10,),
    "rademacher": ((3,),),
    "randint": ((3,), 0, 10),
    "truncated_normal": (-1.0, 2.0, (3,)),
    "uniform": ((3,),),
}


@pytest.mark.parametrize("mode", one_in(2, ["rbg", "one stream"]))
def test_distributions(mode):
    """Each in its own program would take longer to compile."""

    def program(lib, n, r):
        def draws(key):
            names = [name for name in DRAWS if IS_NIGHT or name in BY_DAY]
            return {name: getattr(r, name)(key, *DRAWS[name]) for name in names}

        key, mapped = r.key(5), lib.jit(lib.vmap(draws))
        return mapped(r.split(key, 3)) if mode == "rbg" else lib.jit(draws)(key)

    assert_same_results(in_mode(mode, program), rtol=1e-5)


def test_poisson_of_one_stream():
    assert_same_results(
        in_mode("one stream", lambda lib, n, r: r.poisson(r.key(5), np.float32([0.5, 30, 5])))
    )


def test_gradients():
    def program(lib, n, r):
        def loss(a, key):
            return (r.gamma(key, a, (2, 3)) + r.uniform(key, (2, 3), maxval=a)).sum()

        keys = r.split(r.key(1), 3)
        a = np.float32([0.2, 1.5, 3.0])
        alone = [lib.grad(loss)(a, r.key(0))] if IS_NIGHT else []
        return alone, lib.vmap(lib.grad(loss), (None, 0))(a, keys)

    assert_same_results(in_mode("rbg", program), rtol=1e-5)


def test_dtypes_of_implementations():
    compare(lambda n, lib: lib.jit(lambda: [
        lib.random.key_data(lib.random.key(3, impl="rbg")),
        lib.random.key_data(lib.random.key(3, dtype=lib.random.key_dtype("unsafe_rbg"))),
        lib.random.PRNGKey(3, impl="unsafe_rbg"),
        lib.random.normal(lib.random.wrap_key_data(np.arange(4, dtype=np.uint32), impl="rbg")),
        lib.random.key(0, impl="rbg").nbytes,
    ])())  # fmt: skip
    for make in (
        lambda r: repr(r.key(3, impl="unsafe_rbg")),
        lambda r: repr(r.split(r.key(3, impl="rbg"))),
        lambda r: str(r.key_impl(r.key(3, impl="unsafe_rbg"))),
    ):
        assert make(glassjax.random) == make(jax.random)


WRONG = {
    "both": lambda r, n: r.key(0, impl="rbg", dtype="rbg"),
    "a number": lambda r, n: r.key(0, impl=3),
    "words of another size": lambda r, n: r.wrap_key_data(np.zeros(2, np.uint32), impl="rbg"),
    "no words": lambda r, n: r.wrap_key_data(np.zeros(4, np.int32), impl="rbg"),
    "added": lambda r, n: r.key(0, impl="rbg") + 1,
    "other keys compared": lambda r, n: r.key(0, impl="rbg") == r.key(0),
}


def test_what_is_refused():
    assert_all_same_results(
        {
            name: refused(lambda n, lib, wrong=wrong: wrong(lib.random, n))
            for name, wrong in WRONG.items()
        }
    )


def test_older_keys_may_be_refused():
    for value in ("warn", "error"):
        with jax.legacy_prng_key(value), glassjax.legacy_prng_key(value):
            for lib in (jax, glassjax):
                key = lib.random.PRNGKey(0)
                is_error = value == "error"
                with pytest.raises(ValueError, match="key") if is_error else pytest.warns():
                    lib.random.uniform(key)
                lib.random.uniform(lib.random.key(0))
    compare(lambda n, lib: lib.random.uniform(lib.random.PRNGKey(0)))


# Halves that are no floating point numbers that survive arithmetic: signaling NaN, subnormal, -0.
PATTERNS = np.uint32([0, 1, 0x80000000, 0x7FF00000, 0x7FF00001, 0xFFF00001, 0x000FFFFF])


def test_every_pattern_of_bits_survives():
    chosen = PATTERNS[np.random.default_rng(0).integers(0, len(PATTERNS), (64, 4))]
    keys = glassjax.random.wrap_key_data(chosen, impl="rbg")
    data, lax = glassjax.random.key_data, glassjax.lax
    places = np.arange(64) * 7 % 64
    for moved, expected in [
        (keys, chosen),
        (keys[places], chosen[places]),
        (keys.reshape(8, 8).T.ravel(), chosen.reshape(8, 8, 4).swapaxes(0, 1).reshape(64, 4)),
        (glassjax.numpy.where(places % 2 == 0, keys, keys[::-1]),
         np.where((places % 2 == 0)[:, None], chosen, chosen[::-1])),
        (lax.scan(lambda k, x: (x, k), keys[0], keys)[1], chosen[[0, *range(63)]]),
        (glassjax.jit(lambda: glassjax.numpy.flip(keys))(), chosen[::-1]),
    ]:  # fmt: skip
        np.testing.assert_array_equal(data(moved), expected)
    np.testing.assert_array_equal(keys == keys[0], (chosen == chosen[0]).all(1))
