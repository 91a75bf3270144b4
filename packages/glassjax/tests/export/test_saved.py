"""Directories with exported functions: their files, and what the runner computes from them.

The runner needs a C++ compiler and a PJRT plugin: that of the package lammps-jax-pjrt-cpu, or the
file that `GLASSJAX_TEST_PJRT_PLUGIN` names.
"""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import glassjax.numpy as jnp
from glassjax import ShapeDtypeStruct, export, jit, random


def plugin():
    named = os.environ.get("GLASSJAX_TEST_PJRT_PLUGIN")
    found = importlib.util.find_spec("lammps_jax_pjrt_cpu")
    if named is None and found is not None:
        return Path(found.origin).with_name("pjrt_c_api_cpu_plugin.so")
    return named


def model(params, x):
    hidden = jnp.tanh(x @ params["w"] + params["b"])
    return {"y": hidden, "draw": random.normal(params["key"], (2,)), "big": jnp.argmax(hidden)}


PARAMS = {
    "w": np.arange(6, dtype=np.float32).reshape(2, 3) / 7,
    "b": np.float32(0.5),
    "key": random.key(3),
}
X = np.arange(8, dtype=np.float32).reshape(4, 2)


def saved(directory):
    exported = export.export(jit(model))(PARAMS, ShapeDtypeStruct(X.shape, X.dtype))
    exported.save(directory, PARAMS)
    return directory


def test_the_program_and_the_weights_are_those_of_the_function(tmp_path):
    directory = saved(tmp_path / "model")
    lines = (directory / "manifest.txt").read_text().splitlines()
    assert lines[0] == "argument 11 4 0 0.npy [0][0]['b']"
    assert lines[1:4] == [
        "argument 8 8 1 2 1.npy [0][0]['key']",
        "argument 11 24 2 2 3 2.npy [0][0]['w']",
        "argument 11 32 2 4 2 - [0][1]",
    ]
    assert [line.split()[0] for line in lines[4:]] == ["result"] * 3
    assert np.load(directory / "weights/2.npy").tolist() == PARAMS["w"].tolist()
    assert np.load(directory / "weights/1.npy").tolist() == [0, 3]
    assert (directory / "program.mlirbc").read_bytes()[:4] == b"ML\xefR"
    assert "stablehlo.tanh" in (directory / "program.mlir").read_text()


def test_what_cannot_be_saved(tmp_path):
    exported = export.export(jit(model))(PARAMS, X)
    with pytest.raises(TypeError, match=r"takes f32\[\] as leaf 0 of its arguments, found f64"):
        exported.save(tmp_path / "a", PARAMS | {"b": np.float64(1)})
    with pytest.raises(ValueError, match=r"takes 4 arrays, found 5 weights"):
        exported.save(tmp_path / "a", PARAMS, X, X)
    several = export.export(jit(jnp.sin), platforms=["cpu", "cuda"])(X)
    with pytest.raises(ValueError, match=r"for one platform and one device"):
        several.save(tmp_path / "a")
    assert not (tmp_path / "a").exists()
    saved(tmp_path / "b")
    with pytest.raises(FileExistsError):
        saved(tmp_path / "b")


@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler")
def test_the_runner_computes_what_the_function_does(tmp_path):
    directory = saved(tmp_path / "model")
    runner = tmp_path / "runner"
    build = ["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", str(directory / "runner.cc")]
    subprocess.run([*build, "-o", str(runner), "-ldl"], check=True)
    np.save(tmp_path / "x.npy", X)
    if (found := plugin()) is None:
        pytest.skip("no PJRT plugin")

    def run(*inputs):
        return subprocess.run([runner, found, directory, *inputs], capture_output=True)

    out = run(tmp_path / "x.npy")
    assert out.returncode == 0, out.stderr
    expected = model(PARAMS, X)
    big, draw, y = expected["big"], expected["draw"], expected["y"]
    assert np.frombuffer(out.stdout[:8], np.asarray(big).dtype)[0] == big
    numbers = out.stdout[np.asarray(big).nbytes :]
    found_draw = np.frombuffer(numbers[: np.asarray(draw).nbytes], np.asarray(draw).dtype)
    found_y = np.frombuffer(numbers[np.asarray(draw).nbytes :], np.float32)
    np.testing.assert_allclose(found_draw, draw, rtol=1e-6)
    np.testing.assert_allclose(found_y.reshape(4, 3), y, rtol=1e-6)
    assert b"an input is missing" in run().stderr
    assert b"is not an array of 32 bytes" in run(directory / "manifest.txt").stderr
