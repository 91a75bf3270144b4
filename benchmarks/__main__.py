"""Prints the table of all measurements, or of the groups and lines named.

A name chooses a group, or all lines that have it in their own names.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks import (
    calls,
    checkpoints,
    devices,
    growth,
    memory,
    rivals,
    runtime,
    samplers,
    staging,
    startup,
)
from benchmarks.compare import compared, sides, summary
from benchmarks.measure import Line, Row, Skip, machine

Groups = dict[str, list[Line]]

GROUPS: Groups = {
    "startup": startup.LINES,
    "staging": staging.LINES,
    "calls": calls.LINES,
    "runtime": runtime.LINES,
    "devices": devices.LINES,
    "checkpoints": checkpoints.LINES,
    "samplers": samplers.LINES,
    "growth": growth.LINES,
    "memory": memory.LINES,
    "rivals": rivals.LINES,
}


def main(arguments: Sequence[str] | None = None, groups: Groups = GROUPS) -> None:
    parser = argparse.ArgumentParser(prog="./noxw -s bench --", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(groups)}, or a line")
    parser.add_argument("--list", action="store_true", help="name the lines, measure nothing")
    parser.add_argument("--quick", action="store_true", help="fewer pairs, for a first look")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--compare", metavar="COMMIT", help="with a commit, and not with peers")
    options = parser.parse_args(arguments)
    try:
        chosen = lines_named(options.names, groups)
    except LookupError as error:
        parser.error(str(error))
    if options.list:
        for group, line in chosen:
            print(json.dumps({"group": group, "name": line.name}) if options.json else line.name)
        return
    # What is measured is compiled, but where the compile cache itself is measured.
    os.environ["MINIJAX_ENABLE_COMPILATION_CACHE"] = "false"
    about = machine()
    if options.json:
        print(json.dumps({"machine": about}), flush=True)
    else:
        print(", ".join(f"{what} {value}" for what, value in about.items()))
        print(HEADER, flush=True)

    def show(group: str, row: Row) -> Row:
        as_json = {"group": group, **asdict(row), "verdict": row.verdict}
        print(json.dumps(as_json) if options.json else table_line(row), flush=True)
        return row

    if options.compare is None:
        for group, line in chosen:
            show(group, measured(line, options.quick))
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
    for name in names:
        if not any(_is_chosen(name, *each) for each in every):
            raise LookupError(f"no group or line has the name {name!r}; --list shows them all")
    return [each for each in every if not names or any(_is_chosen(n, *each) for n in names)]


def _is_chosen(name: str, group: str, line: Line) -> bool:
    return name == group or name in line.name


def measured(line: Line, quick: bool) -> Row:
    """The row of a line, also where it cannot be measured here."""
    try:
        row = line.measure(quick)
    except Skip as reason:
        row = Row(line.name, note=str(reason))
    row.budget = line.budget
    return row


HEADER = f"{'':<42} {'minijax':>10} {'peer':>10} {'ratio':>7} {'budget':>7} verdict"


def table_line(row: Row) -> str:
    cells = [
        f"{row.name:<42}",
        f"{quantity(row.ours, row.unit):>10}",
        f"{quantity(row.peer, row.unit):>10}",
        f"{row.ratio:>7.3f}" if row.ratio is not None else f"{'':>7}",
        f"{row.budget:>7}" if row.budget is not None else f"{'':>7}",
        f"{row.verdict:<7}",
        row.note,
    ]
    return " ".join(cells).rstrip()


def quantity(value: float | None, unit: str) -> str:
    """A number with a unit that keeps it between 1 and 1,000."""
    if value is None:
        return ""
    for prefix, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1), ("m", 1e-3), ("u", 1e-6)):
        if abs(value) >= scale:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


if __name__ == "__main__":
    main(sys.argv[1:])
