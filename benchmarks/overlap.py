"""What is gained and lost by computing in the calling thread, rather than while Python runs ahead.

`python -m benchmarks.overlap` prints the time of the synchronous client, the default, the time of
the asynchronous one, and their ratio, each in processes of its own.
"""

from benchmarks.measure import Row, fresh_processes
from benchmarks.report import HEADER, table_line

STEPS = """
import os
os.environ["GLASSJAX_CPU_ENABLE_ASYNC_DISPATCH"] = "{asynchronous}"
os.environ["GLASSJAX_ENABLE_COMPILATION_CACHE"] = "false"
import time
import glassjax, glassjax.numpy
from benchmarks import programs

lib = programs.Library("glassjax", glassjax, glassjax.numpy)
step = glassjax.jit(programs.step_of(lib, programs.mlp_loss(lib)))
params = programs.mlp_params(lib, {sizes})
batch = programs.mlp_batch(lib, size={size}, inputs={sizes}[0])

def steps(number):
    state = params, None
    for _ in range(number):
        state = step(state[0], batch)
        end = time.perf_counter() + {work}
        while time.perf_counter() < end:  # what Python does between steps
            pass
    state[1].block_until_ready()

steps(3)
_start = time.perf_counter()
steps({number})
"""
SMALL = (64, 128, 128, 10), 32, 1000
LARGE = (256, 512, 512, 10), 256, 50


def compare(name: str, model: tuple[tuple[int, ...], int, int], work: float) -> Row:
    sizes, size, number = model
    synchronous, asynchronous = (
        STEPS.format(asynchronous=a, sizes=sizes, size=size, number=number, work=work)
        for a in (False, True)
    )
    return fresh_processes(name, synchronous, asynchronous, budget=None, pairs=7)


def main() -> None:
    print(HEADER.replace("glassjax", "  sync ").replace("     peer", "    async"))
    for label, model in (("1,000 small steps", SMALL), ("50 larger steps", LARGE)):
        for work in (0.0, 0.0001, 0.001):
            name = f"{label}, {1e3 * work:g} ms of Python each"
            print(table_line(compare(name, model, work)), flush=True)


if __name__ == "__main__":
    main()
