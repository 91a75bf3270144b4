"""What a fresh process pays: importing, the first result, and compiling once more."""

import os
import tempfile

from benchmarks.measure import QUICK_PAIRS, Line, Row, fresh_processes, row_of, run_program

FIRST_RESULT = """
import numpy as np
import {module}
import {module}.numpy as jnp
f = {module}.jit(lambda x: jnp.sin(x) * 2 + 1)
f(np.ones(3, np.float32)).block_until_ready()
"""

LOWER = """
from benchmarks.programs import libraries
from benchmarks.staging import WHOLE
ours, _ = libraries()
f, args = WHOLE[{name!r}](ours)
lowered = ours.core.jit(f).lower(*args)
"""


def second_process(name: str, pairs: int) -> Line:
    """Compiling in a process that finds the program in the compile cache, and in one without it."""
    lower = LOWER.format(name=name)
    program = "lowered.compile()"

    def measure(quick: bool) -> Row:
        with tempfile.TemporaryDirectory() as directory:
            cached = os.environ | {
                "GLASSJAX_ENABLE_COMPILATION_CACHE": "true",
                "GLASSJAX_COMPILATION_CACHE_DIR": directory,
            }
            run_program(program, cached, lower)
            times = [
                (run_program(program, cached, lower), run_program(program, before=lower))
                for _ in range(min(QUICK_PAIRS, pairs) if quick else pairs)
            ]
        return row_of(line_name, times, note="compile cache / compiling, both ours")

    line_name = f"second process, {name}"
    return Line(line_name, measure, 0.1)


LINES = [
    fresh_processes("import", "import glassjax", "import jax", budget=0.35),
    fresh_processes(
        "first result of a small jit",
        FIRST_RESULT.format(module="glassjax"),
        FIRST_RESULT.format(module="jax"),
        budget=0.4,
        note="import included",
    ),
    second_process("MLP step", 7),
    second_process("12-layer transformer step", 3),
]
