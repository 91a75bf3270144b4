"""What a fresh process pays: importing, the first result, and compiling once more."""

import os
import tempfile

from benchmarks.measure import Row, Rows, fresh_processes, row_of, run_program

FIRST_RESULT = """
import numpy as np
import {module}
import {module}.numpy as jnp
f = {module}.jit(lambda x: jnp.sin(x) * 2 + 1)
f(np.ones(3, np.float32)).block_until_ready()
"""

LOWER = """
from benchmarks.programs import libraries
from benchmarks.staging import cases
ours, _ = libraries()
f, args = cases()[{name!r}](ours)
lowered = ours.core.jit(f).lower(*args)
"""


def run() -> Rows:
    yield fresh_processes("import", "import minijax", "import jax", budget=0.35)
    yield fresh_processes(
        "first result of a small jit",
        FIRST_RESULT.format(module="minijax"),
        FIRST_RESULT.format(module="jax"),
        budget=0.4,
        note="import included",
    )
    for name, pairs in (("MLP step", 7), ("12-layer transformer step", 3)):
        yield second_process(name, pairs)


def second_process(name: str, pairs: int) -> Row:
    """Compiling in a process that finds the program in the compile cache, and in one without it."""
    lower = LOWER.format(name=name)
    with tempfile.TemporaryDirectory() as directory:
        cached = os.environ | {
            "MINIJAX_ENABLE_COMPILATION_CACHE": "true",
            "MINIJAX_COMPILATION_CACHE_DIR": directory,
        }
        program = "lowered.compile()"
        run_program(program, cached, lower)
        times = [
            (run_program(program, cached, lower), run_program(program, before=lower))
            for _ in range(pairs)
        ]
    return row_of(
        f"second process, {name}", times, budget=0.1, note="compile cache / compiling, both ours"
    )
