"""Slicing, joining and splitting by `lax`: values, dtypes and errors, beside JAX."""

import functools

import jax
import numpy as np
import pytest
from libraries import LIBRARIES, assert_all_same_results

import glassjax
import glassjax.numpy

RNG = np.random.default_rng(0)


X = RNG.standard_normal((2, 3, 4))


# Functions of a library and an array, linear in it.
PIECES = {
    "split": lambda lax, x: lax.split(x, (1, 0, 2), 1),
    "split at the end": lambda lax, x: lax.split(x, [1, 3], axis=-1),
    "stack": lambda lax, x: lax.stack([x, 2 * x], -1),
    "unstack": lambda lax, x: lax.unstack(x, 1),
    "tile": lambda lax, x: lax.tile(x, (2, 1, 3)),
    "no tiles": lambda lax, x: lax.tile(x, (2, 0, 3)),
    "collapse": lambda lax, x: [lax.collapse(x, 1), lax.collapse(x, 0, -1), lax.collapse(x, 2, 2)],
    "rank": lambda lax, x: [lax.broadcast_to_rank(x, rank) for rank in (0, 3, 5)],
    "like": lambda lax, x: lax.broadcast_like(x[:1, :, :1], x),
    "barrier": lambda lax, x: lax.optimization_barrier({"a": x, "b": (x * 3, None)}),
    "platform": lambda lax, x: lax.platform_dependent(
        x, cpu=lambda x: 2 * x, cuda=lambda x: 3 * x, default=lambda x: x
    ),
    "other platform": lambda lax, x: lax.platform_dependent(
        x, cuda=lambda x: 3 * x, default=lambda x: x
    ),
}


def test_pieces_and_their_derivatives():
    def program(jnp, lib, piece):
        def f(x):
            return piece(lib.lax, x)

        def loss(x):
            return sum(jnp.sum(jnp.sin(leaf)) for leaf in lib.tree.leaves(f(x)))

        xs = np.stack([X, -X], 1)
        x = jnp.asarray(X)
        outs = f(x), lib.jvp(f, (x,), (2 * x,)), lib.grad(loss)(x), lib.vmap(f, 1)(xs)
        return lib.tree.leaves(outs)

    programs = {name: functools.partial(program, piece=piece) for name, piece in PIECES.items()}
    assert_all_same_results(programs, 1e-12, 1e-12)


@pytest.mark.parametrize("x64", [False, True])
def test_types_and_shapes(x64):
    def found(lib, jnp):
        lax, x = lib.lax, jnp.arange(6).reshape(2, 3)
        outs = [
            *lax.split(x, (2, 1), 1),
            lax.stack([1, 2]),
            lax.tile(2.5, ()),
            lax.broadcast_to_rank(1.0, 2),
            lax.empty(2, np.float32),
            lax.empty((2, 0), np.int8),
            lax.shape_as_value((2, 3)),
            lax.shape_as_value(()),
            *lax.optimization_barrier((1, 2.5, x > 1)),
        ]
        dtypes = [lax.dtype(y) for y in (1, 2.5, True, x, np.ones(2), float, "int8", np.int16)]
        shapes = [
            lax.reduce_window_shape_tuple((6, 7), (2, 3), (2, 1), [(0, 1), (1, 0)]),
            lax.reduce_window_shape_tuple((6, 7), (2, 3), (2, 1), [(0, 1), (1, 0)], (2, 1), (1, 2)),
            lax.conv_shape_tuple((4, 3, 8, 9), (6, 3, 3, 2), (1, 2), "SAME"),
            lax.conv_shape_tuple((4, 3, 8, 9), (6, 3, 3, 2), (1, 2), [(0, 1), (1, 1)], 2),
            lax.conv_general_shape_tuple((1, 8, 3), (3, 3, 5), (2,), "SAME", ("NHC", "HIO", "NHC")),
        ]
        return [(y.shape, str(y.dtype)) for y in outs], dtypes, shapes

    with glassjax.enable_x64(x64), jax.enable_x64(x64):
        ours, theirs = (found(*library) for library in LIBRARIES)
    assert ours == theirs


# Each is a call that JAX refuses, too.
FAULTS = {
    "sizes of another sum": lambda lib, x: lib.lax.split(x, (1, 1), 1),
    "negative sizes": lambda lib, x: lib.lax.split(x, (-1, 4), 1),
    "no such axis": lambda lib, x: lib.lax.split(x, (1, 1), 3),
    "two shapes": lambda lib, x: lib.lax.stack([x, x[0]]),
    "two dtypes": lambda lib, x: lib.lax.stack([x, x > 0]),
    "a scalar": lambda lib, x: lib.lax.unstack(x[0, 0, 0]),
    "too few repetitions": lambda lib, x: lib.lax.tile(x, (2,)),
    "no axes": lambda lib, x: lib.lax.collapse(x, 1, 0),
    "like what is smaller": lambda lib, x: lib.lax.broadcast_like(x, x[0]),
    "no platform": lambda lib, x: lib.lax.platform_dependent(x, cuda=lambda x: x),
    "two platforms in one": lambda lib, x: lib.lax.platform_dependent(x, gpu=lambda x: x),
    "no function": lambda lib, x: lib.lax.platform_dependent(x, default=3),
    "no sharding": lambda lib, x: lib.lax.with_sharding_constraint(x, None),
    "another way to vary": lambda lib, x: lib.lax.pcast(x, "i", to="none"),
}


def test_what_jax_refuses_is_refused():
    for name, call in FAULTS.items():
        kinds = []
        for lib, jnp in LIBRARIES:
            with pytest.raises((TypeError, ValueError, NotImplementedError)) as info:
                pytest.fail(f"{name}: {lib.__name__} gives {call(lib, jnp.asarray(X))}")
            kinds.append(info.type)
        assert issubclass(kinds[0], kinds[1]), name
