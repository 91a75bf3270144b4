"""Names of JAX's top level for devices, meshes and copies, with JAX as oracle."""

import jax
import numpy as np
import pytest
from tables import for_each

import minijax

LIBRARIES = pytest.mark.parametrize("lib", [jax, minijax], ids=["jax", "minijax"])


@LIBRARIES
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


@LIBRARIES
def test_copies_start_for_every_leaf_that_can(lib):
    started = []

    class Leaf:
        def copy_to_host_async(self):
            started.append(self)

    tree = {"a": Leaf(), "b": lib.numpy.arange(3), "c": 1, "d": np.ones(2), "e": lib.numpy.ones(0)}
    assert lib.copy_to_host_async(tree) is tree
    assert started == [tree["a"]]
    np.testing.assert_array_equal(tree["b"], np.arange(3))


@LIBRARIES
def test_copies_start_not_in_programs(lib):
    np.testing.assert_array_equal(lib.jit(lib.copy_to_host_async)(lib.numpy.ones(2)), np.ones(2))


@LIBRARIES
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
