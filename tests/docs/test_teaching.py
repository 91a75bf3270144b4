"""Courses: syllabi that a class can follow, a slide for each figure, pages without solutions."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import get_files
from mkdocs.structure.nav import get_navigation

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "hooks"))

import chapters  # noqa: E402
import figures  # noqa: E402
import notebooks  # noqa: E402
import teaching  # noqa: E402


@pytest.fixture(scope="module")
def rendered():
    """Renders a page of the folder `teach`, given its Markdown."""
    file = ROOT / "mkdocs.yml"
    nav = file.read_text("utf-8").partition("\nnav:\n")[2].partition("\nplugins:")[0]
    config = MkDocsConfig(config_file_path=str(file))
    config.load_dict({"site_name": "site", "nav": yaml.safe_load(nav)[1:2]})
    config.validate()
    config.plugins._current_plugin = "the test"  # makes a file
    files = get_files(config)
    chapters.on_nav(get_navigation(files, config), config, files)
    page = SimpleNamespace(file=files.get_file_from_path("teach/index.md"))
    hooks = {"docs/hooks/chapters.py": chapters}

    def render(markdown):
        return teaching.on_page_markdown(markdown, page=page, config=SimpleNamespace(hooks=hooks))

    return render


def test_syllabi_can_be_followed(rendered):
    """Each chapter comes after those that it builds on."""
    text = rendered((DOCS / "teach/index.md").read_text("utf-8"))
    assert "```syllabus" not in text
    assert text.count("| **together** |") == 3
    with pytest.raises(PluginError, match=r"builds on learn/stage1/interpreters\.md"):
        rendered("```syllabus\nToo early: stage1/jaxprs stage1/interpreters\n```")
    with pytest.raises(PluginError, match="there is no chapter stage1/nothing"):
        rendered("```syllabus\nNothing: stage1/nothing\n```")


def test_all_chapters_are_listed_with_what_they_stand_on(rendered):
    _, _, *rows = rendered("```chapters\n```").splitlines()
    assert len(rows) == len(chapters.by_page) > 50
    ground = {page: teaching.ground(page) for page in chapters.by_page}
    assert ground["learn/stage1/jaxprs.md"] >= {"learn/stage1/interpreters.md"}
    assert max(map(len, ground.values())) > 20
    marks = sum(int(row.split("|")[6] or 0) for row in rows if row.split("|")[6].strip())
    assert marks == 100


def test_every_figure_of_the_tutorial_is_a_slide(rendered):
    slides = rendered("```slides\n```")
    shown = [name for page in chapters.by_page for name in names(DOCS / page)]
    found = [fence[1] for fence in figures.FENCE.finditer(slides)]
    assert found == [*dict.fromkeys(shown)]
    assert slides.count('<section class="slide"') == len(found) > 20


def names(page):
    return [fence[1] for fence in figures.FENCE.finditer(page.read_text("utf-8"))]


def test_a_course_can_be_without_solutions(monkeypatch):
    page = "learn/stage1/staging.md"
    text = (DOCS / page).read_text("utf-8")

    def everything():
        notebook = notebooks.notebook(page, text)
        cells = "".join("".join(cell["source"]) for cell in notebook["cells"])
        return notebooks.exercises.on_page_markdown(text), cells

    solution = "return add(mul(c, x), mul(add(1.0, mul(-1.0, c)), y))"
    assert all(solution in each for each in everything())
    monkeypatch.setenv("GLASSJAX_SOLUTIONS", "apart")
    assert not any(solution in each for each in everything())
    assert all("return x if c else y" in each for each in everything())  # the exercise is there
