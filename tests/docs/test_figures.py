"""Figures of the site: each has a text for screen readers, and styles for its classes."""

import json
import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

from tables import for_each

DOCS = Path(__file__).parents[2] / "docs"
FIGURES = sorted(
    file for file in DOCS.glob("figures/*.py") if "\ndef svg() -> str:" in file.read_text("utf-8")
)
CLASSES = set(re.findall(r"\.([a-z][\w-]*)", (DOCS / "assets/figures.css").read_text()))
SVG = "{http://www.w3.org/2000/svg}"


def drawn(file, monkeypatch):
    monkeypatch.syspath_prepend(file.parent)
    monkeypatch.syspath_prepend(DOCS.parent / "examples")
    return ElementTree.fromstring(runpy.run_path(str(file))["svg"]())


def assert_legible(drawing):
    _, _, width, height = map(float, drawing.get("viewBox").split())
    for element in drawing.iter():
        names = element.get("class", "").split()
        assert set(names) <= CLASSES
        if element.tag == f"{SVG}text" and "none" not in names:
            x, y = float(element.get("x")), float(element.get("y"))
            text = "".join(element.itertext())
            # Letters of the code font are 0.6 of their height wide, those of text narrower.
            size = float(element.get("font-size")) * (0.6 if "code" in names else 0.48)
            length = size * len(text)
            start = {"start": 0, "middle": 0.5, "end": 1}[element.get("text-anchor")]
            left = x - start * length
            assert 0 <= left <= left + length <= width, text
            assert 10 <= y <= height, text


@for_each("file", FIGURES, ids=map(str, FIGURES))
def test_a_figure_is_a_drawing(file, monkeypatch):
    for drawing in drawn(file, monkeypatch).iter(f"{SVG}svg"):
        assert drawing.get("role") == "img"
        assert len(drawing.find(f"{SVG}title").text) > 20
        assert_legible(drawing)


MOVING = [file for file in FIGURES if "\nfrom moving import" in file.read_text("utf-8")]


@for_each("file", MOVING, ids=map(str, MOVING))
def test_all_states_of_a_figure_are_drawings(file, monkeypatch):
    """A state is what docs/assets/figures.js makes of the first one."""
    figure = drawn(file, monkeypatch)
    svg = figure.find(f"{SVG}svg")
    elements = [element for element in svg if element.tag != f"{SVG}title"]
    data = json.loads(figure.find("script").text)
    shape, count = data["shape"], len(data["says"])
    assert len(set(data["says"])) == count > 1
    assert not data["handles"] or len(data["handles"]) == max(shape)
    for state in range(count):
        index, rest = [0] * len(shape), state
        for axis in reversed(range(len(shape))):
            rest, index[axis] = divmod(rest, shape[axis])
        for number, name, axes, values in data["changes"]:
            at = 0
            for axis in axes:
                at = at * shape[axis] + index[axis]
            element = elements[number]
            if name:
                element.set(name, values[at])
                continue
            content = ElementTree.fromstring(f'<g xmlns="{SVG[1:-1]}">{values[at]}</g>')
            element.text, element[:] = content.text, list(content)
        assert_legible(svg)
