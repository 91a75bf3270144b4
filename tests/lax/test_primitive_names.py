"""Primitives bound by JAX's names."""

from functools import partial

import jax
import jax.extend
import numpy as np
import pytest
from jaxlib._jax import ArrayCopySemantics
from libraries import assert_all_same_results, assert_same_results

import glassjax
import glassjax.extend.core
import glassjax.numpy

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
    compiled = glassjax.jit(lambda: {name: called(name, None, glassjax) for name in PROGRAMS})()
    for name, expected in compiled.items():
        for x, y in zip(called(name, None, glassjax), expected, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-6, err_msg=name)


def ragged(j, bind):
    """Two examples exchange slices, by the function or by the primitive."""

    def send(x, to):
        i = j.lax.axis_index("i")
        received = j.numpy.where(i == 0, 1, j.numpy.array([2, 2], "int32"))
        operands = (
            x, j.numpy.zeros(4, x.dtype), j.numpy.array([0, 1], "int32"),
            j.numpy.array([1, 2], "int32"), to, received,
        )  # fmt: skip
        if bind:
            return j.lax.ragged_all_to_all_p.bind(*operands, axis_name="i", axis_index_groups=None)
        return j.lax.ragged_all_to_all(*operands, axis_name="i")

    return send


def test_ragged_exchanges_are_bound():
    x = np.array([[1.0, 2, 3], [4, 5, 6]], np.float32)
    to = np.array([[0, 0], [1, 2]], np.int32)
    mapped = [glassjax.vmap(ragged(glassjax, bind), axis_name="i") for bind in (False, True)]

    @glassjax.jit
    def results(x, to):
        slopes = [glassjax.grad(lambda x, f=f: (f(x, to) ** 2).sum())(x) for f in mapped]
        return [f(x, to) for f in mapped], slopes

    (function, bound), slopes = results(x, to)
    np.testing.assert_array_equal(bound, function)
    np.testing.assert_array_equal(mapped[1](x, to), function)
    np.testing.assert_array_equal(*slopes)
    with pytest.raises(NameError):
        ragged(glassjax, True)(x[0], to[0])
    primitives = glassjax.extend.core.primitives
    assert primitives.ragged_all_to_all_p is glassjax.lax.ragged_all_to_all_p
    assert primitives.ragged_all_to_all_p.name == jax.lax.ragged_all_to_all_p.name


def test_references_are_read_and_written_by_their_primitives(lib):
    get_p, swap_p = (getattr(lib.extend.core.primitives, name) for name in ("get_p", "swap_p"))
    assert (get_p.name, swap_p.name) == ("get", "swap")
    whole = lib.tree.structure(())
    ref = lib.new_ref(lib.numpy.arange(3.0))
    np.testing.assert_array_equal(get_p.bind(ref, tree=whole), [0, 1, 2])
    np.testing.assert_array_equal(
        swap_p.bind(ref, lib.numpy.ones_like(ref[...]), tree=whole), [0, 1, 2]
    )
    np.testing.assert_array_equal(ref[...], [1, 1, 1])

    @lib.jit
    def double(ref):
        x = get_p.bind(ref, tree=whole)
        swap_p.bind(ref, x * 2, tree=whole)
        return x

    np.testing.assert_array_equal(double(ref), [1, 1, 1])
    np.testing.assert_array_equal(ref[...], [2, 2, 2])


def test_parts_of_references_are_not_bound():
    get_p = glassjax.extend.core.primitives.get_p
    with pytest.raises(NotImplementedError, match=r"get_p.*ref\[index\]"):
        get_p.bind(
            glassjax.new_ref(glassjax.numpy.arange(3.0)), 1, tree=glassjax.tree.structure((0,))
        )


OURS = {
    (module, name)
    for module in ("lax", "lax.linalg")
    for name in dir(jax.lax if module == "lax" else jax.lax.linalg)
    if name.endswith("_p")
    and hasattr(glassjax.lax if module == "lax" else glassjax.lax.linalg, name)
}


def test_primitives_by_name():
    lax = glassjax.lax
    assert {("lax", "add_p"), ("lax", "scan_p"), ("lax.linalg", "cholesky_p")} <= OURS
    assert len(OURS) > 120
    programs = {
        "add_p": lambda x: x + x,
        "dot_general_p": lambda x: glassjax.numpy.dot(x, x),
        "cumsum_p": lambda x: lax.cumsum(x),
        "while_p": lambda x: lax.while_loop(lambda x: x[0] < 1, lambda x: x, x),
    }
    for name, program in programs.items():
        eqns = glassjax.make_jaxpr(program)(np.ones(2)).jaxpr.eqns
        assert [eqn.primitive for eqn in eqns] == [getattr(lax, name)]
    for module, name in ((lax, "no_such_p"), (lax, "add_q"), (lax.linalg, "add_p")):
        with pytest.raises(AttributeError, match=f"{module.__name__}.*{name}"):
            getattr(module, name)
