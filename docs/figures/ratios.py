"""The ratios of the runs in docs/benchmarks.jsonl: a mark of the chart for each line."""

import math
import sys
from itertools import chain
from pathlib import Path

from drawing import Drawing, panels

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from benchmarks.report import marks_of, peers_of, runs_of  # noqa: E402

STYLES = ["stage-5", "stage-2", "stage-3", "stage-4"]
LEFT, WIDTH, LINE, TOP = 28, 328, 32, 56  # of the scale, of a mark with its label, of the legend
Groups = dict[str, list]


def svg() -> str:
    runs = runs_of((ROOT / "docs" / "benchmarks.jsonl").read_text(encoding="utf-8"))
    groups = marks_of(row for run in runs for row in run.rows)
    marks = list(chain.from_iterable(groups.values()))
    shown = [x for mark in marks for x in (1.0, mark.budget or 1.0, *(r for r, _ in mark.ratios))]
    powers = math.floor(math.log10(min(shown))), math.ceil(math.log10(max(shown)))
    styles = dict(zip(peers_of(groups), STYLES, strict=False))
    return panels(*(chart(half, styles, powers) for half in halves(groups)))


def halves(groups: Groups) -> list[Groups]:
    """The groups as two charts of about the same height."""
    chosen: list[set[str]] = [set(), set()]
    for name in sorted(groups, key=lambda name: -len(groups[name])):
        heights = [lines({each: groups[each] for each in half}) for half in chosen]
        chosen[heights.index(min(heights))].add(name)
    return [{name: groups[name] for name in groups if name in half} for half in chosen if half]


def lines(groups: Groups) -> int:
    return sum(1 + len(marks) for marks in groups.values())


def chart(groups: Groups, styles: dict[str, str], powers: tuple[int, int]) -> Drawing:
    low, high = powers
    bottom = TOP + LINE * lines(groups)
    drawing = Drawing(
        LEFT + WIDTH + 24,
        bottom + 28,
        f"Ratios of glassjax's figures to those of its peers in {', '.join(groups)}, on a "
        "logarithmic scale: a dot for each peer, a stroke for the budget. Left of 1, glassjax is "
        "faster. The tables below have the numbers.",
    )

    def x(ratio: float) -> float:
        return LEFT + WIDTH * (math.log10(ratio) - low) / max(high - low, 1)

    for number, (peer, style) in enumerate(styles.items()):
        at = LEFT + 8 + 186 * (number % 2), 14 + 18 * (number // 2)
        drawing.dot(at, style)
        drawing.text((at[0] + 10, at[1]), peer, "small", anchor="start")
    for power in range(low, high + 1):
        at = x(10.0**power)
        drawing.line((at, TOP - 6), (at, bottom), style="strong" if power == 0 else "faint")
        drawing.text((at, bottom + 14), f"{10.0**power:g}", "small")
    y = TOP + LINE / 2
    for group, marks in groups.items():
        drawing.text((LEFT, y), group, "strong", anchor="start")
        y += LINE
        for mark in marks:
            drawing.text((LEFT + 4, y - 10), mark.label, "small", anchor="start")
            if mark.budget is not None:
                drawing.line((x(mark.budget), y - 2), (x(mark.budget), y + 12), style="stage-1")
            for ratio, peer in mark.ratios:
                drawing.dot((x(ratio), y + 5), styles[peer])
            y += LINE
    return drawing
