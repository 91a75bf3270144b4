"""Compilation for devices that are not there, in a process that divides its CPU into as many.

`python -m minijax.plan.absent_devices` is that process. It reads a program from its standard input,
and writes what XLA says of it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from minijax import xla
from minijax.errors.classes import CompileError
from minijax_stage3.backend import set_client_option


class Compiled(NamedTuple):
    """A compiled program: its text in HLO, and bytes of memory by kind."""

    hlo: str
    memory: dict[str, int]


def compile_for(text: str, num_devices: int, options: Mapping[str, Any]) -> Compiled:
    """Compile a StableHLO module for a number of devices.

    Arguments:
        text: a module with as many partitions.
        num_devices: the number of devices.
        options: XLA flags.

    Raises:
        CompileError: XLA does not accept the text or an option.
        RuntimeError: the compiler ends without a result.
    """
    given = json.dumps({"text": text, "num_devices": num_devices, "options": dict(options)})
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=given,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    if done.returncode:
        raise RuntimeError(
            f"plan: the compiler ended with exit code {done.returncode}:\n{done.stderr[-2000:]}"
        )
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise CompileError(answer["error"], text)
    return Compiled(**answer)


def _main() -> None:
    given = json.load(sys.stdin)
    set_client_option("num_devices", given["num_devices"])
    xla.register_routines(given["text"], "cpu")
    try:
        made = xla.compile_partitioned(given["text"], tuple(xla.devices()), given["options"])
    except CompileError as error:
        answer = {"error": str(error.args[0])}
    else:
        answer = Compiled(made.hlo_text(), xla.memory_analysis(made))._asdict()
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    _main()
