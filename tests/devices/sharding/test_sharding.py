"""Arrays sharded over eight devices: values, shardings of results and errors, beside JAX."""

import functools
import itertools
import pickle

import jax
import numpy as np
import pytest
from eight_devices import CAN_READ, X, assert_same, mesh_of, put, sharding, with_mesh
from hypothesis import given
from hypothesis import strategies as st
from shares import examples

import glassjax

pytestmark = pytest.mark.skipif(not CAN_READ, reason="jaxlib cannot read sharded arrays")


def abstract_mesh(lib):
    automatic = (lib.sharding.AxisType.Auto,) * 2
    return lib.sharding.AbstractMesh((4, 2), ("x", "y"), axis_types=automatic)


def abstract(lib, *spec):
    return lib.sharding.NamedSharding(abstract_mesh(lib), lib.sharding.PartitionSpec(*spec))


def by_axes_alone(lib, *spec):
    return lib.sharding.NamedSharding(mesh_of(lib).abstract_mesh, lib.sharding.PartitionSpec(*spec))


def with_devices(lib, function):
    with lib.set_mesh(mesh_of(lib)):
        return function(lib.numpy.asarray(X))


def on_one_device(lib):
    """As flax places its variables in a jitted function."""
    mesh = lib.sharding.Mesh(lib.devices()[:1], "x")

    def made():
        where = lib.sharding.NamedSharding(lib.sharding.get_abstract_mesh(), lib.P("x"))
        return lib.lax.with_sharding_constraint(lib.numpy.ones(3), where)

    with lib.set_mesh(mesh):
        return np.asarray(lib.jit(made)())


def with_reference(lib, out_shardings):
    """A jitted function of a number, a reference and an array, whose shardings are given."""

    def step(scale, ref, x):
        ref[...] += x * scale
        return {"total": ref[...].sum(0), "x": x}

    ref = lib.new_ref(put(lib, "x"))
    in_shardings = sharding(lib, "x"), None
    jitted = lib.jit(step, static_argnums=0, in_shardings=in_shardings, out_shardings=out_shardings)
    result = jitted(2.0, ref, lib.numpy.asarray(X))
    return ref[...], result


def with_outer_reference(lib):
    ref = lib.new_ref(put(lib, "x"))

    def step(x):
        ref[...] += x
        return x

    return lib.jit(step, in_shardings=sharding(lib, "x"))(X), ref[...]


def under_abstract_mesh(lib, function):
    with lib.sharding.use_abstract_mesh(abstract_mesh(lib)):
        return function()


PROGRAMS = {
    # Where arrays lie.
    "put": lambda lib: put(lib, "x"),
    "a reference, shardings given": lambda lib: with_reference(
        lib, {"total": sharding(lib), "x": None}
    ),
    "a reference, one for all results": lambda lib: with_reference(lib, sharding(lib, "y")),
    "a reference that is not given": with_outer_reference,
    "put by both axes": lambda lib: put(lib, ("x", "y")),
    "put crosswise": lambda lib: put(lib, "y", "x"),
    "put everywhere": lambda lib: put(lib),
    "put on one device": lambda lib: lib.device_put(X, lib.devices()[3]),
    "put again": lambda lib: lib.device_put(put(lib, "x"), sharding(lib, None, "y")),
    "put on one device again": lambda lib: lib.device_put(put(lib, "x"), lib.devices()[2]),
    "put where it is": lambda lib: lib.device_put(put(lib, "x")),
    "put a tree": lambda lib: lib.device_put(
        {"a": X, "b": [X[0]]}, {"a": sharding(lib, "x"), "b": lib.devices()[1]}
    ),
    "put by a prefix": lambda lib: lib.device_put((X, [X, X]), (None, sharding(lib, "y"))),
    "put by a spec": lambda lib: with_mesh(
        lib, lambda lib: lib.device_put(X, lib.sharding.PartitionSpec("x"))
    ),
    "put by a spec without a mesh": lambda lib: lib.device_put(X, lib.sharding.PartitionSpec("x")),
    "put what does not divide": lambda lib: put(lib, "x", x=X[:7]),
    "put too many axes": lambda lib: put(lib, "x", "y", x=X[0]),
    "an axis that is not there": lambda lib: sharding(lib, "z"),
    "an axis twice": lambda lib: sharding(lib, "x", "x"),
    "put on an abstract mesh": lambda lib: lib.device_put(X, abstract(lib, "x")),
    "an abstract mesh": lambda lib: [
        (each.num_devices, each.is_fully_replicated, each.shard_shape((8, 8)))
        for each in (abstract(lib), abstract(lib, "x"), abstract(lib, None, ("y", "x")))
    ],
    "equivalent on an abstract mesh": lambda lib: [
        abstract(lib, *spec).is_equivalent_to(abstract(lib, "x"), 2)
        for spec in (["x"], ["x", None], ["y"], [("x", "y")])
    ],
    "the devices of an abstract mesh": lambda lib: abstract(lib, "x").device_set,
    "an abstract mesh in context": lambda lib: under_abstract_mesh(
        lib,
        lambda: [
            lib.sharding.get_abstract_mesh().shape_tuple,
            lib.eval_shape(lambda x: lib.lax.with_sharding_constraint(x, lib.P("y")), X).shape,
        ],
    ),
    "numbers": lambda lib: lib.numpy.ones(3),
    "a shard": lambda lib: put(lib, "x").addressable_data(3),
    "shards": lambda lib: [
        (shard.device.id, shard.replica_id, str(shard.index), shard.data)
        for shard in put(lib, None, "y").addressable_shards
    ],
    "attributes": lambda lib: [
        (x.is_fully_replicated, x.is_fully_addressable, x.nbytes, len(x.global_shards))
        for x in (put(lib), put(lib, "x"), put(lib, "y", "x"))
    ],
    # What is computed of them.
    "add": lambda lib: put(lib, "x") + 1,
    "add crosswise": lambda lib: put(lib, "x") + put(lib, None, "y"),
    "add what lies anywhere": lambda lib: put(lib, "x") + lib.numpy.ones((8, 8)),
    "one on device 3": lambda lib: lib.device_put(X, lib.devices()[3]) + 1,
    "other devices": lambda lib: put(lib, "x") + lib.device_put(X, lib.devices()[0]),
    "another order of devices": lambda lib: lib.jit(lambda a, b: a + b)(
        put(lib, "x"), put(lib, "x", shape=(4,), names=("x",))
    ),
    "transpose": lambda lib: put(lib, "x").T,
    "matmul": lambda lib: put(lib, "x") @ put(lib, None, "y"),
    "contract": lambda lib: put(lib, None, "x") @ put(lib, "x"),
    "sum": lambda lib: (put(lib, "x").sum(), put(lib, "x").sum(0), put(lib, "x").sum(1)),
    "index": lambda lib: (put(lib, "x")[1:3], put(lib, None, "y")[2]),
    "update": lambda lib: put(lib, "x").at[0].set(1.0),
    "concatenate": lambda lib: lib.numpy.concatenate([put(lib, "x"), put(lib, "x")]),
    "sort": lambda lib: lib.numpy.sort(put(lib, "x"), axis=1),
    "grad": lambda lib: lib.grad(lambda x: (x**2).sum())(put(lib, "x")),
    "jit of grad": lambda lib: lib.jit(lib.grad(lambda x: (x @ x).sum()))(put(lib, "x")),
    "vmap": lambda lib: lib.vmap(lambda row: row @ row)(put(lib, "x")),
    "checkpoint": lambda lib: lib.grad(lib.checkpoint(lambda x: lib.numpy.sin(x).sum()))(
        put(lib, "x")
    ),
    "grad of jit": lambda lib: lib.grad(lambda x: lib.jit(lib.numpy.tanh)(x @ x).sum())(
        put(lib, None, "y")
    ),
    "vmap of jit": lambda lib: lib.vmap(lib.jit(lambda row: row * row.sum()))(put(lib, "x")),
    "jit": lambda lib: lib.jit(lambda x: (x @ x.T, x.sum(), x[:3, :5]))(put(lib, "x")),
    "jit in jit": lambda lib: lib.jit(lambda x: lib.jit(lambda y: y * 2)(x) + 1)(put(lib, "x")),
    "random numbers": lambda lib: lib.random.normal(
        lib.device_put(lib.random.key(0), sharding(lib)), (8,)
    ),
    "inverse": lambda lib: lib.numpy.linalg.inv(put(lib, "x") + 30 * np.eye(8, dtype=np.float32)),
    # What `jit` is told.
    "in_shardings": lambda lib: lib.jit(lambda x: x + 1, in_shardings=sharding(lib, None, "y"))(X),
    "in_shardings that differ": lambda lib: lib.jit(
        lambda x: x + 1, in_shardings=sharding(lib, None, "y")
    )(put(lib, "x")),
    "in_shardings that do not divide": lambda lib: lib.jit(
        lambda x: x + 1, in_shardings=sharding(lib, "x")
    )(X[:7]),
    "out_shardings": lambda lib: lib.jit(
        lambda x: {"a": x * 2, "b": x.sum()},
        out_shardings={"a": sharding(lib, "y"), "b": sharding(lib)},
    )(X),
    "specs": lambda lib: with_mesh(
        lib,
        lambda lib: lib.jit(
            lambda x: x + 1,
            in_shardings=lib.sharding.PartitionSpec("x"),
            out_shardings=lib.sharding.PartitionSpec("y"),
        )(X),
    ),
    "a constraint": lambda lib: lib.jit(
        lambda x: lib.lax.with_sharding_constraint(x * 2, sharding(lib, None, "x"))
    )(X),
    "a constraint outside": lambda lib: lib.lax.with_sharding_constraint(
        put(lib, "x"), sharding(lib, None, "y")
    ),
    "a constraint without devices": lambda lib: lib.lax.with_sharding_constraint(
        put(lib, "x"), by_axes_alone(lib, None, "y")
    ),
    "a constraint of the axes in context": lambda lib: with_devices(
        lib, lambda x: lib.lax.with_sharding_constraint(2 * x, by_axes_alone(lib, "y"))
    ),
    "a constraint of the axes in context, jitted": lambda lib: with_devices(
        lib, lib.jit(lambda x: lib.lax.with_sharding_constraint(2 * x, by_axes_alone(lib, "y")))
    ),
    "a constraint of one device in context": on_one_device,
    "a constraint that does not divide": lambda lib: lib.jit(
        lambda x: lib.lax.with_sharding_constraint(x, sharding(lib, "x"))
    )(X[:7]),
    "the gradient of a constraint": lambda lib: lib.jit(
        lib.grad(lambda x: (lib.lax.with_sharding_constraint(x, sharding(lib, "x")) ** 2).sum())
    )(X),
    "too few devices": lambda lib: lib.make_mesh((16,), ("x",)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_shardings_and_errors_are_jaxs(name):
    assert_same(PROGRAMS[name])


AXES = [None, "x", "y", ("x", "y"), ("y", "x")]
SPECS = [
    (a, b)
    for a, b in itertools.product(AXES, AXES)
    if not {*np.ravel([a or []])} & {*np.ravel([b or []])}
]
FUNCTIONS = {
    "sum": lambda jnp, x, y: jnp.sin(x).sum(0) + y[1],
    "product": lambda jnp, x, y: x @ y.T - x,
    "softmax": lambda jnp, x, y: jnp.exp(x) / jnp.exp(x).sum(1, keepdims=True) * y,
    "order": lambda jnp, x, y: jnp.sort(x, 0)[::-1] + jnp.cumsum(y, 1),
    "shapes": lambda jnp, x, y: jnp.concatenate([x.reshape(4, 16), y.reshape(4, 16)], 1),
    "gather": lambda jnp, x, y: x[np.array([3, 1, 7])] + y[:3],
}


@examples(12, at_night=80)
@given(
    st.sampled_from(SPECS),
    st.sampled_from(SPECS),
    st.sampled_from(sorted(FUNCTIONS)),
    st.booleans(),
)
def test_any_division_gives_the_same_numbers(of_x, of_y, name, jitted):
    derived = with_gradients(name)
    x, y = put(glassjax, *of_x), put(glassjax, *of_y, x=X.T)
    parts = (glassjax.jit(derived) if jitted else derived)(x, y)
    for a, b in zip(glassjax.tree.leaves(parts), of_the_whole(name), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def with_gradients(name):
    return glassjax.value_and_grad(
        lambda x, y: FUNCTIONS[name](glassjax.numpy, x, y).sum(), argnums=(0, 1)
    )


@functools.cache
def of_the_whole(name):
    return glassjax.tree.leaves(glassjax.jit(with_gradients(name))(X, X.T))


def test_a_training_step_is_divided_and_donated():
    rng = np.random.default_rng(0)
    params = {
        "w": rng.normal(size=(16, 32)).astype(np.float32),
        "v": rng.normal(size=(32, 8)).astype(np.float32),
    }
    x, y = (rng.normal(size=(64, n)).astype(np.float32) for n in (16, 8))
    jnp = glassjax.numpy

    def loss(params, x, y):
        return jnp.mean((jnp.tanh(x @ params["w"]) @ params["v"] - y) ** 2)

    def step(params, x, y):
        value, gradient = glassjax.value_and_grad(loss)(params, x, y)
        return value, glassjax.tree.map(lambda p, g: p - 0.1 * g, params, gradient)

    where = {"w": sharding(glassjax, None, "y"), "v": sharding(glassjax, "y", None)}
    divided = glassjax.device_put(params, where)
    batch = glassjax.device_put((x, y), sharding(glassjax, "x"))
    expected, expected_params = glassjax.jit(step)(params, x, y)
    step = glassjax.jit(step, donate_argnums=0, out_shardings=(None, where))
    value, new_params = step(divided, *batch)
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    for name, each in new_params.items():
        np.testing.assert_allclose(each, expected_params[name], rtol=1e-4, atol=1e-6)
        assert each.sharding == where[name]
    assert divided["w"].is_deleted()
    with pytest.raises(RuntimeError, match="donated to `step`"):
        _ = divided["w"] + 1


def test_an_array_that_is_closed_over_stays_where_it_is():
    x = put(glassjax, "x")
    y = glassjax.jit(lambda y: x * y)(2.0)
    np.testing.assert_allclose(y, 2 * X)
    assert y.sharding == x.sharding


@pytest.mark.parametrize("count", [1, 3, 5, 8])
def test_what_is_scattered_is_not_filled_up(count):
    # XLA's partitioner scatters what fills up an uneven division: real JAX adds to row 0, too.
    indices = np.array([3, 1, 7, 2, 2, 5, 6, 4], np.int32)[:count]

    def f(x, y, indices):
        return (x[indices] + y[:count]).sum()

    gradient = glassjax.grad(f, (0, 1))
    expected = gradient(X, X, indices)
    found = glassjax.jit(gradient)(put(glassjax), put(glassjax, "x"), indices)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_program_with_a_callback_sees_the_whole():
    seen = []

    @glassjax.jit
    def f(x):
        glassjax.debug.callback(lambda total: seen.append(float(total)), x.sum())
        return x + 1

    out = f(put(glassjax, "x"))
    glassjax.effects_barrier()
    np.testing.assert_allclose(out, X + 1)
    np.testing.assert_allclose(seen, [X.sum()], rtol=1e-5)


def test_loops_outside_of_jit_run_where_arrays_lie():
    x = put(glassjax, "x")
    total, rows = glassjax.lax.scan(lambda c, row: (c + row, c * 2), np.zeros(8, np.float32), x)
    np.testing.assert_allclose(total, X.sum(0), rtol=1e-5)
    assert total.sharding.num_devices == rows.sharding.num_devices == 8
    doubled = glassjax.lax.fori_loop(0, 3, lambda i, c: 2 * c, x)
    assert doubled.sharding == x.sharding


def test_shardings_and_meshes_are_pickled_and_hashed():
    for each in (sharding(glassjax, "x"), mesh_of(glassjax), glassjax.devices()[2].id):
        again = pickle.loads(pickle.dumps(each))
        assert again == each
        assert hash(again) == hash(each)
    one = glassjax.sharding.SingleDeviceSharding(glassjax.devices()[5])
    assert pickle.loads(pickle.dumps(one)) == one
    x = pickle.loads(pickle.dumps(put(glassjax, "x")))
    np.testing.assert_array_equal(x, X)


def test_an_array_that_is_deleted_says_so():
    x = put(glassjax, "x")
    x.delete()
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted by its method"):
        _ = x + 1


def test_the_devices_that_differ_are_named():
    with pytest.raises(ValueError, match=r"argument a .* devices \[0, 1, .*argument b .*\[2, 3\]"):
        glassjax.jit(lambda a, b: a + b)(
            put(glassjax, "x"), put(glassjax, "x", shape=(2,), names=("x",), start=2)
        )


def test_a_program_for_an_abstract_mesh_is_lowered_as_for_devices():
    lax, spec = glassjax.lax, glassjax.P

    def text(where):
        @glassjax.jit(in_shardings=(where("x"), None), out_shardings=where("y"))
        def f(x, y):
            z = lax.with_sharding_constraint(x @ y, where(None, "y"))
            total = glassjax.shard_map(
                lambda z: lax.psum(z, "x"), in_specs=spec("x"), out_specs=spec(), axis_names={"x"}
            )
            return z + total(z).sum()

        y = glassjax.ShapeDtypeStruct(X.shape, X.dtype, sharding=where("y"))
        lowered = f.lower(X, y)
        return lowered, lowered.as_text()

    lowered, of_abstract = under_abstract_mesh(
        glassjax, lambda: text(lambda *s: abstract(glassjax, *s))
    )
    _, of_devices = with_mesh(glassjax, lambda lib: text(lambda *s: sharding(lib, *s)))
    assert of_abstract == of_devices
    with pytest.raises(
        ValueError, match="`f` is lowered for abstract meshes, which have no devices"
    ):
        lowered.compile()


def test_an_abstract_mesh_and_one_of_devices_have_the_same_size():
    x = put(glassjax, "x")
    f = glassjax.jit(
        lambda x, where: glassjax.lax.with_sharding_constraint(x, where), static_argnums=1
    )
    assert f(x, abstract(glassjax, "y")).sharding.spec == glassjax.P("y")
    auto = (glassjax.sharding.AxisType.Auto,)
    small = glassjax.sharding.AbstractMesh((2,), ("y",), auto)
    with pytest.raises(
        ValueError, match=r"argument x of type .* is for 8 devices, .* within for 2"
    ):
        f(x, glassjax.NamedSharding(small, glassjax.P("y")))


def mapped_by(lib, function, *specs, axes="x"):
    """`vmap` of a function whose examples are divided by an axis of the mesh."""
    xs = [lib.numpy.stack([lib.numpy.asarray(X)] * 4) + i for i in range(len(specs))]
    xs = [lib.device_put(x, sharding(lib, *spec)) for x, spec in zip(xs, specs, strict=True)]
    return lib.jit(lib.vmap(function, spmd_axis_name=axes))(*xs)


def mapped_with_and_without(lib):
    """The programs of a jitted function: they differ in what divides the examples."""
    f = lib.jit(lambda x: lib.lax.with_sharding_constraint(x, sharding(lib, "y")) * 2)
    return [lib.jit(lib.vmap(f, spmd_axis_name=axes))(np.stack([X] * 4)) for axes in (None, "x")]


MAPPED = {
    "a constraint": lambda lib: mapped_by(
        lib, lambda x: lib.lax.with_sharding_constraint(x, sharding(lib, "y")) * 2, [None]
    ),
    "a constraint in a jitted function": lambda lib: mapped_by(
        lib, lib.jit(lambda x: lib.lax.with_sharding_constraint(x, sharding(lib, "y")) * 2), [None]
    ),
    "a jitted function that was mapped without": lambda lib: mapped_with_and_without(lib),
    "an inner map": lambda lib: lib.jit(
        lib.vmap(
            lib.vmap(
                lambda row: lib.lax.with_sharding_constraint(row, sharding(lib, "y")),
                spmd_axis_name="x",
            )
        )
    )(np.stack([X] * 4)),
    "two axes": lambda lib: mapped_by(
        lib,
        lambda x: lib.lax.with_sharding_constraint(x, sharding(lib, None, None)),
        [None],
        axes=("x",),
    ),
    "shard_map": lambda lib: mapped_by(
        lib,
        lib.shard_map(
            lambda x: lib.lax.psum(x, "y"),
            mesh=mesh_of(lib),
            in_specs=lib.sharding.PartitionSpec("y"),
            out_specs=lib.sharding.PartitionSpec(),
            check_vma=False,
        ),
        ["x"],
    ),
    "a gradient of what all examples have": lambda lib: lib.jit(
        lib.grad(
            lambda w: lib.vmap(
                lib.shard_map(
                    lambda x, w: x * w,
                    mesh=mesh_of(lib),
                    in_specs=(lib.sharding.PartitionSpec("y"), lib.sharding.PartitionSpec()),
                    out_specs=lib.sharding.PartitionSpec("y"),
                    check_vma=False,
                ),
                (0, None),
                spmd_axis_name="x",
            )(lib.numpy.stack([lib.numpy.asarray(X)] * 4), w).sum()
        )
    )(lib.numpy.float32(2)),
    "a gradient": lambda lib: mapped_by(
        lib,
        lib.grad(lambda x: (lib.lax.with_sharding_constraint(x, sharding(lib, "y")) ** 2).sum()),
        ["x"],
    ),
}


@pytest.mark.parametrize("name", MAPPED)
def test_axes_of_the_mesh_divide_examples(name):
    assert_same(MAPPED[name])


@pytest.mark.parametrize(
    "move",
    [
        lambda keys: keys[0],
        lambda keys: keys[glassjax.numpy.arange(64) * 7 % 64],
        lambda keys: keys.at[3].set(keys[0]),
        lambda keys: glassjax.numpy.concatenate([keys[5:9], keys[::-1]]),
        lambda keys: glassjax.lax.dynamic_slice(keys, (glassjax.numpy.array(5),), (9,)),
    ],
)
def test_divided_keys_of_four_words_keep_their_bits(move):
    """XLA adds chosen elements to zeros, which is wrong for floats such as signaling NaN."""
    patterns = np.uint32([0, 1, 0x80000000, 0x7FF00000, 0x7FF00001, 0x000FFFFF])
    chosen = patterns[np.random.default_rng(0).integers(0, len(patterns), (64, 4))]
    keys = glassjax.random.wrap_key_data(chosen, impl="rbg")
    mesh = glassjax.make_mesh((8,), ("x",), axis_types=(glassjax.sharding.AxisType.Auto,))
    divided = glassjax.device_put(keys, glassjax.NamedSharding(mesh, glassjax.P("x")))
    np.testing.assert_array_equal(
        *(glassjax.random.key_data(glassjax.jit(move)(each)) for each in (divided, keys))
    )


@pytest.mark.parametrize("spec", [(), (None,), (None, None), ("x",), ("x", None), (None, "y")])
def test_specs_are_those_that_were_given(spec):
    """Several specs say the same, and `==` tells them apart."""

    def found(lib):
        x = put(lib, *spec)
        lies = sharding(lib, *spec)
        mapped = lib.shard_map(
            lambda x: x, mesh=mesh_of(lib), in_specs=lib.P(*spec), out_specs=lib.P(*spec)
        )
        outs = [
            x + 1, lib.jit(lambda x: x * 2)(x), lib.jit(lambda x: x.sum(0))(x), mapped(x),
            lib.jit(mapped)(X), lib.jit(lambda x: lib.lax.with_sharding_constraint(x, lies))(X),
            lib.jit(lambda x: x * 2, out_shardings=lies)(X), lib.numpy.sin(x), x.T,
        ]  # fmt: skip
        return [str(x.sharding.spec) for x in outs]

    assert found(glassjax) == found(jax)
