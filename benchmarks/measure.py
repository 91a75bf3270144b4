"""How things are measured: against a peer, in pairs that take turns, and by medians.

A machine is never quiet. What disturbs one of a pair is likely to disturb the other, so the
ratio is taken within each pair, and the median over all pairs.
"""

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Action = Callable[[], Any]


@dataclass
class Row:
    """One line of the table: the medians of both sides, in seconds or bytes, and their ratio."""

    name: str
    ours: float
    peer: float | None = None
    ratio: float | None = None
    budget: float | None = None
    unit: str = "s"
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.budget is None or self.ratio is None:
            return ""
        return "met" if self.ratio <= self.budget else "MISSED"


def interleaved(
    name: str,
    ours: Action,
    peer: Action,
    *,
    budget: float | None = None,
    pairs: int = 15,
    number: int = 1,
    note: str = "",
) -> Row:
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
    return row_of(name, times, budget=budget, note=note)


def row_of(name: str, pairs: list[tuple[float, float]], **details: Any) -> Row:
    ours, peer = (statistics.median(side) for side in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    return Row(name, ours, peer, ratio, **details)


def timed(action: Action, number: int = 1) -> float:
    """Seconds for one call, on average over `number` of them."""
    start = time.perf_counter()
    for _ in range(number):
        action()
    return (time.perf_counter() - start) / number


def fresh_processes(
    name: str, ours: str, peer: str, *, budget: float | None, pairs: int = 7, note: str = ""
) -> Row:
    """Times two programs, each in a process of its own, in turn."""
    run_program(ours), run_program(peer)  # files are in the machine's memory from here on
    times = [(run_program(ours), run_program(peer)) for _ in range(pairs)]
    return row_of(name, times, budget=budget, note=note)


def run_program(source: str, env: dict[str, str] | None = None, before: str = "") -> float:
    """Seconds that `source` takes from its first to its last line, in a fresh process.

    The start of Python itself, the same for everyone, is left out, and so is the program `before`.
    """
    program = (
        f"{before}\nimport time as _time; _start = _time.perf_counter()\n"
        f"{source}\nprint(_time.perf_counter() - _start)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env
    )
    return float(done.stdout.split()[-1])


Rows = Iterator[Row]
