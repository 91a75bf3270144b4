"""Runs tests of a workbook, in a process of its own, and writes down how each of them ends.

    python -P study/runner.py REPORT SECONDS [FILE::TEST ...]      in the folder of a workbook

Without names all tests run. A file that cannot be imported fails its own tests, and no others.
Each line of the report is the JSON of the name of a test, or of a file, and of what it said.
"""

import json
import signal
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

SHOWN_AT_THE_TOP, SHOWN_IN_THE_END = 6, 24  # lines of what a test says


class EndlessError(BaseException):
    """A test takes too long. It is no Exception, for which hypothesis would try again."""


class Runner:
    """A plugin of pytest that selects tests and keeps their outcomes."""

    def __init__(self, report: Path, seconds: float, tests: Collection[str]):
        self.report = report
        self.seconds = seconds
        self.tests = set(tests)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.tests:
            items[:] = [each for each in items if not self.tests.isdisjoint(names_of(each.nodeid))]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.write(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            self.write(report)

    def write(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        said = report.longreprtext.strip() if report.failed else ""
        with self.report.open("a", encoding="utf-8") as file:
            print(json.dumps([report.nodeid.removeprefix("tests/"), shortened(said)]), file=file)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        """Stop what does not end, where it is; not on Windows, which has no such signal."""

        def stop(*_: object) -> None:
            raise EndlessError(f"more than {self.seconds:g} seconds: does something never end?")

        if hasattr(signal, "SIGALRM"):
            signal.signal(signal.SIGALRM, stop)
            signal.setitimer(signal.ITIMER_REAL, self.seconds)
        try:
            return (yield)
        finally:
            if hasattr(signal, "SIGALRM"):
                signal.setitimer(signal.ITIMER_REAL, 0)


def names_of(nodeid: str) -> tuple[str, str]:
    """The names of a test by which a step may call it: with its case, and for all its cases."""
    name = nodeid.removeprefix("tests/")
    return name, name.partition("[")[0]


def shortened(said: str) -> str:
    lines = said.splitlines()
    if len(lines) > SHOWN_AT_THE_TOP + SHOWN_IN_THE_END:
        lines[SHOWN_AT_THE_TOP:-SHOWN_IN_THE_END] = ["..."]
    return "\n".join(lines)


def main() -> None:
    report, seconds, *tests = sys.argv[1:]
    files = dict.fromkeys(f"tests/{test.partition('::')[0]}" for test in tests)
    options = ["-q", "--tb=short", "--continue-on-collection-errors", *(files or ["tests"])]
    sys.exit(pytest.main(options, plugins=[Runner(Path(report), float(seconds), tests)]))


if __name__ == "__main__":
    main()
