"""`--device`: tolerances on a GPU, and the error where there is none."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from glassjax.xla.clients import has_nvidia_device


@pytest.fixture
def on_gpu(monkeypatch):
    """The comparison of arrays with the tolerances of a GPU."""
    file = Path(__file__).parents[2] / "conftest.py"
    spec = importlib.util.spec_from_file_location("conftest_of_all", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(np.testing, "assert_allclose", np.testing.assert_allclose)
    module._widen_tolerances()
    return np.testing.assert_allclose


def test_tolerances_on_a_gpu_are_those_of_the_dtype(on_gpu):
    x = np.array([1.0, 1000.0], "float32")
    on_gpu(x, x + np.float32(0.05), rtol=1e-7)
    on_gpu(x.astype("float16"), x.astype("float16") * np.float16(1.01))
    for far in (x * np.float32(1.01), x.astype("float64") * (1 + 1e-6), [1, 2]):
        with pytest.raises(AssertionError):
            on_gpu(np.asarray(x, np.asarray(far).dtype), far)
    on_gpu(x.astype("float64"), x.astype("float64") * 2, rtol=1)  # what a test allows


def test_without_a_gpu_no_test_is_run():
    if has_nvidia_device():
        pytest.skip("there is a GPU")
    command = [sys.executable, "-m", "pytest", "--device", "gpu", "tests/laws/test_seeds.py"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 4
    assert "--device gpu: no test was run. Unknown backend" in done.stderr
