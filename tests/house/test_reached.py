"""`--changed`: what counts as a change of a function or a file."""

import pytest
import reached

SOURCE = """
import math

SCALE = 2.0


def area(r):
    return math.pi * square(r)


def square(x):
    def times(y):
        return x * y

    return times(x)
"""
CALLED = {("area", 7), ("square", 11)}

CHANGES = {
    "a comment": ("import math\n", "import math  # of the library\n", False),
    "a line above": ("import math\n", "\n\nimport math\n", False),
    "a function that was called": ("return math.pi *", "return 3 *", True),
    "a default value": ("def square(x)", "def square(x=1)", True),
    "a constant of the module": ("SCALE = 2.0", "SCALE = 3.0", True),
    "a function in another, which was not called": ("x * y", "y * x", False),
    "the name of a function that was called": ("def area", "def surface", True),
    "a function more": ("def area", "def other():\n    pass\n\n\ndef area", True),
    "no Python any more": ("def area", "def", True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_what_was_called_or_is_imported(change):
    old, new, expected = CHANGES[change]
    changed = SOURCE.replace(old, new)
    assert changed != SOURCE
    found = reached.differs(SOURCE.encode(), changed.encode(), "packages/circle.py", CALLED)
    assert found == expected


@pytest.mark.parametrize("place", ["tests/test_circle.py", "conftest.py"])
def test_a_test_module_changes_with_its_text(place):
    changed = SOURCE.replace("import math", "import math  # a comment")
    assert reached.differs(SOURCE.encode(), changed.encode(), place, CALLED)


def test_a_file_that_is_read_changes_with_its_text():
    assert reached.differs(b"a", b"b", "README.md", set())


def test_sources_are_files_of_the_repository():
    assert reached.place_of(__file__) == "tests/house/test_reached.py"
    assert reached.place_of(pytest.__file__) is None
    assert reached.place_of(str(reached.ROOT / ".gitignore")) is None
    assert reached.place_of(str(reached.ROOT / "tests")) is None


def test_modules_are_run_again_when_something_they_reach_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(reached, "ROOT", tmp_path)
    reached.place_of.cache_clear()
    file = tmp_path / "circle.py"
    file.write_text(SOURCE)

    def notes(failed=False, is_partial=False):
        made = reached.Reached(tmp_path, "main", is_partial)
        made.called["circle.py"], made.failed = CALLED, failed
        made._write("test_circle.py")
        return reached.Reached(tmp_path, "main", is_partial)

    assert notes(is_partial=True).unaffected() == []  # of a module that was never run whole
    assert notes().unaffected() == ["test_circle.py"]
    assert notes(failed=True).unaffected() == []
    assert notes(is_partial=True).unaffected() == []  # what failed may not be in this part
    assert notes().unaffected() == ["test_circle.py"]
    file.write_text(SOURCE.replace("x * y", "y * x"))
    assert reached.Reached(tmp_path, "main", False).unaffected() == ["test_circle.py"]
    file.write_text(SOURCE.replace("math.pi", "math.tau"))
    assert reached.Reached(tmp_path, "main", False).unaffected() == []
    file.unlink()
    assert reached.Reached(tmp_path, "main", False).unaffected() == []
    reached.place_of.cache_clear()
