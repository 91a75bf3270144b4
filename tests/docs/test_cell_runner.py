"""Live cells of the site: the message of a failed check."""

import importlib.util
import json
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "docs/assets/cells/cell_runner.py"


@pytest.fixture
def runner():
    spec = importlib.util.spec_from_file_location("cell_runner", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_check_that_fails_says_what_was_found(runner, subtests):
    for check, code, found in [
        ("assert f(2) == 5", "f(2) == 5", "4"),
        ("for x in [3]:\n    assert f(x) == (\n    7)", "f(x) == (\n    7)", "6"),
        ("assert not f(2)", "not f(2)", ""),
        ("calls = [4]\nassert calls.pop() == 3", "calls.pop() == 3", ""),
        ("raise AssertionError", "raise AssertionError", ""),
    ]:
        with subtests.test(check):
            said = json.loads(runner.check("def f(x):\n    return 2 * x", check, "<cell>", print))
            assert (said["kind"], said["code"], said["found"]) == ("AssertionError", code, found)
    assert runner.check("x = 1", "assert x == 1", "<cell>", print) == ""
