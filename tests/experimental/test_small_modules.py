"""Small modules of `jax.experimental`, compared with JAX."""

import pathlib
import pickle
import re
import subprocess
import sys

import jax
import numpy as np
import pytest
from jax.experimental import layout as jax_layout
from jax.experimental import multihost_utils as jax_multihost_utils

import minijax
from minijax.experimental import (
    compilation_cache,
    layout,
    mesh_utils,
    multihost_utils,
    profiler,
    serialize_executable,
    source_mapper,
)

pytestmark = pytest.mark.compiled_anew

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
        assert source_mapper.canonicalize_filename(__file__) == "/test_small_modules.py"
        passes = source_mapper.filter_passes("^jaxpr$")
        (dump,) = source_mapper.generate_sourcemaps(lambda x: x + 1, passes)(1.0)
        assert list(dump.source_map.sources) == ["/test_small_modules.py"]
    assert source_mapper.canonicalize_filename(__file__) == __file__


def test_compilation_cache(tmp_path):
    module = serialize_executable
    before = minijax.config.compilation_cache_dir
    with minijax.config.override(enable_compilation_cache=True):
        try:
            compilation_cache.set_cache_dir(tmp_path / "new")
            compilation_cache.reset_cache()
            for expected in (1, 1):
                compiled = compiled_of_arrays()
                assert len(list((tmp_path / "new").iterdir())) == expected
                minijax.clear_caches()
        finally:
            compilation_cache.set_cache_dir(before)
    # What was loaded from there can be written down once more.
    loaded = module.deserialize_and_load(*module.serialize(compiled))
    np.testing.assert_array_equal(call(loaded)["a"], call(compiled)["a"])


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


SOLVE = np.eye(3, dtype=np.float32) * 2 + 1


def of_arrays(p, x, unused, *, y):
    keys = minijax.random.split(minijax.random.key(3))
    return {"a": p["w"] @ x + SOLVE, "keys": keys, "y": (y, minijax.numpy.linalg.solve(SOLVE, x))}


def compiled_of_arrays(**options):
    arguments = ({"w": SOLVE}, SOLVE, 3.0)
    return minijax.jit(of_arrays, **options).lower(*arguments, y=2.0).compile()


@pytest.mark.parametrize("donated", [(), (1,)])
def test_serialized_executables_are_those_that_were_compiled(donated):
    compiled = compiled_of_arrays(donate_argnums=donated)
    loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
    again = serialize_executable.deserialize_and_load(*serialize_executable.serialize(loaded))
    expected = jax.tree.leaves(minijax.tree.map(as_numpy, call(compiled)))
    for other in (loaded, again):
        outs = call(other)
        assert minijax.tree.structure(outs) == compiled.out_tree
        for x, y in zip(
            minijax.tree.leaves(minijax.tree.map(as_numpy, outs)), expected, strict=True
        ):
            np.testing.assert_array_equal(x, y)
    for name in ("in_avals", "args_info", "donate_argnums", "input_shardings", "out_avals"):
        assert getattr(loaded, name) == getattr(compiled, name)
    assert loaded.cost_analysis() == compiled.cost_analysis()
    assert loaded.as_text() == compiled.as_text()
    with pytest.raises(TypeError, match="compiled for"):
        loaded({"w": SOLVE}, SOLVE[0], 3.0, y=2.0)


def call(program):
    return program({"w": SOLVE}, minijax.numpy.array(SOLVE + 1), 3.0, y=2.0)


def as_numpy(x):
    is_key = minijax.dtypes.issubdtype(x.dtype, minijax.dtypes.prng_key)
    return np.asarray(minijax.random.key_data(x) if is_key else x)


LOAD = """
import pickle, sys
import minijax
from minijax.experimental import serialize_executable
with open(sys.argv[1], "rb") as file:
    loaded = serialize_executable.deserialize_and_load(*pickle.load(file))
x = minijax.numpy.eye(3, dtype="float32")
with minijax.enable_x64(sys.argv[2] == "True"):
    print(loaded({"w": x}, x, 3.0, y=2.0)["y"][1].tolist())
"""


def test_another_process_loads_an_executable_and_the_routines_that_it_calls(tmp_path):
    file = tmp_path / "program"
    file.write_bytes(pickle.dumps(serialize_executable.serialize(compiled_of_arrays())))
    done = subprocess.run(
        [sys.executable, "-c", LOAD, file, str(minijax.config.enable_x64)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    expected = minijax.numpy.linalg.solve(SOLVE, np.eye(3, dtype=np.float32)).tolist()
    assert done.stdout.strip() == str(expected)


def test_executables_that_cannot_be_serialized_or_loaded(monkeypatch):
    module = serialize_executable
    calling = minijax.jit(lambda x: minijax.pure_callback(np.sin, x, x)).lower(1.0).compile()
    with pytest.raises(ValueError, match="stays in its process"):
        module.serialize(calling)
    with pytest.raises(TypeError, match="expected the result of"):
        module.serialize(minijax.jit(np.sin))
    serialized = module.serialize(minijax.jit(lambda x: x + 1).lower(1.0).compile())
    with pytest.raises(ValueError, match=r"runs on the devices \[0\], found \[\]"):
        module.deserialize_and_load(*serialized, execution_devices=[])
    with pytest.raises(ValueError, match="are not those of"):
        module.deserialize_and_load(*serialized, execution_devices=jax.devices())
    monkeypatch.setattr(minijax.xla, "fingerprint", lambda devices: ("jaxlib 9",))
    with pytest.raises(ValueError, match="jaxlib 9"):
        module.deserialize_and_load(*serialized)
