"""The tutorial shows every code line of the stages exactly once."""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from tables import for_each

from benchmarks.lines import code_lines

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs/hooks"))

import questions  # noqa: E402, whose programs run, too
import source  # noqa: E402

from tools import excerpts  # noqa: E402

STAGES = ["stage1", "stage2", "stage3", "stage4", "watch"]
PAGES = sorted((ROOT / "docs/learn").rglob("*.md"))


def files_of(stage: str) -> list[str]:
    package = source.path_of(f"{stage}/")
    return [f"{stage}/{path.relative_to(package)}" for path in sorted(package.rglob("*.py"))]


ALL_FILES = [file for stage in STAGES for file in files_of(stage)]


@pytest.fixture(scope="module")
def shown() -> Counter[tuple[str, int]]:
    """How often each line of each file is shown."""
    return Counter(line for page in PAGES for line in source.shown(page.read_text("utf-8")))


@for_each("file", [file for stage in STAGES for file in files_of(stage)])
def test_tutorial_shows_every_code_line_once(file, shown):
    read = source.Source.read(file)
    code = sorted(code_lines(read.text))
    missing = [n for n in code if not shown[file, n]]
    repeated = [n for n in code if shown[file, n] > 1]
    assert not missing, report(read, missing, f"{len(missing)} of {len(code)} lines are not shown")
    assert not repeated, report(read, repeated, f"{len(repeated)} lines are shown twice")


def report(read: source.Source, numbers: list[int], what: str) -> str:
    lines = "\n".join(f"{n:4} {read.lines[n - 1]}" for n in numbers)
    return f"{read.file}: {what}\n{lines}"


@for_each("file", ALL_FILES)
def test_shown_lines_fit(file):
    """The module's docstring is not shown."""
    wrapped = source.Source.wrapped(file)
    first = wrapped.tree.body[0].end_lineno if wrapped.tree.body else 0
    assert [line for line in wrapped.lines[first:] if len(line) > source.WIDTH] == []


@for_each("file", ALL_FILES)
def test_shown_program_is_the_real_one(file):
    assert bare(source.Source.wrapped(file).text) == bare(source.Source.read(file).text)


def bare(text: str) -> str:
    """A program without its docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | source.DEFINITION) and ast.get_docstring(node):
            node.body[0] = ast.Pass()
    return ast.dump(tree)


@for_each("page", PAGES, ids=map(str, PAGES))
def test_pieces_are_short(page):
    """At most forty lines, as wrapped, unless the block is folded."""
    text = page.read_text("utf-8")
    for each in source.excerpts(text):
        is_folded = text[: each.fence.start()].rstrip().endswith("</summary>")
        assert is_folded or len(each.code.splitlines()) <= 40, f"{each.file}: {each.items}"


@for_each("page", PAGES, ids=map(str, PAGES))
def test_every_section_has_text(page):
    text = re.sub(r"^```.*?^```", "code", page.read_text("utf-8"), flags=re.M | re.S)
    headings = re.finditer(r"^(#+) (.*)\n+(?=(#+) )", text, re.M)
    empty = [
        title
        for level, title, next_level in map(re.Match.groups, headings)
        if len(next_level) <= len(level)
    ]
    assert empty == []


@for_each("page", excerpts.pages(), ids=map(str, excerpts.pages()))
def test_pages_show_the_sources_as_they_are(page):
    """For readers of the repository; `python -m tools.excerpts` writes what is shown."""
    text = page.read_text("utf-8")
    assert text == excerpts.filled(text)


def test_what_is_shown_of_a_file_is_python():
    """A method beside what is no part of its class is no line with a wrong margin."""
    for page in PAGES:
        for each in source.excerpts(page.read_text("utf-8")):
            if not any(".." in item for item in each.items):  # which may be parts of a statement
                ast.parse(each.code)


PYTHON = re.compile(r"^( *)```python([^\n]*)\n(.*?)^\1```[ \t]*$", re.M | re.S)
RUNS = re.compile(r"\b(file|grows|exec|exercise|check|solution|command)=")
NEEDS = re.compile(r'glassjax\.devices\("gpu"\)|\btorch\b|\bonnxruntime\b')  # what is not there


def test_python_on_pages_runs_or_is_real_source():
    """What is not run when the site is built is cut from a file, or needs what is not there."""
    told = {
        (page.relative_to(ROOT), fence[3])
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for fence in PYTHON.finditer(questions.SECTION.sub("", page.read_text("utf-8")))
        if not RUNS.search(fence[2])
    }
    assert told
    assert [each for each in told if not NEEDS.search(each[1])] == []
