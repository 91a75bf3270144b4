"""Makes a stage for you to complete, and says how far you are.

    ./noxw -s study -- stage1                  makes study/workbooks/stage1, and then checks it
    ./noxw -s study -- stage1 --watch          checks it whenever a file of it is saved
    ./noxw -s study -- stage1 --start-over
    ./noxw -s study -- stage2 --milestone      runs a program on what you wrote, once all steps hold
    ./noxw -s study -- puzzles                 puzzles of one line each
    ./noxw -s study -- status                  all stages, with their marks
    ./noxw -s study -- mark FOLDER ...         marks workbooks of others, by tests of the repository
    .nox/study/bin/python -m study stage1      the same, started sooner

Each step is a function without its body, or a rule that is not there. Read the chapter it names,
write it, and run the same command again.
"""

import argparse
import os
import shutil
import tempfile
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from study.milestones import milestone_of, run_milestone
from study.steps import STAGES, steps_of
from study.workbook import Outcome, Workbook

WORKBOOKS = Path(__file__).parent / "workbooks"


def main() -> None:
    parser = argparse.ArgumentParser(prog="study", description=__doc__.partition("\n")[0])
    parser.add_argument("task", choices=[*STAGES, "puzzles", "status", "mark"])
    parser.add_argument("folders", nargs="*", type=Path, help="workbooks to mark")
    parser.add_argument("--folder", type=Path, help="instead of study/workbooks/STAGE")
    parser.add_argument("--watch", action="store_true", help="check whenever a file is saved")
    parser.add_argument("--start-over", action="store_true", help="forget what was written")
    parser.add_argument("--milestone", action="store_true", help="run the program of the stage")
    options = parser.parse_args()
    match options.task:
        case "status":
            print(*status(WORKBOOKS), sep="\n")
        case "puzzles":
            from study import puzzles  # needs numpy, which stage 1 lacks

            file = options.folder or WORKBOOKS / "puzzles.py"
            if not file.exists() or options.start_over:
                puzzles.make(file)
            print(*puzzles.report(file), sep="\n")
        case "mark":
            for folder in options.folders:
                print(*marked(folder.resolve()), sep="\n", flush=True)
        case stage:
            study(stage, options, parser)


def study(stage: str, options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Makes the workbook of a stage, unless it is there, and checks it."""
    folder = options.folder or WORKBOOKS / stage
    workbook = Workbook(stage, folder.resolve())
    if options.milestone:
        if not workbook.is_complete:
            parser.error(f"the milestone runs once all steps of {stage} hold")
        run_milestone(workbook)
        return
    if options.start_over:
        if folder.exists() and not workbook.is_made:
            parser.error(f"{folder} is no study of {stage}; it is left as it is")
        shutil.rmtree(folder, ignore_errors=True)
    if not workbook.is_made:
        workbook.make()
        print(f"{folder} has the package glassjax_{stage} with blanks, and its tests.\n")
    check(workbook)
    try:
        while options.watch:
            saved = workbook.saved_at()
            while workbook.saved_at() == saved:
                time.sleep(0.2)
            check(workbook)
    except KeyboardInterrupt:
        pass


def status(workbooks: Path) -> Iterator[str]:
    """How far each stage is, as it was checked last."""
    total, all_marks = 0, 0
    for stage in STAGES:
        workbook = Workbook(stage, workbooks / stage)
        steps, held = workbook.steps, workbook.held_before
        marks = sum(step.marks for step in steps if step.number in held)
        total, all_marks = total + marks, all_marks + sum(step.marks for step in steps)
        todo = next((step.law for step in steps if step.number not in held), "")
        note = f"next: {todo}" if todo else "complete"
        if todo and not workbook.is_made:
            note = f"begin with ./noxw -s study -- {stage}"
        elif not todo and milestone_of(stage):
            note += f"; its milestone: ./noxw -s study -- {stage} --milestone"
        yield f"{stage}   {len(held):2} of {len(steps):2} steps   {marks:3} marks   {note}"
    yield f"{'':22}   {total:3} of {all_marks}"


def marked(folder: Path) -> Iterator[str]:
    """The marks of a workbook, by the tests of the repository, whatever those in it say."""
    stage = next((stage for stage in STAGES if (folder / f"glassjax_{stage}").is_dir()), None)
    if stage is None:
        yield f"{folder}: no workbook"
        return
    with tempfile.TemporaryDirectory() as place:
        workbook = Workbook(stage, Path(place) / stage)
        workbook.make()
        shutil.rmtree(workbook.package)
        shutil.copytree(folder / workbook.package.name, workbook.package)
        outcomes = workbook.check()
    marks = sum(outcome.step.marks for outcome in outcomes if outcome.holds)
    yield f"{folder}: {stage}, {marks} of {sum(step.marks for step in steps_of(stage))} marks"
    for outcome in outcomes:
        given = outcome.step.marks if outcome.holds else 0
        yield f"  {given} of {outcome.step.marks}   {outcome.step}"


def check(workbook: Workbook) -> None:
    """Checks a workbook once, and prints how far it is."""
    outcomes = workbook.check()
    print(*report(workbook, outcomes), sep="\n", flush=True)
    workbook.note(outcomes)
    if all(outcome.holds for outcome in outcomes):
        print(f"\nNow all tests of {workbook.folder / 'tests'} ...", flush=True)
        print(*last_report(workbook, workbook.all_failures()), sep="\n", flush=True)
        if milestone_of(workbook.stage):
            print("\nNow a program that runs on it (again: --milestone):\n", flush=True)
            run_milestone(workbook)


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
