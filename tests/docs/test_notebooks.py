"""Chapters as notebooks: cells run in order, and solutions pass the checks that starters fail."""

import ast
import contextlib
import io
import json
import linecache
import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from tables import for_each

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "hooks"))

import notebooks  # noqa: E402
from blocks import blocks  # noqa: E402


@cache
def blocks_of(page):
    return list(blocks((DOCS / page).read_text("utf-8")))


def exercises_of(page):
    return [block for block in blocks_of(page) if block.kind != "exec"]


PAGES = [
    page
    for page in sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    if blocks_of(page)
]
CHAPTERS = [page for page in PAGES if notebooks.CHAPTER.fullmatch(page)]
every_chapter = for_each("page", CHAPTERS)


@cache
def notebook_of(page):
    return notebooks.notebook(page, (DOCS / page).read_text("utf-8"))


def code_of(notebook):
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_there_are_chapters_and_exercises():
    assert len(CHAPTERS) > 4
    assert len(list(filter(exercises_of, PAGES))) > 3


@every_chapter
def test_notebook_is_well_formed(page):
    notebook = json.loads(json.dumps(notebook_of(page)))
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert notebook["cells"][0]["source"][0].startswith("# ")
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        assert text.strip()
        assert 'alt=""' not in text
        if cell["cell_type"] == "markdown":
            outside = re.sub(r"^ *```.*?^ *```|`[^`\n]*`", "", text, flags=re.M | re.S)
            for extension in ("```figure", "```changes", "grows=", "--8<--", "???", "!!!"):
                assert extension not in outside, text
    cells = [notebooks.code_cell(block) for block in blocks_of(page)]
    expected = [code.strip("\n") for kind, code in cells if kind == "code"]
    assert code_of(notebook) == expected


@for_each("page", PAGES)
def test_exercises_have_all_parts(page):
    parts = defaultdict(list)
    for block in blocks_of(page):
        if block.kind != "exec":
            parts[block.exercise].append(block)
    for name, found in parts.items():
        assert sorted(part.kind for part in found) == ["check", "exercise", "solution"], name
        assert len({part.session for part in found}) == 1, name


# The build of the site runs all other pages, to show what they print.
@pytest.mark.parametrize("page", list(filter(exercises_of, PAGES)))
def test_cells_run_in_order(page):
    """What a reader starts from fails the check, and the solution passes it."""
    checks = {block.exercise: block.code for block in exercises_of(page) if block.kind == "check"}
    sys.modules["notebook"] = ModuleType("notebook")  # where dataclasses look up names
    namespace = {"__name__": "notebook"}
    for number, block in enumerate(blocks_of(page), 1):
        name = f"<{page}, block {number}, {block.kind}>"
        if block.kind == "solution":
            printed_by(f"{block.code}\n{checks[block.exercise]}", name, dict(namespace))
        else:
            printed = printed_by(notebooks.code_cell(block)[1], name, namespace)
            assert ("Not yet: " in printed) == (block.kind == "check"), printed


def printed_by(code, name, namespace):
    linecache.cache[name] = len(code), None, code.splitlines(keepends=True), name
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, name, "exec"), namespace)
    return printed.getvalue()


@every_chapter
def test_cells_import_what_the_chapter_says(page):
    allowed = {
        name if name == "glassjax" else f"glassjax_{name}"
        for name in re.findall(r"/packages/(\w+)", notebooks.requirements(page))
    }
    imported = {
        module.partition(".")[0]
        for code in code_of(notebook_of(page))
        for node in ast.walk(ast.parse(code))
        for module in modules_of(node)
    }
    assert {name for name in imported if name.startswith(("glassjax", "jax"))} <= allowed


def modules_of(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) else []


@every_chapter
def test_checks_are_those_of_the_page(page):
    for block in exercises_of(page):
        if block.kind == "check":
            (tried,) = ast.parse(notebooks.checked(block.code)).body
            expected = ast.parse(block.code).body
            assert [*map(ast.dump, tried.body)] == [*map(ast.dump, expected)]
