"""Indices of dtypes too narrow for the axis, beside numpy.

Counting from the end, flattening and shifting leave the range of the indices' dtype.
"""

import jax
import numpy as np
import pytest
from shares import IS_NIGHT

import glassjax
import glassjax.numpy as jnp
from glassjax import lax, nn, ops

SIZES = (300, 70_000)
X = {size: np.arange(size, dtype=np.int32) for size in SIZES}


def places(size, dtype):
    """From the end, at the beginning, in the middle, as far as the dtype goes, and the last."""
    info = np.iinfo(dtype)
    wanted = [-1, -size, 0, size // 2, min(info.max, size - 1), max(info.min, -size)]
    return np.array([i for i in wanted if info.min <= i <= info.max], dtype)


def wide(i):
    return i.astype(np.int64)


# What is computed from `x` and indices `i`, and the same by numpy from wide indices.
ARRAYS = {
    "x[i]": (lambda x, i: x[i], lambda x, i: x[i]),
    "x[:, i]": (lambda x, i: jnp.stack([x, x])[:, i], lambda x, i: np.stack([x, x])[:, i]),
    "x[i, i]": (
        lambda x, i: jnp.stack([x, x], 1)[i, jnp.abs(i) % 2],
        lambda x, i: np.stack([x, x], 1)[i, abs(i) % 2],
    ),
    "take": (lambda x, i: jnp.take(x, i), np.take),
    "take wrap": (lambda x, i: jnp.take(x, i, mode="wrap"), lambda x, i: x[i % x.size]),
    "take_along_axis": (
        lambda x, i: jnp.take_along_axis(x, i, 0),
        lambda x, i: np.take_along_axis(x, i, 0),
    ),
    "at.set": (lambda x, i: x.at[i].set(7), lambda x, i: changed(x, i, 7)),
    "at.add": (
        lambda x, i: x.at[i].add(7),
        lambda x, i: x + 7 * np.bincount(i % x.size, minlength=x.size),
    ),
    "put": (lambda x, i: jnp.put(x, i, 7, inplace=False), lambda x, i: changed(x, i, 7)),
    "put_along_axis": (
        lambda x, i: jnp.put_along_axis(x, i, 7, 0, inplace=False),
        lambda x, i: changed(x, i, 7),
    ),
    "unravel_index": (
        lambda x, i: jnp.stack(jnp.unravel_index(i, (x.size // 10, 10))),
        lambda x, i: np.stack(np.unravel_index(i % x.size, (x.size // 10, 10))),
    ),
    "delete": (
        lambda x, i: (
            jnp.delete(x, i, assume_unique_indices=False)
            if not isinstance(i, glassjax.core.Tracer)
            else None
        ),
        np.delete,
    ),
    "segment_sum": (
        lambda x, i: ops.segment_sum(jnp.ones_like(i, "int32"), i, x.size),
        lambda x, i: np.bincount(i[i >= 0], minlength=x.size),
    ),
    "one_hot": (
        lambda x, i: nn.one_hot(i, 300).sum(1),
        lambda x, i: ((i >= 0) & (i < 300)).astype(np.float32),
    ),
    "gradient": (
        lambda x, i: glassjax.grad(lambda y: y[i].sum())(x.astype("float32")),
        lambda x, i: np.bincount(i % x.size, minlength=x.size).astype(np.float32),
    ),
}
SCALARS = {
    "x[i]": (lambda x, i: x[i], lambda x, i: x[i]),
    "x[i, :]": (lambda x, i: jnp.stack([x, x], 1)[i], lambda x, i: np.stack([x, x], 1)[i]),
    "roll": (lambda x, i: jnp.roll(x, i)[:3], lambda x, i: np.roll(x, i)[:3]),
    "roll twice": (
        lambda x, i: jnp.roll(jnp.stack([x, x]), (i, i), (0, 1))[:, :3],
        lambda x, i: np.roll(np.stack([x, x]), (i, i), (0, 1))[:, :3],
    ),
    "dynamic_index_in_dim": (
        lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False),
        lambda x, i: x[i],
    ),
    "dynamic_slice": (lambda x, i: lax.dynamic_slice(x, (i,), (1,)), lambda x, i: x[[i]]),
    "dynamic_update_slice": (
        lambda x, i: lax.dynamic_update_slice(x, jnp.array([7], x.dtype), (i,)),
        lambda x, i: changed(x, i, 7),
    ),
    "at.set": (lambda x, i: x.at[i].set(7), lambda x, i: changed(x, i, 7)),
    "ds": (
        lambda x, i: x[glassjax.ds(i, 2)],
        lambda x, i: x[min(i % x.size, x.size - 2) :][:2],
    ),
}


def changed(x, i, value):
    x = x.copy()
    x[i] = value
    return x


def found_in_programs(function, cases):
    """What a function gives for each array and indices, traced, constant, and mapped over."""

    @glassjax.jit
    def everything(cases):
        return [
            {
                "jit": function(x, i),
                "constant": function(x, jnp.asarray(constant)),
                "vmap": glassjax.vmap(function, (None, 0))(x, i[None])[0],
            }
            for (x, i), (_, constant) in zip(cases, known, strict=True)
        ]

    known = cases
    return everything(cases)


def wrong_of(function, by_numpy, cases, found):
    wrong = []
    for (x, i), ways in zip(cases, found, strict=True):
        expected = by_numpy(x, i.astype(np.int64))
        wrong += [
            f"{way}, {i.dtype}, axis of {x.size}, at {i}: {np.ravel(y)[:9]}"
            for way, y in ways.items()
            if not np.array_equal(y, expected)
        ]
    return wrong


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_indices_choose_what_numpy_chooses(name):
    function, by_numpy = ARRAYS[name]
    dtypes = ("int8", "uint8") if IS_NIGHT else ("int8",)
    eager = [(X[300], places(300, dtype)) for dtype in dtypes]
    found = [{"eager": function(jnp.asarray(x), jnp.asarray(i))} for x, i in eager]
    wrong = wrong_of(function, by_numpy, eager, found)
    if by_numpy is not np.delete:  # for which indices must be known
        pairs = [(300, "int8"), (70_000, "uint16"), (300, "uint32")]
        pairs += [(300, "uint8"), (70_000, "int16")] if IS_NIGHT else []
        cases = [(X[size], places(size, dtype)) for size, dtype in pairs]
        wrong += wrong_of(function, by_numpy, cases, found_in_programs(function, cases))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", SCALARS)
def test_scalars_choose_what_numpy_chooses(name):
    function, by_numpy = SCALARS[name]
    cases = [(X[300], i) for dtype in ("int8", "uint8", "uint32") for i in places(300, dtype)]
    wrong = wrong_of(function, by_numpy, cases, found_in_programs(function, cases))
    x, i = cases[0]
    wrong += wrong_of(
        function, by_numpy, [(x, i)], [{"eager": function(jnp.asarray(x), jnp.asarray(i))}]
    )
    assert not wrong, "\n".join(wrong)


def test_indices_in_loops():
    x, i = X[300], np.array([-1, -128, 127], np.int8)
    found = lax.scan(lambda carry, each: (carry, jnp.asarray(x)[each]), 0, i)[1]
    np.testing.assert_array_equal(found, x[wide(i)])
    found = lax.map(lambda each: jnp.asarray(x)[each], i.view(np.uint8))
    np.testing.assert_array_equal(found, x[wide(i.view(np.uint8))])


def test_flat_indices_are_as_wide_as_the_array():
    found = jnp.ravel_multi_index((jnp.array([2], "uint8"), jnp.array([99], "uint8")), (3, 100))
    np.testing.assert_array_equal(found, [299])


def test_inserts_go_where_numpys_do():
    x = X[300]
    for i in (np.int8(-1), np.array([255, 3], np.uint8)):
        np.testing.assert_array_equal(jnp.insert(x, jnp.asarray(i), 7), np.insert(x, wide(i), 7))
        found = glassjax.jit(lambda x, i: jnp.insert(x, i, 7))(x, i)
        np.testing.assert_array_equal(found, np.insert(x, wide(i), 7))


def test_branches_are_chosen_by_narrow_integers():
    branches = [lambda k=k: k for k in range(130)]
    for i in (np.int8(-3), np.uint8(129), np.uint32(2**32 - 1)):
        assert lax.switch(i, branches) == min(max(int(i), 0), 129)


def test_index_take_wraps_around():
    found = lax.index_take(jnp.asarray(X[300]), (jnp.array([-1, 100], "int8"),), (0,))
    np.testing.assert_array_equal(found, [299, 100])


def test_repeats_are_added_up_in_wide_integers():
    counts = np.array([100, 100, 100], np.uint8)
    np.testing.assert_array_equal(
        jnp.repeat(np.arange(3), jnp.asarray(counts), total_repeat_length=300),
        np.repeat(np.arange(3), counts),
    )


def test_ranges_begin_at_narrow_integers():
    np.testing.assert_allclose(jnp.linspace(jnp.int8(127), 300, 4), np.linspace(127, 300, 4))


def test_what_is_too_large_for_any_axis_is_out_of_bounds():
    x, i = jnp.arange(5.0), jnp.array([4, 2**32 - 1], "uint32")
    np.testing.assert_array_equal(x.at[i].get(mode="fill"), [4.0, np.nan])
    np.testing.assert_array_equal(x.at[i].set(7.0), [0.0, 1.0, 2.0, 3.0, 7.0])
    rows, columns = jnp.array([-1, 0], "int8"), jnp.array([0, 2**32 - 1], "uint32")
    found = jnp.stack([x, x]).at[rows, columns].get(mode="fill")
    np.testing.assert_array_equal(found, [0.0, np.nan])


def test_where_nothing_is_chosen_nothing_is_set():
    x = jnp.arange(6.0).reshape(2, 3)
    for index in (np.zeros((2, 3), bool), np.s_[1:, 0:0]):
        expected = jax.numpy.asarray(np.asarray(x)).at[index].set(np.ones(3))
        np.testing.assert_array_equal(x.at[index].set(jnp.ones(3)), expected)
