"""The graph of the program that several figures show: `sin(x) * y + x`."""

from dataclasses import dataclass

from drawing import Box, Drawing


@dataclass(frozen=True)
class Graph:
    """Its nodes, as they were drawn."""

    x: Box
    y: Box
    sin: Box
    mul: Box
    add: Box


def draw(drawing: Drawing, left: float, top: float, styles: dict[str, str]) -> Graph:
    """Draws the nodes: inputs at the top, and each operation below its operands."""

    def node(name: str, x: float, y: float, round_: bool = False) -> Box:
        style = styles.get(name, "plain")
        return drawing.box(left + x, top + y, 64, 34, name, style, radius=17 if round_ else 5)

    return Graph(
        x=node("x", 30, 0, round_=True),
        y=node("y", 170, 0, round_=True),
        sin=node("sin", 70, 70),
        mul=node("mul", 130, 140),
        add=node("add", 70, 210),
    )
