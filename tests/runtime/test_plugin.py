"""Both libraries use the GPU plugin in one process.

`./noxw -s tests-gpu-compiler` installs it.
"""

import os
import subprocess
import sys

import pytest

from glassjax.xla import clients

OURS = """
import glassjax
from glassjax import numpy, xla
traced = glassjax.jit(numpy.linalg.cholesky).trace(np.eye(3, dtype="float32"))
text = traced.lower(lowering_platforms=("cuda",)).as_text()
text, _ = xla.compile_for_gpus(text, xla.GPUS["h100"], 1, {})
print("cusolver_potrf_ffi" in text, glassjax.devices("cpu")[0].platform)
"""
THEIRS = """
import jax
from jax.experimental import topologies
from glassjax import xla
described = xla.GPUS["h100"].described()
found = topologies.get_topology_desc(
    platform="cuda", target_config=described, topology="1x1x1"
)
there = jax.sharding.SingleDeviceSharding(found.devices[0])
x = jax.ShapeDtypeStruct((3, 3), "float32", sharding=there)
text = jax.jit(jax.numpy.linalg.cholesky).lower(x).compile().as_text()
print("cusolver_potrf_ffi" in text, jax.devices("cpu")[0].platform)
"""


@pytest.mark.skipif(clients._place_of_cuda() is None, reason="the plugin for GPUs is not installed")
@pytest.mark.parametrize("programs", [(OURS, THEIRS), (THEIRS, OURS)], ids=["first", "second"])
def test_both_libraries_load_the_plugin_in_one_process(programs):
    program = "\n".join(["import numpy as np", *programs])
    environment = os.environ | {"JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.stdout.splitlines() == ["True cpu"] * 2, done.stderr
