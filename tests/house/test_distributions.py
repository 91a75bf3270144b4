"""What an index shows of every distribution: the metadata that its wheel gets."""

import re
import tomllib
from email import message_from_string
from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.metadata.spec import construct_metadata_file_2_4
from hatchling.plugin.manager import PluginManager
from packaging.requirements import Requirement
from packaging.version import Version
from tables import for_each

ROOT = Path(__file__).parents[2]
PROJECTS = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
REPOSITORY = "https://example.org/glassjax"
TARGET = re.compile(r"\]\(([^)\s]+)\)")

every_distribution = for_each("project", PROJECTS, ids=[project.name for project in PROJECTS])


def metadata_of(project):
    text = construct_metadata_file_2_4(ProjectMetadata(str(project), PluginManager()))
    return message_from_string(text)


def requirements_of(project):
    return {
        requirement.name: requirement
        for requirement in map(Requirement, metadata_of(project).get_all("Requires-Dist", []))
    }


def version():
    return (ROOT / "VERSION").read_text(encoding="utf-8").strip()


def folder_of_the_site():
    """Where the site has this version."""
    return "dev" if version().endswith(".dev0") else version()


@pytest.fixture
def published(monkeypatch):
    monkeypatch.setenv("GLASSJAX_REPOSITORY_URL", REPOSITORY)
    monkeypatch.setenv("GLASSJAX_SITE_URL", "https://example.org/docs")


def test_there_are_eight():
    names = {metadata_of(project)["Name"] for project in PROJECTS}
    stages = {f"glassjax-stage{number}" for number in (1, 2, 3, 4)}
    others = {"glassjax", "glassjax-watch", "glassjax-compiled", "glassjax-as-jax"}
    assert names == stages | others


@every_distribution
def test_it_says_whose_it_is_and_where_more_is_said(project, published):
    metadata = metadata_of(project)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Author"] == "The glassjax authors"
    assert "jax" in metadata["Keywords"].split(",")
    links = dict(url.split(", ") for url in metadata.get_all("Project-URL"))
    assert set(links) == {"Documentation", "Source", "Issues", "Changelog"}
    assert links["Documentation"] == f"https://example.org/docs/{folder_of_the_site()}/"


@every_distribution
def test_it_has_the_license_and_an_sdist_turns_the_hook_off(project):
    assert (project / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert metadata_of(project).get_all("License-File") == ["LICENSE"]
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    included = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["force-include"]
    (source,) = [source for source, target in included.items() if target == "hatch.toml"]
    assert tomllib.loads((project / source).read_text(encoding="utf-8"))["metadata"] == {}


@every_distribution
def test_links_of_its_readme_lead_to_files_of_the_repository(project, published):
    targets = TARGET.findall(metadata_of(project).get_payload())
    places = [target.removeprefix(f"{REPOSITORY}/blob/main/") for target in targets]
    assert places != targets or not targets
    assert [place for place in places if not (ROOT / place).is_file()] == []


@every_distribution
def test_its_readme_has_no_links_where_no_repository_is_named(project, monkeypatch):
    monkeypatch.delenv("GLASSJAX_REPOSITORY_URL", raising=False)
    assert TARGET.findall(metadata_of(project).get_payload()) == []


@every_distribution
def test_it_requires_others_of_the_same_version(project):
    required = requirements_of(project).values()
    siblings = [each for each in required if each.name.startswith("glassjax")]
    assert all(str(each.specifier) == f"=={version()}" for each in siblings)
    assert siblings or project.name == "stage1"


def test_it_is_for_the_pythons_that_wheels_are_tried_on():
    sessions = re.search(r"PYTHONS = \(([^)]*)\)", (ROOT / "noxfile.py").read_text())[1]
    prefix = "Programming Language :: Python :: 3."
    classifiers = metadata_of(PROJECTS[0]).get_all("Classifier")
    minors = [each.removeprefix(prefix) for each in classifiers if each.startswith(prefix)]
    assert [f"3.{minor}" for minor in minors] == re.findall(r"[\d.]+", sessions)


def test_jaxlib_has_a_window_and_its_plugin_an_equal_end():
    window = requirements_of(ROOT / "packages/stage3")["jaxlib"].specifier
    inside, outside = ("0.10.1", "0.11.2", "0.12.0.1"), ("0.10.0", "0.10.2", "0.13.0", "1.0")
    assert all(window.contains(each) for each in inside)
    assert not any(window.contains(each) for each in outside)
    plugin = requirements_of(ROOT / "packages/glassjax")["jax-cuda13-plugin"].specifier
    ends = [
        {each.version for each in specifiers if each.operator == "<"}
        for specifiers in (window, plugin)
    ]
    assert ends[0] == ends[1] == {"0.13"}
    oracle = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["oracle"]
    assert Requirement(oracle[0]).specifier == window


def test_what_is_not_released_is_a_development_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert Version(version()).is_devrelease == (f"[{version()}]" not in changelog)
