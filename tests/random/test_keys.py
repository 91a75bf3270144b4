"""Random keys as values: created, folded, wrapped, mapped, beside JAX."""

import jax
import numpy as np
import pytest
from libraries import assert_all_same_results, assert_same_results, refused
from shares import IS_NIGHT, a_few

import glassjax

WORDS = np.array([[0, 1], [2, 3], [2**32 - 1, 7]], np.uint32)


def words(lib, keys):
    """What can be compared of keys: their words, and whether they are of the newer kind."""
    is_typed = lib.numpy.issubdtype(keys.dtype, lib.dtypes.prng_key)
    known = lib.numpy.array([is_typed, *keys.shape, keys.ndim, keys.size])
    return known, lib.random.key_data(keys)


KEYS = {
    "key": lambda r, n: r.key(7),
    "of an implementation": lambda r, n: r.key(7, impl="threefry2x32"),
    "of a dtype": lambda r, n: r.key(7, dtype=r.key_dtype("threefry2x32")),
    "of a number of numpy": lambda r, n: r.key(np.int16(-7)),
    "of an array": lambda r, n: r.key(n.array(7)),
    "of a wide seed": lambda r, n: r.key(2**40 + 5),
    "of a bool": lambda r, n: r.key(True),
    "older": lambda r, n: r.PRNGKey(2**33 + 7),
    "older of an implementation": lambda r, n: r.PRNGKey(7, impl="threefry2x32"),
    "fold_in": lambda r, n: r.fold_in(r.key(7), 3),
    "fold_in of older": lambda r, n: r.fold_in(r.PRNGKey(7), np.uint32(2**32 - 1)),
    "fold_in of the widest": lambda r, n: r.fold_in(r.key(7), 2**32 - 1),
    "fold_in of a negative array": lambda r, n: r.fold_in(r.key(7), n.array(-3)),
    "fold_in of a float": lambda r, n: r.fold_in(r.key(7), 2.0),
    "split": lambda r, n: r.split(r.key(7)),
    "split of older": lambda r, n: r.split(r.PRNGKey(7), 3),
    "split by a shape": lambda r, n: r.split(r.key(7), (2, 3)),
    "split by none": lambda r, n: r.split(r.key(7), 0),
    "wrapped": lambda r, n: r.wrap_key_data(WORDS),
    "wrapped one": lambda r, n: r.wrap_key_data(WORDS[1], impl="threefry2x32"),
    "wrapped an Array": lambda r, n: r.wrap_key_data(n.array(WORDS[None])),
    "wrapped data": lambda r, n: r.wrap_key_data(r.key_data(r.split(r.key(7)))),
    "clone": lambda r, n: r.clone(r.key(7)),
    "clone of older": lambda r, n: r.clone(r.PRNGKey(7)),
    "indexed": lambda r, n: r.split(r.key(7), 4)[1:3],
    "indexed by one": lambda r, n: r.split(r.key(7), 4)[-1],
    "indexed by an array": lambda r, n: r.split(r.key(7), 4)[n.array([2, 0, 3])],
    "indexed by a mask": lambda r, n: r.split(r.key(7), 3)[np.array([True, False, True])],
    "new axes": lambda r, n: r.split(r.key(7), 4)[None, ::2, None],
    "reshaped": lambda r, n: r.split(r.key(7), 6).reshape(2, 3).T,
    "stacked": lambda r, n: n.stack([r.key(1), r.key(2)]),
    "joined": lambda r, n: n.concatenate([r.split(r.key(1)), r.split(r.key(2), 1)]),
    "chosen": lambda r, n: n.where(np.array([True, False]), r.split(r.key(1)), r.key(2)),
    "updated": lambda r, n: r.split(r.key(1), 3).at[1].set(r.key(2)),
    "broadcast": lambda r, n: n.broadcast_to(r.key(1), (2, 2)),
    "raveled": lambda r, n: n.ravel(r.split(r.key(1), (2, 2))),
    "moved": lambda r, n: n.moveaxis(r.split(r.key(1), (2, 3)), 0, 1),
    "squeezed": lambda r, n: n.squeeze(r.split(r.key(1), (1, 3))),
    "turned": lambda r, n: n.flip(r.split(r.key(1), 3)),
    "rolled": lambda r, n: n.roll(r.split(r.key(1), 3), 1),
    "repeated": lambda r, n: n.repeat(r.split(r.key(1), 2), 2),
    "taken": lambda r, n: n.take(r.split(r.key(1), 3), n.array([2, 1])),
    "taken out of bounds": lambda r, n: n.take(r.split(r.key(1), 3), n.array([2, 5])),
    "an item of many": lambda r, n: next(iter(r.split(r.key(1), 3))),
}


@pytest.mark.parametrize("x64", [False, True], ids=["32", "64"])
def test_keys(x64):
    with jax.enable_x64(x64), glassjax.enable_x64(x64):
        assert_all_same_results(
            {
                name: lambda n, lib, make=make: words(lib, make(lib.random, n))
                for name, make in KEYS.items()
            }
        )


def test_keys_outside_of_programs():
    names = a_few(KEYS)

    def everything():
        return {
            name: words(glassjax, KEYS[name](glassjax.random, glassjax.numpy)) for name in names
        }

    with glassjax.enable_x64(False):
        found, expected = everything(), glassjax.jit(everything)()
    for name in names:
        for one, other in zip(
            *map(glassjax.tree.leaves, (found[name], expected[name])), strict=True
        ):
            np.testing.assert_array_equal(one, other, err_msg=name)


def test_keys_in_transformations():
    def steps(lib, n):
        r, lax = lib.random, lib.lax
        keys = r.split(r.key(3), 4)
        older = r.split(r.PRNGKey(3), 4)

        def carried(key, x):
            key, now = r.split(key)
            return key, (now, r.uniform(now) + x)

        def chosen(flag, key):
            return lax.cond(flag, lambda k: r.fold_in(k, 1), lambda k: r.clone(k), key)

        last, (used, draws) = lax.scan(carried, r.key(5), n.arange(3.0))
        return [
            r.key_data(lib.vmap(lambda k: r.fold_in(k, 2))(keys)),
            lib.vmap(r.fold_in, (None, 0))(older[0], n.arange(3)),
            r.key_data(lib.vmap(lambda i: r.fold_in(keys[0], i))(n.arange(3))),
            r.key_data(lib.vmap(r.split)(keys)),
            lib.vmap(r.split)(older),
            r.key_data(lib.vmap(r.key)(n.arange(3))),
            lib.vmap(r.PRNGKey)(n.arange(3)),
            r.key_data(lib.vmap(r.wrap_key_data)(older)),
            lib.vmap(r.key_data)(keys),
            lib.vmap(lambda k: r.bits(k, (2,)))(keys),
            r.key_data(last),
            r.key_data(used),
            draws,
            r.key_data(lax.fori_loop(0, 3, lambda i, k: r.fold_in(k, i), r.key(0))),
            r.key_data(lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, r.split(s[1])[0]),
                                      (0, keys[2]))[1]),
            r.key_data(chosen(True, keys[1])),
            r.key_data(lib.vmap(chosen)(n.array([True, False, True, False]), keys)),
            r.key_data(lax.map(lambda k: r.split(k)[1], keys)),
            r.key_data(lax.dynamic_slice(keys, (n.array(1),), (2,))),
            r.key_data(lib.jit(lambda k, i: k[i])(keys, 2)),
            r.key_data(lib.jit(lambda k: lib.tree.map(r.clone, {"k": k})["k"])(keys)),
            lib.grad(lambda x, k: (r.normal(k, (3,)) * x).sum())(np.float32(2), keys[0]),
            lib.grad(lambda p: (r.normal(p["key"], (3,)) * p["x"] ** 2).sum(), allow_int=True)(
                {"key": r.PRNGKey(0), "x": np.float32(2)}
            )["x"],
        ]  # fmt: skip

    with jax.enable_x64(False), glassjax.enable_x64(False):
        jitted = lambda n, lib: lib.jit(lambda: steps(lib, n))()  # noqa: E731
        assert_same_results(jitted)
        if not IS_NIGHT:
            return
        eager = steps(glassjax, glassjax.numpy)
        for found, expected in zip(
            glassjax.tree.leaves(eager),
            glassjax.tree.leaves(jitted(glassjax.numpy, glassjax)),
            strict=True,
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_what_is_said_of_keys():
    for program in [
        lambda r: str(r.key_impl(r.key(0))),
        lambda r: str(r.key_impl(r.PRNGKey(0))),
        lambda r: str(r.key_impl(r.split(r.key(0)))),
        lambda r: str(r.key_dtype() == r.key(0).dtype),
        lambda r: str(r.key_dtype("threefry2x32") == r.key_dtype()),
    ]:
        assert program(glassjax.random) == program(jax.random)
    assert_all_same_results([
        lambda n, lib: n.issubdtype(lib.random.key(0).dtype, lib.dtypes.extended),
        lambda n, lib: n.issubdtype(lib.random.PRNGKey(0).dtype, lib.dtypes.prng_key),
        lambda n, lib: lib.random.key(0) == lib.random.wrap_key_data(np.uint32([0, 0])),
        lambda n, lib: lib.random.split(lib.random.key(0)) != lib.random.key(0),
    ])  # fmt: skip


WRONG = {
    "keys padded with numbers": lambda r, n: n.pad(r.split(r.key(0), 2), 1),
    "a float as seed": lambda r, n: r.key(1.5),
    "seeds": lambda r, n: r.key(np.arange(2)),
    "a text as seed": lambda r, n: r.key("a"),
    "no implementation": lambda r, n: r.key(0, impl="mersenne"),
    "no implementation of older": lambda r, n: r.PRNGKey(0, impl="mersenne"),
    "no implementation of words": lambda r, n: r.wrap_key_data(WORDS, impl="mersenne"),
    "words of another dtype": lambda r, n: r.wrap_key_data(WORDS.astype(np.int32)),
    "words of another size": lambda r, n: r.wrap_key_data(WORDS.reshape(2, 3)),
    "no words": lambda r, n: r.wrap_key_data(np.uint32(1)),
    "many keys split": lambda r, n: r.split(r.split(r.key(0))),
    "many keys folded": lambda r, n: r.fold_in(r.split(r.key(0)), 1),
    "many numbers folded": lambda r, n: r.fold_in(r.key(0), np.arange(2)),
    "a negative int folded": lambda r, n: r.fold_in(r.key(0), -1),
    "a wide int folded": lambda r, n: r.fold_in(r.key(0), 2**32),
    "no key": lambda r, n: r.split(3),
    "floats as key": lambda r, n: r.uniform(np.zeros(2, np.float32)),
    "data of no key": lambda r, n: r.key_data(np.zeros(3, np.int32)),
    "keys added": lambda r, n: r.key(0) + 1,
    "keys compared": lambda r, n: r.key(0) < r.key(1),
    "keys as numbers": lambda r, n: n.sin(r.key(0)),
    "a key as index": lambda r, n: n.arange(3)[r.key(0)],
    "a key for numpy": lambda r, n: np.asarray(r.key(0)),
}


@pytest.mark.bits(32)
def test_what_is_refused_with_jaxs_class_of_error():
    assert_all_same_results(
        {
            name: refused(lambda n, lib, wrong=wrong: wrong(lib.random, n))
            for name, wrong in WRONG.items()
        }
    )


def test_keys_are_compared_exactly():
    for lib in (glassjax, jax):
        a, b = lib.random.split(lib.random.key(0))
        assert not lib.numpy.allclose(a, b)
        assert lib.numpy.isclose(a, a)


@pytest.mark.bits(32)
@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_keys_out_of_bounds_have_the_fill_value_in_each_word(impl):
    def filled(lib, **value):
        keys = lib.random.split(lib.random.key(0, impl=impl), 3)
        return lib.random.key_data(keys.at[np.array([5, 1])].get(mode="fill", **value))

    assert_all_same_results(
        [
            lambda n, lib: filled(lib),
            lambda n, lib: filled(lib, fill_value=7),
            lambda n, lib: filled(lib, fill_value=np.uint32(2**32 - 2)),
        ]
    )
