"""Two commits beside each other: what became slower, or faster, by more than noise.

Each commit has a process with its own packages. Both are told what to prepare, and then take turns.
As a module, this is such a process.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import QUICK_PAIRS, Line, Pairs, Row, Skip, row_of, run_program, timed
from benchmarks.programs import library

ROOT = Path(__file__).parent.parent
NOISE = 0.03  # ratios so near to 1 say nothing


@dataclass
class Comparison(Row):
    """A row whose peer is another commit.

    Arguments:
        quartiles: of the ratios of the pairs, a quarter is below the first, and one above the
            second.
    """

    quartiles: tuple[float, float] = (1.0, 1.0)

    @property
    def verdict(self) -> str:
        if self.ours is None:
            return "skipped"
        low, high = self.quartiles
        return "SLOWER" if low > 1 + NOISE else "faster" if high < 1 - NOISE else "alike"


class Side:
    """A process that measures with the packages of one tree."""

    def __init__(self, tree: Path):
        sources = [*map(str, sorted(tree.glob("packages/*/src"))), str(ROOT)]
        self.env = os.environ | {"PYTHONPATH": os.pathsep.join(sources)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.compare"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.env,
        )

    def __enter__(self) -> "Side":
        return self

    def __exit__(self, *exception: object) -> None:
        self.process.kill()
        self.process.communicate()

    def ask(self, **question: Any) -> float:
        """The answer to a question, in seconds.

        Raises:
            Skip: the tree cannot do what it is asked.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("a process that measures has ended; its error is above")
        found = json.loads(answer)
        if isinstance(found, str):
            raise Skip(found)
        return float(found)


def serve(lines: dict[str, Line]) -> None:
    """Answer questions from stdin, each on one line, until it ends."""
    action: Any = None
    for question in map(json.loads, sys.stdin):
        try:
            if "prepare" in question:
                line = lines[question["prepare"]]
                assert line.case is not None
                action = line.case(library("glassjax"))
                answer: float | str = timed(action)
            else:
                answer = timed(action, question["number"])
        except Exception as error:
            answer = f"{type(error).__name__}: {error}".partition("\n")[0]
        print(json.dumps(answer), flush=True)


@contextmanager
def sides(base: str) -> Iterator[tuple[Side, Side]]:
    """Processes for the files that are here, and for a commit.

    Raises:
        LookupError: git knows no such commit.
    """
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        archive = subprocess.run(
            ["git", "archive", base, "packages"], cwd=ROOT, capture_output=True, check=False
        )
        if archive.returncode:
            raise LookupError(f"git has no commit {base!r}: {archive.stderr.decode().strip()}")
        subprocess.run(["tar", "x", "-C", directory], input=archive.stdout, check=True)
        here, there = (stack.enter_context(Side(tree)) for tree in (ROOT, Path(directory)))
        yield here, there


def compared(line: Line, here: Side, there: Side, quick: bool) -> Row:
    """The row of a line, with the commit as its peer."""
    count = QUICK_PAIRS if quick else line.pairs
    try:
        if line.case is not None:
            pairs = _of_actions(line, here, there, count)
        elif line.program is not None:
            pairs = _of_programs(line.program, here, there, count)
        elif line.figure is not None:
            pairs = [(line.figure(here.env), line.figure(there.env))]
        else:
            raise Skip("it measures more than seconds, or not in turns")
    except Skip as reason:
        return Comparison(line.name, note=str(reason))
    row = row_of(line.name, pairs)
    ratios = [a / b for a, b in pairs]
    low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    note = f"between {low:.2f} and {high:.2f}"
    unit = "s" if line.figure is None else "I"
    return Comparison(
        row.name, row.ours, row.peer, row.ratio, unit=unit, note=note, quartiles=(low, high)
    )


def _of_actions(line: Line, here: Side, there: Side, count: int) -> Pairs:
    for side in (here, there):
        side.ask(prepare=line.name)
    pairs = []
    for turn in range(count):
        order = (here, there) if turn % 2 else (there, here)
        seconds = {side: side.ask(number=line.number) for side in order}
        pairs.append((seconds[here], seconds[there]))
    return pairs


def _of_programs(program: str, here: Side, there: Side, count: int) -> Pairs:
    both = here.env, there.env
    for env in both:
        run_program(program, env)  # files are in the machine's memory from here on
    return [(run_program(program, both[0]), run_program(program, both[1])) for _ in range(count)]


def summary(rows: Sequence[Row], base: str) -> str:
    """A line that says what became slower."""
    slower = [row.name for row in rows if row.verdict == "SLOWER"]
    return f"slower than {base}: {', '.join(slower) or 'nothing, beyond noise'}"


if __name__ == "__main__":
    from benchmarks.__main__ import GROUPS

    serve({line.name: line for lines in GROUPS.values() for line in lines})
