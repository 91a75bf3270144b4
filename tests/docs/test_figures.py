"""Figures of the site: each has a text for screen readers, and styles for its classes."""

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

from tables import for_each

DOCS = Path(__file__).parents[2] / "docs"
FILES = DOCS.glob("figures/*.py")
FIGURES = sorted(file for file in FILES if file.stem not in ("drawing", "graph"))
CLASSES = set(re.findall(r"\.([a-z][\w-]*)", (DOCS / "assets/figures.css").read_text()))


@for_each("file", FIGURES, ids=map(str, FIGURES))
def test_a_figure_is_a_drawing(file, monkeypatch):
    monkeypatch.syspath_prepend(file.parent)
    drawing = ElementTree.fromstring(runpy.run_path(str(file))["svg"]())
    space = "{http://www.w3.org/2000/svg}"
    assert drawing.get("role") == "img"
    assert len(drawing.find(f"{space}title").text) > 20
    _, _, width, height = map(float, drawing.get("viewBox").split())
    for element in drawing.iter():
        names = element.get("class", "").split()
        assert set(names) <= CLASSES
        if element.tag == f"{space}text":
            x, y = float(element.get("x")), float(element.get("y"))
            # Letters of the code font are 0.6 of their height wide, those of text narrower.
            size = float(element.get("font-size")) * (0.6 if "code" in names else 0.48)
            length = size * len(element.text)
            start = {"start": 0, "middle": 0.5, "end": 1}[element.get("text-anchor")]
            left = x - start * length
            assert 0 <= left <= left + length <= width, element.text
            assert 10 <= y <= height, element.text
