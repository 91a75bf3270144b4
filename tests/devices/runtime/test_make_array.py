"""Arrays on eight devices, made from parts and from callbacks, beside JAX."""

import warnings
import weakref

import jax
import numpy as np
import pytest
from eight_devices import CAN_READ, X, assert_same, mesh_of, put, sharding

import glassjax

pytestmark = pytest.mark.skipif(not CAN_READ, reason="jaxlib cannot read sharded arrays")


def from_callback(lib, *spec, shape=(8, 8), function=X.__getitem__, **options):
    return lib.make_array_from_callback(shape, sharding(lib, *spec), function, **options)


def parts_of(lib, *spec, x=X):
    indices = sharding(lib, *spec).addressable_devices_indices_map(x.shape)
    return [lib.device_put(x[index], device) for device, index in indices.items()]


def from_parts(lib, parts, *spec, shape=(8, 8), **options):
    return lib.make_array_from_single_device_arrays(shape, sharding(lib, *spec), parts, **options)


def calls_of(lib, *spec):
    calls = []
    from_callback(lib, *spec, function=lambda index: (calls.append(str(index)), X[index])[1])
    return calls


def device_mesh(lib, *args, hybrid=False, **options):
    if lib is jax:
        from jax.experimental import mesh_utils
    else:
        from glassjax.experimental import mesh_utils
    name = "create_hybrid_device_mesh" if hybrid else "create_device_mesh"
    return [str(device) for device in getattr(mesh_utils, name)(*args, **options).flat]


def pjit(lib, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        if lib is jax:
            from jax.experimental.pjit import pjit
        else:
            from glassjax.experimental.pjit import pjit
        return pjit(*args, **options)


MADE = {
    "of a callback": lambda lib: from_callback(lib, "x"),
    "of a callback, crosswise": lambda lib: from_callback(lib, "y", "x"),
    "of a callback, whole": lambda lib: from_callback(lib),
    "calls": lambda lib: calls_of(lib, "x"),
    "calls of both axes": lambda lib: calls_of(lib, ("y", "x")),
    "one call": lambda lib: calls_of(lib),
    "of numbers": lambda lib: from_callback(lib, shape=(), function=lambda index: 3),
    "of Arrays": lambda lib: from_callback(lib, "x", function=lambda i: lib.numpy.ones((2, 8))),
    "of nothing": lambda lib: from_callback(
        lib, "x", shape=(0, 8), function=lambda index: np.ones((0, 8))
    ),
    "of 64 bits": lambda lib: from_callback(lib, "x", function=lambda i: X[i].astype(np.float64)),
    "on one device": lambda lib: lib.make_array_from_callback(
        (8, 8), lib.sharding.SingleDeviceSharding(lib.devices()[3]), X.__getitem__
    ),
    "of keys": lambda lib: lib.random.bits(
        from_callback(
            lib,
            "x",
            shape=(8,),
            function=lambda index: lib.random.split(lib.random.key(index[0].start or 0), 2),
        )[3]
    ),
    "of a dtype": lambda lib: from_callback(lib, "x", dtype=np.float32),
    "of another dtype": lambda lib: from_callback(lib, "x", dtype=np.int32),
    "of several dtypes": lambda lib: from_callback(
        lib, "x", function=lambda i: X[i].astype(np.int32 if i[0].start else np.float32)
    ),
    "of wrong shapes": lambda lib: from_callback(lib, "x", function=lambda i: X[:1]),
    "uneven": lambda lib: from_callback(lib, "x", shape=(7, 8)),
    "on a device": lambda lib: lib.make_array_from_callback(
        (8, 8), lib.devices()[0], X.__getitem__
    ),
    "of no function": lambda lib: from_callback(lib, "x", function=3),
    "of parts": lambda lib: from_parts(lib, parts_of(lib, "x"), "x"),
    "of parts in any order": lambda lib: from_parts(lib, parts_of(lib, "x")[::-1], "x"),
    "of parts by both axes": lambda lib: from_parts(lib, parts_of(lib, None, "y"), None, "y"),
    "of parts in a tuple": lambda lib: from_parts(lib, tuple(parts_of(lib, "x")), "x") + 1,
    "of parts of a dtype": lambda lib: from_parts(lib, parts_of(lib, "x"), "x", dtype=np.int32),
    "of too few parts": lambda lib: from_parts(lib, parts_of(lib, "x")[:3], "x"),
    "of no parts": lambda lib: from_parts(lib, [], "x"),
    "of one part twice": lambda lib: from_parts(lib, [*parts_of(lib, "x")[:7]] * 2, "x"),
    "of a divided part": lambda lib: from_parts(lib, [put(lib, "x")], "x"),
    "of numpy's": lambda lib: from_parts(lib, [X[:2]] * 8, "x"),
    "of an array": lambda lib: from_parts(lib, put(lib, "x"), "x"),
    "of smaller parts": lambda lib: from_parts(lib, parts_of(lib, "x"), "x", shape=(4, 8)),
    "a mesh of devices": lambda lib: device_mesh(lib, (4, 2)),
    "a mesh of some devices": lambda lib: device_mesh(lib, (2, 2), lib.devices()[3:7]),
    "a mesh of too few devices": lambda lib: device_mesh(lib, (4, 4)),
    "a mesh of too many devices": lambda lib: device_mesh(lib, (2, 2)),
    "a mesh of processes": lambda lib: device_mesh(
        lib, (4, 2), (1, 1), hybrid=True, process_is_granule=True
    ),
    "a mesh of too few processes": lambda lib: device_mesh(
        lib, (2, 2), (2, 1), hybrid=True, process_is_granule=True
    ),
    "a mesh of slices": lambda lib: device_mesh(lib, (4, 2), (1, 1), hybrid=True),
    "pjit": lambda lib: pjit(lib, lambda x: x + 1, sharding(lib, "x"), sharding(lib, "y"))(X),
}


@pytest.mark.parametrize("name", MADE)
def test_arrays_are_made_as_in_jax(name):
    assert_same(MADE[name])


class Granule:
    """A device of a machine that is not here."""

    def __init__(self, number, slice_index):
        self.id, self.slice_index, self.process_index = number, slice_index, slice_index
        self.device_kind, self.platform = "imagined", "imagined"


@pytest.mark.parametrize(("inner", "outer"), [((2, 3), (1, 2)), ((3, 2), (4, 1)), ((6,), (2,))])
@pytest.mark.parametrize("by_key", [True, False])
def test_granules_are_arranged_as_in_jax(inner, outer, by_key):
    from jax.experimental import mesh_utils as theirs

    from glassjax.experimental import mesh_utils as ours

    per = int(np.prod(inner))
    order = np.random.default_rng(0).permutation(per * int(np.prod(outer)))
    devices = [Granule(int(number), int(number) // per) for number in order]
    found, expected = (
        lib.create_hybrid_device_mesh(inner, outer, devices, should_sort_granules_by_key=by_key)
        for lib in (ours, theirs)
    )
    assert found.shape == expected.shape
    assert [each.id for each in found.flat] == [each.id for each in expected.flat]


def test_the_part_that_does_not_fit_is_named():
    parts = parts_of(glassjax, "x")
    with pytest.raises(ValueError, match=r"arrays\[7\] must have shape \(2, 8\).*found \(1, 8\)"):
        from_parts(glassjax, [*parts[:7], glassjax.device_put(X[:1], glassjax.devices()[7])], "x")
    with pytest.raises(ValueError, match=r"arrays lacks those on \[.*id=7"):
        from_parts(glassjax, parts[:7], "x")
    with pytest.raises(ValueError, match=r"data_callback.* must have shape \(2, 8\)"):
        from_callback(glassjax, "x", function=lambda index: X)


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


PLACED = {
    # Where functions put what they make.
    **{
        f"{name} on {place}": lambda lib, make=make, where=where: make(lib, where(lib))
        for place, where in {
            "a device": lambda lib: lib.devices()[3],
            "a mesh": lambda lib: sharding(lib, "x"),
            "a mesh, in full": lambda lib: sharding(lib, "y", None),
        }.items()
        for name, make in {
            "zeros": lambda lib, device: lib.numpy.zeros((8, 8), device=device),
            "ones": lambda lib, device: lib.numpy.ones((8, 8), int, device=device),
            "full": lambda lib, device: lib.numpy.full((8, 8), 2.5, device=device),
            "empty": lambda lib, device: lib.numpy.empty((8, 8), device=device).shape,
            "zeros_like": lambda lib, device: lib.numpy.zeros_like(X, device=device),
            "ones_like": lambda lib, device: lib.numpy.ones_like(put(lib, "x"), device=device),
            "full_like": lambda lib, device: lib.numpy.full_like(X, 2, device=device),
            "array": lambda lib, device: lib.numpy.array(X, device=device),
            "asarray": lambda lib, device: lib.numpy.asarray(X.tolist(), device=device),
            "eye": lambda lib, device: lib.numpy.eye(8, device=device),
            "jit": lambda lib, device: lib.jit(lambda x: lib.numpy.array(x, device=device))(X),
            "to_device": lambda lib, device: put(lib, "x").to_device(device),
            "lax.full": lambda lib, device: (
                lib.lax.full((8, 8), 2.0, sharding=device)
                if isinstance(device, lib.sharding.Sharding)
                else None
            ),
        }.items()
    },
    "arange": lambda lib: lib.numpy.arange(8, device=sharding(lib, "x")),
    "arange of floats": lambda lib: lib.numpy.arange(1.0, 9.0, device=lib.devices()[2]),
    "linspace": lambda lib: lib.numpy.linspace(0, 1, 8, device=sharding(lib, "y")),
    "linspace and its step": lambda lib: lib.numpy.linspace(
        0, 1, 8, retstep=True, device=sharding(lib, "y")
    )[0],
    "fftfreq": lambda lib: lib.numpy.fft.fftfreq(8, device=lib.devices()[2]),
    "rfftfreq": lambda lib: lib.numpy.fft.rfftfreq(8, device=lib.devices()[1]),
    "from_dlpack": lambda lib: lib.numpy.from_dlpack(X, device=lib.devices()[3]),
    "astype": lambda lib: on(lib, 2).astype(int, device=lib.devices()[2]),
    "zeros that do not divide": lambda lib: lib.numpy.zeros((7, 8), device=sharding(lib, "x")),
    "array that does not divide": lambda lib: lib.numpy.array(X[:7], device=sharding(lib, "x")),
    "both": lambda lib: lib.numpy.zeros(
        8, device=sharding(lib, "x"), out_sharding=sharding(lib, "x")
    ),
    "out_sharding by axes of type Auto": lambda lib: lib.numpy.zeros(
        8, out_sharding=sharding(lib, "x")
    ),
    "out_sharding that is a device": lambda lib: lib.numpy.zeros(8, out_sharding=lib.devices()[0]),
    "out_sharding without a mesh": lambda lib: lib.numpy.ones(
        8, out_sharding=lib.sharding.PartitionSpec("x")
    ),
    "out_sharding of a product": lambda lib: lib.numpy.dot(X, X, out_sharding=sharding(lib, "x")),
    "out_sharding of a shape": lambda lib: lib.numpy.reshape(
        X, 64, out_sharding=sharding(lib, "x")
    ),
    "like a divided array": lambda lib: (
        lib.numpy.zeros_like(put(lib, "x")),
        lib.numpy.ones_like(put(lib, "y", None), dtype=int),
        lib.numpy.full_like(put(lib), 3),
        lib.numpy.empty_like(on(lib, 3)),
        lib.lax.full_like(put(lib, None, "x"), 2.0),
    ),
    "like a divided array, of another shape": lambda lib: (
        lib.numpy.zeros_like(put(lib, "x"), shape=(8,)),
        lib.numpy.zeros_like(put(lib, "x"), None, (3,)),
    ),
    "like a type": lambda lib: lib.numpy.zeros_like(
        lib.ShapeDtypeStruct((8, 8), np.float32, sharding=sharding(lib, "x"))
    ),
    "jit for a device": lambda lib: lib.jit(lambda x: x + 1, device=lib.devices()[3])(X),
    "jit for a device of what is elsewhere": lambda lib: lib.jit(
        lambda x: x + 1, device=lib.devices()[3]
    )(put(lib, "x")),
    "jit for a device and shardings": lambda lib: lib.jit(
        lambda x: x + 1, device=lib.devices()[3], in_shardings=sharding(lib, "x")
    )(X),
    "out_shardings that do not divide": lambda lib: lib.jit(
        lambda x: x + 1, out_shardings=sharding(lib, "x")
    )(X[:7]),
    "out_shardings of too many axes": lambda lib: lib.jit(
        lambda x: x + 1, out_shardings=sharding(lib, "x")
    )(3.0),
    # The default device: of what nobody puts anywhere.
    **{
        f"default device: {name}": lambda lib, make=make: at_device(lib, 3, make)
        for name, make in {
            "ones": lambda lib: lib.numpy.ones(3),
            "array": lambda lib: (lib.numpy.array([1.0, 2.0]), lib.numpy.asarray(X)),
            "numbers": lambda lib: (lib.numpy.array(2), lib.numpy.asarray(2.5)),
            "arange": lambda lib: (lib.numpy.arange(3), lib.lax.iota(int, 3)),
            "device_put": lambda lib: (lib.device_put(X), lib.device_put(3.0)),
            "add": lambda lib: lib.numpy.ones(3) + 1,
            "jit": lambda lib: lib.jit(lambda x: (x + 1, lib.numpy.zeros(2)))(X),
            "jit of jit": lambda lib: lib.jit(lambda x: x * 2)(lib.jit(lambda x: x + 1)(X)),
            "donation": lambda lib: lib.jit(lambda x: x + 1, donate_argnums=0)(lib.numpy.ones(3)),
            "divided": lambda lib: put(lib, "x") + 1,
            "put elsewhere": lambda lib: on(lib, 2) + 1,
            "made elsewhere": lambda lib: lib.numpy.zeros(3, device=lib.devices()[1]),
            "of parts": lambda lib: from_callback(lib, "x"),
            "random": lambda lib: lib.random.normal(lib.random.key(0), (3,)),
            "scan": lambda lib: lib.lax.scan(lambda c, x: (c + x, c), 0.0, lib.numpy.ones(3)),
            "cond": lambda lib: lib.lax.cond(True, lambda x: x + 1, lambda x: x, 1.0),
            "grad": lambda lib: lib.grad(lambda x: x * x)(3.0),
            "grad of jit": lambda lib: lib.grad(lambda x: lib.jit(lib.numpy.sin)(x))(3.0),
            "vmap": lambda lib: lib.vmap(lambda x: x + 1)(X),
            "inverse": lambda lib: lib.numpy.linalg.inv(lib.numpy.eye(3) * 2),
            "index": lambda lib: (lib.numpy.ones(3)[0], lib.numpy.ones(3).at[0].set(2)),
            "stack": lambda lib: lib.numpy.stack([lib.numpy.ones(3)] * 2),
            "copy": lambda lib: (lib.numpy.copy(elsewhere(lib)), elsewhere(lib).astype(int)),
            "in a mesh": lambda lib: in_mesh(lib, lambda lib: lib.numpy.ones(3)),
            "none": lambda lib: at_device(lib, 0, lambda lib: lib.numpy.ones(3)),
        }.items()
    },
    # What lies elsewhere, but not on purpose, does not say where programs run.
    "uncommitted": lambda lib: elsewhere(lib),
    "uncommitted, added": lambda lib: elsewhere(lib) + 1,
    "uncommitted, added to plain": lambda lib: (
        elsewhere(lib) + lib.numpy.ones(8),
        lib.numpy.ones(8) + elsewhere(lib),
    ),
    "uncommitted on two devices": lambda lib: elsewhere(lib, 3) + elsewhere(lib, 4),
    "uncommitted and divided": lambda lib: elsewhere(lib) + put(lib, "x"),
    "uncommitted and put": lambda lib: elsewhere(lib) * on(lib, 2),
    "uncommitted in jit": lambda lib: lib.jit(lambda x: (x * 2).sum())(elsewhere(lib)),
    "uncommitted, put": lambda lib: lib.device_put(elsewhere(lib), lib.devices()[3]),
    "uncommitted, put anywhere": lambda lib: lib.device_put(elsewhere(lib)),
    "uncommitted, closed over": lambda lib: lib.jit((lambda x: lambda: x + 1)(elsewhere(lib)))(),
    "uncommitted, differentiated": lambda lib: lib.grad(lambda x: (x * elsewhere(lib)).sum())(
        lib.numpy.ones(8)
    ),
    "uncommitted, in shardings": lambda lib: lib.jit(
        lambda x: x + 1, in_shardings=sharding(lib, "x")
    )(elsewhere(lib)),
    "stacked": lambda lib: lib.numpy.stack([elsewhere(lib), lib.numpy.ones(8)]),
    "committed on the default device": lambda lib: on(lib, 0) + lib.numpy.ones(8),
    "committed on two devices": lambda lib: on(lib, 0) + on(lib, 1),
    "committed on two devices, stacked": lambda lib: lib.numpy.stack([on(lib, 0), on(lib, 1)]),
    "one that is not used": lambda lib: (
        lib.jit(lambda x, y: x)(on(lib, 0), on(lib, 1)),
        lib.jit(lambda x, y: y + 1)(put(lib, "x"), lib.numpy.ones(3)),
        lib.jit(lambda x: lib.numpy.zeros(3))(put(lib, "x")),
    ),
    # The mesh in context.
    **{
        f"mesh: {name}": lambda lib, make=make: in_mesh(lib, make)
        for name, make in {
            "ones": lambda lib: lib.numpy.ones(3),
            "array": lambda lib: (lib.numpy.array([1.0, 2.0]), lib.numpy.asarray(X)),
            "arange": lambda lib: lib.numpy.arange(3),
            "device_put": lambda lib: lib.device_put(X),
            "device_put elsewhere": lambda lib: on(lib, 2),
            "made elsewhere": lambda lib: lib.numpy.zeros(3, device=lib.devices()[1]),
            "jit": lambda lib: lib.jit(lambda x: x + 1)(X),
            "divided": lambda lib: put(lib, "x") + 1,
            "on one device": lambda lib: on(lib, 2) + 1,
            "on one device, in jit": lambda lib: lib.jit(lambda x: x + 1)(on(lib, 2)),
            "on other devices": lambda lib: lib.jit(lambda x: x + 1)(
                put(lib, "x", shape=(2,), names=("x",))
            ),
            "uncommitted": lambda lib: elsewhere(lib) + 1,
            "random": lambda lib: lib.random.normal(lib.random.key(0), (3,)),
            "scan": lambda lib: lib.lax.scan(lambda c, x: (c + x, c), 0.0, lib.numpy.ones(3)),
            "grad": lambda lib: lib.grad(lambda x: x * x)(3.0),
            "stack": lambda lib: lib.numpy.stack([lib.numpy.ones(3)] * 2),
            "a constraint": lambda lib: lib.lax.with_sharding_constraint(
                X, lib.sharding.PartitionSpec("x")
            ),
        }.items()
    },
}


@pytest.mark.parametrize("name", PLACED)
def test_what_is_made_lies_where_it_does_in_jax(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of jit for a device
        assert_same(PLACED[name])


def test_shards_share_the_memory_of_their_array_and_do_not_hold_it():
    x = glassjax.device_put(
        np.arange(8.0), glassjax.NamedSharding(mesh_of(glassjax), glassjax.P("x"))
    )
    shards = x.addressable_shards
    assert shards is x.addressable_shards
    parts = [shard.data for shard in shards]
    assert all(part is shard.data for part, shard in zip(parts, shards, strict=True))
    step = glassjax.jit(lambda x: x + 1, donate_argnums=0)
    gone = weakref.ref(x)
    step(x)
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(parts[0])
    del x
    assert gone() is None  # without the collection of garbage


def test_parts_from_a_callback_may_be_one_array():
    same, sharding = np.ones(2), glassjax.NamedSharding(mesh_of(glassjax), glassjax.P("x"))
    x = glassjax.make_array_from_callback((8,), sharding, lambda index: same)
    same[:] = 0
    np.testing.assert_array_equal(x, np.ones(8))


@pytest.mark.parametrize("spec", [(), ("x",), ("y", "x"), (("x", "y"),), (None, "x")], ids=str)
@pytest.mark.parametrize(
    "x",
    [
        np.broadcast_to(np.float32(3), (8, 8)),
        np.broadcast_to(X[0], (8, 8)),
        X[::-1].T,
        np.asfortranarray(X),
        X.astype(">f4"),
        np.zeros((8, 0), np.float32),
    ],
    ids=["a number", "a row", "transposed", "columns first", "big-endian", "empty"],
)
def test_what_lies_in_memory_in_another_order_is_put_where_it_belongs(x, spec):
    """Parts of an array that was broadcast share their memory."""
    found = glassjax.device_put(x, sharding(glassjax, *spec))
    np.testing.assert_array_equal(found, x)
    for shard in found.addressable_shards:
        np.testing.assert_array_equal(shard.data, x[shard.index])
        assert shard.data is shard.data
        assert shard.data.devices() == {shard.device}


def test_arrays_are_of_one_class_wherever_they_lie():
    """Libraries compare `type(x)`."""
    jnp = glassjax.numpy
    x, last = jnp.arange(8.0), glassjax.devices()[-1]
    sharded = glassjax.device_put(x, glassjax.NamedSharding(mesh_of(glassjax), glassjax.P("x")))
    with glassjax.default_device(last):
        uncommitted = jnp.ones(3)
    arrays = [x, sharded, sharded * 2, glassjax.device_put(x, last), uncommitted, uncommitted + 1]
    assert {type(x) for x in arrays} == {glassjax.Array}
