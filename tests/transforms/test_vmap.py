"""`vmap` of registered classes and pytrees, beside JAX."""

import importlib

import numpy as np
import pytest

import glassjax
import glassjax.ad_checkpoint
import glassjax.debug
import glassjax.export
import glassjax.extend
import glassjax.extend.core
import glassjax.interpreters.batching
import glassjax.interpreters.mlir
from glassjax.transforms import custom_vmap


# Classes that vmap maps over by functions of their library.
class Pair:
    """Examples along an axis, and what all of them share."""

    def __init__(self, x, y):
        self.x, self.y = x, y


def test_vmap_maps_over_registered_classes(lib, monkeypatch):
    seen = []

    def to_elt(cont, get_idx, pair, spec):
        seen.append(spec)
        return Pair(cont(pair.x, spec), pair.y)

    def from_elt(cont, axis_size, pair, spec):
        return Pair(cont(axis_size, pair.x, spec), pair.y)

    batching = lib.interpreters.batching
    if lib is glassjax:  # whose vmap does without what is registered, until something is
        monkeypatch.setattr(custom_vmap, "vmappables", vmappables := {})
        vmap = importlib.import_module("glassjax.transforms.vmap")
        monkeypatch.setattr(vmap, "vmappables", vmappables)
    batching.register_vmappable(Pair, int, int, to_elt, from_elt, None)
    batching.unregister_vmappable(Pair)  # of no effect
    pair, xs = Pair(lib.numpy.arange(6.0).reshape(3, 2), 7.0), lib.numpy.arange(3.0)
    f = lambda pair, s: Pair(pair.x * s, pair.y)  # noqa: E731
    out = lib.vmap(f, axis_size=3)(pair, xs)
    np.testing.assert_array_equal(out.x, [[0, 0], [2, 3], [8, 10]])
    assert out.y == 7.0
    out = lib.vmap(f, in_axes=(1, None), out_axes=1, axis_size=2)(pair, 2.0)
    np.testing.assert_array_equal(out.x, [[0, 2], [4, 6], [8, 10]])
    assert lib.vmap(lambda pair: pair.x.sum() + pair.y, axis_size=3)(pair).tolist() == [8, 12, 16]
    assert lib.jit(lambda xs: lib.vmap(lambda x: Pair(x, 1))(xs).x)(xs).tolist() == [0, 1, 2]
    assert lib.vmap(lambda x: x * 2)(xs).tolist() == [0, 2, 4]
    assert seen == [0, 1, 0]
    with pytest.raises(ValueError, match="axis_size"):
        lib.vmap(lambda pair: pair)(pair)  # nothing says how many examples there are


def test_vectorized_functions_return_trees_that_have_a_shape(lib):
    class Tree:
        def __init__(self, leaf):
            self.leaf = leaf
            self.shape = np.shape(leaf)

    lib.tree_util.register_pytree_node(Tree, lambda t: ((t.leaf,), None), lambda _, xs: Tree(*xs))
    f = lib.numpy.vectorize(lambda k: Tree(lib.numpy.arange(3.0) * k), signature="()->(n)")
    assert f(lib.numpy.ones(4)).leaf.shape == (4, 3)
