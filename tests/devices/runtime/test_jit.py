"""Jitted functions on eight devices: compilation ahead of time, shardings, placement."""

import jax
import numpy as np
import pytest
from eight_devices import CAN_READ, X, assert_same, mesh_of, put, sharding

import glassjax

pytestmark = pytest.mark.skipif(not CAN_READ, reason="jaxlib cannot read sharded arrays")


def at_device(lib, number, function):
    with lib.default_device(lib.devices()[number]):
        return function(lib)


def in_mesh(lib, function):
    with lib.set_mesh(mesh_of(lib)):
        return function(lib)


def elsewhere(lib, number=3):
    """An array on a device where nobody put it on purpose."""
    return at_device(lib, number, lambda lib: lib.numpy.ones(8))


def on(lib, number, x=X):
    return lib.device_put(x, lib.devices()[number])


def test_a_default_device_is_that_of_the_process():
    try:
        for lib in (jax, glassjax):
            lib.config.update("jax_default_device", lib.devices()[5])
        assert_same(lambda lib: (lib.numpy.ones(3), lib.numpy.ones(8) + elsewhere(lib)))
    finally:
        for lib in (jax, glassjax):
            lib.config.update("jax_default_device", None)
    assert_same(lambda lib: lib.numpy.ones(3))


def product(x, y):
    return x @ y, x.sum()


def struct(lib, *spec, shape=(8, 8)):
    return lib.ShapeDtypeStruct(shape, np.float32, sharding=sharding(lib, *spec))


def compiled(lib, *args, function=product, **options):
    return lib.jit(function, **options).lower(*args).compile()


def shown(lib, shardings):
    """The classes, specs and devices of a pytree of shardings, some of which may be None."""
    return [
        (type(each).__name__, str(getattr(each, "spec", "")), sorted(d.id for d in each.device_set))
        if isinstance(each, lib.sharding.Sharding)
        else str(each)
        for each in lib.tree.leaves(shardings, is_leaf=lambda x: x is None)
    ]


def both(lib, stage):
    return str((shown(lib, stage.input_shardings), shown(lib, stage.output_shardings)))


def results(lib, stage):
    """The shardings of results only: JAX has no names for those of arguments that XLA chose."""
    return str(shown(lib, stage.output_shardings))


def donated(lib):
    x = put(lib, "x")
    y = compiled(lib, struct(lib, "x"), function=lambda x: x * 2, donate_argnums=0)(x)
    return y, str(x.is_deleted())


AHEAD = {
    "a divided array": lambda lib: both(lib, compiled(lib, put(lib, "x"), X)),
    "a divided type": lambda lib: both(lib, compiled(lib, struct(lib, "x"), struct(lib, "x"))),
    "on one device": lambda lib: both(lib, compiled(lib, on(lib, 3), X)),
    "plain": lambda lib: both(lib, compiled(lib, X, X)),
    "in_shardings": lambda lib: both(
        lib, compiled(lib, X, X, in_shardings=(sharding(lib, "x"), None))
    ),
    "out_shardings": lambda lib: results(
        lib, compiled(lib, X, X, out_shardings=(sharding(lib, "y", None), None))
    ),
    "in_shardings that differ": lambda lib: compiled(
        lib, struct(lib, "x"), X, in_shardings=(sharding(lib, "y"), None)
    ),
    "a constraint": lambda lib: results(
        lib,
        compiled(
            lib, X, function=lambda x: lib.lax.with_sharding_constraint(x, sharding(lib, None, "x"))
        ),
    ),
    "devices that differ": lambda lib: compiled(lib, struct(lib, "x"), on(lib, 3)),
    "an argument that is not used": lambda lib: both(
        lib, compiled(lib, put(lib, "x"), X, function=lambda x, y: y)
    ),
    "static and donated": lambda lib: both(
        lib,
        compiled(
            lib,
            struct(lib, "x"),
            3,
            function=lambda x, n: x * n,
            static_argnums=1,
            donate_argnums=0,
        ),
    ),
    "in a mesh": lambda lib: in_mesh(lib, lambda lib: results(lib, compiled(lib, X, X))),
    "on the default device": lambda lib: at_device(
        lib, 2, lambda lib: both(lib, compiled(lib, X, X))
    ),
    "a call": lambda lib: compiled(lib, struct(lib, "x"), struct(lib))(put(lib, "x"), put(lib)),
    "a call with plain arrays": lambda lib: compiled(lib, struct(lib, "x"), X)(X, X),
    "a call with other shardings": lambda lib: compiled(lib, struct(lib, "x"), X)(put(lib, "y"), X),
    "a call with another device": lambda lib: compiled(lib, struct(lib, "x"), X)(on(lib, 3), X),
    "a plain program, divided": lambda lib: compiled(lib, X, X)(put(lib, "x"), X),
    "a plain program, elsewhere": lambda lib: compiled(lib, X, X)(on(lib, 3), X),
    "a plain program, committed": lambda lib: str(compiled(lib, X, X)(on(lib, 0), X)[1]),
    "a donated array": donated,
    "types of results": lambda lib: [
        (str(each.shape), shown(lib, [each.sharding]))
        for each in lib.jit(product, out_shardings=(sharding(lib, "x"), None)).lower(X, X).out_info
    ],
    "eval_shape": lambda lib: [
        shown(lib, [each.sharding])
        for each in lib.eval_shape(
            lib.jit(product, out_shardings=(sharding(lib, "x"), None)), struct(lib, "y"), X
        )
    ],
    "eval_shape of a plain function": lambda lib: str(
        lib.eval_shape(product, struct(lib, "y"), X)[0].sharding
    ),
    "a type": lambda lib: (
        shown(lib, [struct(lib, "x").sharding, struct(lib, "x").update(shape=(16,)).sharding]),
        str(struct(lib, "x") == struct(lib)),
        str(struct(lib, "x") == struct(lib, "x")),
    ),
    "a type of a spec": lambda lib: in_mesh(
        lib,
        lambda lib: shown(
            lib,
            [lib.ShapeDtypeStruct((8,), int, sharding=lib.sharding.PartitionSpec("x")).sharding],
        ),
    ),
    "a type of a spec without a mesh": lambda lib: (
        lib.ShapeDtypeStruct((8,), int, sharding=lib.sharding.PartitionSpec("x")).sharding
    ),
    "a type of too few axes": lambda lib: struct(lib, "x", "y", shape=(8,)),
    "a type on a device": lambda lib: lib.ShapeDtypeStruct((8,), int, sharding=lib.devices()[0]),
    "sizes of a part": lambda lib: [
        str(getattr(compiled(lib, struct(lib, "x"), struct(lib)).memory_analysis(), name))
        for name in ("argument_size_in_bytes", "output_size_in_bytes")
    ],
    "operations of a part": lambda lib: str(
        compiled(lib, struct(lib, "x"), struct(lib)).cost_analysis()["flops"]
    ),
}


@pytest.mark.parametrize("name", AHEAD)
def test_programs_are_compiled_ahead_of_time_as_in_jax(name):
    assert_same(AHEAD[name])


def test_the_text_of_a_program_says_how_arguments_are_divided():
    text = glassjax.jit(product).lower(struct(glassjax, "x"), X).as_text()
    assert 'sdy.mesh @mesh = <["x"=4, "y"=2]>' in text
    assert 'sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>' in text
    options = {"xla_cpu_enable_fast_math": True}
    again = glassjax.jit(product).lower(struct(glassjax, "x"), X).compile(options)
    assert again.output_shardings[0] == sharding(glassjax, "x")
    with pytest.raises(ValueError, match="compiled for argument x with NamedSharding"):
        again(put(glassjax, "y"), X)


def with_shardings(lib, function=None):
    """A jitted function whose arguments and results have shardings."""
    function = function or (lambda x: lib.numpy.sin(x) * 2)
    return lib.jit(function, in_shardings=sharding(lib, "x"), out_shardings=sharding(lib, "y"))


GIVEN_INSIDE = {
    "grad": lambda lib: lib.grad(
        lib.jit(lambda x: lib.numpy.sin(x).sum(), in_shardings=sharding(lib, "x"))
    )(X),
    "grad of a sum": lambda lib: lib.grad(lambda x: with_shardings(lib)(x).sum())(X),
    "jvp": lambda lib: lib.jvp(with_shardings(lib), (X,), (X,)),
    "vmap": lambda lib: lib.vmap(with_shardings(lib))(np.stack([X, X])),
    "jit": lambda lib: lib.jit(lambda x: with_shardings(lib)(x) + 1)(X),
    "jit of what is elsewhere": lambda lib: lib.jit(lambda x: with_shardings(lib)(x) + 1)(
        put(lib, None, "y")
    ),
    "checkpoint": lambda lib: lib.grad(lib.checkpoint(lambda x: with_shardings(lib)(x).sum()))(X),
}


@pytest.mark.parametrize("name", GIVEN_INSIDE)
def test_shardings_that_jit_is_given_hold_inside_transformations(name):
    assert_same(GIVEN_INSIDE[name])


def where_calls_run(lib):
    """The devices of results of warm calls, whose arguments lie on one device or on two."""
    x = lib.numpy.ones(4)
    far = lib.device_put(x, lib.devices()[1])
    add = lib.jit(lambda *args, **kwargs: sum(lib.tree.leaves((args, kwargs))))
    calls = [
        lambda x, y: add(x, x, y),
        lambda x, y: add({"a": x, "b": y}),
        lambda x, y: add((x, y), x),
        lambda x, y: add(x, other=y),
        lambda x, y: add(y, 2.0),
    ]
    return [
        [device.id for device in call(x, y).devices()]
        for _ in range(2) for call in calls for y in (x, far, x)
    ]  # fmt: skip


def test_calls_known_by_their_types_run_where_arguments_lie():
    assert where_calls_run(glassjax) == where_calls_run(jax)
