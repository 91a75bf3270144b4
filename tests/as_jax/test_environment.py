"""JAX's environment variables and defaults, read after `import jax`."""

import enum
import functools
import json
import os
import subprocess
import sys

import jax
import pytest
from shares import one_in

SETTINGS = {
    "JAX_ENABLE_X64": "1",
    "JAX_PLATFORMS": "cpu",
    "JAX_NUM_CPU_DEVICES": "3",
    "JAX_DISABLE_JIT": "y",
    "JAX_DEBUG_NANS": "true",
    "JAX_COMPILATION_CACHE_DIR": "/tmp/programs-of-nobody",
    "JAX_TRACEBACK_FILTERING": "off",
    "JAX_DEFAULT_MATMUL_PRECISION": "highest",
    "JAX_NUMPY_RANK_PROMOTION": "raise",
    "JAX_DEFAULT_PRNG_IMPL": "rbg",
    "JAX_THREEFRY_PARTITIONABLE": "0",
    "JAX_TRANSFER_GUARD": "log",
    "JAX_CHECK_TRACER_LEAKS": "on",
    "JAX_LOG_COMPILES": "true",
    "JAX_NUMPY_DTYPE_PROMOTION": "strict",
}
PROGRAM = """
import enum, json, os
import jax, jax.numpy as jnp
names = [name.lower() for name in os.environ if name.startswith("JAX_")]
plain = lambda x: x.name.lower() if isinstance(x, enum.Enum) else x
found = {name: plain(jax.config.values[name]) for name in names}
with jax.disable_jit(False), jax.numpy_dtype_promotion("standard"):
    print(json.dumps([found, str(jnp.arange(2.0).dtype), jax.device_count()]))
"""
JAX, AS_JAX = (), ("-m", "glassjax.as_jax")
# What this process has been told, or JAX does not take from text.
NOT_FROM_TEXT = {"JAX_ENABLE_X64", "JAX_COMPILATION_CACHE_DIR"}


@pytest.fixture
def run(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return functools.partial(run_program, file)


def run_program(file, command, **variables):
    others = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "GLASSJAX_", "XLA"))}
    return subprocess.run(
        [sys.executable, *command, file],
        env=others | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_variables_of_glassjax_win(run):
    ours = run(AS_JAX, JAX_ENABLE_X64="1", GLASSJAX_ENABLE_X64="0")
    assert json.loads(ours.stdout)[1] == "float32", ours.stderr


@pytest.mark.parametrize(
    ("variable", "text"),
    one_in(2, [("JAX_ENABLE_X64", "banana"), ("JAX_TRANSFER_GUARD", "perhaps")]),
)
def test_nonsense_is_an_error(run, variable, text):
    theirs, ours = run(JAX, **{variable: text}), run(AS_JAX, **{variable: text})
    assert theirs.returncode
    assert ours.returncode
    assert f"the environment variable {variable} has to be" in ours.stderr
    assert text in ours.stderr


def test_every_setting_is_read_from_the_environment(run):
    """Of what is not in `SETTINGS`, JAX's default as text; None, or nothing, has no text."""
    defaults = {
        name.upper(): str(int(value)) if isinstance(value, bool) else str(value)
        for name, value in jax.config.values.items()
        if isinstance(value, bool | int | str) and value != "" and name.startswith("jax_")
        if not isinstance(value, enum.Enum) and name.upper() not in NOT_FROM_TEXT
    }
    theirs, ours = (run(library, **defaults | SETTINGS) for library in (JAX, AS_JAX))
    assert theirs.returncode == ours.returncode == 0, theirs.stderr + ours.stderr
    assert len(defaults) > 90
    expected = json.loads(theirs.stdout)
    assert json.loads(ours.stdout) == expected
    assert expected[1:] == ["float64", 3]
