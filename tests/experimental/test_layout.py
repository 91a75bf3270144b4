"""Layout constraints: programs and values, beside JAX."""

import re

import jax
import numpy as np
import pytest
from jax.experimental import layout as jax_layout

import glassjax
from glassjax.experimental import layout

pytestmark = pytest.mark.compiled_anew


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


BOTH = [(glassjax, layout), (jax, jax_layout)]


def layouts_and_values(lib, module, order):
    def f(x):
        return module.with_layout_constraint(x * 2, module.Layout(order)) + 1

    for g, x in [
        (f, X),
        (lib.vmap(f, out_axes=2), X[None]),
        (lib.grad(lambda x: (f(x) ** 2).sum()), X),
        (lambda x: lib.jvp(f, (x,), (x,))[1], X),
    ]:
        lowered = lib.jit(g).lower(x)
        layouts = re.findall(r"result_layouts = \[dense<(.*?)>", lowered.as_text())
        yield layouts, np.asarray(lowered.compile()(x)).tolist()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_layout_constraints(order):
    ours, theirs = (list(layouts_and_values(*each, order)) for each in BOTH)
    assert ours == theirs
    assert all(layouts for layouts, _ in ours)


def test_layout_constraints_of_trees():
    tree = {"a": X, "b": X[0]}
    rows = {"a": layout.Layout((0, 1, 2)), "b": layout.Layout((0, 1))}
    out = layout.with_layout_constraint(tree, rows)
    assert glassjax.tree.all(glassjax.tree.map(lambda x, y: (x == y).all(), out, tree))
    for axis in range(4):
        f = glassjax.vmap(lambda x: layout.with_layout_constraint(x, rows["a"]), axis, axis)
        np.testing.assert_array_equal(
            glassjax.jit(f)(X[None].swapaxes(0, axis)), X[None].swapaxes(0, axis)
        )
    assert glassjax.jit(lambda x: layout.with_layout_constraint(x, layout.Layout(())))(1.0) == 1
    for layouts in [(1, 0), layout.Layout((0, 1)), layout.Layout((0, 0, 1)), {"a": rows["a"]}]:
        with pytest.raises(ValueError, match="with_layout_constraint: "):
            layout.with_layout_constraint(tree, layouts)
    with pytest.raises(ValueError, match="row-major"):  # JAX has arrays of other layouts
        layout.with_layout_constraint(X, layout.Layout((1, 0, 2)))
