"""The reference of the site: each public name is on one page, under its own heading."""

import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

from tables import for_each

HOOKS = Path(__file__).parents[2] / "docs/hooks"
sys.path.insert(0, str(HOOKS))

import families  # noqa: E402
import listing  # noqa: E402

SPLIT = sorted({page.modules[0] for page in families.PAGES if page.rooms is not None})
MODULES = sorted({module for page in families.PAGES for module in page.modules})
EXPERIMENTAL = importlib.import_module("glassjax.experimental").__path__
# Not the stages; nor distributions, whose modules say what the parameters of their functions are.
PUBLIC = [
    *(name for name in MODULES if not re.match(r"glassjax_stage|glassjax\.scipy\.stats\.", name)),
    *(module.name for module in pkgutil.walk_packages(EXPERIMENTAL, "glassjax.experimental.")),
]


@for_each("module", SPLIT)
def test_each_public_name_is_in_one_family(module):
    names = families.public_names(module)
    found = {name: [page.path for page in families.families_of(module, name)] for name in names}
    assert {name: paths for name, paths in found.items() if len(paths) != 1} == {}


def test_no_family_and_no_room_is_empty():
    for page in families.PAGES:
        assert any(page.names(module) for module in page.modules), page.path
    for page in families.PAGES:
        homes = [
            families.home_of(getattr(importlib.import_module(page.modules[0]), name))
            for name in page.names(page.modules[0])
        ]
        for room in page.rooms or ():
            named = room.removeprefix(".") in page.names(page.modules[0])
            assert named or any(f"{home}.".startswith(f"{room}.") for home in homes), room


def test_every_module_that_has_examples_has_a_page():
    tests = Path(__file__).parents[2] / "packages/glassjax/tests/house/test_documents.py"
    text = tests.read_text(encoding="utf-8")
    listed = re.search(r"WITH_EXAMPLES = \[(.*?)\]", text, re.DOTALL)[1]
    assert set(re.findall(r'"([\w.]+)"', listed)) <= set(MODULES)


@for_each("module", MODULES)
def test_signatures_fit_on_the_page(module):
    namespace = importlib.import_module(module)
    for name in families.public_names(module):
        value = getattr(namespace, name)
        if listing.is_documented(value):
            shown = listing.signature(listing.shown_name(module, name), value)
            assert max(map(len, shown.splitlines())) <= 80
            assert not re.search(r" at 0x|/(home|tmp|work)/|TYPE_CHECKING|<(?!unnamed>)", shown), (
                shown
            )


@for_each("module", sorted(set(PUBLIC)))
def test_functions_of_three_parameters_describe_each(module):
    namespace = importlib.import_module(module)
    for name in getattr(namespace, "__all__", ()):
        value = getattr(namespace, name)
        if isinstance(value, type) or not listing.is_documented(value):
            continue
        described = {name.lstrip("*") for name in listing.documented(value, "Arguments")}
        parameters = inspect.signature(value).parameters
        public = {name for name in parameters if not name.startswith("_")}
        if described or len(public) >= 3:
            assert described - {"_"} == public, f"{module}.{name}"
