"""What is made of the figures of a run: the lines of its table, pages, and a chart of ratios."""

import json
import statistics
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import Row

LONG = 30  # a group with more marks than this is one mark of the chart


class Run(NamedTuple):
    """Figures of one run, as `--json` prints them.

    Arguments:
        machine: what `measure.machine` says of it.
        date: of the run.
        command: what was run.
        rows: the fields of each row, and its group, date and verdict.
    """

    machine: dict[str, str]
    date: str
    command: str
    rows: list[dict[str, Any]]

    def head(self) -> str:
        """The line of JSON that begins a run."""
        return json.dumps({"machine": self.machine, "date": self.date, "command": self.command})


def runs_of(text: str) -> list[Run]:
    """The runs in what `--json` printed, which may be several times, one after the other.

    Raises:
        ValueError: the first line is not the head of a run.
    """
    runs: list[Run] = []
    for line in map(json.loads, text.splitlines()):
        if "machine" in line:
            runs.append(Run(line["machine"], line["date"], line["command"], []))
        elif not runs:
            raise ValueError(
                f"the first line must name the machine, as --json prints it, but is {line}"
            )
        else:
            runs[-1].rows.append(line)
    return runs


# The table in a terminal

HEADER = f"{'':<42} {'glassjax':>10} {'peer':>10} {'ratio':>7} {'budget':>7} verdict"


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


# The tables of a page


def markdown(run: Run) -> str:
    """What was run, where and when, and a table of each group."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in run.rows:
        groups.setdefault(row["group"], []).append(row)
    machine = {name: value for name, value in run.machine.items() if value != "not installed"}
    about = [f"| {name} | {value} |" for name, value in {"date": run.date, **machine}.items()]
    parts = [f"```bash\n{run.command}\n```", "\n".join(["| | |", "|---|---|", *about])]
    for group, rows in groups.items():
        head = [
            "| line | glassjax | peer | ratio | budget | verdict |",
            "|---|--:|--:|--:|--:|---|",
        ]
        measured = [_markdown_line(row) for row in rows if row["ours"] is not None]
        parts.append(f"## {group}")
        parts += ["\n".join(head + measured)] if measured else []
        skipped = Counter(row["note"] for row in rows if row["ours"] is None)
        parts += [f"Not measured: {why} (lines: {count})." for why, count in skipped.items()]
    return "\n\n".join(parts) + "\n"


def _markdown_line(row: dict[str, Any]) -> str:
    name = f"{row['name']} ({row['note']})" if row["note"] else row["name"]
    figures = (quantity(row[side], row["unit"]).replace(" ", "&nbsp;") for side in ("ours", "peer"))
    ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g}"
    budget = "" if row["budget"] is None else f"{row['budget']:g}"
    return f"| {' | '.join([name, *figures, ratio, budget, row['verdict'].lower()])} |"


# The chart

CHARTS = (".svg", ".png", ".pdf")  # the files that can be drawn


class Mark(NamedTuple):
    """A line of the chart: ratios to one or several peers.

    Arguments:
        label: what was measured.
        ratios: each with its peer.
        budget: for the ratio to JAX.
    """

    label: str
    ratios: list[tuple[float, str]]
    budget: float | None


def marks_of(rows: Iterable[dict[str, Any]]) -> dict[str, list[Mark]]:
    """The marks of each group: one for a line beside all its peers, or one for a long group."""
    groups: dict[str, dict[str, Mark]] = {}
    for row in rows:
        if row["ratio"] is None or row["ratio"] <= 0:
            continue
        label, _, peer = row["name"].partition(", beside ")
        marks = groups.setdefault(row["group"], {})
        mark = marks.setdefault(label, Mark(label, [], row["budget"]))
        mark.ratios.append((row["ratio"], peer or "JAX, or as noted"))
    return {group: _shortened(list(marks.values())) for group, marks in groups.items()}


def _shortened(marks: list[Mark]) -> list[Mark]:
    if len(marks) <= LONG:
        return marks
    ratios = [each for mark in marks for each in mark.ratios]
    median = statistics.median(ratio for ratio, _ in ratios)
    return [Mark(f"{len(marks)} lines, median {median:.2f}", ratios, None)]


def peers_of(groups: dict[str, list[Mark]]) -> list[str]:
    """The peers of all marks, in the order in which they come."""
    ratios = [each for marks in groups.values() for mark in marks for each in mark.ratios]
    return list(dict.fromkeys(peer for _, peer in ratios))


def draw(run: Run, path: str) -> None:
    """Draws the ratios of a run by matplotlib, which must be installed."""
    import matplotlib

    matplotlib.use("Agg")  # draws without a screen
    from matplotlib import pyplot as plt

    groups = marks_of(run.rows)
    lines = [(group, mark) for group, marks in groups.items() for mark in marks]
    figure, axes = plt.subplots(figsize=(9, 1.5 + 0.25 * len(lines)), layout="constrained")
    for peer in peers_of(groups):
        points = [
            (ratio, y)
            for y, (_, mark) in enumerate(lines)
            for ratio, each in mark.ratios
            if each == peer
        ]
        axes.plot(*zip(*points, strict=True), "o", label=f"beside {peer}", markersize=5)
    budgets = [(mark.budget, y) for y, (_, mark) in enumerate(lines) if mark.budget is not None]
    if budgets:
        axes.plot(*zip(*budgets, strict=True), "k|", label="budget", markersize=10)
    axes.axvline(1, color="gray", linewidth=0.8)
    labels = [f"{group}: {mark.label}" for group, mark in lines]
    axes.set_yticks(range(len(lines)), labels, fontsize=8)
    axes.set(xscale="log", ylim=(len(lines) - 0.5, -0.5), xlabel="ratio: glassjax / peer")
    axes.set_title(f"{run.date}, {run.machine['processor']}", fontsize=9)
    axes.grid(axis="x", alpha=0.3)
    if lines:
        axes.legend(fontsize=8)
    figure.savefig(Path(path))
    plt.close(figure)
