"""The pages of use: each says what its reader can do then, is short, and has a link to it."""

import ast
import re
from pathlib import Path

from tables import for_each

USE = Path(__file__).parents[2] / "docs/use"
# A page that is only a link shows a document of the root: `docs/hooks/root_documents.py`.
PAGES = [page for page in sorted(USE.glob("*.md")) if page.read_text(encoding="utf-8")[0] == "#"]
every_page = for_each("page", PAGES, ids=[page.stem for page in PAGES])

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.M | re.S)


@every_page
def test_a_page_begins_with_what_its_reader_can_do(page):
    title, opening = page.read_text(encoding="utf-8").split("\n\n", 2)[:2]
    assert title.startswith("# ")
    assert opening.startswith("After this page you ")


@every_page
def test_a_page_is_read_in_ten_minutes(page):
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    assert len(prose.split()) < 2000


@every_page
def test_the_entrance_leads_to_every_page(page):
    links = re.findall(r"\]\((\w+\.md)", (USE / "index.md").read_text(encoding="utf-8"))
    assert page.name in {*links, "index.md"}


@every_page
def test_programs_are_python(page):
    """Those of other libraries, which the build does not run, too."""
    for language, program in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            ast.parse(program)
