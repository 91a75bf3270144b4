"""The ratios of the runs in docs/benchmarks.jsonl, one line of the chart for each mark."""

import math
import sys
from itertools import chain
from pathlib import Path

from drawing import Drawing

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from benchmarks.report import marks_of, peers_of, runs_of  # noqa: E402

STYLES = ["stage-5", "stage-2", "stage-3", "stage-4"]
WIDTH, LINE = 330, 22  # of the scale, and of a line


def svg() -> str:
    runs = runs_of((ROOT / "docs" / "benchmarks.jsonl").read_text(encoding="utf-8"))
    groups = marks_of(row for run in runs for row in run.rows)
    styles = dict(zip(peers_of(groups), STYLES, strict=False))
    marks = list(chain.from_iterable(groups.values()))
    shown = [x for mark in marks for x in (1.0, mark.budget or 1.0, *(r for r, _ in mark.ratios))]
    low, high = math.floor(math.log10(min(shown))), math.ceil(math.log10(max(shown)))
    left = max(290, 24 + 6 * max((len(mark.label) for mark in marks), default=0))
    top, bottom = 58, 58 + LINE * (len(marks) + len(groups)) + 6

    def x(ratio: float) -> float:
        return left + WIDTH * (math.log10(ratio) - low) / max(high - low, 1)

    drawing = Drawing(
        left + WIDTH + 40,
        bottom + 34,
        "Ratios of glassjax's figures to those of its peers, on a logarithmic scale: a line for "
        "each measurement, with a dot for each peer and a stroke for the budget. Left of 1, "
        "glassjax is faster. The tables below have the numbers.",
    )
    for number, (peer, style) in enumerate(styles.items()):
        at = 24 + 160 * number, 20
        drawing.dot(at, style)
        drawing.text((at[0] + 10, at[1]), peer, "small", anchor="start")
    for power in range(low, high + 1):
        at = x(10.0**power)
        drawing.line((at, top - 12), (at, bottom), style="strong" if power == 0 else "faint")
        drawing.text((at, bottom + 14), f"{10.0**power:g}", "small")
    y = top
    for group, each in groups.items():
        drawing.text((12, y), group, "small strong", anchor="start")
        y += LINE
        for mark in each:
            drawing.text((left - 10, y), mark.label, "small", anchor="end")
            if mark.budget is not None:
                drawing.line((x(mark.budget), y - 7), (x(mark.budget), y + 7), style="stage-1")
            for ratio, peer in mark.ratios:
                drawing.dot((x(ratio), y), styles[peer])
            y += LINE
    return drawing.svg()
