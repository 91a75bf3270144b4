"""Programs exported for several devices: placement and shardings, beside JAX."""

import subprocess
import sys

import jax
import jax.export
import numpy as np
import pytest
from eight_devices import CAN_READ, X, assert_same, mesh_of, put, sharding, with_mesh

import glassjax
import glassjax.numpy as jnp
from glassjax import export
from glassjax.export.format import pack, unpack
from glassjax.sharding import PartitionSpec as P

pytestmark = pytest.mark.skipif(not CAN_READ, reason="jaxlib cannot read sharded arrays")


def numpy_of(lib):
    return glassjax.numpy if lib is glassjax else jax.numpy


def exported(lib, f, *args, **options):
    """A function as it arrives in another process."""
    found = lib.export.export(lib.jit(f, **options))(*args)
    return lib.export.deserialize(found.serialize(vjp_order=1))


def product(lib):
    divided = sharding(lib, "x", "y"), None
    return exported(
        lib, lambda a, b: a @ b.T, X, X, in_shardings=divided, out_shardings=sharding(lib, "y")
    )


def summed(lib):
    spec = lib.sharding.PartitionSpec
    f = lib.shard_map(
        lambda x: lib.lax.psum(numpy_of(lib).sin(x), "x"),
        mesh=mesh_of(lib),
        in_specs=spec("x", "y"),
        out_specs=spec(None, "y"),
    )
    return exported(lib, f, X)


def constrained(lib):
    def f(x):
        return lib.lax.with_sharding_constraint(x * 2, sharding(lib, "y", "x")) + 1

    return exported(lib, f, X)


def doubled(lib, x=X):
    return exported(lib, lambda x: x * 2, x)


def struct(lib, *spec):
    return lib.ShapeDtypeStruct(X.shape, X.dtype, sharding=sharding(lib, *spec))


def struct_of_abstract(lib):
    mesh = mesh_of(lib).abstract_mesh
    spec = lib.sharding.PartitionSpec("x")
    return lib.ShapeDtypeStruct(X.shape, X.dtype, sharding=lib.sharding.NamedSharding(mesh, spec))


def other_mesh(lib, *spec):
    """`X` on the same devices in another order, whose mesh has another shape and other names."""
    mesh = lib.sharding.Mesh(np.array(lib.devices()[7::-1]).reshape(2, 4), ("p", "q"))
    spec = lib.sharding.PartitionSpec(*spec)
    return lib.device_put(X, lib.sharding.NamedSharding(mesh, spec))


# What each program says of itself, beside results: numbers of devices, and shardings.
PROGRAMS = {
    "in_shardings": lambda lib: product(lib).call(put(lib, "x", "y"), X),
    "its arguments are brought where it has them": lambda lib: product(lib).call(
        put(lib, "y"), put(lib, None, "x")
    ),
    "within set_mesh": lambda lib: with_mesh(lib, lambda lib: product(lib).call(X, X)),
    "within jit": lambda lib: lib.jit(lambda a: product(lib).call(numpy_of(lib).sin(a), a) + 1)(
        put(lib, "x")
    ),
    "in_shardings of jit": lambda lib: lib.jit(
        product(lib).call, in_shardings=(sharding(lib, "x", "y"), None)
    )(X, X),
    "shard_map": lambda lib: summed(lib).call(put(lib, "x", "y")),
    "shard_map within jit": lambda lib: lib.jit(
        lambda x: summed(lib).call(x) * summed(lib).call(x + 1)
    )(put(lib, "x")),
    "a constraint": lambda lib: constrained(lib).call(put(lib, "x")),
    "an argument that is divided": lambda lib: doubled(lib, put(lib, "x")).call(put(lib, "x")),
    "a type that is divided": lambda lib: doubled(lib, struct(lib, "y")).call(put(lib, "y")),
    "a type on an abstract mesh": lambda lib: doubled(lib, struct_of_abstract(lib)).call(
        put(lib, "x")
    ),
    "a constant that is divided": lambda lib: (
        lambda c: exported(lib, lambda x: x + c, X).call(put(lib, "y"))
    )(put(lib, "x")),
    "for one device, on eight": lambda lib: doubled(lib).call(put(lib, "x", "y")),
    "for one device, on four": lambda lib: doubled(lib).call(put(lib, "x", shape=(4,), names="x")),
    "exported again": lambda lib: exported(
        lib, lambda a: product(lib).call(a, a), put(lib, "x")
    ).call(put(lib, "x")),
    "a gradient": lambda lib: lib.grad(lambda a: product(lib).call(a, X).sum())(put(lib, "x", "y")),
    "a gradient through shard_map": lambda lib: lib.grad(lambda a: summed(lib).call(a).sum())(
        put(lib, "x", "y")
    ),
    "a gradient within jit": lambda lib: lib.jit(
        lib.grad(lambda a: numpy_of(lib).sin(product(lib).call(a, a)).sum())
    )(put(lib, "x", "y")),
    "nr_devices": lambda lib: [
        str(each.nr_devices)
        for each in (product(lib), summed(lib), constrained(lib), doubled(lib), product(lib).vjp())
    ],
    "nr_devices within set_mesh": lambda lib: with_mesh(
        lib, lambda lib: str(doubled(lib).nr_devices)
    ),
    "in_shardings_jax": lambda lib: [
        str((each and each.spec, each and each.mesh.devices.shape))
        for program in (product(lib), summed(lib), product(lib).vjp())
        for each in (
            *program.in_shardings_jax(mesh_of(lib)),
            *program.out_shardings_jax(mesh_of(lib)),
        )
    ],
    "in_shardings_jax of an abstract mesh": lambda lib: str(
        [each.spec for each in product(lib).in_shardings_jax(mesh_of(lib).abstract_mesh)]
    ),
    "a mesh of other axes": lambda lib: product(lib).in_shardings_jax(
        mesh_of(lib, names=("x", "z"))
    ),
    "numbers, and no mesh": lambda lib: product(lib).call(X, X),
    "numbers, and no mesh, for shard_map": lambda lib: summed(lib).call(X),
    "too few devices": lambda lib: product(lib).call(put(lib, "x", shape=(4,), names="x"), X),
    "too few devices within jit": lambda lib: lib.jit(lambda a: product(lib).call(a, a))(
        put(lib, "x", shape=(4,), names="x")
    ),
    "exported again, for one device": lambda lib: exported(
        lib, lambda a: product(lib).call(a, a), X
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_shardings_and_errors_are_jaxs(name):
    assert_same(PROGRAMS[name])


@pytest.mark.parametrize("spec", [("p", "q"), ("q",), (), (None, ("p", "q"))], ids=str)
@pytest.mark.parametrize("program", [product, summed, constrained], ids=lambda f: f.__name__)
def test_any_mesh_of_as_many_devices_will_do(program, spec):
    """The order of the devices is that of the arguments.

    Where a result is not fixed by the program, XLA may divide it differently.
    """
    found = []
    for lib in (jax, glassjax):
        x = other_mesh(lib, *spec)
        out = program(lib).call(*[x] * len(program(lib).in_avals))
        parts = out.sharding.devices_indices_map(out.shape)
        found.append((np.asarray(out), {d.id: index for d, index in parts.items()}))
    (theirs, their_parts), (ours, our_parts) = found
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert our_parts == their_parts or program is constrained


def test_types_say_how_arguments_and_results_are_divided():
    """Along axes of type `Explicit`; the argument may have any type, and so may be undivided."""
    numbers = np.arange(64, dtype=np.float32).reshape(8, 8) / 7

    def results(lib, load):
        P = lib.sharding.PartitionSpec
        with lib.set_mesh(lib.make_mesh((4, 2), ("x", "y"))):
            x = lib.device_put(numbers, P("x", "y"))
            exported = load(lib.export.export(lib.jit(lib.numpy.sin))(x))
            whole = load(lib.export.export(lib.jit(lib.numpy.sin))(lib.numpy.array(numbers)))
            total = lib.grad(lambda x: exported.call(x).sum())
            calls = [exported.call, lib.jit(exported.call), total, lib.jit(total)]
            for out in [*(call(x) for call in calls), exported.call(numbers), whole.call(x)]:
                yield str(lib.typeof(out).sharding.spec), np.asarray(out).tolist()

    def reloaded(exported):
        return glassjax.export.deserialize(exported.serialize(vjp_order=1))

    expected = [spec for spec, _ in results(jax, lambda exported: exported)]
    for load in (lambda exported: exported, reloaded):
        found = [*results(glassjax, load)]
        assert [spec for spec, _ in found] == expected
        for (_, out), formula in zip(
            found, 2 * [np.sin] + 2 * [np.cos] + 2 * [np.sin], strict=True
        ):
            np.testing.assert_allclose(out, formula(numbers), rtol=1e-5, atol=1e-6)


def test_a_program_on_other_devices_says_what_to_do():
    few = put(glassjax, "x", shape=(4,), names="x")
    with pytest.raises(
        ValueError, match=r"`<lambda>` is for 8 devices, .* run on 4\. Bring .* export it again"
    ):
        summed(glassjax).call(few)
    with pytest.raises(ValueError, match=r"is for 8 devices, .* run on 1\. .*set_mesh"):
        summed(glassjax).call(X)
    mesh = mesh_of(glassjax, (1,), ("x",))
    alone = glassjax.shard_map(
        lambda x: glassjax.lax.psum(x, "x"), mesh=mesh, in_specs=P("x"), out_specs=P()
    )
    with pytest.raises(ValueError, match=r"is for 1 device, .* run on 8"):
        exported(glassjax, alone, X).call(put(glassjax, "x"))
    with pytest.raises(ValueError, match=r"on each device by itself, within shard_map"):
        glassjax.shard_map(
            product(glassjax).call, mesh=mesh_of(glassjax), in_specs=P(), out_specs=P()
        )(X, X)


@pytest.mark.parametrize("check_vma", [True, False])
def test_a_program_for_one_device_is_called_within_shard_map(check_vma):
    """Its results vary along the axes of any argument, and cotangents are those of the function."""
    half = X[:2]

    def f(x, y):
        return jnp.sin(x) * y, x - y * y

    def on_each_device(f):
        return glassjax.shard_map(
            f,
            mesh=mesh_of(glassjax),
            in_specs=(P("x"), P()),
            out_specs=P("x"),
            check_vma=check_vma,
        )

    loaded = exported(glassjax, f, half, half)
    found, pull = glassjax.vjp(on_each_device(loaded.call), X, half)
    expected, expected_pull = glassjax.vjp(on_each_device(f), X, half)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(pull(found)[0], expected_pull(found)[0], rtol=1e-5)
    np.testing.assert_allclose(pull(found)[1], expected_pull(found)[1], rtol=1e-5)


def test_shardings_in_hlo_are_those_of_arrays():
    program = product(glassjax)
    found = [str(each) for each in (*program.in_shardings_hlo, *program.out_shardings_hlo)]
    assert found == [
        "{devices=[4,2]<=[8]}",
        "None",
        "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}",
    ]


def test_a_function_of_this_process_does_not_leave_it():
    def f(x):
        glassjax.debug.inspect_array_sharding(x, callback=print)
        return x

    with pytest.raises(ValueError, match=r"`f` calls Python functions of this process"):
        export.export(glassjax.jit(f, in_shardings=sharding(glassjax, "x")))(X)


def test_names_of_axes_that_cannot_be_written():
    mesh = mesh_of(glassjax, names=(("a", 1), "y"))
    divided = glassjax.sharding.NamedSharding(mesh, P(None, "y"))
    program = export.export(glassjax.jit(jnp.sin, in_shardings=divided))(X)
    with pytest.raises(ValueError, match=r"the name \('a', 1\) of type tuple; names that are str"):
        program.serialize()


def test_shardings_that_were_forged():
    parts = unpack(product(glassjax).serialize())
    xy = {"axis_sizes": [4, 2], "axis_names": ["x", "y"], "axis_types": [1, 1]}
    assert parts["unique_abstract_meshes"][0] == xy | {"_abstract_device": None}
    assert parts["in_shardings"] == [1, 0]
    spec = {"partitions": [{"axes": ["x"]}, {"axes": ["y"]}], "reduced": [], "unreduced": []}
    assert parts["unique_named_shardings"][0]["spec"] == spec

    def over(**changes):
        return {"unique_abstract_meshes": [xy | changes]}

    def by(*axes):
        spec = {"partitions": [{"axes": names} for names in axes]}
        return {"unique_named_shardings": [{"spec": spec, "mesh": 0}] * 2}

    others = [
        over(axis_sizes=[4], axis_names=["x"], axis_types=[1]),  # lacks an axis of the spec
        over(axis_sizes=[2, 2]),  # too few devices
        over(axis_sizes=[4]),
        over(axis_types=[1, 4]),
        over(axis_types=[0, 1]),
        over(axis_names=["x", "x"]),
        over(axis_sizes=[8, 0]),
        over(axis_sizes=[]),
        by(["z"]),
        by(["x"], ["x"]),
        by([], [], ["x"]),
        {"unique_named_shardings": []},
        {"unique_named_shardings": [{"mesh": 1}] * 2},
        {"in_shardings": [1]},
        {"in_shardings": [9, 0]},
        {"nr_devices": 0},
        {"nr_devices": 4},
    ]
    for other in others:
        with pytest.raises(ValueError, match=r"^deserialize: the data are malformed"):
            export.deserialize(pack(parts | other))


def test_what_leaves_an_axis_to_the_partitioner_is_not_written():
    free = glassjax.sharding.NamedSharding(mesh_of(glassjax), P(P.UNCONSTRAINED, "y"))
    program = export.export(glassjax.jit(jnp.sin, in_shardings=free))(X)
    with pytest.raises(ValueError, match=r"leaves an axis to the partitioner"):
        program.serialize()


@pytest.mark.parametrize("name", ["product", "summed", "constrained", "doubled"])
@pytest.mark.parametrize("writer", [jax, glassjax], ids=lambda lib: lib.__name__)
def test_what_one_library_writes_the_other_reads(writer, name):
    program = globals()[name]
    written = program(writer).serialize(vjp_order=1)
    found = []
    for lib in (jax, glassjax):
        loaded = lib.export.deserialize(written)
        args = [put(lib, "x", "y"), X][: len(loaded.in_avals)]
        out = lib.jit(loaded.call)(*args)
        gradient = lib.grad(lambda *args, f=loaded.call: f(*args).sum())(*args)
        shardings = (
            *loaded.in_shardings_jax(mesh_of(lib)),
            *loaded.out_shardings_jax(mesh_of(lib)),
        )
        spec = str(out.sharding.spec)
        said = loaded.nr_devices, [each and str(each.spec) for each in shardings], spec
        found.append((np.asarray(out), np.asarray(gradient), said))
    (theirs, their_gradient, they_say), (ours, our_gradient, we_say) = found
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(our_gradient, their_gradient)
    assert we_say == they_say


@pytest.mark.parametrize("platforms", [["cpu", "cuda"], ["cuda", "cpu"]], ids=str)
def test_programs_for_several_platforms_keep_their_shardings(platforms):
    """Transforms are lowered differently for a CPU: on one device."""
    found = []
    for lib in (glassjax, jax):
        f = lib.jit(
            lambda x, lib=lib: numpy_of(lib).fft.fft(x * x),
            in_shardings=sharding(lib, "x"),
            out_shardings=sharding(lib, "x", "y"),
        )
        program = lib.export.export(f, platforms=platforms)(X)
        program = lib.export.deserialize(program.serialize(vjp_order=1))
        out = program.call(put(lib, "x"))
        np.testing.assert_allclose(out, np.fft.fft(X * X), rtol=1e-3)
        said = []
        for each in (program, program.vjp()):
            shardings = each.in_shardings_jax(mesh_of(lib)) + each.out_shardings_jax(mesh_of(lib))
            said.append((each.platforms, each.nr_devices, [s and str(s.spec) for s in shardings]))
        found.append((said, str(out.sharding.spec)))
    assert found[0] == found[1]


PROGRAM = """
import sys
import numpy as np
import glassjax
from glassjax import export
exported = export.deserialize(open(sys.argv[1], "rb").read())
mesh = glassjax.sharding.Mesh(np.array(glassjax.devices()[::-1]).reshape(4, 2), ("x", "y"))
x = np.arange(64, dtype=np.float32).reshape(8, 8) / 7
args = [glassjax.device_put(x, each) if each else x for each in exported.in_shardings_jax(mesh)]
out = exported.call(*args)
np.testing.assert_allclose(out, x @ x.T, rtol=1e-5)
assert out.sharding.is_equivalent_to(*exported.out_shardings_jax(mesh), 2)
gradient = glassjax.grad(lambda a: exported.call(a, args[1]).sum())(args[0])
np.testing.assert_allclose(gradient, np.broadcast_to(x.sum(0), (8, 8)), rtol=1e-5)
assert "jax" not in sys.modules
"""


def test_in_another_process_without_the_function(tmp_path):
    file = tmp_path / "product.glassjax"
    file.write_bytes(product(glassjax).serialize(vjp_order=1))
    subprocess.run([sys.executable, "-c", PROGRAM, str(file)], check=True)
