"""The side-by-side page names only what exists in glassjax and in JAX."""

import importlib
import re
from functools import reduce
from pathlib import Path

import jax
import pytest
from tables import for_each

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/learn/side_by_side.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n:]*)[^\n]*\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
PACKAGES = {**{f"Stage {n}": f"stage{n}" for n in (1, 2, 3, 4)}, "The full library": "glassjax"}
ROWS = [
    (package, *re.findall(r"\| (.*?) (?=\|)", row))
    for section, package in PACKAGES.items()
    for row in re.findall(r"^\| `.*$", SECTIONS[section], re.M)
]


@pytest.mark.skipif(jax.__version_info__ < (0, 12), reason="the page names what JAX 0.12 has")
@for_each(("package", "ours", "theirs"), [row[:3] for row in ROWS])
def test_files_and_names_exist(package, ours, theirs):
    name = package if package == "glassjax" else f"glassjax_{package}"
    source = ROOT / "packages" / package / "src" / name
    files, _, names = ours.partition(": ")
    text = ""
    for file in re.findall(r"`(.*?)`", files):
        assert (source / file).exists()
        text += (source / file).read_text(encoding="utf-8") if file.endswith(".py") else ""
    for each in re.findall(r"`(.*?)`", names):
        assert re.search(rf"^ *(def|class) {each}\b|^{each}\b", text, re.MULTILINE), each
    for part in filter(None, theirs.split("; ")):
        modules, _, names = part.partition(": ")
        for path in re.findall(r"`(jax[\w.]+)`", modules):
            module = importlib.import_module(path)
        for each in re.findall(r"`(.*?)`", names):
            reduce(getattr, each.split("."), module)


def test_the_page_has_a_row_for_each_concept():
    assert len(ROWS) > 40
