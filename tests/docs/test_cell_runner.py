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
    for check, code, parts in [
        ("assert f(2) == 5", "f(2) == 5", [["f(2)", "4"]]),
        ("x = 3\nassert f(2) < x", "f(2) < x", [["f(2)", "4"], ["x", "3"]]),
        ("for x in [3]:\n    assert f(x) == (\n    7)", "f(x) == (\n    7)", [["f(x)", "6"]]),
        ("assert not f(2)", "not f(2)", [["f(2)", "4"]]),
        ("assert isinstance(f(2), str)", "isinstance(f(2), str)", [["f(2)", "4"]]),
        ("calls = [4]\nassert calls.pop() == 3", "calls.pop() == 3", []),
        ("raise AssertionError", "raise AssertionError", []),
    ]:
        with subtests.test(check):
            program = runner.Program()
            told = json.loads(program.check("def f(x):\n    return 2 * x", check, "<cell>", print))
            assert (told["kind"], told["code"]) == ("AssertionError", code)
            assert told["parts"] == parts
    assert runner.Program().check("x = 1", "assert x == 1", "<cell>", print) == ""


def test_programs_have_names_of_their_own(runner):
    one, other = runner.Program(), runner.Program()
    assert one.run("name = 1", "<cell>", print) == ""
    assert json.loads(other.run("name", "<cell>", print))["kind"] == "NameError"
    assert one.run("assert name == 1", "<cell>", print) == ""
