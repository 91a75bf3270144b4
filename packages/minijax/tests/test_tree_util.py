"""What the library adds to the pytrees of stage 2."""

import operator

import pytest

import minijax
import minijax.numpy as jnp
from minijax.tree_util import (
    Partial,
    tree_leaves,
    tree_reduce_associative,
    tree_structure,
    treedef_children,
    treedef_is_leaf,
)


def scale(factor, x):
    return factor * x


def test_a_partial_is_a_tree_of_its_arguments():
    partial = Partial(scale, 3.0)
    assert tree_leaves(partial) == [3.0]
    assert tree_structure(partial) == tree_structure(Partial(scale, 4.0))
    assert tree_structure(partial) != tree_structure(Partial(operator.mul, 3.0))
    assert minijax.jit(lambda f, x: f(x))(partial, 2.0) == 6.0
    gradient = minijax.grad(lambda f: f(5.0))(partial)
    assert isinstance(gradient, Partial)
    assert gradient.args[0] == 5.0
    assert minijax.vmap(lambda f: f(2.0))(Partial(scale, jnp.arange(3.0))).tolist() == [0, 2, 4]


def test_structures_are_looked_into():
    structure = tree_structure((1, {"a": 2}))
    assert not treedef_is_leaf(structure)
    assert treedef_children(structure) == [tree_structure(1), tree_structure({"a": 2})]
    assert treedef_is_leaf(tree_structure(1))


@pytest.mark.parametrize("count", range(1, 10))
def test_leaves_are_combined_in_order(count):
    leaves = [chr(ord("a") + i) for i in range(count)]
    assert tree_reduce_associative(operator.add, {"x": leaves}) == "".join(leaves)


def test_nothing_to_combine_needs_an_identity():
    assert tree_reduce_associative(operator.add, [], identity=7) == 7
    with pytest.raises(TypeError, match="the tree has no leaves; give an identity"):
        tree_reduce_associative(operator.add, [])
