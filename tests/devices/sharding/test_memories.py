"""Arrays in the memory of the host: places, types, programs and refusals, beside JAX."""

import pickle

import jax
import numpy as np
import pytest
from eight_devices import CAN_READ
from rows import for_each

import glassjax
from glassjax import xla
from glassjax_stage3.executable import device_type

HAS_MEMORIES = CAN_READ and "pinned_host" in xla.memory_kinds(glassjax.devices()[0])
pytestmark = pytest.mark.skipif(not HAS_MEMORIES, reason="jaxlib has one memory")

ROW = np.arange(16.0, dtype=np.float32)


def single(lib, kind="pinned_host"):
    return lib.sharding.SingleDeviceSharding(lib.devices()[0], memory_kind=kind)


def named(lib, kind="pinned_host", axis_type="Explicit"):
    axis_types = (getattr(lib.sharding.AxisType, axis_type),)
    mesh = lib.make_mesh((8,), ("x",), axis_types=axis_types)
    return lib.sharding.NamedSharding(mesh, lib.sharding.PartitionSpec("x"), memory_kind=kind)


def automatic(lib, kind="pinned_host"):
    return named(lib, kind, "Auto")


def host(lib, x=ROW):
    return lib.device_put(lib.numpy.asarray(x), lib.memory.Space.Host)


def to_host(lib, x):
    return lib.device_put(x, lib.memory.Space.Host)


def to_device(lib, x):
    return lib.device_put(x, lib.memory.Space.Device)


def really(x):
    """Raise an error unless jaxlib's buffer is in the memory that the sharding names."""
    xla.with_placement(x.buffer, device_type(x.aval), x.sharding.placement(x.ndim))


def described(lib, result):
    """For each array its type, its kind of memory and its numbers."""
    leaves = lib.tree.leaves(result)
    if lib is glassjax:
        for leaf in leaves:
            really(leaf)
    return [(str(lib.typeof(x)), x.sharding.memory_kind, np.asarray(x).tolist()) for x in leaves]


def placed_by_compute_on(lib, *spaces):
    """A program whose parts run on the host, and their results in several memories."""
    from jax.experimental.compute_on import compute_on as jaxs

    from glassjax.experimental.compute_on import compute_on as ours

    return (ours if lib is glassjax else jaxs)(
        lambda x: tuple([x * (i + 2.0) for i in range(len(spaces))]),
        compute_type="device_host",
        out_memory_spaces=tuple([getattr(lib.memory.Space, space) for space in spaces]),
    )


def written_and_read(lib, x, space="Host"):
    """What is read from a reference that holds `x` in a memory."""
    ref = lib.new_ref(x, memory_space=getattr(lib.memory.Space, space))
    ref[...] = lib.numpy.sin(ref[...])
    ref[0] += 2.0
    lib.ref.addupdate(ref, 1, np.float32(3))
    return ref[...] * ref[1], ref[:2]


def filled_by_loop(lib):
    ref = lib.new_ref(lib.numpy.zeros(4), memory_space=lib.memory.Space.Host)
    lib.jit(lambda: lib.lax.fori_loop(0, 4, lambda i, _: ref.__setitem__(i, 2.0 * i), None))()
    return ref[...], lib.device_put(ref[...], ref.sharding)


def accumulated(lib, c, x):
    return c + to_device(lib, x), x


def offloading(lib):
    return lib.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["wave"],
        offload_src="device",
        offload_dst="pinned_host",
    )


def waves(lib, x):
    from jax.ad_checkpoint import checkpoint_name as jaxs

    from glassjax.ad_checkpoint import checkpoint_name as ours

    name = ours if lib is glassjax else jaxs
    return lib.numpy.sin(name(lib.numpy.sin(x), "wave"))


PROGRAMS = {
    "put into a space": lambda lib: host(lib),
    "put by a sharding": lambda lib: lib.device_put(lib.numpy.asarray(ROW), single(lib)),
    "put numbers": lambda lib: lib.device_put(1.5, single(lib)),
    "put there and back": lambda lib: to_device(lib, host(lib)),
    "put over devices": lambda lib: lib.device_put(ROW, named(lib)),
    "put over devices, axes of type Auto": lambda lib: lib.device_put(ROW, automatic(lib)),
    "put a tree": lambda lib: (
        lib.device_put({"a": ROW, "b": host(lib)}, {"a": single(lib), "b": single(lib, "device")})
        if lib is glassjax
        else {"a": host(lib), "b": to_device(lib, host(lib))}
    ),  # JAX refuses to put `b` back
    "another kind": lambda lib: lib.device_put(
        lib.numpy.asarray(ROW), single(lib, "unpinned_host")
    ),
    "another kind, used": lambda lib: (
        lib.device_put(lib.numpy.asarray(ROW), single(lib, "unpinned_host")) + 1
    ),
    "an operation": lambda lib: lib.numpy.sin(host(lib)) * 2.0,
    "two operands": lambda lib: host(lib) + host(lib),
    "a sum, an element and a slice": lambda lib: (host(lib).sum(), host(lib)[0], host(lib)[1:3]),
    "a sorted copy": lambda lib: lib.numpy.sort(host(lib)).copy().reshape(4, 4),
    "an update": lambda lib: (host(lib).at[0].set(3.0), host(lib).at[np.array([1, 3])].add(2.0)),
    "sharded operands": lambda lib: lib.device_put(ROW, named(lib)) * 2,
    "a program of both": lambda lib: lib.jit(lambda x, y: (to_device(lib, x) + y, to_host(lib, y)))(
        host(lib), ROW
    ),
    "a program that moves its argument": lambda lib: lib.jit(
        lambda x: lib.device_put(x * 2, single(lib))
    )(ROW),
    "results of a kind": lambda lib: lib.jit(lambda x: x * 2, out_shardings=automatic(lib))(ROW),
    "arguments of a kind": lambda lib: lib.jit(lambda x: x * 2, in_shardings=single(lib))(
        host(lib)
    ),
    "numbers as arguments of a kind": lambda lib: lib.jit(
        lambda x: to_device(lib, x) * 2, in_shardings=single(lib)
    )(ROW),
    "a program for types": lambda lib: (
        lib.jit(lambda x: x + 1)
        .lower(lib.ShapeDtypeStruct((16,), "float32", sharding=automatic(lib)))
        .compile()(lib.device_put(ROW, automatic(lib)))
    ),
    "sharded, in a program": lambda lib: lib.jit(lambda x: to_device(lib, x) + 1)(
        lib.device_put(ROW, automatic(lib))
    ),
    "resharded in its memory": lambda lib: lib.sharding.reshard(
        lib.device_put(ROW, named(lib)), named(lib, "device").update(spec=lib.P(None))
    ),
    "donated": lambda lib: lib.jit(lambda x: x + 1, donate_argnums=0)(host(lib)),
    "vmap": lambda lib: lib.vmap(lambda x: to_host(lib, x) * 2)(lib.numpy.asarray(ROW)),
    "scan": lambda lib: lib.lax.scan(lambda c, x: accumulated(lib, c, x), 0.0, host(lib)),
    "scan that stacks there": lambda lib: lib.jit(
        lambda xs: lib.lax.scan(lambda c, x: (c + x, to_host(lib, x)), 0.0, xs)
    )(ROW),
    "a carry there": lambda lib: lib.lax.fori_loop(0, 3, lambda i, c: c + 1.0, host(lib)),
    "a reference": lambda lib: written_and_read(lib, lib.numpy.asarray(ROW)),
    "a reference in a program": lambda lib: lib.jit(lambda x: written_and_read(lib, x))(ROW),
    "a reference by its array": lambda lib: lib.new_ref(host(lib))[...],
    "a reference of another memory": lambda lib: written_and_read(lib, host(lib), "Device"),
    "a reference and a loop": filled_by_loop,
    "grad of a reference": lambda lib: lib.grad(lambda x: written_and_read(lib, x)[0].sum())(
        lib.numpy.asarray(ROW)
    ),
    "an empty reference": lambda lib: lib.jit(
        lambda: lib.empty_ref(
            lib.ShapeDtypeStruct((2,), "float32"), memory_space=lib.memory.Space.Host
        )[...]
    )(),
    "compute_on": lambda lib: lib.jit(placed_by_compute_on(lib, "Host", "Device"))(ROW),
    "compute_on, evaluated": lambda lib: placed_by_compute_on(lib, "Device", "Host")(ROW),
    "jacfwd": lambda lib: lib.jacfwd(lib.numpy.sin)(host(lib)),
    "jacfwd of a sum": lambda lib: lib.jit(lib.jacfwd(lambda x: (x * x).sum()))(host(lib)),
    "hessian of what comes from there": lambda lib: lib.hessian(
        lambda x: lib.numpy.sin(to_device(lib, x)).sum()
    )(host(lib)),
    "polyval": lambda lib: lib.numpy.polyval(np.arange(3, dtype=np.float32), host(lib)),
    "cond": lambda lib: lib.lax.cond(True, lambda x: x * 2, lambda x: x, host(lib)),
    "jvp": lambda lib: lib.jvp(lib.numpy.sin, (host(lib),), (host(lib),)),
    "grad of what comes from there": lambda lib: lib.grad(lambda x: (to_device(lib, x) ** 2).sum())(
        host(lib)
    ),
    "shard_map": lambda lib: lib.jit(
        lib.shard_map(
            lambda x: to_device(lib, x) * 2.0,
            mesh=automatic(lib).mesh,
            in_specs=lib.P("x"),
            out_specs=lib.P("x"),
        )
    )(lib.device_put(ROW, automatic(lib))),
    "exported": lambda lib: lib.export.deserialize(
        lib.export.export(lib.jit(lambda x: x * 2))(host(lib)).serialize()
    ).call(host(lib)),
    "residuals of checkpoint": lambda lib: sorted(
        lib.tree.leaves(
            lib.vjp(
                lib.checkpoint(lambda x: waves(lib, x), policy=offloading(lib)),
                lib.numpy.asarray(ROW),
            )[1]
        ),
        key=lambda x: x.sharding.memory_kind,
    ),
    "gradients of checkpoint": lambda lib: lib.jit(
        lib.grad(lib.checkpoint(lambda x: waves(lib, x).sum(), policy=offloading(lib)))
    )(np.ones(3, np.float32)),
    "gradients of checkpoint in scan": lambda lib: lib.jit(
        lib.grad(
            lambda x: lib.lax.scan(
                lib.checkpoint(lambda c, _: (waves(lib, c), None), policy=offloading(lib)),
                x,
                length=3,
            )[0].sum()
        )
    )(np.zeros(3, np.float32)),
}


@for_each("program", PROGRAMS.values(), ids=PROGRAMS)
def test_arrays_are_in_the_memory_that_their_types_say(program):
    ours, theirs = described(glassjax, program(glassjax)), described(jax, program(jax))
    assert [each[:2] for each in ours] == [each[:2] for each in theirs]
    for (*_, found), (*_, expected) in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


# Where JAX refuses, aborts the process, or gives a type that contradicts the sharding.
OURS = {
    "a shard": (
        lambda: glassjax.device_put(ROW, automatic(glassjax)).addressable_shards[1].data,
        ROW[2:4],
        "pinned_host",
    ),
    "a closed-over array": (
        lambda: (lambda x: glassjax.jit(lambda: x * 2)())(host(glassjax)),
        2 * ROW,
        "pinned_host",
    ),
    "results of the other kind": (
        lambda: glassjax.jit(lambda x: x, out_shardings=single(glassjax, "device"))(host(glassjax)),
        ROW,
        "device",
    ),
    "grad of what stays there": (
        lambda: glassjax.grad(lambda x: glassjax.numpy.sin(x).sum())(host(glassjax)),
        np.cos(ROW),
        "pinned_host",
    ),
    "grad there and back": (
        lambda: glassjax.grad(lambda x: to_device(glassjax, to_host(glassjax, x**2)).sum())(ROW),
        2 * ROW,
        "device",
    ),
    "hessian of what stays there": (
        lambda: glassjax.hessian(lambda x: (x**3).sum(), batch_size=4)(host(glassjax)),
        np.diag(6 * ROW),
        "pinned_host",
    ),
    "grad of compute_on": (
        lambda: glassjax.grad(
            lambda x: to_device(glassjax, placed_by_compute_on(glassjax, "Host")(x)[0]).sum()
        )(ROW),
        np.full(16, 2.0),
        "device",
    ),
    "a frozen reference": (
        lambda: glassjax.freeze(
            glassjax.empty_ref(
                glassjax.ShapeDtypeStruct((2,), "float32"), memory_space=glassjax.memory.Space.Host
            )
        ),
        np.zeros(2),
        "device",
    ),
    "an array of equal shape": (
        lambda: glassjax.numpy.ones_like(host(glassjax)),
        np.ones(16),
        "pinned_host",
    ),
    "back to the device": (
        lambda: glassjax.device_put(host(glassjax), glassjax.devices()[0]),
        ROW,
        "device",
    ),
    "grad of an exported program": (
        lambda: glassjax.grad(
            lambda x: glassjax.export.export(glassjax.jit(lambda x: x * x))(x).call(x).sum()
        )(host(glassjax)),
        2 * ROW,
        "pinned_host",
    ),
    "donated to a result elsewhere": (
        lambda: glassjax.jit(lambda x: to_device(glassjax, x) + 1, donate_argnums=0)(
            host(glassjax)
        ),
        ROW + 1,
        "device",
    ),
    "unpickled": (
        lambda: glassjax.device_put(ROW, pickle.loads(pickle.dumps(single(glassjax)))),
        ROW,
        "pinned_host",
    ),
}


@for_each(("program", "expected", "kind"), OURS.values(), ids=OURS)
@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_programs_of_which_jax_makes_less(program, expected, kind):
    ((aval, found, numbers),) = described(glassjax, program())
    assert (found, "<host>" in aval) == (kind, kind == "pinned_host")
    np.testing.assert_allclose(numbers, expected, rtol=1e-6)


REFUSED = {
    "two memories": lambda lib: host(lib) + lib.numpy.asarray(ROW),
    "two memories, in a program": lambda lib: lib.jit(lib.numpy.add)(host(lib), ROW),
    "a product": lambda lib: host(lib) @ lib.numpy.asarray(ROW),
    "a concatenation": lambda lib: lib.numpy.concatenate([host(lib), lib.numpy.asarray(ROW)]),
    "a carry that moves": lambda lib: lib.lax.scan(
        lambda c, _: (to_host(lib, c), None), lib.numpy.asarray(ROW), length=2
    ),
    "branches": lambda lib: lib.jit(
        lambda i, x: lib.lax.cond(i, lambda: to_host(lib, x), lambda: x)
    )(True, ROW),
    "arguments elsewhere": lambda lib: lib.jit(lambda x: x, in_shardings=single(lib))(
        lib.device_put(ROW, single(lib, "device"))
    ),
    "no kind": lambda lib: single(lib, "disk"),
    "no kind, of devices": lambda lib: named(lib, "disk"),
    "no kind, without devices": lambda lib: lib.sharding.NamedSharding(
        named(lib).mesh.abstract_mesh, lib.P("x"), memory_kind="disk"
    ),
    "no kind, from another": lambda lib: host(lib).sharding.with_memory_kind("disk"),
    "any space": lambda lib: lib.device_put(ROW, lib.memory.Space.Any),
    "a reference in any space": lambda lib: lib.new_ref(ROW, memory_space=lib.memory.Space.Any),
}
WORDS = {
    "two memories": "add of f32<host>.16. and f32.16.: the operands are in different memories",
    "no kind": "memory_kind must be one of 'device', 'pinned_host'",
    "any space": "Space.Any is not a memory: give Space.Device or Space.Host",
}


@for_each("name", REFUSED)
def test_errors(name):
    program = REFUSED[name]
    with pytest.raises((ValueError, TypeError, AssertionError, NotImplementedError)):
        program(jax)
    with pytest.raises((ValueError, TypeError), match=WORDS.get(name)):
        program(glassjax)


PRINTED = {
    "a space": lambda lib, x: to_host(lib, x) * 2.0,
    "a sharding": lambda lib, x: lib.device_put(x, single(lib)),
    "both ways": lambda lib, x: to_device(lib, to_host(lib, x)),
    "checkpoint": lambda lib, x: lib.vmap(lambda x: to_host(lib, x))(x),
}


@for_each("program", PRINTED.values(), ids=PRINTED)
def test_programs_are_written_as_in_jax(program):
    def written(lib):
        return str(lib.make_jaxpr(lambda x: program(lib, x))(ROW))

    assert written(glassjax) == written(jax)


def test_shardings_differ_by_memory():
    for make in (single, named):
        there, here = make(glassjax), make(glassjax, "device")
        assert there != here
        assert not there.is_equivalent_to(here, 1)
        assert there.with_memory_kind("device") == here == make(glassjax, None)
        assert len({there, here, pickle.loads(pickle.dumps(there))}) == 2
        assert repr(there) == repr(make(jax))


def test_types_of_references_name_their_memory():
    def described(lib):
        refs = [lib.new_ref(ROW), lib.new_ref(host(lib)), lib.new_ref(host(lib) * 2)]
        avals = list(map(lib.typeof, refs))
        kinds = [ref.sharding.memory_kind for ref in refs]
        return list(map(str, avals)), kinds, [a == avals[1] for a in avals]

    assert described(glassjax) == described(jax)


def test_offloaded_residuals_are_moved_once():
    """The residual is kept on the host only, so the device need not hold it."""
    f = glassjax.checkpoint(lambda x: waves(glassjax, x), policy=offloading(glassjax))
    residuals = glassjax.tree.leaves(glassjax.vjp(f, glassjax.numpy.ones(3))[1])
    kinds = [x.sharding.memory_kind for x in residuals]
    assert sorted(kinds) == ["device", "pinned_host"]
    with pytest.raises(ValueError, match="can be in only one of"):
        glassjax.checkpoint_policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["a"],
            names_which_can_be_offloaded=["a"],
            offload_src="device",
            offload_dst="pinned_host",
        )
