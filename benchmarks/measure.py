"""How things are measured: against a peer, in pairs that take turns, and by medians.

A machine is never quiet. What disturbs one of a pair is likely to disturb the other, so the
ratio is taken within each pair, and the median over all pairs.
"""

import gc
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.programs import Library, libraries
from glassjax.runtime import compiled_calls

Action = Callable[[], Any]
Case = Callable[[Library], Action]
Pairs = list[tuple[float, float]]

QUICK_PAIRS = 3


@dataclass
class Row:
    """What a line of the table shows: the medians of both sides, and their ratio.

    Arguments:
        name: what was measured.
        ours: seconds, bytes or instructions; None where it could not be measured, and `note` says
            why.
        peer: the same for the peer, which is JAX unless the note names another.
        ratio: the median of the ratios of all pairs.
        budget: what the ratio may be at most.
        unit: "s", "B", or "I" for instructions.
        note: what else there is to know.
    """

    name: str
    ours: float | None = None
    peer: float | None = None
    ratio: float | None = None
    budget: float | None = None
    unit: str = "s"
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.ours is None:
            return "skipped"
        if self.budget is None or self.ratio is None:
            return ""
        return "met" if self.ratio <= self.budget else "MISSED"


class Line(NamedTuple):
    """A line of the table before it is measured; `measure(quick)` takes fewer pairs if quick.

    Commits are compared where it is of a case, timed `number` times in a row, of a program, or of a
    figure of ours that is exact, taken with the environment variables of a commit.
    """

    name: str
    measure: Callable[[bool], Row]
    budget: float | None = None
    case: Case | None = None
    program: str | None = None
    pairs: int = 0
    number: int = 1
    figure: Callable[[dict[str, str]], int] | None = None


class Skip(Exception):
    """Raised by a case that cannot be measured here; the message says why."""


def row_of(name: str, pairs: Pairs, **details: Any) -> Row:
    """The medians of pairs of our figure and the peer's."""
    ours, peer = (statistics.median(side) for side in zip(*pairs, strict=True))
    return Row(name, ours, peer, statistics.median(a / b for a, b in pairs), **details)


def versus_jax(
    name: str, case: Case, *, budget: float | None = None, pairs: int = 15, number: int = 1
) -> Line:
    """The line for a case, which makes an action for a library, with ours and with JAX."""

    def measure(quick: bool) -> Row:
        ours, peer = (case(lib) for lib in libraries())
        count = QUICK_PAIRS if quick else pairs
        return row_of(name, interleaved(ours, peer, count, number))

    return Line(name, measure, budget, case=case, pairs=pairs, number=number)


def interleaved(ours: Action, peer: Action, pairs: int, number: int = 1) -> Pairs:
    """Times two actions in turn, each `number` times in a row, after one call of both."""
    ours(), peer()
    times = []
    gc.collect()
    gc.disable()
    try:
        for turn in range(pairs):
            if turn % 2:  # whoever is first in a pair changes, too
                b, a = timed(peer, number), timed(ours, number)
            else:
                a, b = timed(ours, number), timed(peer, number)
            times.append((a, b))
    finally:
        gc.enable()
    return times


def timed(action: Action, number: int = 1) -> float:
    """Seconds for one call, on average over `number` of them."""
    start = time.perf_counter()
    for _ in range(number):
        action()
    return (time.perf_counter() - start) / number


def fresh_processes(
    name: str, ours: str, peer: str, *, budget: float | None = None, pairs: int = 7, note: str = ""
) -> Line:
    """The line for two programs, each timed in a process of its own, in turn."""

    def measure(quick: bool) -> Row:
        run_program(ours), run_program(peer)  # files are in the machine's memory from here on
        count = QUICK_PAIRS if quick else pairs
        times = [(run_program(ours), run_program(peer)) for _ in range(count)]
        return row_of(name, times, note=note)

    return Line(name, measure, budget, program=ours, pairs=pairs)


def run_program(source: str, env: dict[str, str] | None = None, before: str = "") -> float:
    """Seconds that `source` takes from its first to its last line, in a fresh process.

    The start of Python itself, the same for everyone, is left out, and so is the program `before`.
    """
    (seconds,) = figures_of(
        f"{before}\nimport time as _time; _start = _time.perf_counter()\n"
        f"{source}\nprint(_time.perf_counter() - _start)",
        env,
    )
    return seconds


def figures_of(program: str, env: dict[str, str] | None = None) -> list[float]:
    """The numbers on the last line that a program prints, run in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env
    )
    return [float(word) for word in done.stdout.splitlines()[-1].split()]


def machine() -> dict[str, str]:
    """What figures depend on besides the code: they are worth little without it."""
    names = ("numpy", "jaxlib", "jax", "torch", "autograd")
    versions = {name: _version(name) for name in names}
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        **versions,
        "compiled calls": compiled_calls.state,
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"
