"""One program three times: as a jaxpr, as StableHLO, and as XLA's optimized HLO."""

import re

import glassjax.numpy as jnp
from drawing import Drawing
from glassjax import jit, make_jaxpr

STYLES = {"sin": "stage-1", "mul": "stage-2", "add": "stage-3"}


def f(x: jnp.ndarray, y: jnp.ndarray) -> jnp.ndarray:
    return jnp.sin(x) * y + x


def style_of(line: str) -> str:
    operation = re.search(r"= .*?(sin|mul|add)\w* ?[(%a-z]", line)
    fused = "fusion(" in line
    return STYLES[operation[1]] if operation and not fused else ""


def svg() -> str:
    lowered = jit(f).lower(1.0, 2.0)
    hlo = re.sub(r", metadata=\{[^}]*\}", "", lowered.compile().as_text()).splitlines()[1:]
    hlo = [line for line in hlo if line.strip()]
    programs = [
        ("a jaxpr", "typed equations", str(make_jaxpr(f)(1.0, 2.0)).splitlines()),
        ("StableHLO", "text that XLA reads", lowered.as_text().splitlines()),
        ("HLO", "XLA has fused all three operations into one loop", hlo),
    ]
    line_height = 17
    heights = [24 + line_height * len([x for x in lines if x.strip()]) for *_, lines in programs]
    drawing = Drawing(
        420,
        sum(heights) + 60 * 3 + 4,
        "The program sin(x) * y + x as a jaxpr, lowered to StableHLO, and compiled to HLO, where "
        "its three operations are fused into one.",
    )
    y = 10.0
    for number, ((name, what, lines), height) in enumerate(zip(programs, heights, strict=True)):
        drawing.text(
            (8, y + 8), [(name, "strong"), (f"  {what}", "faint")], "small", anchor="start"
        )
        y += 24
        box = drawing.box(4, y, 412, height, style="panel")
        for i, line in enumerate(x for x in lines if x.strip()):
            short = line if len(line) <= 55 else line[:53] + " …"
            at = box.x + 10, y + 20 + line_height * i
            drawing.text(at, short, f"small code {style_of(line)}", anchor="start")
        y += height
        if number < 2:
            label = ("lower", "compile")[number]
            drawing.arrow((210, y + 3), (210, y + 28), label=label)
        y += 34
    return drawing.svg()
