"""The devices on which the tests of the library run: `--device cpu`, `--device gpu`.

By default they run on those that compute by default. The stages have only the CPU. On a GPU sums
are taken in another order, so results are compared with wider tolerances: by dtype, as below.
"""

import argparse
import functools
import importlib.util
import os
import sys

import pytest

# The least tolerances of comparisons on a GPU, relative to the values and to the largest of them.
ON_GPU = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4}
ON_GPU_OTHERWISE = 2e-2  # of dtypes of 16 bits and less

# What is about the devices that a CPU is divided into, and about its processes.
OF_THE_CPU = ("tests/devices/", "tests/processes/", "packages/minijax/tests/test_processes.py")

ENVIRONMENT = {
    "cpu": {"MINIJAX_PLATFORMS": "cpu", "JAX_PLATFORMS": "cpu"},
    "gpu": {
        "MINIJAX_PLATFORMS": "cuda,cpu",
        "JAX_PLATFORMS": "cuda,cpu",
        # Two libraries, and a worker on each core, share the memory.
        "MINIJAX_PYTHON_CLIENT_PREALLOCATE": "false",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        # Otherwise products of 32-bit floats are those of 19 bits.
        "MINIJAX_DEFAULT_MATMUL_PRECISION": "highest",
        "JAX_DEFAULT_MATMUL_PRECISION": "highest",
    },
}


def pytest_addoption(parser):
    """Declare the option, and read it at once: the next conftest.py imports the libraries."""
    parser.addoption("--device", choices=list(ENVIRONMENT), help="what the library computes on")
    command = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    command.add_argument("--device")
    chosen, _ = command.parse_known_args(sys.argv[1:])
    os.environ.update(ENVIRONMENT.get(chosen.device, {}))  # and so have workers


def pytest_configure(config):
    device = config.getoption("--device")
    if device == "gpu" and importlib.util.find_spec("minijax") is not None:
        _require_gpu()
        _widen_tolerances()


def _require_gpu():
    import minijax

    try:
        minijax.devices("gpu")
    except minijax.errors.PlatformError as error:
        reason = str(error).partition("\n  at ")[0]
        pytest.exit(f"--device gpu: no test was run. {reason}", returncode=4)


def _widen_tolerances():
    """Compare by the tolerances above, or by those that a test gives if they are wider."""
    import numpy as np

    compare = np.testing.assert_allclose

    @functools.wraps(compare)
    def compare_on_gpu(actual, desired, rtol=1e-7, atol=0, **options):
        found, expected = np.asarray(actual), np.asarray(desired)
        if {found.dtype.kind, expected.dtype.kind}.isdisjoint("biuO"):
            least = max(ON_GPU.get(x.dtype.name, ON_GPU_OTHERWISE) for x in (found, expected))
            scale = np.max(np.abs(expected), where=np.isfinite(expected), initial=0)
            rtol, atol = max(rtol, least), max(atol, least * float(scale))
        compare(actual, desired, rtol=rtol, atol=atol, **options)

    np.testing.assert_allclose = compare_on_gpu


def pytest_collection_modifyitems(config, items):
    if config.getoption("--device") != "gpu":
        return
    for item in items:
        if "cpu_only" in item.keywords or any(each in item.nodeid for each in OF_THE_CPU):
            item.add_marker(pytest.mark.skip(reason="about the CPU"))
