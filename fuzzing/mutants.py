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
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGES = ("stage1", "stage2", "stage3", "stage4", "watch", "glassjax")
TIMEOUT = 1800.0  # seconds for a file of tests: a broken loop need not end
ON_EIGHT_DEVICES = {
    "GLASSJAX_NUM_CPU_DEVICES": "8",
    "XLA_FLAGS": "--xla_force_host_platform_device_count=8",  # JAX's
}


class Mutant(NamedTuple):
    """A broken rule: a text in a file of the sources, and what stands there instead."""

    name: str
    area: str
    file: str
    text: str
    becomes: str
    tests: Sequence[str]  # files, of which at least one has a test that fails
    first: str = ""  # an expression for pytest's -k: what it selects of these runs before the rest

    def applied(self, root: Path) -> str:
        """The broken source.

        Raises:
            ValueError: the text does not occur once, or nothing changes.
            SyntaxError: the result is not Python.
        """
        source = (root / self.file).read_text(encoding="utf-8")
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
    return {name: Mutant(name, **row) for name, row in table.items()}


def problems(mutants: Iterable[Mutant], root: Path = ROOT) -> list[str]:
    """Say which mutants no longer fit a checkout, and why."""
    found = []
    for mutant in mutants:
        try:
            mutant.applied(root)
        except (OSError, ValueError, SyntaxError) as error:
            found.append(f"{mutant.name}: {error}")
        missing = [test for test in mutant.tests if not (root / test).is_file()]
        found += [f"{mutant.name}: there is no {test}" for test in missing]
    return found


class Checkout:
    """A copy of a checkout, in which mutants are tried one after the other."""

    def __init__(self, root: Path, place: Path):
        self.place = place
        shutil.copytree(root, place, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        sources = [place / "packages" / name / "src" for name in PACKAGES]
        self.environment = {
            "PYTHONPATH": os.pathsep.join(map(str, sources)),
            "PYTHONPYCACHEPREFIX": f"{place}-bytecode",
        }
        for file in [file for source in sources for file in source.glob("*/__init__.py")]:
            name = file.parent.name
            found = self._run({}, "-c", f"import {name}; print({name}.__file__)").stdout.strip()
            if found != str(file):
                raise RuntimeError(f"{name} is imported from {found!r}, and not from {file}")

    def _run(self, variables: dict[str, str], *args: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, *args],
            cwd=self.place,
            env={**os.environ, **self.environment, **variables},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )

    def finder_of(self, mutant: Mutant) -> str:
        """The first test that fails because of a mutant; "" if none does."""
        file = self.place / mutant.file
        source = file.read_text(encoding="utf-8")
        file.write_text(mutant.applied(self.place), encoding="utf-8")
        try:
            runs = [(test, "-k", mutant.first) for test in mutant.tests if mutant.first]
            runs += [(test,) for test in mutant.tests]
            return next((found for run in runs if (found := self.first_failure(*run))), "")
        finally:
            file.write_text(source, encoding="utf-8")

    def first_failure(self, test: str, *options: str) -> str:
        """The first test of a file that fails by day; "" if none does."""
        devices = ON_EIGHT_DEVICES if test.startswith("tests/devices/") else {}
        command = f"-m pytest -x -q -p no:cacheprovider {test} -m".split()
        try:
            run = self._run(devices, *command, "not nightly", *options)
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
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to copy")
    chosen = parser.parse_args(args)
    if unknown := {*chosen.names} - {*mutants}:
        parser.error(f"there is no {', '.join(sorted(unknown))}; --list shows what there is")
    names = chosen.names or [*mutants]
    if not (chosen.names or chosen.all or chosen.list):
        names = random.Random(chosen.seed).sample(names, min(chosen.count, len(names)))
    rows = [mutants[name] for name in names]
    if chosen.list:
        print(*(f"{row.name:<22}{row.area:<28}{row.file}" for row in rows), sep="\n")
        return 0
    if unfit := problems(rows, chosen.root):
        print("fuzzing/mutants.toml does not fit the sources:", *unfit, sep="\n    ")
        return 2
    if chosen.baseline:
        tests = dict.fromkeys(test for row in rows for test in row.tests)
        rows = [Mutant(test, "no mutant", "", "", "", [test]) for test in tests]
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        checkout = Checkout(chosen.root.resolve(), Path(place).resolve() / "checkout")
        for row in rows:
            start = time.perf_counter()
            found = checkout.finder_of(row) if row.file else checkout.first_failure(row.name)
            seconds = time.perf_counter() - start
            said = found or ("NOT FOUND" if row.file else "passes")
            print(f"{row.name:<22}{row.area:<28}{seconds:6.1f} s  {said}", flush=True)
            wrong += bool(found) != bool(row.file)
    print(f"{wrong} of {len(rows)} " + ("fail" if chosen.baseline else "are not found"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
