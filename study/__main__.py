"""Makes a stage for you to complete, and says how far you are.

    ./noxw -s study -- stage1                  makes study/workbooks/stage1, and then checks it
    ./noxw -s study -- stage1 --watch          checks it whenever a file of it is saved
    ./noxw -s study -- stage1 --start-over
    .nox/study/bin/python -m study stage1      the same, started sooner

Each step is a function without its body, or a rule that is not there. Read the chapter it names,
write it, and run the same command again.
"""

import argparse
import os
import shutil
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from study.steps import STAGES
from study.workbook import Outcome, Workbook


def main() -> None:
    parser = argparse.ArgumentParser(prog="study", description=__doc__.partition("\n")[0])
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--folder", type=Path, help="instead of study/workbooks/STAGE")
    parser.add_argument("--watch", action="store_true", help="check whenever a file is saved")
    parser.add_argument("--start-over", action="store_true", help="forget what was written")
    options = parser.parse_args()
    folder = options.folder or Path(__file__).parent / "workbooks" / options.stage
    workbook = Workbook(options.stage, folder.resolve())
    if options.start_over:
        if folder.exists() and not workbook.is_made:
            parser.error(f"{folder} is no study of {options.stage}; it is left as it is")
        shutil.rmtree(folder, ignore_errors=True)
    if not workbook.is_made:
        workbook.make()
        print(f"{folder} has the package glassjax_{options.stage} with blanks, and its tests.\n")
    check(workbook)
    try:
        while options.watch:
            saved = workbook.saved_at()
            while workbook.saved_at() == saved:
                time.sleep(0.2)
            check(workbook)
    except KeyboardInterrupt:
        pass


def check(workbook: Workbook) -> None:
    """Checks a workbook once, and prints how far it is."""
    outcomes = workbook.check()
    print(*report(workbook, outcomes), sep="\n", flush=True)
    workbook.note(outcomes)
    if all(outcome.holds for outcome in outcomes):
        print(f"\nNow all tests of {workbook.folder / 'tests'} ...", flush=True)
        print(*last_report(workbook, workbook.all_failures()), sep="\n", flush=True)


def report(workbook: Workbook, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """How far the study is, and what to do next."""
    held_before = workbook.held_before
    count = sum(outcome.holds for outcome in outcomes)
    yield f"{workbook.stage}: {count} of {len(outcomes)} steps hold."
    for outcome in outcomes:
        step = outcome.step
        new = " (new)" if outcome.holds and step.number not in held_before else ""
        lost = " (it did before)" if not outcome.holds and step.number in held_before else ""
        yield f"  {'holds' if outcome.holds else '-':6} {step}{new}{lost}"
    todo = next((outcome for outcome in outcomes if not outcome.holds), None)
    if todo is None:
        return
    step = todo.step
    functions = ", ".join(f"`{name}`" for name in step.names)
    yield f"\nNext: {functions} in {workbook.package / step.file}"
    yield textwrap.indent(textwrap.fill(step.hint, 92), "  ")
    yield f"  Its chapter, which shows the solution, too: {address_of(step.chapter)}"
    yield f"  Its tests, in {workbook.folder / 'tests'}: {', '.join(step.tests)}"
    if todo.failing:
        yield from what_it_says(todo.failing, todo.message)
    yield f"\nThen run ./noxw -s study -- {workbook.stage} again, or keep it running with --watch."


def address_of(chapter: str) -> str:
    """Where a chapter is read: in the repository, or on the site, if its address is known."""
    site = os.environ.get("GLASSJAX_SITE_URL")
    page = f"learn/{chapter.removesuffix('.md')}"
    return f"{site.rstrip('/')}/dev/{page}/" if site else f"docs/{page}.md"


# They compare the words of messages, or rules as they are written.
OF_WORDS = ("test_errors.py", "test_recorder.py")


def last_report(workbook: Workbook, failures: Mapping[str, str]) -> Iterator[str]:
    """Whether the whole of a stage is right, once its steps hold."""
    of_words = [test for test in failures if test.startswith(OF_WORDS)]
    faults = [test for test in failures if test not in of_words]
    if faults:
        yield f"Each step holds, and yet {len(faults)} fail: {listed(faults)}"
    else:
        yield f"All of {workbook.stage} is yours. Compare it with packages/{workbook.stage}/src."
    if of_words:
        yield f"{len(of_words)} compare words, which may be your own: {listed(of_words)}"
    for test in [*faults, *of_words][:1]:
        yield from what_it_says(test, failures[test])


def listed(tests: Sequence[str], count: int = 6) -> str:
    """The names of some tests, each once for all its cases."""
    names = [*dict.fromkeys(test.partition("[")[0] for test in tests)]
    more = [f"and {len(names) - count} more"] if len(names) > count else []
    return ", ".join(names[:count] + more)


def what_it_says(test: str, said: str) -> Iterator[str]:
    yield f"  What {test} says:"
    yield textwrap.indent(said, "    ")


if __name__ == "__main__":
    main()
