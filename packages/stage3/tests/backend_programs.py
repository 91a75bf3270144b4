"""What the tests of `backend`, and of the library's `xla`, have in common."""

import os
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import ml_dtypes
import numpy as np

from glassjax_stage3 import backend

EXTENSION_DTYPES = [
    *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
    *(ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz),
]


def aval(shape, dtype):
    return SimpleNamespace(shape=tuple(shape), dtype=np.dtype(dtype), weak_type=False)


def aval_of(x):
    return aval(np.shape(x), x.dtype.newbyteorder("="))


def put(x):
    return backend.put(x, aval_of(x))


def elementwise(operation, n, dtype="f32", arguments="%x"):
    """A program of one operation on vectors."""
    vector = f"tensor<{n}x{dtype}>"
    parameters = ", ".join(f"{name}: {vector}" for name in arguments.split(", "))
    types = ", ".join([vector] * len(arguments.split(", ")))
    return f"""
        module @elementwise {{
          func.func public @main({parameters}) -> {vector} {{
            %0 = "{operation}"({arguments}) : ({types}) -> {vector}
            return %0 : {vector}
          }}
        }}"""


def run(text, out_avals, *args):
    results = backend.compile(text, out_avals).execute([put(x) for x in args])
    return [backend.get(result) for result in results]


def in_fresh_process(program, *path, **env):
    """Runs a program by itself; returns its standard output. It must end well and log nothing."""
    search = [*path, os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, search)), **env}
    env.pop("TF_CPP_MIN_LOG_LEVEL", None)  # this process has set it by now
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    # jaxlib 0.10 takes the compiler's tuning for AMD's processors for features that they lack.
    logged = [x for x in done.stderr.splitlines() if "cpu_aot_loader" not in x]
    assert (done.returncode, logged) == (0, [])
    return done.stdout
