"""Set operations: unique elements, unions, intersections, beside JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import assert_all_same_results, of_size, refused
from shares import a_few

import glassjax
import glassjax.numpy as gnp

# Vectors of one length share most of the programs that are compiled for them.
i = np.array([3, 1, 3, 7, 1, 1, 3])
j = np.array([[7, 2], [3, 3]])
f = np.array([2.0, np.nan, -0.0, 2.0, 0.0, np.nan, -1.0], np.float32)
g = np.array([np.nan, 2.0, 5.0], np.float32)
c = np.array([complex(1, np.nan), complex(np.nan, 2), 1.0, 2j, 1.0, 2j, 1.0])
m = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0], [np.nan, 1.0], [np.nan, 1.0]], np.float32)
b = np.array([True, False, True])
nothing = np.zeros((0,), np.float32)
ALL = {"return_index": True, "return_inverse": True, "return_counts": True}


def of_values(function):
    """A program of a function of a numpy whose results have as many elements as are different."""
    program = lambda n, lib: function(n)  # noqa: E731
    program.function = function
    return program


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "unique": [
        of_values(lambda n, **size: n.unique(i, **size)),
        of_values(lambda n, **size: n.unique(j, **ALL, **size)),
        of_values(lambda n, **size: n.unique(f, **ALL, **size)),
        of_values(lambda n, **size: n.unique(f, **ALL, equal_nan=False, **size)),
        of_values(lambda n, **size: n.unique(c, **ALL, **size)),
        of_values(lambda n, **size: n.unique(b, return_counts=True, **size)),
        of_values(lambda n, **size: n.unique(i.astype(np.uint8), True, False, True, **size)),
        of_values(lambda n, **size: n.unique(f[2:5].astype(gnp.bfloat16.dtype), **size)),
        of_size(3, lambda n, **size: n.unique(m, axis=0, **ALL, **size)),
        of_size(2, lambda n, **size: n.unique(m, axis=-1, **ALL, **size)),
        of_size(4, lambda n, **size: n.unique(m, axis=0, equal_nan=False, **size)),
        of_size(1, lambda n, **size: n.unique(np.stack([j, j], 1), axis=1, **ALL, **size)),
        of_values(lambda n, **size: n.unique(4, **ALL, **size)),
        lambda n, lib: n.unique(n.asarray(2.5), size=2),
        of_size(0, lambda n, **size: n.unique(nothing, **ALL, **size)),
        of_size(1, lambda n, **size: n.unique(np.zeros((3, 0)), axis=0, **ALL, **size)),
        of_size(0, lambda n, **size: n.unique(np.zeros((0, 3)), axis=0, **ALL, **size)),
        of_values(lambda n, **size: tuple(n.unique_all(f, **size))),
        of_values(lambda n, **size: tuple(n.unique_counts(f, **size))),
        of_values(lambda n, **size: tuple(n.unique_inverse(j, **size))),
        of_values(lambda n, **size: n.unique_values(f, **size)),
        of_values(lambda n, **size: n.unique_all(i, **size).values),
    ],
    "unique of a size": [
        lambda n, lib: n.unique(f.astype(n.bfloat16), size=4),
        lambda n, lib: n.unique(i, size=5, **ALL),
        lambda n, lib: n.unique(i, size=2, **ALL),
        lambda n, lib: n.unique(i, size=0, **ALL),
        lambda n, lib: n.unique(i, size=np.int64(9), **ALL, fill_value=2.5),
        lambda n, lib: n.unique(i, size=4, fill_value=np.arange(4)),
        lambda n, lib: n.unique(f, size=8, fill_value=np.nan, **ALL),
        lambda n, lib: n.unique(m, axis=0, size=4, **ALL),
        lambda n, lib: n.unique(m, axis=1, size=4, fill_value=7, **ALL),
        lambda n, lib: n.unique(nothing, size=2, fill_value=1.0, **ALL),
        lambda n, lib: tuple(n.unique_all(i, size=4, fill_value=0)),
        lambda n, lib: tuple(n.unique_counts(i, size=2)),
        lambda n, lib: tuple(n.unique_inverse(j, size=3)),
        lambda n, lib: n.unique_values(j, size=5, fill_value=0),
    ],
    "isin": [
        lambda n, lib: n.isin(i, j),
        lambda n, lib: n.isin(j, i, invert=True),
        lambda n, lib: n.isin(j, 3.0),
        lambda n, lib: n.isin(f, g),
        lambda n, lib: n.isin(f, f, method="binary_search"),
        lambda n, lib: n.isin(i, j, method="sort"),
        lambda n, lib: n.isin(i, j, True, method="compare_all"),
        lambda n, lib: n.isin(np.arange(40), np.arange(0, 90, 3)),
        lambda n, lib: n.isin(np.arange(40.0), np.arange(0, 90, 3), invert=True),
        lambda n, lib: n.isin(c, c),
        lambda n, lib: n.isin(nothing, g),
        lambda n, lib: n.isin(f, nothing, invert=True),
    ],
    "of two": [
        of_values(lambda n, **size: n.union1d(i, j, **size)),
        of_values(lambda n, **size: n.union1d(f, i, **size)),
        of_size(0, lambda n, **size: n.union1d(nothing, nothing, **size)),
        lambda n, lib: n.union1d(i, j, size=6, fill_value=-1),
        lambda n, lib: n.union1d(i, j, size=2),
        of_values(lambda n, **size: n.setdiff1d(i, j, **size)),
        of_values(lambda n, **size: n.setdiff1d(f, g, **size)),
        of_values(lambda n, **size: n.setdiff1d(i, f, **size)),
        of_values(
            lambda n, **size: n.setdiff1d(np.array([5, 3, 1]), j, assume_unique=True, **size)
        ),
        lambda n, lib: n.setdiff1d(i, j, size=3),
        lambda n, lib: n.setdiff1d(i, nothing, size=6, fill_value=-1),
        lambda n, lib: n.setdiff1d(np.array([5, 3, 1]), j, True, size=4, fill_value=9),
        lambda n, lib: n.setdiff1d(nothing, i, size=2),
        of_values(lambda n, **size: n.setxor1d(i, j, **size)),
        of_values(lambda n, **size: n.setxor1d(f, g, **size)),
        of_values(
            lambda n, **size: n.setxor1d(
                np.array([5, 3]), np.array([3, 0]), assume_unique=True, **size
            )
        ),
        lambda n, lib: n.setxor1d(i, j, size=4),
        lambda n, lib: n.setxor1d(i, i, size=2),
        lambda n, lib: n.setxor1d(i, j, size=4, fill_value=8),
        lambda n, lib: n.setxor1d(np.array([5, 3]), np.array([3, 0]), True, size=1),
        of_size(0, lambda n, **size: n.setxor1d(nothing, nothing, **size)),
        of_values(lambda n, **size: n.intersect1d(i, j, **size)),
        of_values(lambda n, **size: n.intersect1d(f, g, return_indices=True, **size)),
        of_values(lambda n, **size: n.intersect1d(i, j, return_indices=True, **size)),
        of_values(
            lambda n, **size: n.intersect1d(np.array([5, 3]), np.array([3, 5]), True, True, **size)
        ),
        lambda n, lib: n.intersect1d(i, j, size=3),
        lambda n, lib: n.intersect1d(i, j, size=1, return_indices=True),
        lambda n, lib: n.intersect1d(i, j, size=4, fill_value=-5, return_indices=True),
        lambda n, lib: n.intersect1d(np.array([5, 3]), np.array([3, 5]), True, True, size=3),
        of_size(0, lambda n, **size: n.intersect1d(i, nothing, **size)),
    ],
    "transformed": [
        lambda n, lib: lib.jit(lambda x: n.unique(x, size=3, **ALL))(i),
        lambda n, lib: lib.jit(lambda x: n.unique(x, size=3, axis=1, **ALL))(m),
        lambda n, lib: lib.vmap(lambda x: n.unique(x, size=2, **ALL))(j),
        lambda n, lib: lib.vmap(lambda x: n.isin(x, i))(j),
        lambda n, lib: lib.grad(lambda x: (n.unique(x, size=3) ** 2).sum())(g),
        lambda n, lib: lib.jacfwd(lambda x: n.unique(x, size=4))(f[2:6]),
        lambda n, lib: lib.jit(lambda x, y: n.union1d(x, y, size=5))(i, j),
        lambda n, lib: lib.jit(lambda x, y: n.setdiff1d(x, y, size=2))(i, j),
        lambda n, lib: lib.jit(lambda x, y: n.setxor1d(x, y, size=3))(i, j),
        lambda n, lib: lib.jit(lambda x, y: n.intersect1d(x, y, size=2))(i, j),
    ],
    "refused": [
        refused(lambda n, lib: n.unique([1, 2])),
        refused(lambda n, lib: n.unique(i, size=2.5)),
        refused(lambda n, lib: n.unique(i, axis=1)),
        refused(lambda n, lib: n.unique(nothing, size=3)),
        refused(lambda n, lib: n.isin(i, [1])),
        refused(lambda n, lib: n.isin(i, i, method="guess")),
        refused(lambda n, lib: lib.jit(n.unique)(i)),
        refused(lambda n, lib: lib.jit(lib.vmap(n.unique))(j)),
        refused(lambda n, lib: lib.jit(n.setdiff1d)(i, i)),
        refused(lambda n, lib: lib.jit(n.union1d)(i, i)),
        refused(lambda n, lib: lib.jit(n.intersect1d)(i, i)),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results([f for f in FAMILIES[family] if not hasattr(f, "function")])
    of_values = [f.function for f in FAMILIES[family] if hasattr(f, "function")]
    assert_numpys_values(a_few(of_values, 4))


def assert_numpys_values(functions):
    """Values are numpy's, and types those that JAX has where it is told of how many."""
    expected = [jax.tree.leaves(function(np)) for function in functions]
    sizes = [len(leaves[0]) for leaves in expected]
    types = jax.eval_shape(lambda: [f(jnp, size=n) for f, n in zip(functions, sizes, strict=True)])
    for function, values, of_jax in zip(functions, expected, types, strict=True):
        found = function(gnp)
        assert isinstance(found, tuple) == isinstance(of_jax, tuple)
        leaves = glassjax.tree.leaves(found), values, jax.tree.leaves(of_jax)
        for x, y, t in zip(*leaves, strict=True):
            assert (x.shape, x.dtype, x.weak_type) == (t.shape, t.dtype, t.weak_type)
            np.testing.assert_array_equal(x, y.astype(t.dtype))


def test_a_negative_size_is_refused():
    with pytest.raises(ValueError, match="unique: size must not be negative, found -1"):
        gnp.unique(i, size=-1)
    with pytest.raises((TypeError, ValueError)):  # the older JAX's error, the newer one's
        jnp.unique(i, size=-1)


def test_indices_and_counts_are_as_wide_as_jaxs():
    assert_numpys_values(
        [
            lambda n, **size: n.unique(i, **ALL, **size),
            lambda n, **size: n.intersect1d(i, j, False, True, **size),
        ]
    )
    assert_all_same_results([lambda n, lib: n.intersect1d(i, j, False, True, size=3)])


def test_elements_found_without_a_size_have_their_derivatives():
    """JAX takes them for constants there, whose derivative is zero."""
    x = np.array([2.0, 5.0, 2.0])
    found = glassjax.grad(lambda x: (gnp.unique(x) ** 2).sum())(x)
    np.testing.assert_array_equal(found, [4.0, 10.0, 0.0])


element = st.sampled_from([0.0, -0.0, 1.0, 2.0, 5.0, np.inf, np.nan])
# Of one length, so that few programs are compiled.
fours = st.lists(element, min_size=4, max_size=4)


@settings(max_examples=20)
@given(fours, fours | st.just([]))
def test_what_two_sets_share_is_what_numpy_finds(first, second):
    x, y = np.array(first), np.array(second)
    for name in "union1d", "intersect1d", "setxor1d", "setdiff1d":
        np.testing.assert_array_equal(getattr(gnp, name)(x, y), getattr(np, name)(x, y))
    np.testing.assert_array_equal(gnp.isin(x, y, method="binary_search"), np.isin(x, y))
