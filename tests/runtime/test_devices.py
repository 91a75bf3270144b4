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
