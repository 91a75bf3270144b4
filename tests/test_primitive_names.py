"""Primitives that JAX has and functions compute here, bound as programs bind them."""

from importlib import import_module

import numpy as np
import pytest
from jaxlib._jax import ArrayCopySemantics

ROW = np.array([-2.5, -0.0, 0.0, 1.5, 3.0, np.inf], np.float32)
NANS = np.array([np.nan, 1.0, -np.nan, np.nan, -np.inf, np.inf], np.float32)
SQUARE = np.arange(9.0, dtype=np.float32).reshape(3, 3) / 4
UPPER = np.triu(SQUARE) + np.eye(3, dtype=np.float32)


def scatter_sub(w, x):
    """JAX's needs a jaxpr among its parameters, so its function is the oracle."""
    numbers = w.ScatterDimensionNumbers((), (0,), (0,))
    index, updates = np.array([[0], [2], [2]], np.int32), np.ones(3, np.float32)
    if w.__name__ == "jax.lax":
        return w.scatter_sub(x, index, updates, numbers)
    how = {"indices_are_sorted": False, "unique_indices": False, "mode": None}
    return w.scatter_sub_p.bind(x, index, updates, dimension_numbers=numbers, **how)


TOP = {"recall_target": 0.9, "reduction_input_size_override": -1, "aggregate_to_topk": True}

REUSE = ArrayCopySemantics.REUSE_INPUT
NOWHERE = {"devices": (None,) * 2, "srcs": (None,) * 2, "copy_semantics": (REUSE,) * 2}

PROGRAMS = {
    "approx_top_k, largest": (
        lambda w, x: w.approx_top_k_p.bind(x, k=2, is_max_k=True, reduction_dimension=0, **TOP),
        SQUARE[:, 0],
    ),
    "approx_top_k, smallest": (
        lambda w, x: w.approx_top_k_p.bind(x, k=2, is_max_k=False, reduction_dimension=0, **TOP),
        SQUARE[:, 0],
    ),
    "device_put": (lambda w, x: w.device_put_p.bind(x, 2 * x, **NOWHERE), ROW),
    "eq_to": (lambda w, x: w.eq_to_p.bind(x, x[::-1]), ROW),
    "le_to": (lambda w, x: w.le_to_p.bind(x, x[::-1]), NANS),
    "lt_to": (lambda w, x: w.lt_to_p.bind(x, x[::-1]), NANS),
    "lt_to, integers": (lambda w, x: w.lt_to_p.bind(x, x[::-1]), np.arange(4)),
    "polynomial": (lambda w, x: w.polynomial_p.bind(x, x, x * 0.5, x * x), SQUARE[0]),
    "scatter_sub": (scatter_sub, SQUARE[0]),
    "square": (lambda w, x: w.square_p.bind(x), SQUARE),
    "stage": (lambda w, x: w.stage_p.bind(x) * 2, ROW),
    "tile": (lambda w, x: w.tile_p.bind(x, reps=(2, 1)), SQUARE),
    "cholesky_update": (lambda w, x: w.linalg.cholesky_update_p.bind(x, x[0]), UPPER),
    "symmetric_product": (
        lambda w, x: w.linalg.symmetric_product_p.bind(x, x, alpha=2.0, beta=-1.0),
        SQUARE,
    ),
}

OURS_ALONE = {"cholesky_update", "symmetric_product"}  # JAX's have no such rules


@pytest.mark.parametrize("transformed", ["called", "jitted", "mapped", "reverse mode"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_bound_primitives(name, transformed):
    program, x = PROGRAMS[name]
    if transformed == "reverse mode" and ("_to" in name or name in OURS_ALONE):
        pytest.skip("it has no derivative, or JAX none")
    if transformed == "mapped" and name in OURS_ALONE:
        pytest.skip("JAX's has no rule")

    def run(library):
        jax, lax = import_module(library), import_module(f"{library}.lax")

        def leaves(x):
            return jax.tree.leaves(program(lax, jax.numpy.asarray(x)))

        if transformed == "called":
            return leaves(x)
        if transformed == "jitted":
            return jax.jit(leaves)(x)
        if transformed == "mapped":
            return jax.vmap(leaves)(np.stack([x, x]))
        return [jax.grad(lambda x: (leaves(x)[0] ** 2).sum())(np.where(np.isfinite(x), x, 1))]

    for ours, theirs in zip(run("minijax"), run("jax"), strict=True):
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-5, atol=1e-6)
