"""Functions that change shapes, also transformed, beside JAX."""

import itertools

import numpy as np
import pytest
from libraries import assert_all_same_results, refused

import glassjax.numpy as gnp

x = np.arange(4.0, dtype=np.float32)


m = np.arange(12.0, dtype=np.float32).reshape(3, 4)


c = m.reshape(2, 3, 2)


z = np.array([0, 3, 0, 2])


b = np.array([True, False, True, True])


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "manipulation": [
        lambda n, lib: n.broadcast_arrays(x, 1),
        lambda n, lib: n.broadcast_shapes((1, 2), (3, 1)),
        lambda n, lib: n.moveaxis(c, (0, 1), (2, 0)),
        lambda n, lib: n.moveaxis(c, 0, -1),
        lambda n, lib: n.permute_dims(c, (1, 0, 2)),
        lambda n, lib: n.matrix_transpose(c),
        lambda n, lib: n.size(m),
        lambda n, lib: n.size(m, 0),
    ],
    "transformed": [
        lambda n, lib: lib.jit(lambda r: n.repeat(x, r, total_repeat_length=7))(
            np.array([1, 2, 0, 1])
        ),
        lambda n, lib: lib.jit(lambda r: n.repeat(m, r, axis=1, total_repeat_length=3))(
            np.array([1, 2, 0, 1])
        ),
        refused(lambda n, lib: lib.jit(lambda r: n.repeat(x, r))(np.array([1, 2, 0, 1]))),
        lambda n, lib: lib.jit(lambda z: n.nonzero(z, size=4, fill_value=-1))(z),
        refused(lambda n, lib: lib.jit(lambda z: n.nonzero(z))(z)),
        lambda n, lib: lib.jit(lambda i: n.delete(x, i, assume_unique_indices=True))(
            np.array([0, 2])
        ),
        lambda n, lib: lib.jit(
            lambda m: (
                m.take(1),
                m.mT,
                m.flatten(),
                m.reshape(2, 6, order="F"),
                m.astype(int, copy=True),
                m.swapaxes(0, 1),
                m.diagonal(),
                m.repeat(2, axis=0),
            )
        )(m),
        lambda n, lib: lib.grad(lambda m: (n.pad(m, ((1, 2), (3, 4)), mode="reflect") ** 2).sum())(
            m
        ),
        lambda n, lib: lib.grad(lambda m: (n.take(m, np.array([0, 2, 0]), axis=1) ** 2).sum())(m),
        lambda n, lib: lib.grad(
            lambda m: (n.take_along_axis(m, np.array([[1], [0], [3]]), 1) ** 2).sum()
        )(m),
        lambda n, lib: lib.grad(
            lambda m: (n.tril(m) ** 2).sum() + (n.diag(m) ** 2).sum() + (n.roll(m, 1) * m).sum()
        )(m),
        lambda n, lib: lib.grad(
            lambda m: (n.repeat(m, 2, axis=0) ** 2).sum() + (n.tile(m, (2, 3)) ** 2).sum()
        )(m),
        lambda n, lib: lib.grad(lambda m: (n.diag(n.ravel(m), 1) ** 3).sum())(m),
        lambda n, lib: lib.vmap(lambda r: n.pad(r, 2, mode="wrap"))(m),
        lambda n, lib: lib.vmap(lambda r: n.roll(r, 1))(m),
        lambda n, lib: lib.vmap(lambda r, s: n.roll(r, s))(m, np.arange(3)),
        lambda n, lib: lib.vmap(lambda r: n.nonzero(r, size=3)[0])(m),
        lambda n, lib: lib.vmap(lambda r, j: n.take(r, j))(m, np.array([0, 1, -1])),
        lambda n, lib: lib.vmap(lambda r: n.diag(r))(m),
        lambda n, lib: lib.grad(
            lambda x: (lib.ops.segment_sum(x, np.array([0, 0, 2, 2]), 3) ** 2).sum()
        )(x),
        lambda n, lib: lib.grad(
            lambda x: (
                lib.ops.segment_max(x, np.array([0, 0, 2, 2]), 3)[np.array([0, 2])] ** 2
            ).sum()
        )(x),
        refused(
            refused(
                lambda n, lib: lib.jit(lambda i: lib.ops.segment_sum(x, i))(np.array([0, 0, 2, 2]))
            )
        ),
        *(
            lambda n, lib, name=name: lib.jacrev(
                lambda x: (
                    getattr(lib.ops, name)(x, np.array([0, 2, 2, 2]), 3) * np.float32([1, 0, 2])
                )
            )(x[[1, 3, 2, 3]])
            for name in ("segment_sum", "segment_max", "segment_min")
        ),
        *(
            lambda n, lib, name=name: lib.vmap(lambda x: getattr(lib.ops, name)(x, z[:4] % 3, 3))(m)
            for name in ("segment_sum", "segment_prod", "segment_max", "segment_min")
        ),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])


def test_what_jax_refuses_is_given_as_numpy_gives_it():
    np.testing.assert_array_equal(
        gnp.asarray(m)[gnp.ix_(np.array([0, 2]), b)], m[np.ix_(np.array([0, 2]), b)]
    )
    np.testing.assert_array_equal(gnp.pad(m, {1: (1, 2)}), np.pad(m, ((0, 0), (1, 2))))


class OfAShape:
    """What has a shape and a dtype, and is no array."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype


def test_types_stand_for_arrays_where_only_types_matter():
    """They were refused, as in `zeros_like(ShapeDtypeStruct(...))`."""
    programs = {}

    def like(kind, shape, dtype, call):
        def program(n, lib):
            make = OfAShape if kind == "own" else lib.ShapeDtypeStruct
            return call(n, lib, make(shape, n.dtype(dtype)))

        return program

    for key in itertools.product(
        ("own", "of the library"),
        ((), (2, 0), (2, 3)),
        ("float32", "bfloat16", "bool", "int8", "complex64"),
    ):
        for options in ({}, {"dtype": "int32"}, {"shape": (4,)}):
            for number, call in enumerate(
                [
                    lambda n, lib, of, how=options: n.zeros_like(of, **how),
                    lambda n, lib, of, how=options: n.ones_like(of, **how),
                    lambda n, lib, of, how=options: n.empty_like(of, **how),
                    lambda n, lib, of, how=options: n.full_like(of, 1, **how),
                    lambda n, lib, of, how=options: lib.lax.full_like(of, 1, **how),
                    lambda n, lib, of, how=options: lib.jit(lambda: n.ones_like(of, **how))(),
                ]
            ):
                programs[(*key, *options, number)] = like(*key, call)
        programs[(*key, "of a tracer")] = like(
            *key, lambda n, lib, of: lib.vmap(lambda x: n.full_like(of, x))(np.ones(2))
        )
        programs[(*key, "by name")] = like(*key, lambda n, lib, of: n.zeros_like(a=of))
    assert_all_same_results(programs)
