"""The published site: its address, its versions, and documents of the repository's root."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from mkdocs.utils import yaml_load
from tables import for_each

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs/hooks"))

import root_documents  # noqa: E402
import versions  # noqa: E402


@pytest.fixture
def settings(monkeypatch):
    """Returns a function that reads the site's settings under environment variables."""

    def read(**variables):
        for name in ("GLASSJAX_SITE_URL", "GLASSJAX_REPOSITORY_URL", "GLASSJAX_STRICT"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return yaml_load((ROOT / "mkdocs.yml").read_text("utf-8"))

    return read


def test_the_site_has_no_address_of_its_own(settings):
    address = "https://someone.github.io/a_copy"
    assert settings()["site_url"] is None
    assert settings(GLASSJAX_SITE_URL=address)["site_url"] == address
    assert [settings()["strict"], settings(GLASSJAX_STRICT="true")["strict"]] == [False, True]


def test_only_the_published_site_has_a_menu_of_versions(settings):
    """A site that is alone has no list of versions, for which the menu would ask."""
    assert "mike" not in str(settings()["plugins"])  # which mike adds
    for plugins, extra in ({}, {}), ({"mike": None}, {"version": {"provider": "mike"}}):
        site = versions.on_config(SimpleNamespace(plugins=plugins, extra={}))
        assert site.extra == extra


def test_the_workflow_publishes_main_and_releases():
    workflow = (ROOT / ".github/workflows/site.yml").read_text("utf-8")
    assert "branches: [main]" in workflow
    assert 'tags: ["v*"]' in workflow
    (session,) = re.findall(r"noxw -s ([\w-]+) -- --push", workflow)
    assert f'name="{session}"' in (ROOT / "noxfile.py").read_text("utf-8")


DOCUMENTS = ["use/security.md", "extend/contributing.md", "reference/changelog.md"]


@for_each("page", DOCUMENTS)
def test_a_document_of_the_root_is_a_page(page):
    """In the repository the page is a link to the document, on the site the document."""
    link = root_documents.INCLUDE.fullmatch((ROOT / "docs" / page).read_text("utf-8").strip())
    text = root_documents.with_links((ROOT / link[1]).read_text("utf-8"), page, None)
    for target in re.findall(r"\]\(([^)#:]+)[)#]", text):
        assert (ROOT / "docs" / page).parent.joinpath(target).resolve().is_file(), target
