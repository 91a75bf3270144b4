"""The chapters as notebooks: their cells run in order, with what they say that they need."""

import ast
import contextlib
import io
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "hooks"))

import notebooks  # noqa: E402
from blocks import blocks  # noqa: E402

CHAPTERS = [
    page
    for page in sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
    if notebooks.CHAPTER.fullmatch(page) and any(blocks((DOCS / page).read_text("utf-8")))
]
every_chapter = pytest.mark.parametrize("page", CHAPTERS)


def notebook_of(page):
    return notebooks.notebook(page, (DOCS / page).read_text("utf-8"))


def code_of(notebook):
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_there_are_chapters():
    assert len(CHAPTERS) > 4


@every_chapter
def test_notebook_is_well_formed(page):
    notebook = json.loads(json.dumps(notebook_of(page)))
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert notebook["cells"][0]["source"][0].startswith("# ")
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        assert text.strip()
        if cell["cell_type"] == "markdown":
            outside = re.sub(r"^ *```.*?^ *```|`[^`\n]*`", "", text, flags=re.M | re.S)
            for extension in ("```source", "```figure", "```changes", "--8<--", "???", "!!!"):
                assert extension not in outside, text


@every_chapter
def test_cells_run_in_order(page):
    namespace = {"__name__": "notebook"}
    sys.modules["notebook"] = ModuleType("notebook")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for number, code in enumerate(code_of(notebook_of(page)), 1):
            exec(compile(code, f"<{page}, cell {number}>", "exec"), namespace)
    checks = [block for block in blocks((DOCS / page).read_text("utf-8")) if block.kind == "check"]
    assert printed.getvalue().count("Not yet: ") == len(checks)


@every_chapter
def test_cells_import_what_the_chapter_says(page):
    named = re.search("pip install (.*)", notebooks.requirements(page))[1]
    allowed = {
        f"minijax_{name}" if name.startswith("stage") else name
        for name in re.findall(r"/packages/(\w+)", named)
    }
    imported = {
        module.partition(".")[0]
        for code in code_of(notebook_of(page))
        for node in ast.walk(ast.parse(code))
        for module in modules_of(node)
    }
    assert {name for name in imported if name.startswith(("minijax", "jax"))} <= allowed


def modules_of(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) else []


@every_chapter
def test_checks_are_those_of_the_page(page):
    for block in blocks((DOCS / page).read_text("utf-8")):
        if block.kind == "check":
            (tried,) = ast.parse(notebooks.checked(block.code)).body
            expected = ast.parse(block.code).body
            assert [*map(ast.dump, tried.body)] == [*map(ast.dump, expected)]
