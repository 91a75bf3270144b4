"""Prints the table of all measurements, or of the groups and lines named."""

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import asdict

from benchmarks import calls, growth, runtime, staging, startup
from benchmarks.measure import Row, Rows

GROUPS: dict[str, Callable[[], Rows]] = {
    "startup": startup.run,
    "staging": staging.run,
    "calls": calls.run,
    "runtime": runtime.run,
    "growth": growth.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="./noxw -s bench --", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    unknown = set(options.names) - set(GROUPS)
    if unknown:
        parser.error(f"no such group: {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    # What is measured is compiled, but where the compile cache itself is measured.
    os.environ["MINIJAX_ENABLE_COMPILATION_CACHE"] = "false"
    if not options.json:
        print(HEADER, flush=True)
    for name in options.names or GROUPS:
        for row in GROUPS[name]():
            as_json = {"group": name, **asdict(row), "verdict": row.verdict}
            print(json.dumps(as_json) if options.json else table_line(row), flush=True)


HEADER = f"{'':<42} {'minijax':>10} {'peer':>10} {'ratio':>7} {'budget':>7}"


def table_line(row: Row) -> str:
    cells = [
        f"{row.name:<42}",
        f"{quantity(row.ours, row.unit):>10}",
        f"{quantity(row.peer, row.unit):>10}",
        f"{row.ratio:>7.3f}" if row.ratio is not None else f"{'':>7}",
        f"{row.budget:>7}" if row.budget is not None else f"{'':>7}",
        f"{row.verdict:<6}",
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
    main()
