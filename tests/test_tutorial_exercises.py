"""Exercises of the site: what a reader starts from fails the check, and the solution passes it."""

import contextlib
import io
import linecache
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs/hooks"))

from blocks import blocks  # noqa: E402


def parts_of(page):
    """The parts of each exercise of a page, by kind."""
    found = defaultdict(dict)
    for block in blocks(page.read_text("utf-8")):
        if block.kind != "exec":
            assert block.kind not in found[block.exercise], f"two of {block.exercise}"
            found[block.exercise][block.kind] = block
    return dict(found)


PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if parts_of(page)]


def test_there_are_exercises():
    assert len(PAGES) > 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_starter_fails_and_solution_passes(page):
    for name, parts in parts_of(page).items():
        assert set(parts) == {"exercise", "check", "solution"}, name
        assert len({part.session for part in parts.values()}) == 1, name

    namespaces = defaultdict(lambda: new_namespace(page))  # one for each session
    for block in blocks(page.read_text("utf-8")):
        namespace = namespaces[block.session]
        if block.kind == "exec":
            run(block, namespace)
            continue
        check = parts_of(page)[block.exercise]["check"]
        trial = dict(namespace)
        if block.kind == "exercise":
            run(block, trial)
            with pytest.raises(Exception):  # noqa: B017, PT011
                run(check, trial)
        elif block.kind == "solution":
            run(block, trial)
            run(check, trial)


def new_namespace(page):
    name = f"page_{page.stem}"
    sys.modules[name] = ModuleType(name)  # where dataclasses look up names
    return {"__name__": name}


def run(block, namespace):
    """Runs a block as the build of the site does."""
    name = f"<code block: {block.session}; {block.number}; {block.kind}>"
    linecache.cache[name] = len(block.code), None, block.code.splitlines(keepends=True), name
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(block.code, name, "exec"), namespace)
