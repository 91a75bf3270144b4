"""Primitives that programs bind by JAX's names: windows, exchanges of slices, references."""

from functools import partial

import jax
import jax.extend
import numpy as np
import pytest

import minijax
import minijax.extend.core

BOTH = pytest.mark.parametrize("j", [jax, minijax], ids=["jax", "minijax"])


def select_and_scatter(j, x, source, init, pair=("ge", "add"), **window):
    scalar = np.zeros((), x.dtype)
    select, scatter = (
        j.make_jaxpr(lambda a, b, name=name: getattr(j.lax, name)(a, b))(scalar, scalar)
        for name in pair
    )
    return j.lax.select_and_scatter_p.bind(
        x, source, init, select_jaxpr=select, select_consts=(), scatter_jaxpr=scatter,
        scatter_consts=(), **window,
    )  # fmt: skip


WINDOWS = {
    "one axis": ((6,), (3,), (2,), (2,), ((0, 0),)),
    "overlapping": ((7,), (3,), (3,), (2,), ((0, 0),)),
    "padded": ((5,), (3,), (3,), (2,), ((1, 1),)),
    "two axes": ((4, 6), (2, 2), (2, 3), (2, 3), ((0, 0), (0, 0))),
}


PAIRS = ("ge", "add"), ("le", "max"), ("gt", "mul")


def operands():
    """Of each window and pair of functions: numbers, and what is added to those selected."""
    found = {}
    for name, (shape, windows, *_) in WINDOWS.items():
        for pair in PAIRS:
            rng, dtype = np.random.default_rng(3), "int32" if pair[1] == "max" else "float32"
            numbers = (rng.permutation(np.prod(n)).reshape(n) for n in (shape, windows))
            found[name, pair] = [x.astype(dtype) for x in numbers]
    return found


def one_of(j, case, x, source):
    name, pair = case
    names = "window_dimensions", "window_strides", "padding"
    window = dict(zip(names, WINDOWS[name][2:], strict=True))
    return select_and_scatter(j, x, source, np.ones((), x.dtype), pair, **window)


def test_select_and_scatter():
    cases = operands()
    given = list(cases.values())

    def all_of(j):
        return lambda given: [one_of(j, case, *xs) for case, xs in zip(cases, given, strict=True)]

    @minijax.jit
    def mapped(given):
        out = []
        for case, (x, source) in zip(cases, given, strict=True):
            one = partial(one_of, minijax, case)
            rows = minijax.numpy.stack([x, x[::-1]], 1)
            out.append((minijax.vmap(one, (1, None))(rows, source), one(x[::-1], source)))
        return out

    ours, theirs = (j.jit(all_of(j))(given) for j in (minijax, jax))
    for case, found, expected, rows in zip(cases, ours, theirs, mapped(given), strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=str(case))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(rows[0], [expected, rows[1]], err_msg=str(case))
    case, (x, source) = next(iter(cases.items()))
    np.testing.assert_array_equal(one_of(minijax, case, x, source), theirs[0])


@BOTH
def test_select_and_scatter_has_no_derivative_and_checks_its_operands(j):
    x, source = np.arange(6, dtype=np.float32), np.ones(3, np.float32)
    window = {"window_dimensions": (2,), "window_strides": (2,), "padding": ((0, 0),)}
    f = lambda source: select_and_scatter(j, x, source, np.float32(0), **window)  # noqa: E731
    with pytest.raises(NotImplementedError):
        j.grad(lambda s: f(s).sum())(source)
    with pytest.raises(TypeError):
        select_and_scatter(j, x, source, np.float32(0), **{**window, "window_strides": (2, 2)})


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
    mapped = [minijax.vmap(ragged(minijax, bind), axis_name="i") for bind in (False, True)]

    @minijax.jit
    def results(x, to):
        slopes = [minijax.grad(lambda x, f=f: (f(x, to) ** 2).sum())(x) for f in mapped]
        return [f(x, to) for f in mapped], slopes

    (function, bound), slopes = results(x, to)
    np.testing.assert_array_equal(bound, function)
    np.testing.assert_array_equal(mapped[1](x, to), function)
    np.testing.assert_array_equal(*slopes)
    with pytest.raises(NameError):
        ragged(minijax, True)(x[0], to[0])
    primitives = minijax.extend.core.primitives
    assert primitives.ragged_all_to_all_p is minijax.lax.ragged_all_to_all_p
    assert primitives.ragged_all_to_all_p.name == jax.lax.ragged_all_to_all_p.name


@BOTH
def test_references_are_read_and_written_by_their_primitives(j):
    get_p, swap_p = (getattr(j.extend.core.primitives, name) for name in ("get_p", "swap_p"))
    assert (get_p.name, swap_p.name) == ("get", "swap")
    whole = j.tree.structure(())
    ref = j.new_ref(j.numpy.arange(3.0))
    np.testing.assert_array_equal(get_p.bind(ref, tree=whole), [0, 1, 2])
    np.testing.assert_array_equal(
        swap_p.bind(ref, j.numpy.ones_like(ref[...]), tree=whole), [0, 1, 2]
    )
    np.testing.assert_array_equal(ref[...], [1, 1, 1])

    @j.jit
    def double(ref):
        x = get_p.bind(ref, tree=whole)
        swap_p.bind(ref, x * 2, tree=whole)
        return x

    np.testing.assert_array_equal(double(ref), [1, 1, 1])
    np.testing.assert_array_equal(ref[...], [2, 2, 2])


def test_parts_of_references_are_not_bound():
    get_p = minijax.extend.core.primitives.get_p
    with pytest.raises(NotImplementedError, match=r"get_p.*ref\[index\]"):
        get_p.bind(minijax.new_ref(minijax.numpy.arange(3.0)), 1, tree=minijax.tree.structure((0,)))
