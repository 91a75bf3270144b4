"""Elementwise functions of `lax`: bits, rounding, selection and errors, beside JAX."""

import jax
import numpy as np
import pytest
from jax import lax as jlax
from lax_operands import F32, b, h, i, refusing, u, v, with_lax, x, z
from libraries import LIBRARIES, assert_all_same_results, assert_same_program

import glassjax
import glassjax.numpy
from glassjax import lax

BITS = [
    lambda lax: lax.iota(np.int32, 5),
    lambda lax: lax.iota(F32, 3),
    lambda lax: lax.iota("uint8", 0),
    lambda lax: lax.iota(np.complex64, 2),
    lambda lax: lax.broadcasted_iota(np.int32, (2, 3), 1),
    lambda lax: lax.clamp(F32(-1), x, F32(2)),
    lambda lax: lax.clamp(x - 1, x * 2, x + 1),
    lambda lax: lax.clamp(np.int32(0), i, np.int32(3)),
    lambda lax: lax.clamp(F32(0), v, F32(1)),
    lambda lax: lax.bitcast_convert_type(x, np.int32),
    lambda lax: lax.bitcast_convert_type(x, np.uint8),
    lambda lax: lax.bitcast_convert_type(i.view(np.uint8).reshape(2, 4, 4), F32),
    lambda lax: lax.bitcast_convert_type(h, np.int16),
    lambda lax: lax.bitcast_convert_type(u.reshape(3, 2), np.int16),
    lambda lax: lax.shift_left(i, np.int32([1, 31, 32, 40])[None] * np.ones_like(i)),
    lambda lax: lax.shift_right_arithmetic(i, np.full_like(i, 1)),
    lambda lax: lax.shift_right_logical(i, np.full_like(i, 1)),
    lambda lax: lax.shift_right_arithmetic(u, np.full_like(u, 2)),
    lambda lax: lax.shift_right_logical(u, np.full_like(u, 9)),
    lambda lax: lax.shift_right_arithmetic(i, np.full_like(i, 33)),
    lambda lax: lax.clz(np.abs(i)),
    lambda lax: lax.clz(u),
    lambda lax: lax.population_count(i),
    lambda lax: lax.population_count(u),
    lambda lax: lax.rem(i, np.full_like(i, -3)),
    lambda lax: lax.rem(x, np.full_like(x, -1.5)),
    lambda lax: lax.rem(v, v[::-1].copy()),
    lambda lax: lax.integer_pow(x, 3),
    lambda lax: lax.integer_pow(x, -2),
    lambda lax: lax.integer_pow(x, 0),
    lambda lax: lax.integer_pow(i, 5),
    lambda lax: lax.integer_pow(z, 4),
    lambda lax: lax.integer_pow(x, 1),
    lambda lax: lax.is_finite(v),
    lambda lax: lax.is_finite(h),
    lambda lax: lax.reduce_precision(x + 0.1, 5, 4),
    lambda lax: lax.reduce_precision(F32([1e30, 1e-30, 70000.0, np.nan]), 5, 10),
    lambda lax: lax.reduce_precision(h, 8, 3),
    lambda lax: lax.expand_dims(x, (0, -1)),
    lambda lax: lax.expand_dims(x, [1]),
    lambda lax: lax.expand_dims(F32(2), (0, 1)),
    lambda lax: lax.linalg.lu_pivots_to_permutation(np.int32([2, 2, 2]), 4),
    lambda lax: lax.linalg.lu_pivots_to_permutation(np.int32([[1, 1], [0, 1]]), 3),
]


NO_BITS = [
    lambda lax: lax.iota(np.int32, -1),
    lambda lax: lax.iota(bool, 2),
    lambda lax: lax.iota(np.int32, 1.5),
    lambda lax: lax.broadcasted_iota(np.int32, (2, 3), 2),
    lambda lax: lax.broadcasted_iota(np.int32, (2, 3), -1),
    lambda lax: lax.bitcast_convert_type(u, np.int32),
    lambda lax: lax.bitcast_convert_type(b, np.int8),
    lambda lax: lax.bitcast_convert_type(z, np.int32),
    lambda lax: lax.shift_left(x, x),
    lambda lax: lax.shift_right_logical(b, b),
    lambda lax: lax.clz(x),
    lambda lax: lax.population_count(b),
    lambda lax: lax.rem(z, z),
    lambda lax: lax.rem(b, b),
    lambda lax: lax.integer_pow(i, -1),
    lambda lax: lax.integer_pow(b, 2),
    lambda lax: lax.is_finite(z),
    lambda lax: lax.reduce_precision(x, 0, 4),
    lambda lax: lax.reduce_precision(x, 4, -1),
    lambda lax: lax.reduce_precision(i, 4, 4),
    lambda lax: lax.expand_dims(x, (0, 0)),
    lambda lax: lax.linalg.lu_pivots_to_permutation(np.float32([0, 1]), 2),
    lambda lax: lax.linalg.lu_pivots_to_permutation(np.int32(1), 2),
    lambda lax: lax.linalg.lu_pivots_to_permutation(np.int32([0, 1, 2]), 2),
    lambda lax: lax.lgamma(z),
    lambda lax: lax.neg(b),
    lambda lax: lax.add(x, "a"),
]


@pytest.mark.bits(32)
def test_bits_and_numbers():
    assert_all_same_results([*with_lax(BITS), *refusing(NO_BITS)])


@pytest.mark.bits(32)
def test_bits_and_numbers_are_transformed():
    def program(n, lib):
        lax = lib.lax

        def f(x):
            return (
                lax.clamp(F32(-0.7), x, F32(2.2)),
                lax.clamp(x - 1, x * x, x + 1),
                lax.rem(x * 3, x + 4.3),
                lax.integer_pow(x, 4),
                lax.integer_pow(x + 9, -2),
                lax.reduce_precision(x * x, 6, 12),
                lax.expand_dims(x * x, (0, 2)),
            )

        out, tangent = lib.jvp(f, (x,), (x + 1,))
        pull = lambda x: lib.vjp(f, x)[1](tuple(map(n.cos, out)))  # noqa: E731
        batches = lib.vmap(
            lambda x, i: (
                f(x),
                lax.clz(i),
                lax.bitcast_convert_type(i, np.uint8),
                lax.shift_left(i, i * 0 + 2),
                lax.linalg.lu_pivots_to_permutation(lax.clamp(np.int32(0), i, np.int32(3)), 4),
            ),
            (0, 1),
        )(x[:2], np.abs(i).reshape(4, 2))
        return lib.tree.leaves([out, tangent, lib.jvp(pull, (x,), (x * 2,)), batches])

    assert_all_same_results([program])


INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def test_mulhi():
    rng, operands, exact = np.random.default_rng(0), [], []
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        x, y = rng.integers(info.min, info.max, (2, 50), dtype, endpoint=True)
        x[:4], y[:4] = [info.min, info.max, info.min, 0], [info.min, info.max, info.max, info.min]
        operands.append((x, y))
        exact.append([int(a) * int(b) >> info.bits for a, b in zip(x, y, strict=True)])
    found = glassjax.jit(lambda: [lax.mulhi(x, y) for x, y in operands])()
    types = jax.eval_shape(lambda: [jlax.mulhi(x, y) for x, y in operands])
    for out, of_jax, expected in zip(found, types, exact, strict=True):
        assert (out.dtype, out.shape, out.weak_type) == (of_jax.dtype, of_jax.shape, False)
        assert out.tolist() == expected


def test_mulhi_refuses_floats():
    with pytest.raises(TypeError, match="mulhi"):
        lax.mulhi(1.0, 2.0)


RNG = np.random.default_rng(0)


X = RNG.standard_normal((6, 3))


def test_selections_by_number():
    cases = [X[0], X[1], X[2]]

    def everything(lib, jnp):
        def select(which, *cases):
            return lib.lax.select_n(which, *cases)

        on_device = list(map(jnp.asarray, cases))
        which = jnp.array([2, 0, 1])
        outs = [select(which.astype(t), *on_device) for t in (np.int8, np.uint32, np.int64)]
        return [
            *outs,
            select(jnp.int32(1), *on_device),
            select(which > 0, *on_device[:2]),
            select(jnp.array([-1, 5, 1]), *on_device),
            lib.vmap(select, (0, None, None, 0))(jnp.arange(3), *on_device[:2], jnp.asarray(X[:3])),
            lib.grad(lambda *cases: jnp.sum(jnp.sin(select(which, *cases))), (0, 1, 2))(*on_device),
        ]

    assert_same_program(lambda lib: lambda: everything(lib, lib.numpy))
    for which, count in ((np.ones(3), 3), (np.array([True] * 3), 3)):
        for lib, _ in LIBRARIES:
            with pytest.raises(TypeError):
                lib.lax.select_n(which, *cases[:count])
