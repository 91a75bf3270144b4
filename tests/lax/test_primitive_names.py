"""Primitives that JAX has and functions compute here, bound as programs bind them."""

from functools import partial

import numpy as np
from jaxlib._jax import ArrayCopySemantics
from libraries import assert_all_same_results, assert_same_results

import minijax

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


def leaves_of(name, lib, x):
    return lib.tree.leaves(PROGRAMS[name][0](lib.lax, lib.numpy.asarray(x)))


def called(name, jnp, lib):
    return leaves_of(name, lib, PROGRAMS[name][1])


def mapped(name, jnp, lib):
    x = PROGRAMS[name][1]
    return lib.vmap(partial(leaves_of, name, lib))(np.stack([x, x]))


def differentiated(name, jnp, lib):
    x = PROGRAMS[name][1]
    loss = lambda x: (leaves_of(name, lib, x)[0] ** 2).sum()  # noqa: E731
    return lib.grad(loss)(np.where(np.isfinite(x), x, 1))


def test_bound_primitives():
    ways = {called: PROGRAMS, mapped: PROGRAMS.keys() - OURS_ALONE}
    ways[differentiated] = [name for name in ways[mapped] if "_to" not in name]
    programs = {f"{name}, {way.__name__}": partial(way, name) for way in ways for name in ways[way]}
    # The sign of what is no number, which orders have, may change where XLA evaluates constants.
    alone = {name for name in programs if name.startswith(("le_to", "lt_to,"))}
    for name in alone:
        assert_same_results(programs.pop(name))
    assert_all_same_results(programs)


def test_bound_primitives_are_evaluated():
    compiled = minijax.jit(lambda: {name: called(name, None, minijax) for name in PROGRAMS})()
    for name, expected in compiled.items():
        for x, y in zip(called(name, None, minijax), expected, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-6, err_msg=name)
