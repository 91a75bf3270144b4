"""The smaller functions of `lax` are JAX's: pieces of arrays, shapes, barriers, primitives."""

import functools
import re

import jax
import numpy as np
import pytest
from libraries import assert_all_same_results, assert_same

import minijax
import minijax.numpy

LIBRARIES = [(minijax, minijax.numpy), (jax, jax.numpy)]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3, 4))


def leaves(lib, outs):
    return [np.asarray(x) for x in lib.tree.leaves(outs)]


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

    with minijax.enable_x64(x64), jax.enable_x64(x64):
        ours, theirs = (found(*library) for library in LIBRARIES)
    assert ours == theirs


def test_the_shape_of_a_transposed_convolution():
    """JAX's function of that name counts one element too many in each direction."""
    x, kernel = np.ones((1, 8, 3), np.float32), np.ones((3, 3, 5), np.float32)
    for padding in ("SAME", "VALID"):
        numbers = ("NHC", "HIO", "NHC")
        shape = minijax.lax.conv_transpose_shape_tuple(
            x.shape, kernel.shape, (2,), padding, numbers
        )
        result = jax.lax.conv_transpose(x, kernel, (2,), padding, dimension_numbers=numbers)
        assert shape == result.shape


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


def test_a_barrier_stands_in_the_program():
    text = minijax.jit(lambda x: minijax.lax.optimization_barrier((x, x + 1))).lower(1.0).as_text()
    assert len(re.findall(r"stablehlo\.optimization_barrier %\w+, %\w+ : tensor", text)) == 1


def test_what_lies_on_the_one_device_stays():
    x = {"a": minijax.numpy.ones(2)}
    found = minijax.lax.with_sharding_constraint(x, minijax.devices()[0])
    np.testing.assert_array_equal(found["a"], x["a"])
    assert minijax.vmap(lambda x: minijax.lax.pcast(x, "i", to="varying"), axis_name="i")(x) == x
    with pytest.raises(NameError, match="unbound axis name: j"):
        minijax.lax.pcast(x, "j", to="varying")


OURS = {
    (module, name)
    for module in ("lax", "lax.linalg")
    for name in dir(jax.lax if module == "lax" else jax.lax.linalg)
    if name.endswith("_p") and hasattr(minijax.lax if module == "lax" else minijax.lax.linalg, name)
}


def test_primitives_by_name():
    lax = minijax.lax
    assert {("lax", "add_p"), ("lax", "scan_p"), ("lax.linalg", "cholesky_p")} <= OURS
    assert len(OURS) > 120
    programs = {
        "add_p": lambda x: x + x,
        "dot_general_p": lambda x: minijax.numpy.dot(x, x),
        "cumsum_p": lambda x: lax.cumsum(x),
        "while_p": lambda x: lax.while_loop(lambda x: x[0] < 1, lambda x: x, x),
    }
    for name, program in programs.items():
        eqns = minijax.make_jaxpr(program)(np.ones(2)).jaxpr.eqns
        assert [eqn.primitive for eqn in eqns] == [getattr(lax, name)]
    for module, name in ((lax, "no_such_p"), (lax, "add_q"), (lax.linalg, "add_p")):
        with pytest.raises(AttributeError, match=f"{module.__name__}.*{name}"):
            getattr(module, name)


SIZES = [[2, 4, 0], [1, 2, 1], [0, 3, 9], [6, 0, 0]]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
def test_products_of_groups_of_rows(dtype):
    rows = (4 * RNG.standard_normal((6, 2))).astype(dtype)
    matrices = (4 * RNG.standard_normal((3, 2, 4))).astype(dtype)

    def program(jnp, lib, sizes):
        def f(x, y=matrices):
            return lib.lax.ragged_dot(x, y, np.array(sizes))

        outs = [f(rows), lib.lax.ragged_dot(rows, matrices, np.array(sizes, np.uint8))]
        if dtype.startswith("float"):
            outs += lib.grad(lambda x, y: jnp.sum(f(x, y) ** 2), (0, 1))(rows, matrices)
            outs.append(lib.lax.ragged_dot(rows, matrices, np.array(sizes), "highest", "float32"))
        both = np.stack([rows, rows + 1])  # which JAX does not map over
        return [*outs, lib.vmap(f)(both) if lib is minijax else jnp.stack([*map(f, both)])]

    programs = {str(sizes): functools.partial(program, sizes=sizes) for sizes in SIZES}
    assert_all_same_results(programs, 1e-5, 1e-5)


def test_groups_that_do_not_fit():
    x, y = np.ones((6, 2)), np.ones((2, 2, 4))
    for args in [
        (x, y, np.array([2.0, 4.0])),
        (x, y, np.array([2, 4, 1])),
        (x[0], y, np.array([2, 4])),
        (x, y[0], np.array([2, 4])),
        (x, y[:, :1], np.array([2, 4])),
    ]:
        for lib in (minijax, jax):
            with pytest.raises(TypeError):
                pytest.fail(f"{args}: {lib.__name__} gives {lib.lax.ragged_dot(*args)}")


def test_functions_with_a_name():
    def everything(lib, jnp):
        def scaled(x, y=2.0, *, by):
            return {"a": x * y * by, "b": [x]}

        f = lib.lax.composite(scaled, name="my.scaled", version=1)
        return f(X, by=2), f(X, 3.0, by=4), lib.jit(lambda x: f(x, x, by=1))(X)

    ours, theirs = (leaves(lib, everything(lib, jnp)) for lib, jnp in LIBRARIES)
    assert_same(ours, theirs, 1e-12)
    tangent = minijax.lax.composite(lambda x: minijax.lax.sin(x), name="my.sine")
    np.testing.assert_allclose(minijax.grad(tangent)(0.0), 1.0)
    assert "my.sine" in minijax.jit(tangent).lower(1.0).compile().as_text()
    for wrong in ({"name": 3}, {"name": "a", "version": "1"}):
        with pytest.raises(TypeError, match="composite: "):
            minijax.lax.composite(lambda x: x, **wrong)
    with pytest.raises(TypeError, match="composite"):
        minijax.lax.composite(3, name="three")
