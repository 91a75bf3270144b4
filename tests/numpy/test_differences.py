"""Differences, gradients, integrals and interpolation, beside JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from libraries import (
    assert_all_same_results,
    glassjax_of_constants,
    jax_of_constants,
    refused,
)
from numpy_operands import b, i, nothing, row, u, x, z
from shares import one_in
from transformations import along_an_axis, assert_alike_all, derivatives, in_one_program, types

import glassjax
import glassjax.numpy as gnp

places = np.array([0.0, 0.5, 2.0, 3.0], np.float32)


between = np.array([0.5, 1.0, 2.5, -3.0, 9.0], np.float32)


xp = np.array([0.0, 1.0, 1.0, 4.0], np.float32)


fp = np.array([2.0, -1.0, 3.0, 5.0], np.float32)


c = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "diff": [
        lambda n, lib: n.diff(x),
        lambda n, lib: n.diff(x, 2, 0),
        lambda n, lib: n.diff(x, n=0),
        lambda n, lib: n.diff(x, n=9),
        lambda n, lib: n.diff(i, axis=0, prepend=1, append=np.ones((1, 3), int)),
        lambda n, lib: n.diff(row, prepend=1, append=2.5),
        lambda n, lib: n.diff(u),
        lambda n, lib: n.diff(b),
        lambda n, lib: n.diff(z),
        lambda n, lib: n.diff(nothing),
        lambda n, lib: n.diff(nothing, axis=0),
        refused(lambda n, lib: n.diff(3.0)),
        refused(lambda n, lib: n.diff(x, -1)),
        refused(lambda n, lib: n.diff(x, axis=2)),
        refused(lambda n, lib: n.diff(x, prepend=row)),
        refused(lambda n, lib: n.diff([1, 2])),
        lambda n, lib: n.ediff1d(x),
        lambda n, lib: n.ediff1d(i, to_end=9, to_begin=np.array([-1, 5])),
        lambda n, lib: n.ediff1d(row, to_end=np.array([1, 2])),
        lambda n, lib: n.ediff1d(u),
        refused(lambda n, lib: n.ediff1d(b)),
        lambda n, lib: n.ediff1d(3.0),
        lambda n, lib: n.ediff1d(nothing),
        refused(lambda n, lib: n.ediff1d([1, 2])),
    ],
    "gradient": [
        lambda n, lib: n.gradient(row),
        lambda n, lib: n.gradient(x),
        lambda n, lib: n.gradient(x, 0.5),
        lambda n, lib: n.gradient(x, 0.5, places),
        lambda n, lib: n.gradient(x, places, axis=1),
        lambda n, lib: n.gradient(x, 2, 3, axis=(1, 0)),
        lambda n, lib: n.gradient(i),
        lambda n, lib: n.gradient(i, np.array([0, 1, 3]), axis=1),
        lambda n, lib: n.gradient(z, 2.0, axis=-1),
        lambda n, lib: n.gradient(row.astype(np.float16)),
        lambda n, lib: n.gradient(row[:2], places[:2]),
        refused(lambda n, lib: n.gradient(row[:1])),
        lambda n, lib: n.gradient(3.0),
        refused(lambda n, lib: n.gradient(x, 1.0, 2.0, 3.0)),
        refused(lambda n, lib: n.gradient(x, places[:2], axis=1)),
        refused(lambda n, lib: n.gradient(x, edge_order=2)),
        refused(lambda n, lib: n.gradient(x, axis=2)),
        refused(lambda n, lib: n.gradient([1, 2])),
    ],
    "trapezoid": [
        lambda n, lib: n.trapezoid(x),
        lambda n, lib: n.trapezoid(x, dx=0.5, axis=0),
        lambda n, lib: n.trapezoid(x, places),
        lambda n, lib: n.trapezoid(x, np.cumsum(x**2, 1)),
        lambda n, lib: n.trapezoid(x, np.array([0, 1, 4]), axis=0),
        lambda n, lib: n.trapezoid(i),
        lambda n, lib: n.trapezoid(b),
        lambda n, lib: n.trapezoid(z, places),
        lambda n, lib: n.trapezoid(x.astype(np.float16), dx=2),
        lambda n, lib: n.trapezoid(row[:1]),
        refused(lambda n, lib: n.trapezoid(3.0)),
        lambda n, lib: n.trapezoid(x, places[:2]),
        refused(lambda n, lib: n.trapezoid(x, axis=2)),
        refused(lambda n, lib: n.trapezoid([1, 2])),
    ],
    "interp": [
        lambda n, lib: n.interp(between, xp, fp),
        lambda n, lib: n.interp(between.reshape(5, 1), xp, fp, left=-7, right=n.asarray(7.0)),
        lambda n, lib: n.interp(between, xp, fp, "extrapolate", "extrapolate"),
        lambda n, lib: n.interp(2, np.arange(4), np.arange(4) ** 2),
        lambda n, lib: n.interp(between, xp, fp + 1j),
        lambda n, lib: n.interp(between, xp[::-1] * 2, fp, period=5),
        lambda n, lib: n.interp(between, xp, fp, period=2.5, left=3),
        lambda n, lib: n.interp(between, xp[:1], fp[:1]),
        lambda n, lib: n.interp(np.array([np.nan, np.inf]), xp, fp),
        refused(lambda n, lib: n.interp(between, xp, fp, left="go on")),
        refused(lambda n, lib: n.interp(between, xp, fp[:2])),
        refused(lambda n, lib: n.interp(between + 1j, xp, fp)),
        lambda n, lib: lib.jacfwd(n.interp, (0, 1, 2))(between, xp, fp),
        lambda n, lib: lib.jacrev(n.interp, 2)(between, xp, fp),
        lambda n, lib: lib.vmap(lambda between: n.interp(between, xp, fp, period=3))(c),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])


# Of arrays of one axis with four elements at least.
FUNCTIONS = [
    lambda n, x: n.diff(x, 2),
    lambda n, x: n.diff(x, prepend=x[-1], append=x[:2]),
    lambda n, x: n.ediff1d(x, x[:1], x[1:3]),
    lambda n, x: n.gradient(x),
    lambda n, x: n.gradient(x, np.float32(0.25)),
    lambda n, x: n.gradient(x, np.arange(4, dtype=np.float32) ** 2),
    lambda n, x: n.trapezoid(x),
    lambda n, x: n.trapezoid(x, x[::-1]),
    lambda n, x: n.trapezoid(x, dx=x[1]),
    lambda n, x: n.polyval(x, x[:2]),
    lambda n, x: n.polyval(n.concatenate([x] * 5), x[1:3]),
    lambda n, x: n.poly(x),
    lambda n, x: n.poly(n.concatenate([x] * 5)),
    lambda n, x: n.polyadd(x, x[1:]),
    lambda n, x: n.polysub(x[:2], x),
    lambda n, x: n.polymul(x, x[1:3]),
    lambda n, x: n.polydiv(x, x[1:3]),
    lambda n, x: n.polydiv(n.concatenate([x] * 5), x[1:3]),
    lambda n, x: n.polyder(x, 2),
    lambda n, x: n.polyint(x, 2, x[:2]),
]


DTYPES = "int8 uint8 uint64 bfloat16 float16 float32 complex64"


@pytest.mark.parametrize("dtype", one_in(3, DTYPES.split()))
def test_of_every_dtype(dtype):
    values = np.array([1, 1, 2, 1]).astype(getattr(gnp, dtype).dtype)
    ours = in_one_program(FUNCTIONS, gnp, glassjax_of_constants, values)
    assert_alike_all(ours, in_one_program(FUNCTIONS, jnp, jax_of_constants, values))
    with jax.enable_x64(False), glassjax.enable_x64(False):
        ours = types(FUNCTIONS, gnp, glassjax, values)
        assert ours == types(FUNCTIONS, jnp, jax, values)


def test_along_an_axis():
    batch = np.array([[1.0, 0.5, -0.25, 2.0], [0.5, -1.0, 1.0, 0.25]])
    ours = along_an_axis(FUNCTIONS, gnp, glassjax_of_constants, batch)
    assert_alike_all(ours, along_an_axis(FUNCTIONS, jnp, jax_of_constants, batch))


@pytest.mark.parametrize("turn", one_in(2, [1.0 + 0.5j, 1.0]))
def test_derivatives(turn):
    values = np.array([0.5, 1.0, -0.25, 0.75]) * turn
    ours = derivatives(FUNCTIONS, gnp, glassjax_of_constants, values)
    assert_alike_all(ours, derivatives(FUNCTIONS, jnp, jax_of_constants, values))
