"""Devices, meshes and asynchronous copies at JAX's top level."""

import numpy as np
import pytest
from tables import for_each

import glassjax
import glassjax.numpy


@for_each(
    ("old", "new"),
    [
        ("host_id", "process_index"),
        ("host_ids", "process_indices"),
        ("host_count", "process_count"),
    ],
)
def test_old_names_warn(lib, old, new):
    with pytest.warns(UserWarning, match="process_"):
        assert getattr(lib, old)() == getattr(lib, new)()


def test_copies_start_for_every_leaf_that_can(lib):
    started = []

    class Leaf:
        def copy_to_host_async(self):
            started.append(self)

    tree = {"a": Leaf(), "b": lib.numpy.arange(3), "c": 1, "d": np.ones(2), "e": lib.numpy.ones(0)}
    assert lib.copy_to_host_async(tree) is tree
    assert started == [tree["a"]]
    np.testing.assert_array_equal(tree["b"], np.arange(3))


def test_copies_start_not_in_programs(lib):
    np.testing.assert_array_equal(lib.jit(lib.copy_to_host_async)(lib.numpy.ones(2)), np.ones(2))


def test_what_lies_on_the_one_device_stays():
    x = {"a": glassjax.numpy.ones(2)}
    found = glassjax.lax.with_sharding_constraint(x, glassjax.devices()[0])
    np.testing.assert_array_equal(found["a"], x["a"])
    assert glassjax.vmap(lambda x: glassjax.lax.pcast(x, "i", to="varying"), axis_name="i")(x) == x
    with pytest.raises(NameError, match="unbound axis name: j"):
        glassjax.lax.pcast(x, "j", to="varying")


OTHER_MEMORIES = {
    "one device": lambda kind: glassjax.sharding.SingleDeviceSharding(
        glassjax.devices()[0], memory_kind=kind
    ),
    "a mesh": lambda kind: glassjax.sharding.NamedSharding(
        glassjax.make_mesh((1,), ("x",)), glassjax.P("x"), memory_kind=kind
    ),
    "of an array": lambda kind: glassjax.numpy.ones(2).sharding.with_memory_kind(kind),
}


@for_each("make", OTHER_MEMORIES.values(), ids=OTHER_MEMORIES)
def test_memories_other_than_the_devices_are_refused(make):
    """An array in its device's memory would not be where the program says."""
    assert make("device").memory_kind == "device"
    for kind in ("pinned_host", "unpinned_host", "elsewhere"):
        with pytest.raises(ValueError, match=r"memory_kind must be .device.[^|]*put it on a CPU"):
            make(kind)


def test_arrays_are_put_into_the_memory_of_their_device():
    space = glassjax.memory.Space
    for put in (glassjax.device_put, glassjax.jit(glassjax.device_put, static_argnums=1)):
        assert put(np.float32(3), space.Device) == 3
        with pytest.raises(ValueError, match=r"memory_kind must be 'device', found .*Host"):
            put(np.float32(3), space.Host)
