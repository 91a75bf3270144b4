"""A folder with a stage to complete: its package with blanks, its tests, and the progress."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from study.steps import Step, blanked, folder_of_tests, is_blank, package_of, steps_of

SETTINGS = """\
[pytest]
pythonpath = . tests
addopts = --import-mode=importlib -p no:cacheprovider
filterwarnings = error
"""
RUNNER = Path(__file__).with_name("runner.py")
SECONDS_OF_A_TEST = 20


@dataclass(frozen=True)
class Outcome:
    """Whether a step holds; if it does not, the first of its failing tests, and what that said."""

    step: Step
    holds: bool
    failing: str = ""
    message: str = ""


class Workbook:
    """The folder of one stage."""

    def __init__(self, stage: str, folder: Path):
        self.stage = stage
        self.folder = folder
        self.package = folder / f"glassjax_{stage}"
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

    def check(self, steps: Sequence[Step] | None = None) -> list[Outcome]:
        """Runs the tests of steps, by default of all; those of a blank step need not run."""
        steps = self.steps if steps is None else steps
        written = [step for step in steps if not self.blanks_of(step)]
        failures = self.failures(dict.fromkeys(test for step in written for test in step.tests))
        outcomes = []
        for step in steps:
            failing = next((test for test in step.tests if test in failures), "")
            holds = step in written and not failing
            outcomes.append(Outcome(step, holds, failing, failures.get(failing, "")))
        return outcomes

    def blanks_of(self, step: Step) -> list[str]:
        """What is still to be written of a step."""
        text = (self.package / step.file).read_text(encoding="utf-8")
        return [name for name in step.names if is_blank(text, step, name)]

    def failures(self, tests: Collection[str], seconds: float = 120) -> dict[str, str]:
        """The tests that fail, and what they say."""
        results = self.run(tests, seconds) if tests else {}
        failures = {}
        for test in tests:
            # A test that did not run, because its file could not be imported, has failed, too.
            file = results.get(test.partition("::")[0], f"{test} did not run")
            own = [said for name, said in results.items() if test in (name, name.partition("[")[0])]
            said = next(filter(None, own), "") if own else file
            if said:
                failures[test] = said
        return failures

    def all_failures(self, seconds: float = 600) -> dict[str, str]:
        """The tests of the whole workbook that fail, also those of no step, and what they say."""
        return {name: said for name, said in self.run((), seconds).items() if said}

    def run(self, tests: Collection[str], seconds: float) -> dict[str, str]:
        """Runs tests in a process of their own; what those say that fail, and "" by the others."""
        report = self.folder / "report.jsonl"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-P", RUNNER, report, SECONDS_OF_A_TEST, *tests]
        path = os.pathsep.join([str(self.folder), os.environ.get("PYTHONPATH", "")])
        environment = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            ended = subprocess.run(
                [*map(str, command)],
                cwd=self.folder,
                env={**os.environ, **environment},
                capture_output=True,
                text=True,
                timeout=seconds,
            )
            problem = ended.stdout[-2000:] + ended.stderr[-2000:]
        except subprocess.TimeoutExpired:
            problem = f"It takes more than {seconds:.0f} seconds: does something never end?"
        if not report.exists():
            return {test.partition("::")[0]: problem for test in tests or ["pytest"]}
        results: dict[str, str] = {}
        for line in report.read_text(encoding="utf-8").splitlines():
            name, said = json.loads(line)
            results[name] = results.get(name) or said
        report.unlink()
        return results

    def saved_at(self) -> list[int]:
        """The times at which the files of the package were saved last."""
        files = sorted(self.package.rglob("*.py"))
        try:
            return [file.stat().st_mtime_ns for file in files]
        except FileNotFoundError:  # an editor is replacing it
            return []

    @property
    def is_made(self) -> bool:
        return self.package.is_dir()

    @property
    def is_complete(self) -> bool:
        """All steps held when they were checked last."""
        return self.held_before == {step.number for step in self.steps}

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
