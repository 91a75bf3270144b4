"""`select_and_scatter`, bound as a primitive, beside JAX."""

from functools import partial

import jax
import jax.extend
import numpy as np
import pytest

import glassjax
import glassjax.extend.core


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

    @glassjax.jit
    def mapped(given):
        out = []
        for case, (x, source) in zip(cases, given, strict=True):
            one = partial(one_of, glassjax, case)
            rows = glassjax.numpy.stack([x, x[::-1]], 1)
            out.append((glassjax.vmap(one, (1, None))(rows, source), one(x[::-1], source)))
        return out

    ours, theirs = (j.jit(all_of(j))(given) for j in (glassjax, jax))
    for case, found, expected, rows in zip(cases, ours, theirs, mapped(given), strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=str(case))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(rows[0], [expected, rows[1]], err_msg=str(case))
    case, (x, source) = next(iter(cases.items()))
    np.testing.assert_array_equal(one_of(glassjax, case, x, source), theirs[0])


def test_select_and_scatter_has_no_derivative_and_checks_its_operands(lib):
    x, source = np.arange(6, dtype=np.float32), np.ones(3, np.float32)
    window = {"window_dimensions": (2,), "window_strides": (2,), "padding": ((0, 0),)}
    f = lambda source: select_and_scatter(lib, x, source, np.float32(0), **window)  # noqa: E731
    with pytest.raises(NotImplementedError):
        lib.grad(lambda s: f(s).sum())(source)
    with pytest.raises(TypeError):
        select_and_scatter(lib, x, source, np.float32(0), **{**window, "window_strides": (2, 2)})
