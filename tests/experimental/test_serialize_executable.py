"""Serialized executables, loaded here and in another process."""

import pickle
import subprocess
import sys

import jax
import numpy as np
import pytest

import glassjax
from glassjax.experimental import serialize_executable

pytestmark = pytest.mark.compiled_anew


SOLVE = np.eye(3, dtype=np.float32) * 2 + 1


def of_arrays(p, x, unused, *, y):
    keys = glassjax.random.split(glassjax.random.key(3))
    return {"a": p["w"] @ x + SOLVE, "keys": keys, "y": (y, glassjax.numpy.linalg.solve(SOLVE, x))}


def compiled_of_arrays(**options):
    arguments = ({"w": SOLVE}, SOLVE, 3.0)
    return glassjax.jit(of_arrays, **options).lower(*arguments, y=2.0).compile()


@pytest.mark.parametrize("donated", [(), (1,)])
def test_serialized_executables_are_those_that_were_compiled(donated):
    compiled = compiled_of_arrays(donate_argnums=donated)
    loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
    again = serialize_executable.deserialize_and_load(*serialize_executable.serialize(loaded))
    expected = jax.tree.leaves(glassjax.tree.map(as_numpy, call(compiled)))
    for other in (loaded, again):
        outs = call(other)
        assert glassjax.tree.structure(outs) == compiled.out_tree
        for x, y in zip(
            glassjax.tree.leaves(glassjax.tree.map(as_numpy, outs)), expected, strict=True
        ):
            np.testing.assert_array_equal(x, y)
    for name in ("in_avals", "args_info", "donate_argnums", "input_shardings", "out_avals"):
        assert getattr(loaded, name) == getattr(compiled, name)
    assert loaded.cost_analysis() == compiled.cost_analysis()
    assert loaded.as_text() == compiled.as_text()
    with pytest.raises(TypeError, match="compiled for"):
        loaded({"w": SOLVE}, SOLVE[0], 3.0, y=2.0)


def call(program):
    return program({"w": SOLVE}, glassjax.numpy.array(SOLVE + 1), 3.0, y=2.0)


def as_numpy(x):
    is_key = glassjax.dtypes.issubdtype(x.dtype, glassjax.dtypes.prng_key)
    return np.asarray(glassjax.random.key_data(x) if is_key else x)


LOAD = """
import pickle, sys
import glassjax
from glassjax.experimental import serialize_executable
with open(sys.argv[1], "rb") as file:
    loaded = serialize_executable.deserialize_and_load(*pickle.load(file))
x = glassjax.numpy.eye(3, dtype="float32")
with glassjax.enable_x64(sys.argv[2] == "True"):
    print(loaded({"w": x}, x, 3.0, y=2.0)["y"][1].tolist())
"""


def test_another_process_loads_an_executable_and_the_routines_that_it_calls(tmp_path):
    file = tmp_path / "program"
    file.write_bytes(pickle.dumps(serialize_executable.serialize(compiled_of_arrays())))
    done = subprocess.run(
        [sys.executable, "-c", LOAD, file, str(glassjax.config.enable_x64)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    expected = glassjax.numpy.linalg.solve(SOLVE, np.eye(3, dtype=np.float32)).tolist()
    assert done.stdout.strip() == str(expected)


def test_executables_that_cannot_be_serialized_or_loaded(monkeypatch):
    module = serialize_executable
    calling = glassjax.jit(lambda x: glassjax.pure_callback(np.sin, x, x)).lower(1.0).compile()
    with pytest.raises(ValueError, match="stays in its process"):
        module.serialize(calling)
    with pytest.raises(TypeError, match="expected the result of"):
        module.serialize(glassjax.jit(np.sin))
    serialized = module.serialize(glassjax.jit(lambda x: x + 1).lower(1.0).compile())
    with pytest.raises(ValueError, match=r"runs on the devices \[0\], found \[\]"):
        module.deserialize_and_load(*serialized, execution_devices=[])
    with pytest.raises(ValueError, match="do not belong to"):
        module.deserialize_and_load(*serialized, execution_devices=jax.devices())
    monkeypatch.setattr(glassjax.xla, "fingerprint", lambda devices: ("jaxlib 9",))
    with pytest.raises(ValueError, match="jaxlib 9"):
        module.deserialize_and_load(*serialized)
