"""Random programs of all public functions, under transformations, compared with JAX.

`python -m fuzzing.fuzz --seconds 600 --seed 1` searches in two processes, each with another that
computes and may hang or die. What is found is shrunk, printed as a program that stands alone, and,
with `--write FILE`, appended to a file as a test. The same seed gives the same programs.
"""

import argparse
import multiprocessing
import random
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fuzzing.search.choices import Choices, shrunk
from fuzzing.search.programs import RECIPES, Program, drawn
from fuzzing.search.worker import Worker

SECONDS_TO_SHRINK = 30.0
TIMES_SLOWER = 10.0
SLOW = 8.0  # seconds


@dataclass(frozen=True)
class Finding:
    """A program that the libraries disagree about, as small as was found."""

    program: Program
    kind: str
    detail: str

    @property
    def test(self) -> str:
        """A test that fails while the difference is there."""
        name = re.sub(
            r"\W+", "_", "_".join((*self.program.functions, *self.program.transformations))
        )
        return (
            f"def test_{name}_{self.kind}():\n"
            f"    # {' '.join(self.detail.split())[:200]}\n"
            f"    program = {self.program!r}\n"
            "    assert compared(program).difference is None\n"
        )


@dataclass
class Search:
    """Finds programs that differ; of those of one kind and function only the first."""

    names: list[str]
    seed: str
    end: float
    most: int
    under: tuple[str, ...] | None  # the transformations, if they are not to be drawn
    report: Any
    worker: Worker = field(default_factory=Worker)
    known: set[tuple[str, str]] = field(default_factory=set)
    done: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        while time.monotonic() < self.end and self.done["programs"] < self.most:
            choices = Choices(random.Random(f"{self.seed}/{self.done['programs']}"))
            self.done["programs"] += 1
            found = self.finding(self.drawn(choices))
            if found is None:
                continue
            if any((found.kind, name) in self.known for name in found.program.functions):
                self.done["again"] += 1
                continue
            found = self.smallest(found, choices.made)
            self.known |= {(found.kind, name) for name in found.program.functions}
            self.report(found)
        self.worker.close()
        self.report(self.done)

    def drawn(self, choices: Choices) -> Program:
        program = drawn(choices, self.names, self.worker.types)
        if self.under is not None:
            program = replace(program, transformations=self.under)
        return program

    def finding(self, program: Program) -> Finding | None:
        outcome = self.worker.outcome(program)
        if outcome.difference:
            return Finding(program, outcome.difference.kind, outcome.difference.detail)
        if outcome.ours > SLOW and outcome.ours > TIMES_SLOWER * outcome.theirs:
            return Finding(program, "slow", f"{outcome.ours:.1f} s; JAX {outcome.theirs:.1f} s")
        return None

    def smallest(self, found: Finding, choices: list[int]) -> Finding:
        """A finding of the same kind and functions, of as few choices as time allows to find."""
        smallest = found
        until = time.monotonic() + SECONDS_TO_SHRINK
        tried = {found.program}

        def is_smaller(candidate: list[int]) -> list[int] | None:
            nonlocal smallest
            if time.monotonic() > until:
                return None
            replayed = Choices(candidate)
            program = self.drawn(replayed)
            if program in tried or not set(found.program.functions).issuperset(program.functions):
                return None
            tried.add(program)
            finding = self.finding(program)
            if finding is None or finding.kind != found.kind:
                return None
            smallest = finding
            return replayed.made

        shrunk(choices, is_smaller)
        return smallest


def search(
    names: list[str],
    seed: str,
    seconds: float,
    most: int,
    under: str | None,
    reports: "multiprocessing.Queue[Any]",
) -> None:
    """One process of the search."""
    transformations = None if under is None else tuple(filter(None, under.split(",")))
    end = time.monotonic() + seconds
    Search(names, seed, end, most, transformations, reports.put).run()


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--programs", type=int, default=10**9, help="how many a worker tries")
    parser.add_argument("--functions", default="", help="a pattern of the names to call")
    parser.add_argument("--under", help="transformations for all programs, the innermost first")
    parser.add_argument("--write", type=Path, help="the file to which found cases are appended")
    chosen = parser.parse_args(args)
    names = [name for name in RECIPES if re.search(chosen.functions, name)]
    context = multiprocessing.get_context("spawn")
    reports = context.Queue()
    processes = [
        context.Process(
            target=search,
            args=(
                names,
                f"{chosen.seed}/{i}",
                chosen.seconds,
                chosen.programs,
                chosen.under,
                reports,
            ),
        )
        for i in range(chosen.workers)
    ]
    for process in processes:
        process.start()
    found: list[Finding] = []
    done: Counter[str] = Counter()
    running = chosen.workers
    while running:
        report = reports.get()
        if isinstance(report, Counter):
            done += report
            running -= 1
            continue
        found.append(report)
        print(
            f"--- {report.kind}: {report.program}\n{report.detail}\n\n{report.program.standalone}"
        )
        sys.stdout.flush()
        if chosen.write:
            append(chosen.write, report)
    for process in processes:
        process.join()
    kinds = Counter(finding.kind for finding in found)
    print(
        f"{done['programs']} programs, {len(found)} differences {dict(kinds)}, "
        f"{done['again']} more of kinds and functions that were known by then"
    )
    return 1 if found else 0


def append(path: Path, finding: Finding) -> None:
    """Appends a finding to a file of tests."""
    head = (
        '"""Programs that the libraries once disagreed about, found by fuzzing/fuzz.py."""\n\n'
        "# ruff: noqa: E501\n"
        "from fuzzing.search.arguments import Input\n"
        "from fuzzing.search.programs import Program\n"
        "from fuzzing.search.worker import compared\n"
    )
    text = path.read_text() if path.exists() else head
    path.write_text(f"{text}\n\n{finding.test}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
