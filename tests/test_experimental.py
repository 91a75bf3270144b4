"""Small modules of `jax.experimental`, compared with JAX."""

import pathlib
import re

import jax
import numpy as np
import pytest
from jax.experimental import layout as jax_layout
from jax.experimental import multihost_utils as jax_multihost_utils

import minijax
from minijax.experimental import (
    layout,
    mesh_utils,
    multihost_utils,
    profiler,
    source_mapper,
)
from minijax.experimental.compilation_cache import compilation_cache

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
BOTH = [(minijax, layout), (jax, jax_layout)]


def layouts_and_values(lib, module, order):
    def f(x):
        return module.with_layout_constraint(x * 2, module.Layout(order)) + 1

    for g, x in [
        (f, X),
        (lib.vmap(f, out_axes=2), X[None]),
        (lib.grad(lambda x: (f(x) ** 2).sum()), X),
        (lambda x: lib.jvp(f, (x,), (x,))[1], X),
    ]:
        lowered = lib.jit(g).lower(x)
        layouts = re.findall(r"result_layouts = \[dense<(.*?)>", lowered.as_text())
        yield layouts, np.asarray(lowered.compile()(x)).tolist()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_layout_constraints(order):
    ours, theirs = (list(layouts_and_values(*each, order)) for each in BOTH)
    assert ours == theirs
    assert all(layouts for layouts, _ in ours)


def test_layout_constraints_of_trees():
    tree = {"a": X, "b": X[0]}
    rows = {"a": layout.Layout((0, 1, 2)), "b": layout.Layout((0, 1))}
    out = layout.with_layout_constraint(tree, rows)
    assert minijax.tree.all(minijax.tree.map(lambda x, y: (x == y).all(), out, tree))
    for axis in range(4):
        f = minijax.vmap(lambda x: layout.with_layout_constraint(x, rows["a"]), axis, axis)
        np.testing.assert_array_equal(
            minijax.jit(f)(X[None].swapaxes(0, axis)), X[None].swapaxes(0, axis)
        )
    assert minijax.jit(lambda x: layout.with_layout_constraint(x, layout.Layout(())))(1.0) == 1
    for layouts in [(1, 0), layout.Layout((0, 1)), layout.Layout((0, 0, 1)), {"a": rows["a"]}]:
        with pytest.raises(ValueError, match="with_layout_constraint: "):
            layout.with_layout_constraint(tree, layouts)
    with pytest.raises(ValueError, match="row-major"):  # JAX has arrays of other layouts
        layout.with_layout_constraint(X, layout.Layout((1, 0, 2)))


def test_handlers_of_device_kinds(monkeypatch):
    kind = minijax.devices()[0].device_kind
    found = []

    def handler(*args, **kwargs):
        found.append((args, kwargs))
        return None if len(found) == 1 else np.array(["mine"])

    monkeypatch.setitem(mesh_utils.device_kind_handler_dict, kind, handler)
    devices = minijax.devices()[:1]
    assert mesh_utils.create_device_mesh((1, 1), devices).shape == (1, 1)
    assert mesh_utils.create_device_mesh((1,), devices, contiguous_submeshes=True) == ["mine"]
    assert found == [
        (((1, 1), devices), {"contiguous_submeshes": False}),
        (((1,), devices), {"contiguous_submeshes": True}),
    ]


def test_names_of_files_in_source_maps():
    folder = re.escape(str(pathlib.Path(__file__).parent))
    with minijax.config.override(hlo_source_file_canonicalization_regex=f"^{folder}"):
        assert source_mapper.canonicalize_filename(__file__) == "/test_experimental.py"
        passes = source_mapper.filter_passes("^jaxpr$")
        (dump,) = source_mapper.generate_sourcemaps(lambda x: x + 1, passes)(1.0)
        assert list(dump.source_map.sources) == ["/test_experimental.py"]
    assert source_mapper.canonicalize_filename(__file__) == __file__


def test_compilation_cache(tmp_path):
    with minijax.config.override(enable_compilation_cache=True):
        before = minijax.config.compilation_cache_dir
        try:
            compilation_cache.set_cache_dir(tmp_path / "new")
            compilation_cache.reset_cache()
            minijax.jit(lambda x: x * 3 + 17)(1.0)
            assert list((tmp_path / "new").iterdir())
        finally:
            compilation_cache.set_cache_dir(before)


def test_profile_of_a_cpu_says_nothing_about_instructions(tmp_path):
    with minijax.profiler.trace(tmp_path):
        minijax.jit(lambda x: x + 1)(1.0)
    (run,) = (tmp_path / "plugins/profile").iterdir()
    assert profiler.get_profiled_instructions_proto(run) == b""
    with pytest.raises(RuntimeError, match="No such file"):
        profiler.get_profiled_instructions_proto(run.parent / "another")


@pytest.mark.parametrize("utils", [multihost_utils, jax_multihost_utils])
def test_live_devices_of_one_process(utils):
    with pytest.raises(RuntimeError, match="initialize"):
        utils.live_devices(jax.devices()).__enter__()
