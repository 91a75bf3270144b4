"""One program three times: as a jaxpr, as StableHLO, and as XLA's optimised HLO."""

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
        ("HLO", "XLA has fused all\nthree operations\ninto one loop", hlo),
    ]
    line_height = 17
    heights = [24 + line_height * len([x for x in lines if x.strip()]) for *_, lines in programs]
    drawing = Drawing(
        640,
        sum(heights) + 34 * 2 + 20,
        "The program sin(x) * y + x as a jaxpr, lowered to StableHLO, and compiled to HLO, where "
        "its three operations are fused into one.",
    )
    y = 10.0
    for number, ((name, what, lines), height) in enumerate(zip(programs, heights, strict=True)):
        box = drawing.box(140, y, 490, height, style="panel")
        drawing.text((126, y + 20), name, "strong", anchor="end")
        drawing.text((126, y + 40 + 8 * what.count("\n")), what, "small faint", anchor="end")
        for i, line in enumerate(x for x in lines if x.strip()):
            short = line if len(line) <= 63 else line[:61] + " …"
            at = box.x + 14, y + 20 + line_height * i
            drawing.text(at, short, f"small code {style_of(line)}", anchor="start")
        y += height
        if number < 2:
            label = ("lower", "compile")[number]
            drawing.arrow((385, y + 3), (385, y + 31), label=label)
        y += 34
    return drawing.svg()
