"""The map on the home page: a table of the stages' rules, found in their sources."""

import sys
from pathlib import Path

import pytest

from glassjax_stage2 import impl_rules, jvp_rules, vmap_rules
from glassjax_stage3 import abstract_eval_rules, lowering_rules
from glassjax_stage4 import transpose_rules

HOOKS = Path(__file__).parents[2] / "docs/hooks"
TABLES = {
    "impl_rules": impl_rules,
    "jvp_rules": jvp_rules,
    "vmap_rules": vmap_rules,
    "abstract_eval_rules": abstract_eval_rules,
    "lowering_rules": lowering_rules,
    "transpose_rules": transpose_rules,
}


@pytest.fixture(scope="module")
def site_map():
    sys.path.insert(0, str(HOOKS))
    try:
        import site_map

        yield site_map
    finally:
        sys.path.remove(str(HOOKS))


def test_the_map_has_a_cell_for_each_rule_of_the_stages(site_map):
    found = {key for key in site_map.rules() if key[1] in TABLES}
    declared = {name for name, table in found if table == "impl_rules"}
    assert len(declared) > 20
    tables = {(str(p), name) for name, table in TABLES.items() for p in table}
    # The library, which other tests import, adds rows.
    assert found == {key for key in tables if key[0] in declared}


def test_a_rule_that_a_page_shows_is_linked_there(site_map):
    rule = site_map.rules()["mul", "jvp_rules"]
    page, anchor = site_map.shown_lines()[rule.file, rule.line]
    assert page.startswith("learn/stage1/")
    assert anchor.startswith("#")
