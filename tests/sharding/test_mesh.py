"""Meshes: without axes, without devices, of one device, abstract, and in context."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys
import numpy as np
name, *kinds = sys.argv[1:]
jax = __import__(name)
jnp = __import__(name + ".numpy").numpy
S = __import__(name + ".sharding").sharding
P = S.PartitionSpec

def answers(kind):
    mesh = {
        "no axes": lambda: jax.make_mesh((), ()),
        "a device": lambda: S.Mesh(np.array(jax.devices()[0]), ()),
        "no devices": lambda: S.Mesh(np.empty((), object), ()),
        "an axis without devices": lambda: S.Mesh(np.empty((0,), object), ("x",)),
    }[kind]()
    s = S.NamedSharding(mesh, P())
    x = jnp.arange(2.0)

    def in_mesh():
        with jax.set_mesh(mesh):
            return x + 1

    def left():
        with jax.set_mesh(jax.make_mesh((1,), ("x",))), jax.set_mesh(mesh):
            return jnp.ones(2) + 1

    doors = {
        "set_mesh": in_mesh,
        "leaving a mesh": left,
        "device_put": lambda: jax.device_put(x, s),
        "device_put in jit": lambda: jax.jit(lambda x: jax.device_put(x, s))(x),
        "in_shardings": lambda: jax.jit(lambda x: x + 1, in_shardings=s)(x),
        "out_shardings": lambda: jax.jit(lambda x: x + 1, out_shardings=s)(x),
        "constraint": lambda: jax.jit(lambda x: jax.lax.with_sharding_constraint(x, s))(x),
        "eager constraint": lambda: jax.lax.with_sharding_constraint(x, s),
        "shard_map": lambda: jax.shard_map(
            lambda x: x + 1, mesh=mesh, in_specs=P(), out_specs=P()
        )(x),
        "zeros": lambda: jnp.zeros(2, device=s),
        "asarray": lambda: jnp.asarray(np.ones(2), device=s),
        "from a callback": lambda: jax.make_array_from_callback((2,), s, lambda i: np.ones(2)[i]),
        "from local data": lambda: jax.make_array_from_process_local_data(s, np.ones(2)),
        "from arrays": lambda: jax.make_array_from_single_device_arrays((2,), s, [x]),
        "eval_shape": lambda: jax.jit(lambda x: x, out_shardings=s).lower(x).compile()(x),
    }
    results = {}
    for door, enter in doors.items():
        try:
            results[door] = np.asarray(enter()).tolist()
        except Exception as error:
            results[door] = type(error).__name__
    return bool(mesh.empty), mesh.size, results

print(json.dumps([answers(kind) for kind in kinds]))
"""


def run(name, *kinds):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name, *kinds], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_mesh_without_axes_has_one_device():
    assert run("glassjax", "no axes", "a device") == run("jax", "no axes", "a device")


def test_what_has_no_devices_is_refused_or_changes_nothing():
    for is_empty, size, results in run("glassjax", "no devices", "an axis without devices"):
        assert is_empty
        assert size == 0
        assert results.pop("set_mesh") == [1.0, 2.0]
        assert results.pop("leaving a mesh") == [2.0, 2.0]
        assert {*map(type, results.values())} == {str}, results  # errors


def test_the_mesh_in_context_is_read_and_set(lib):
    assert lib.get_mesh().empty
    mesh = lib.make_mesh((1,), ("x",))
    with lib.set_mesh(mesh):
        assert lib.get_mesh() == mesh
        assert lib.sharding.reshard(lib.numpy.ones(2), lib.P("x")).sharding.spec == lib.P("x")
    assert lib.get_abstract_mesh().empty
    with lib.use_abstract_mesh(mesh.abstract_mesh):
        assert lib.get_abstract_mesh().axis_names == ("x",)
    assert lib.get_abstract_mesh().empty


def test_a_sharding_over_the_abstract_mesh_in_context_has_its_devices(lib):
    mesh = lib.make_mesh((1,), ("x",))
    with lib.set_mesh(mesh):
        sharding = lib.NamedSharding(lib.get_abstract_mesh(), lib.P("x"))
        out = lib.jit(lambda x: 2 * x, out_shardings=sharding)(lib.numpy.ones(2))
    assert out.sharding.mesh == mesh
    assert out.sharding.spec == lib.P("x")


# Kinds of devices.
@pytest.mark.newest_jax
def test_abstract_devices(lib):
    device = lib.sharding.AbstractDevice("cpu", None, "cpu")
    assert repr(device) == "AbstractDevice(device_kind=cpu, num_cores=None, platform=cpu)"
    assert device == lib.sharding.AbstractDevice("cpu", num_cores=None, platform="cpu")
    types = (lib.sharding.AxisType.Explicit,)
    mesh = lib.sharding.AbstractMesh((2,), ("x",), types, abstract_device=device)
    assert mesh.abstract_device is device
    assert mesh != lib.sharding.AbstractMesh((2,), ("x",), types)
    assert lib.sharding.AbstractMesh((2,), ("x",)).axis_types == types
    assert str(mesh) == (
        "AbstractMesh('x': 2, axis_types=(Explicit,), device_kind=cpu, num_cores=None, "
        "platform=cpu)"
    )


# What JAX says is deprecated.
def test_meshes_as_contexts_are_deprecated(lib):
    mesh = lib.make_mesh((1,), ("x",))
    with pytest.warns(DeprecationWarning, match="with mesh:"), mesh:
        pass
