"""`ravel_pytree`, inverted and transformed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import glassjax
import glassjax.numpy as jnp
from glassjax.flatten_util import ravel_pytree
from glassjax.tree_util import tree_leaves, tree_map, tree_structure

leaves = st.builds(
    lambda shape, dtype: np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype),
    st.lists(st.integers(0, 3), max_size=3),
    st.sampled_from([np.float32, np.float64, np.int32, np.complex64, np.bool_]),
)
trees = st.recursive(
    leaves,
    lambda children: st.one_of(
        st.lists(children, max_size=3),
        st.dictionaries(st.sampled_from("abc"), children),
        st.tuples(children, children),
        st.none(),
    ),
    max_leaves=5,
)


@given(trees)
@settings(deadline=None, max_examples=12)  # each compiles programs
def test_unravel_undoes_it(tree):
    vector, unravel = ravel_pytree(tree)
    assert vector.shape == (sum(leaf.size for leaf in tree_leaves(tree)),)
    again = unravel(vector)
    assert tree_structure(again) == tree_structure(tree)
    for found, expected in zip(tree_leaves(again), tree_leaves(tree), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_gradients_pass_through():
    params = {"w": jnp.arange(6.0).reshape(2, 3), "b": jnp.ones(2)}

    def loss(params):
        return jnp.sum(jnp.sin(params["w"] @ jnp.ones(3) + params["b"]))

    vector, unravel = ravel_pytree(params)
    flat = glassjax.jit(glassjax.grad(lambda v: loss(unravel(v))))(vector)
    np.testing.assert_allclose(flat, ravel_pytree(glassjax.grad(loss)(params))[0])
    rows = glassjax.vmap(lambda p: ravel_pytree(p)[0])(
        tree_map(lambda x: jnp.stack([x, x]), params)
    )
    np.testing.assert_array_equal(rows, np.stack([vector, vector]))


def test_functions_that_do_the_same_are_equal():
    one, two, other = (ravel_pytree(tree)[1] for tree in ([1.0], [2.0], (1.0,)))
    assert one == two
    assert hash(one) == hash(two)
    assert one != other


def test_another_vector_is_refused():
    unravel = ravel_pytree([1.0, 2])[1]
    with pytest.raises(ValueError, match=r"expected a vector of 2 elements.*found f64\[3\]"):
        unravel(jnp.ones(3))
    with pytest.raises(TypeError, match=r"expected a vector of dtype float64.*found i64\[2\]"):
        unravel(jnp.ones(2, int))
