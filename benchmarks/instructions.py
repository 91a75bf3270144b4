"""How many instructions a program runs: figures that are exact, also on a busy machine.

`python -m benchmarks.instructions` compares a few of them with those in `instructions.json`, and
fails if one grew by more than 5 %; `--write` writes them into it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from benchmarks import calls
from benchmarks.measure import Case, Line, Row, Skip
from benchmarks.staging import GRADIENTS, LOOPS, WHOLE, trace, trace_and_lower
from benchmarks.startup import FIRST_RESULT
from glassjax.runtime import compiled_calls

Environment = dict[str, str] | None

STAGED: dict[str, Case] = {
    **{f"trace {name}": trace(program) for name, program in (WHOLE | GRADIENTS | LOOPS).items()},
    **{f"trace and lower {name}": trace_and_lower(program) for name, program in WHOLE.items()},
}
CASES: dict[str, Case] = STAGED | {name: case for name, (case, *_) in calls.CASES.items()}

# A process that has its instructions counted turns that on and off by this library.
SWITCH = """
#include <valgrind/callgrind.h>
void on(void) { CALLGRIND_START_INSTRUMENTATION; }
void off(void) { CALLGRIND_STOP_INSTRUMENTATION; CALLGRIND_DUMP_STATS; }
"""
PRELUDE = """
import ctypes, gc, os, sys
switch = ctypes.CDLL(sys.argv[1])
gc.disable()
"""
CASE = """
from benchmarks.instructions import CASES
from benchmarks.programs import library
action = CASES[{name!r}](library({library!r}))
for _ in range({times}):
    switch.on()
    action()
    switch.off()
"""


def counts(program: str, env: Environment = None) -> list[int]:
    """The instructions between each `switch.on()` of a program and the `switch.off()` after it.

    Raises:
        Skip: valgrind or a C compiler is not installed.
    """
    if not all(map(shutil.which, ("valgrind", "cc"))):
        raise Skip("instructions are counted by valgrind, with a C compiler")
    with tempfile.TemporaryDirectory() as directory:
        switch = f"{directory}/switch.so"
        compiler = "cc", "-shared", "-fPIC", "-x", "c", "-", "-o", switch
        subprocess.run(compiler, input=SWITCH, text=True, check=True)
        run = sys.executable, "-c", f"{PRELUDE}{program}\nos._exit(0)", switch
        out = f"--callgrind-out-file={directory}/counts"
        counting = "setarch", "-R", "valgrind", "--tool=callgrind", "--instr-atstart=no", out
        fixed = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": ""}
        env = {**(os.environ if env is None else env), **fixed}
        for command in (run, [*counting, *run]):  # the first writes bytecode
            done = subprocess.run(command, capture_output=True, text=True, env=env)
            if done.returncode:
                raise RuntimeError(f"a program that is counted has failed:\n{done.stderr}")
        parts = sorted(Path(directory).glob("counts.*"), key=lambda path: int(path.suffix[1:]))
        return [int(re.findall(r"totals: (\d+)", part.read_text())[0]) for part in parts]


def count_of_program(program: str, env: Environment = None) -> int:
    """The instructions of a program in a fresh process."""
    return counts(f"switch.on()\n{program}\nswitch.off()", env)[-1]


def count_of_case(name: str, library: str, times: int, env: Environment = None) -> int:
    """The instructions of the last of several calls of a case."""
    return counts(CASE.format(name=name, library=library, times=times), env)[-1]


def line(name: str, count: Callable[[str, Environment], int], budget: float | None) -> Line:
    """The line of a count, given the name of a library and environment variables."""

    def measure(quick: bool) -> Row:
        ours, peer = count("glassjax", None), count("jax", None)
        return Row(name, ours, peer, ours / peer, unit="I")

    return Line(name, measure, budget, figure=lambda env: count("glassjax", env))


def program_line(name: str, program: str, budget: float) -> Line:
    return line(
        f"instructions, {name}",
        lambda library, env: count_of_program(program.format(module=library), env),
        budget,
    )


def case_line(name: str, times: int, budget: float | None = None) -> Line:
    which = "first " if times == 1 else ""
    return line(
        f"instructions, {which}{name}",
        lambda library, env: count_of_case(name, library, times, env),
        budget,
    )


LATER = 3  # the third call is like all that follow
LINES = [
    program_line("import", "import {module}", 0.35),
    program_line("first result of a small jit", FIRST_RESULT, 0.4),
    *(case_line(name, 1) for name in STAGED),
    *(case_line(name, LATER, 0.15) for name in STAGED),
    *(case_line(name, LATER) for name in calls.CASES if name.startswith("call")),
]

# The counts of which a commit keeps a record.
RECORDED = {
    "import": lambda: count_of_program("import glassjax"),
    **{
        name: lambda name=name: count_of_case(name, "glassjax", LATER)
        for name in ("trace MLP step", "trace and lower MLP step", "call, 3 leaves")
    },
    "call, 3 leaves, by Python": lambda: count_of_case(
        "call, 3 leaves", "glassjax", LATER, {**os.environ, "GLASSJAX_COMPILED": "0"}
    ),
}
BY_MODULE = {"call, 3 leaves"}  # by Python, where calls are not compiled
RECORD = Path(__file__).with_suffix(".json")
LARGEST_RATIO = 1.05


def versions() -> str:
    """What the counts depend on besides our own sources."""
    names = [f"{name} {metadata.version(name)}" for name in ("numpy", "jaxlib")]
    return ", ".join([f"python {sys.version_info.major}.{sys.version_info.minor}", *names])


def grown(found: dict[str, int], recorded: dict[str, int]) -> list[str]:
    """A sentence about each count that is more than 5 % above the recorded one."""
    return [
        f"{name}: {count:,} instructions, {count / recorded[name] - 1:.1%} more than recorded"
        for name, count in found.items()
        if count > LARGEST_RATIO * recorded[name]
    ]


def main() -> None:
    record: dict[str, dict[str, int]] = json.loads(RECORD.read_text(encoding="utf-8"))
    write = "--write" in sys.argv
    if versions() not in record and not write:
        print(f"nothing is compared: {RECORD.name} has no counts for {versions()}")
        return
    try:
        left_out = BY_MODULE if compiled_calls.module is None else ()
        found = {name: count() for name, count in RECORDED.items() if name not in left_out}
    except Skip as reason:
        print(f"nothing is compared: {reason}")
        return
    for name, count in found.items():
        print(f"{name:<28} {count:>15,}")
    if write:
        RECORD.write_text(json.dumps({**record, versions(): found}, indent=2) + "\n", "utf-8")
    elif complaints := grown(found, record[versions()]):
        remedy = (
            "If the growth is intended, `python -m benchmarks.instructions --write` records it."
        )
        sys.exit("\n".join([*complaints, remedy]))


if __name__ == "__main__":
    main()
