"""Prints the table of all measurements, or of the groups and lines named.

A name chooses the group or the line of that name, or else all lines that have it in their names.
"""

import argparse
import datetime
import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec

from benchmarks import (
    calls,
    checkpoints,
    devices,
    growth,
    heavy,
    instructions,
    kernels,
    memory,
    processes,
    rivals,
    runtime,
    samplers,
    sparse,
    staging,
    startup,
    whole_programs,
)
from benchmarks.compare import compared, sides, summary
from benchmarks.measure import Line, Row, Skip, machine
from benchmarks.report import CHARTS, HEADER, Run, draw, table_line

Groups = dict[str, list[Line]]

GROUPS: Groups = {
    "startup": startup.LINES,
    "staging": staging.LINES,
    "instructions": instructions.LINES,
    "calls": calls.LINES,
    "heavy": heavy.LINES,
    "runtime": runtime.LINES,
    "kernels": kernels.LINES,
    "devices": devices.LINES,
    "processes": processes.LINES,
    "checkpoints": checkpoints.LINES,
    "samplers": samplers.LINES,
    "sparse": sparse.LINES,
    "growth": growth.LINES,
    "memory": memory.LINES,
    "rivals": rivals.LINES,
    "whole": whole_programs.LINES,
}


def main(arguments: Sequence[str] | None = None, groups: Groups = GROUPS) -> None:
    parser = argparse.ArgumentParser(prog="./noxw -s bench --", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(groups)}, or a line")
    parser.add_argument("--list", action="store_true", help="name the lines, measure nothing")
    parser.add_argument(
        "--quick", action="store_true", help="fewer pairs and steps, for a first look"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--compare", metavar="COMMIT", help="with a commit, and not with peers")
    parser.add_argument("--chart", metavar="FILE", help="draw the ratios, as .svg, .png or .pdf")
    options = parser.parse_args(arguments)
    if options.chart and find_spec("matplotlib") is None:
        parser.error("--chart draws by matplotlib, which is not installed; ./noxw -s bench has it")
    if options.chart and options.compare:
        parser.error("--chart draws ratios to peers, not to a commit; leave out --compare")
    if options.chart and not options.chart.endswith(CHARTS):
        parser.error(f"--chart: {options.chart!r} must end in .svg, .png or .pdf")
    try:
        chosen = lines_named(options.names, groups)
    except LookupError as error:
        parser.error(str(error))
    if options.list:
        for group, line in chosen:
            print(json.dumps({"group": group, "name": line.name}) if options.json else line.name)
        return
    # What is measured is compiled, but where the compile cache itself is measured.
    os.environ["GLASSJAX_ENABLE_COMPILATION_CACHE"] = "false"
    about, date = machine(), datetime.date.today().isoformat()
    command = shlex.join(sys.argv[1:] if arguments is None else arguments)
    run = Run(about, date, f"python -m benchmarks {command}".strip(), [])
    if options.json:
        print(run.head(), flush=True)
    else:
        print(", ".join(f"{what} {value}" for what, value in about.items()))
        print(HEADER, flush=True)

    def show(group: str, row: Row) -> Row:
        as_json = {"group": group, "date": date, **asdict(row), "verdict": row.verdict}
        print(json.dumps(as_json) if options.json else table_line(row), flush=True)
        run.rows.append(as_json)
        return row

    if options.compare is None:
        for group, line in chosen:
            show(group, measured(line, options.quick))
        if options.chart:
            draw(run, options.chart)
        return
    try:
        with sides(options.compare) as (here, there):
            rows = [show(g, compared(line, here, there, options.quick)) for g, line in chosen]
    except LookupError as error:
        parser.error(str(error))
    print(summary(rows, options.compare), file=sys.stderr if options.json else sys.stdout)


def lines_named(names: Sequence[str], groups: Groups) -> list[tuple[str, Line]]:
    """The lines that any of the names chooses, each with its group; all where there is no name.

    Raises:
        LookupError: a name chooses nothing.
    """
    every = [(group, line) for group, lines in groups.items() for line in lines]
    chosen: set[int] = set()
    for name in names:
        exact = [i for i, (group, line) in enumerate(every) if name in (group, line.name)]
        found = exact or [i for i, (_, line) in enumerate(every) if name in line.name]
        if not found:
            raise LookupError(f"no group or line has the name {name!r}; --list shows them all")
        chosen.update(found)
    return [every[i] for i in sorted(chosen)] if names else every


def measured(line: Line, quick: bool) -> Row:
    """The row of a line, also where it cannot be measured here."""
    try:
        row = line.measure(quick)
    except Skip as reason:
        row = Row(line.name, note=str(reason))
    row.budget = line.budget
    return row


if __name__ == "__main__":
    main(sys.argv[1:])
