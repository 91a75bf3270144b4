"""A folder with a stage to complete: its package with blanks, its tests, and the progress."""

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from study.steps import Step, blanked, folder_of_tests, package_of, steps_of

SETTINGS = """\
[pytest]
pythonpath = . tests
addopts = --import-mode=importlib -p no:cacheprovider
filterwarnings = error
"""


@dataclass(frozen=True)
class Outcome:
    """Whether a step holds; if it does not, what the first of its failing tests said."""

    step: Step
    holds: bool
    message: str = ""


class Workbook:
    """The folder of one stage."""

    def __init__(self, stage: str, folder: Path):
        self.stage = stage
        self.folder = folder
        self.package = folder / f"minijax_{stage}"
        self.steps = steps_of(stage)
        self._notes = folder / "progress.json"

    def make(self, blanks: Collection[int] | None = None) -> None:
        """Writes the folder; `blanks` are the numbers of the steps left to write, or all."""
        hidden = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package_of(self.stage), self.package, ignore=hidden)
        for step in self.steps:
            if blanks is None or step.number in blanks:
                file = self.package / step.file
                file.write_text(blanked(file.read_text("utf-8"), step), encoding="utf-8")
        without = shutil.ignore_patterns("__pycache__", "test_documents.py")
        shutil.copytree(folder_of_tests(self.stage), self.folder / "tests", ignore=without)
        (self.folder / "pytest.ini").write_text(SETTINGS, encoding="utf-8")

    def check(self, steps: Sequence[Step] | None = None, seconds: float = 120) -> list[Outcome]:
        """Runs the tests of steps, by default of all."""
        steps = self.steps if steps is None else steps
        tests = dict.fromkeys(test for step in steps for test in step.tests)
        try:
            failures = self.failures(tests, seconds)
        except subprocess.TimeoutExpired:
            if len(steps) == 1:
                message = (
                    f"The tests took more than {seconds:.0f} seconds: does something never end?"
                )
                return [Outcome(steps[0], False, message)]
            return [outcome for step in steps for outcome in self.check([step], seconds=20)]
        return [
            Outcome(step, not said, said[0] if said else "")
            for step in steps
            for said in [[failures[test] for test in step.tests if test in failures]]
        ]

    def failures(self, tests: Collection[str], seconds: float = 120) -> dict[str, str]:
        """The tests that fail, and what they say."""
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}",
             *(f"tests/{test}" for test in tests)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=seconds,
        )  # fmt: skip
        cases = ElementTree.parse(report).findall(".//testcase") if report.exists() else []
        failed, passed = {}, set()
        for case in cases:
            test = f"{case.get('classname', '').rpartition('.')[2]}.py::{case.get('name', '')}"
            problems = [*case.iter("failure"), *case.iter("error")]
            if problems:
                failed.setdefault(test.partition("[")[0], problems[0].get("message", ""))
            else:
                passed.add(test.partition("[")[0])
        report.unlink(missing_ok=True)
        # A test that did not run, because its file could not be imported, has failed, too.
        return {
            test: failed.get(test, ended.stdout[-2000:])
            for test in tests
            if test in failed or test not in passed
        }

    @property
    def is_made(self) -> bool:
        return self.package.is_dir()

    @property
    def held_before(self) -> set[int]:
        """The steps that held when the progress was noted last."""
        if not self._notes.exists():
            return set()
        return set(json.loads(self._notes.read_text(encoding="utf-8"))["holds"])

    def note(self, outcomes: Sequence[Outcome]) -> None:
        """Keeps which steps hold now."""
        holds = [outcome.step.number for outcome in outcomes if outcome.holds]
        self._notes.write_text(json.dumps({"stage": self.stage, "holds": holds}), encoding="utf-8")
