"""Mutants: the library with one rule broken, which the tests by day have to find.

    ./noxw -s mutants                        eight of them, others every day
    ./noxw -s mutants -- --all               all of them
    ./noxw -s mutants -- sort-axis max-ties  these
    ./noxw -s mutants -- --list              what there is

`mutants.toml` says what each of them replaces in which file, and in which files of tests a
developer would expect to find it. These run in a copy of the checkout, one after the other, until a
test fails. A mutant that is not found is a hole in the tests.
"""

import argparse
import ast
import datetime
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "stage1": "minijax_stage1",
    "stage2": "minijax_stage2",
    "stage3": "minijax_stage3",
    "stage4": "minijax_stage4",
    "minijax": "minijax",
}
BY_DAY = ("-m", "not nightly")
TIMEOUT = 1800.0  # seconds for a file of tests: a broken loop need not end
ON_EIGHT_DEVICES = {
    "MINIJAX_NUM_CPU_DEVICES": "8",
    "XLA_FLAGS": "--xla_force_host_platform_device_count=8",  # JAX's
}


class Mutant(NamedTuple):
    """A broken rule: a text in a file of the sources, and what stands there instead."""

    name: str
    area: str
    file: str
    text: str
    becomes: str
    tests: tuple[str, ...]  # files, of which at least one has a test that fails
    first: str = ""  # an expression for pytest's -k: what it selects of these runs before the rest

    def applied(self, source: str) -> str:
        """The broken source.

        Raises:
            ValueError: the text does not occur once, or nothing changes.
            SyntaxError: the result is not Python.
        """
        if (count := source.count(self.text)) != 1:
            raise ValueError(f"its text occurs {count} times in {self.file}, and not once")
        if self.text == self.becomes:
            raise ValueError("it changes nothing")
        broken = source.replace(self.text, self.becomes)
        ast.parse(broken)
        return broken


def every_mutant() -> dict[str, Mutant]:
    """The mutants by their names, in the order of the table."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {
        name: Mutant(name, **{**row, "tests": tuple(row["tests"])}) for name, row in table.items()
    }


def problems(mutants: Iterable[Mutant], root: Path = ROOT) -> list[str]:
    """Say which mutants no longer fit a checkout, and why."""
    found = []
    for mutant in mutants:
        try:
            mutant.applied((root / mutant.file).read_text(encoding="utf-8"))
        except (OSError, ValueError, SyntaxError) as error:
            found.append(f"{mutant.name}: {error}")
        missing = [test for test in mutant.tests if not (root / test).is_file()]
        found += [f"{mutant.name}: there is no {test}" for test in missing]
    return found


class Checkout:
    """A copy of a checkout, in which mutants are tried one after the other."""

    def __init__(self, root: Path, place: Path):
        self.root, self.place = root, place
        ignored = shutil.ignore_patterns(".*", "__pycache__")
        shutil.copytree(root, place, symlinks=True, ignore=ignored)
        sources = [str(place / "packages" / name / "src") for name in PACKAGES]
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sources),
            "PYTHONPYCACHEPREFIX": f"{place}-bytecode",
        }
        for source, package in zip(sources, PACKAGES.values(), strict=True):
            found = self._run("-c", f"import {package}; print({package}.__file__)").stdout.strip()
            if found != str(Path(source, package, "__init__.py")):
                raise RuntimeError(f"{package} is imported from {found!r}, and not from {source}")

    def _run(self, *args: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, *args],
            cwd=self.place,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )

    def finder_of(self, mutant: Mutant) -> str:
        """The first test that fails because of a mutant; "" if none does."""
        file = self.place / mutant.file
        source = file.read_text(encoding="utf-8")
        try:
            file.write_text(mutant.applied(source), encoding="utf-8")
            runs = [(test, "-k", mutant.first) for test in mutant.tests if mutant.first]
            runs += [(test,) for test in mutant.tests]
            return next(filter(None, itertools.starmap(self.first_failure, runs)), "")
        finally:
            file.write_text(source, encoding="utf-8")

    def first_failure(self, test: str, *options: str) -> str:
        """The first test of a file that fails; "" if none does."""
        devices = ON_EIGHT_DEVICES if test.startswith("tests/devices/") else {}
        command = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *BY_DAY, test, *options)
        try:
            run = self._run(*command, **devices)
        except subprocess.TimeoutExpired:
            return f"{test} does not end"
        if run.returncode in (0, 5):  # 5: no tests are selected
            return ""
        if run.returncode < 0:
            return f"{test} ends by signal {-run.returncode}"
        failed = re.search(r"^(?:FAILED|ERROR|SUBFAILED\S*) (.+?)(?: - |$)", run.stdout, re.M)
        if failed is None:
            raise RuntimeError(f"{test} does not run:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
        return failed[1]


def main(args: list[str]) -> int:
    mutants = every_mutant()
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="the mutants to try")
    parser.add_argument("--all", action="store_true", help="try all of them")
    parser.add_argument("--count", type=int, default=8, help="how many to draw")
    parser.add_argument("--seed", default=f"{datetime.date.today():%Y%m%d}", help="what draws them")
    parser.add_argument("--list", action="store_true", help="only list them")
    parser.add_argument("--baseline", action="store_true", help="run their tests without them")
    parser.add_argument("--workers", type=int, default=2, help="how many to try at once")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to copy")
    options = parser.parse_args(args)
    if unknown := {*options.names} - {*mutants}:
        parser.error(f"there is no {', '.join(sorted(unknown))}; --list shows what there is")
    chosen = [mutants[name] for name in options.names or mutants]
    if not (options.names or options.all or options.list):
        chosen = random.Random(options.seed).sample(chosen, min(options.count, len(chosen)))
    if options.list:
        for mutant in chosen:
            print(f"{mutant.name:<26}{mutant.area:<22}{mutant.file}")
        return 0
    if wrong := problems(chosen, options.root):
        print("nets/mutants.toml does not fit the sources:", *wrong, sep="\n    ")
        return 2
    root = options.root.absolute()
    if options.baseline:
        tests = [*dict.fromkeys(test for mutant in chosen for test in mutant.tests)]
        failed = run(Checkout.first_failure, tests, root, options.workers)
        wrong = []
        for test, (found, seconds) in zip(tests, failed, strict=True):
            print(f"{test:<50}{seconds:6.1f} s  {found or 'passes'}", flush=True)
            wrong += [test] if found else []
        print(f"{len(wrong)} of {len(tests)} files of tests fail without a mutant")
        return 1 if wrong else 0
    finders = run(Checkout.finder_of, chosen, root, options.workers)
    for mutant, (found, seconds) in zip(chosen, finders, strict=True):
        said = found or "NOT FOUND"
        print(f"{mutant.name:<22}{mutant.area:<28}{seconds:6.1f} s  {said}", flush=True)
        wrong += [] if found else [mutant.name]
    print(f"{len(wrong)} of {len(chosen)} mutants are not found")
    return 1 if wrong else 0


def run(
    what: Callable[[Checkout, Any], str], items: Sequence[Any], root: Path, workers: int
) -> Iterator[tuple[str, float]]:
    """What is found for each item, in a copy of the checkout, and the seconds that it takes."""
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as name,
        ThreadPoolExecutor(workers) as pool,
    ):
        free: SimpleQueue[Checkout] = SimpleQueue()
        for number in range(min(workers, len(items))):
            free.put(Checkout(root, Path(name).resolve() / str(number)))

        def timed(item: Any) -> tuple[str, float]:
            checkout, start = free.get(), time.perf_counter()
            try:
                return what(checkout, item), time.perf_counter() - start
            finally:
                free.put(checkout)

        yield from pool.map(timed, items)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
