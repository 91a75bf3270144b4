"""The phases of a call with their measured times, from the runs in docs/benchmarks.jsonl."""

import json
from pathlib import Path

from drawing import Drawing

RUNS = Path(__file__).parents[1] / "benchmarks.jsonl"
STEP = "MLP step"
PEER = "JAX"
LEFT, WIDTH, HEIGHT = 16, 388, 26


def measured() -> dict[str, tuple[float, float]]:
    """The seconds of each line of the runs: ours, and the peer's."""
    rows = map(json.loads, RUNS.read_text("utf-8").splitlines())
    return {row["name"]: (row["ours"], row["peer"]) for row in rows if "name" in row}


def in_words(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.0f} µs"


def svg() -> str:
    times = measured()
    trace, staged = (times[f"{what} {STEP}"] for what in ("trace", "trace and lower"))
    compile_, call = times[f"compile {STEP}"], times["call, MLP gradient step"]
    lower = tuple(both - one for both, one in zip(staged, trace, strict=True))
    phases = [
        ("trace: Python runs once", trace, "stage-1"),
        ("lower: jaxpr to StableHLO", lower, "stage-2"),
        ("compile: XLA", compile_, "stage-3"),
    ]
    total, before = sum(ours for _, (ours, _), _ in phases) + call[0], staged[0]
    drawing = Drawing(
        420,
        296,
        f"A bar for the first call of a jitted step, {in_words(total)}: nearly all of it is XLA's "
        f"compilation. Magnified, tracing takes {in_words(trace[0])} and lowering "
        f"{in_words(lower[0])}. A later call takes {in_words(call[0])}.",
    )

    def bar(y: float, parts: list[tuple[float, str]], scale: float) -> None:
        x = float(LEFT)
        for seconds, style in parts:
            width = max(seconds * scale, 1.5)
            drawing.box(x, y, width, HEIGHT, style=style, radius=1)
            x += width

    whole = WIDTH / total
    drawing.text((LEFT, 16), [("the first call", "strong"), (f"  {in_words(total)}", "")], "small",
                 anchor="start")  # fmt: skip
    bar(28, [(ours, style) for _, (ours, _), style in phases] + [(call[0], "stage-4")], whole)
    end = LEFT + before * whole
    drawing.line((LEFT, 56), (LEFT, 92), style="ghost")
    drawing.line((end, 56), (LEFT + WIDTH, 92), style="ghost")
    drawing.text((LEFT + 8, 82), "what Python does, magnified", "small faint", anchor="start")
    bar(94, [(trace[0], "stage-1"), (lower[0], "stage-2")], WIDTH / before)

    drawing.text((LEFT, 158), "phase", "small faint", anchor="start")
    drawing.text((324, 158), "glassjax", "small faint", anchor="end")
    drawing.text((404, 158), PEER, "small faint", anchor="end")
    rows = [*phases, ("later calls, as a whole", call, "stage-4")]
    for k, (name, (ours, peer), style) in enumerate(rows):
        y = 184 + 30 * k
        drawing.box(LEFT, y - 8, 16, 16, style=style, radius=3)
        drawing.text((LEFT + 26, y), name, "", anchor="start")
        drawing.text((324, y), in_words(ours), "code", anchor="end")
        drawing.text((404, y), in_words(peer), "code faint", anchor="end")
    return drawing.svg()
