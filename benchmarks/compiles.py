"""What compiles or runs much longer than with JAX, among the programs that users write.

`python -m benchmarks.compiles` takes all of them, or those with one of the names given in theirs,
and lists those that compile or run for more than 1.5 times JAX's time; `--quick` takes one in
eight.

Programs are compiled in a process of their own, which is ended where one takes too long. What
seems slow is measured again, with more pairs, so that a busy machine accuses nobody.
"""

import argparse
import json
import os
import selectors
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from benchmarks.common_programs import Program, programs
from benchmarks.measure import QUICK_PAIRS, interleaved, machine, row_of, timed
from benchmarks.programs import Library, libraries

LIMIT = 1.5
SECONDS = 60.0  # for one program
_LEAST = {"compile": 0.02, "run": 50e-6}  # seconds; what takes less is not worth a look


class Times(NamedTuple):
    """Seconds of both, and the ratio, for compiling and for running."""

    compile: tuple[float, float, float]
    run: tuple[float, float, float]

    @property
    def too_slow(self) -> list[str]:
        return [
            what
            for what, least in _LEAST.items()
            if getattr(self, what)[2] > LIMIT and getattr(self, what)[0] > least
        ]


def times_of(program: Program, pairs: int) -> Times:
    compiled = [_lowered(program, lib).compile() for lib in libraries()]  # with all it needs, once
    compiling = []
    for turn in range(pairs):
        ours, peer = (_lowered(program, lib) for lib in libraries())
        order = (ours, peer) if turn % 2 else (peer, ours)
        seconds = [timed(each.compile) for each in order]
        compiling.append((seconds[0], seconds[1]) if turn % 2 else (seconds[1], seconds[0]))
    run_ours, run_peer = (
        _call(lib, executable, program.of(lib)[1])
        for lib, executable in zip(libraries(), compiled, strict=True)
    )
    number = max(1, min(200, int(4e-3 / max(timed(run_ours), timed(run_peer)))))
    running = interleaved(run_ours, run_peer, 5 * pairs, number)
    rows = [row_of(program.name, each) for each in (compiling, running)]
    return Times(*((row.ours or 0.0, row.peer or 0.0, row.ratio or 0.0) for row in rows))


def _lowered(program: Program, lib: Library) -> Any:
    f, args = program.of(lib)
    return lib.core.jit(f).lower(*args)


def _call(lib: Library, executable: Any, args: tuple[Any, ...]) -> Any:
    return lambda: lib.core.block_until_ready(executable(*args))


def work() -> None:
    """Measures the programs whose names, and numbers of pairs, are read from stdin."""
    known = {program.name: program for program in programs()}
    for line in sys.stdin:
        name, pairs = json.loads(line)
        try:
            answer: dict[str, Any] = times_of(known[name], pairs)._asdict()
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {str(error).partition(chr(10))[0]:.100}"}
        print(json.dumps(answer), flush=True)


class Worker:
    """A process that measures, and is replaced where it does not answer."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def measure(self, name: str, pairs: int) -> Times | str:
        """The times of a program, or why there are none."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.compiles", "--work"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([name, pairs]) + "\n")
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            answer = self.process.stdout.readline() if selector.select(SECONDS) else None
        if not answer:
            self.end()
            return "the process died" if answer == "" else f"no answer in {SECONDS:g} s"
        found = json.loads(answer)
        return found["error"] if "error" in found else Times(*map(tuple, found.values()))

    def end(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.communicate()  # closes the pipes, too


def measured(chosen: Sequence[Program], pairs: int) -> Iterator[tuple[str, Times | str]]:
    worker = Worker()
    try:
        for program in chosen:
            found = worker.measure(program.name, pairs)
            if isinstance(found, Times) and found.too_slow:
                found = worker.measure(program.name, 4 * pairs)
            yield program.name, found
    finally:
        worker.end()


def chosen_programs(names: Sequence[str], quick: bool) -> list[Program]:
    chosen = [p for p in programs() if not names or any(name in p.name for name in names)]
    return chosen[::8] if quick else chosen


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compiles", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a program's name")
    parser.add_argument("--quick", action="store_true", help="one program in eight")
    parser.add_argument("--all", action="store_true", help="print those that are fast, too")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ["GLASSJAX_ENABLE_COMPILATION_CACHE"] = "false"
    os.environ["GLASSJAX_SLOW_COMPILE_NOTICE_SECS"] = "0"
    if options.work:
        return work()
    print(", ".join(f"{what} {value}" for what, value in machine().items()))
    print(f"{'':<44} {'compile':>23} {'run':>25}")
    chosen = chosen_programs(options.names, options.quick)
    ratios: dict[str, list[float]] = {"compile": [], "run": []}
    slow = 0
    for name, found in measured(chosen, QUICK_PAIRS):
        if isinstance(found, str):
            slow += 1
            print(f"{name:<44} {found}", flush=True)
            continue
        for what, values in ratios.items():
            values.append(getattr(found, what)[2])
        slow += bool(found.too_slow)
        if found.too_slow or options.all:
            print(_line(name, found), flush=True)
    medians = [f"{what} {statistics.median(seen):.2f}" for what, seen in ratios.items() if seen]
    print(f"{slow} of {len(chosen)} over {LIMIT}; medians of the ratios: {', '.join(medians)}")


def _line(name: str, times: Times) -> str:
    cells = [
        f"{scale * ours:>8.3g} {scale * peer:>8.3g} {ratio:>5.2f}"
        for (ours, peer, ratio), scale in ((times.compile, 1e3), (times.run, 1e6))
    ]
    return f"{name:<44} {cells[0]} ms {cells[1]} us  {' '.join(times.too_slow)}"


if __name__ == "__main__":
    main()
