"""Several processes on this machine: how long they take to start, and a step that two of them take.

Each library runs the program in processes of its own, in turn with JAX; the figure is process 0's.
"""

import os
import subprocess
import sys

from benchmarks.measure import QUICK_PAIRS, Line, Pairs, Row, row_of
from glassjax.distributed.runtime import reserved_port

START = """
import time
start = time.perf_counter()
import numpy as np
import {lib} as lib
lib.distributed.initialize("127.0.0.1:{port}", {count}, {index})
sharding, spec = lib.sharding, lib.sharding.PartitionSpec
mesh = sharding.Mesh(np.array(lib.devices()), ("x",))
rows, whole = sharding.NamedSharding(mesh, spec("x")), sharding.NamedSharding(mesh, spec())
"""

FIRST_RESULT = """
x = lib.make_array_from_process_local_data(rows, np.ones((1, 8), np.float32))
lib.jit(lambda x: x.sum(), out_shardings=whole)(x).block_until_ready()
print(time.perf_counter() - start)
"""

STEPS = """
from benchmarks import programs
of = programs.library("{lib}")
params = lib.device_put(programs.mlp_params(of, (64, 256, 256, 10)), whole)
local = [np.asarray(x) for x in programs.mlp_batch(of, size=256 // {count}, inputs=64)]
batch = tuple(lib.make_array_from_process_local_data(rows, x) for x in local)
step = lib.jit(programs.step_of(of, programs.mlp_loss(of)))
times = []
for _ in range(60):
    begin = time.perf_counter()
    params, _ = lib.block_until_ready(step(params, batch))
    times.append(time.perf_counter() - begin)
print(np.median(times[10:]))
"""


def seconds(lib: str, program: str, count: int) -> float:
    """What process 0 prints, of as many as are asked for."""
    with reserved_port() as port:
        running = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    program.format(lib=lib, port=port, count=count, index=index),
                ],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "GLASSJAX_ENABLE_COMPILATION_CACHE": "false"},
            )
            for index in range(count)
        ]
        printed = [process.communicate(timeout=300)[0] for process in running]
    for process in running:
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, process.args)
    return float(printed[0].split()[-1])


def in_processes(name: str, program: str, count: int, budget: float) -> Line:
    """The line for a program in several processes."""

    def measure(quick: bool) -> Row:
        pairs: Pairs = [
            (seconds("glassjax", program, count), seconds("jax", program, count))
            for _ in range(QUICK_PAIRS if quick else 7)
        ]
        return row_of(name, pairs)

    return Line(name, measure, budget)


LINES = [
    in_processes("four processes: start, to the first result", START + FIRST_RESULT, 4, 1.0),
    in_processes("two processes: MLP step, data-parallel", START + STEPS, 2, 1.02),
]
