"""Small modules of `experimental`, from mesh_utils to compilation_cache, beside JAX."""

import jax
import numpy as np
import pytest
from jax.experimental import multihost_utils as jax_multihost_utils

import glassjax
from glassjax.experimental import (
    compilation_cache,
    mesh_utils,
    multihost_utils,
    profiler,
    serialize_executable,
)

pytestmark = pytest.mark.compiled_anew


def test_handlers_of_device_kinds(monkeypatch):
    kind = glassjax.devices()[0].device_kind
    found = []

    def handler(*args, **kwargs):
        found.append((args, kwargs))
        return None if len(found) == 1 else np.array(["mine"])

    monkeypatch.setitem(mesh_utils.device_kind_handler_dict, kind, handler)
    devices = glassjax.devices()[:1]
    assert mesh_utils.create_device_mesh((1, 1), devices).shape == (1, 1)
    assert mesh_utils.create_device_mesh((1,), devices, contiguous_submeshes=True) == ["mine"]
    assert found == [
        (((1, 1), devices), {"contiguous_submeshes": False}),
        (((1,), devices), {"contiguous_submeshes": True}),
    ]


def test_compilation_cache(tmp_path):
    module = serialize_executable
    before = glassjax.config.compilation_cache_dir
    with glassjax.config.override(enable_compilation_cache=True):
        try:
            compilation_cache.set_cache_dir(tmp_path / "new")
            compilation_cache.reset_cache()
            for expected in (1, 1):
                compiled = compiled_of_arrays()
                assert len(list((tmp_path / "new").iterdir())) == expected
                glassjax.clear_caches()
        finally:
            compilation_cache.set_cache_dir(before)
    # What was loaded from there can be written down once more.
    loaded = module.deserialize_and_load(*module.serialize(compiled))
    np.testing.assert_array_equal(call(loaded)["a"], call(compiled)["a"])


def test_profile_of_a_cpu_says_nothing_about_instructions(tmp_path):
    with glassjax.profiler.trace(tmp_path):
        glassjax.jit(lambda x: x + 1)(1.0)
    (run,) = (tmp_path / "plugins/profile").iterdir()
    assert profiler.get_profiled_instructions_proto(run) == b""
    with pytest.raises(RuntimeError, match="No such file"):
        profiler.get_profiled_instructions_proto(run.parent / "another")


@pytest.mark.parametrize("utils", [multihost_utils, jax_multihost_utils])
def test_live_devices_of_one_process(utils):
    with pytest.raises(RuntimeError, match="initialize"):
        utils.live_devices(jax.devices()).__enter__()


SOLVE = np.eye(3, dtype=np.float32) * 2 + 1


def of_arrays(p, x, unused, *, y):
    keys = glassjax.random.split(glassjax.random.key(3))
    return {"a": p["w"] @ x + SOLVE, "keys": keys, "y": (y, glassjax.numpy.linalg.solve(SOLVE, x))}


def compiled_of_arrays(**options):
    arguments = ({"w": SOLVE}, SOLVE, 3.0)
    return glassjax.jit(of_arrays, **options).lower(*arguments, y=2.0).compile()


def call(program):
    return program({"w": SOLVE}, glassjax.numpy.array(SOLVE + 1), 3.0, y=2.0)
