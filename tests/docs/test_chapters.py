"""The path through the tutorial: numbers, prerequisites, minutes."""

import sys
from pathlib import Path

import pytest
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import get_files
from mkdocs.structure.nav import get_navigation

sys.path.insert(0, str(Path(__file__).parents[2] / "docs/hooks"))

import chapters

PAGES = {
    "index.md": "# Learn",
    "zero.md": "# Begin",
    "one/index.md": "# Part one",
    "one/a.md": "---\nneeds: [../zero.md]\nskip: [Later]\n---\n\n# Terms: `a`\n\n## Later\n",
    "one/b.md": "---\nneeds: [a.md]\nskip: all\n---\n\n# Of `b`\n",
    "two.md": "# Two",
}
NAV = [
    {"Learn": ["index.md", "zero.md", {"One": ["one/index.md", "one/a.md", "one/b.md"]},
               {"Two": ["two.md"]}]}
]  # fmt: skip


@pytest.fixture
def number(tmp_path):
    """Returns a function that numbers the chapters of pages; some may differ from `PAGES`."""

    def numbered(**changed):
        for name, text in (
            PAGES | {f"{key}.md".replace("__", "/"): changed[key] for key in changed}
        ).items():
            file = tmp_path / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        config = MkDocsConfig()
        config.load_dict({"site_name": "", "docs_dir": str(tmp_path), "nav": NAV})
        assert config.validate()[0] == []
        nav = get_navigation(get_files(config), config)
        chapters.number_chapters(nav)
        return nav

    return numbered


def test_numbers_follow_the_navigation(number):
    nav = number()
    titles = {page.file.src_uri: page.title for page in nav.pages if page.file.name != "index"}
    assert titles == {
        "zero.md": "0.1 Begin",
        "one/a.md": "1.1 Terms: a",
        "one/b.md": "1.2 Of b",
        "two.md": "2.1 Two",
    }
    assert [child.title for child in nav.items[0].children[2:]] == ["1. One", "2. Two"]


def test_chapter_says_what_it_needs_and_what_can_wait(number):
    number()
    first, second = (chapters.about(chapters.by_page[f"one/{name}.md"]) for name in "ab")
    wait = "On a first reading, skip [Later](#later)."
    assert first == f"1 minute. It builds on [0.1 Begin](../zero.md). {wait}"
    assert second == "1 minute. It builds on [1.1 Terms: `a`](a.md). It can wait until you need it."


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (
            "---\nneeds: [b.md]\n---\n# A",
            r"one/a.md needs one/b.md, which is not a chapter before it",
        ),
        ("---\nneeds: [c.md]\n---\n# A", "one/a.md needs one/c.md"),
        ("---\nskip: [Nothing]\n---\n# A", "one/a.md has no section 'Nothing' to skip"),
    ],
)
def test_what_is_wrong_ends_the_build(number, page, problem):
    with pytest.raises(PluginError, match=problem):
        number(one__a=page)


def test_minutes_count_words_and_lines():
    words = "word " * 400
    code = "```python\n" + "x = 1\n\n" * 20 + "```\n"
    folded = f'<details markdown="1"><summary>More</summary>\n\n{code}\n</details>\n'
    assert chapters.minutes(words) == 2
    assert chapters.minutes(f"{words}\n\n{code}") == 4
    assert chapters.minutes(f"{words}\n\n{code}{folded}\n## Exercises\n\n{code}") == 4
