"""Compilation for absent devices: GPUs, or a CPU that acts as several devices.

It runs in a separate process, `python -m glassjax.plan.absent_devices`, which reads a program from
its standard input, and writes the compiled program and its memory use.
"""

import json
import os
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple

from glassjax import xla
from glassjax.errors import CompileError, PlatformError
from glassjax.xla.clients import UnavailableError, set_client_option

# The process opens no GPU, and XLA should not log that there is none.
_QUIET = {"GLASSJAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "2"}


class Compiled(NamedTuple):
    """A compiled program: the `HloModuleProto`, and bytes of memory by kind."""

    module: bytes
    memory: dict[str, int]


def compile_for(
    text: str, num_devices: int, options: Mapping[str, Any], gpu: str | None = None
) -> Compiled:
    """Compile a StableHLO module for a number of devices.

    Arguments:
        text: a module with as many partitions.
        num_devices: the number of devices.
        options: XLA flags.
        gpu: a name of `xla.GPUS`; None: the CPU.

    Raises:
        CompileError: XLA does not accept the text or an option.
        PlatformError: the plugin for GPUs is not installed.
        RuntimeError: the compiler ends without a result.
    """
    given = json.dumps(
        {"text": text, "num_devices": num_devices, "options": dict(options), "gpu": gpu}
    )
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=given,
        capture_output=True,
        text=True,
        env={**os.environ, **_QUIET, "PYTHONPATH": path},
    )
    if done.returncode:
        raise RuntimeError(
            f"plan: the compiler ended with exit code {done.returncode}:\n{done.stderr[-2000:]}"
        )
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise CompileError(answer["error"], text)
    if "unavailable" in answer:
        raise PlatformError(f"plan: {gpu} needs the plugin of CUDA: {answer['unavailable']}")
    return Compiled(b64decode(answer["module"]), answer["memory"])


def _main() -> None:
    given = json.load(sys.stdin)
    answer: Mapping[str, Any]
    try:
        module, memory = _compiled(**given)
        answer = {"module": b64encode(module).decode(), "memory": memory}
    except CompileError as error:
        answer = {"error": str(error.args[0])}
    except UnavailableError as error:
        answer = {"unavailable": f"{error.reason}. {error.remedy}"}
    json.dump(answer, sys.stdout)


def _compiled(text: str, num_devices: int, options: Mapping[str, Any], gpu: str | None) -> Compiled:
    if gpu is not None:
        return Compiled(*xla.compile_for_gpus(text, xla.GPUS[gpu], num_devices, options))
    set_client_option("num_devices", num_devices)
    xla.register_routines(text, "cpu")
    made = xla.compile_partitioned(text, tuple(xla.devices("cpu")), options)
    return Compiled(xla.optimized_module(made), xla.memory_analysis(made))


if __name__ == "__main__":
    _main()
