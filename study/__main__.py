"""Makes a stage for you to complete, and says how far you are.

    ./noxw -s study -- stage1     makes study/workbooks/stage1, and from then on checks it
    ./noxw -s study -- stage1 --start-over

Each step is a function without its body. Read the chapter it names, write the function, and run the
same command again.
"""

import argparse
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from study.steps import STAGES
from study.workbook import Outcome, Workbook


def main() -> None:
    parser = argparse.ArgumentParser(prog="study", description=__doc__.partition("\n")[0])
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--folder", type=Path, help="instead of study/workbooks/STAGE")
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
        print(f"{folder} has the package minijax_{options.stage} with blanks, and its tests.\n")
    outcomes = workbook.check()
    print(*report(workbook, outcomes), sep="\n")
    workbook.note(outcomes)


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
        yield f"\nAll of {workbook.stage} is yours. Compare it with packages/{workbook.stage}/src."
        return
    step = todo.step
    functions = ", ".join(f"`{name}`" for name in step.names)
    yield f"\nNext: {functions} in {workbook.package / step.file}"
    yield textwrap.indent(textwrap.fill(step.hint, 92), "  ")
    yield f"  Its chapter: docs/learn/{step.chapter}"
    yield f"  Its tests, in {workbook.folder / 'tests'}: {', '.join(step.tests)}"
    if "NotImplementedError" not in todo.message:
        yield "  What they say:"
        yield textwrap.indent(todo.message.strip()[:1500], "    ")
    yield f"\nThen run ./noxw -s study -- {workbook.stage} again."


if __name__ == "__main__":
    main()
