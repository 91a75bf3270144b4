"""What the documentation shows is what runs."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minijax

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
MODULES = [m.name for m in pkgutil.walk_packages(minijax.__path__, "minijax.")]


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings(module):
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_the_program_in_the_readme_prints_what_the_readme_shows():
    program, output = re.search(
        r"```python\n(.*?)```.*?```text\n(.*?)```", README, re.DOTALL
    ).groups()
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout == output


def test_the_readme_lists_every_file_once():
    listed = re.findall(r"\(src/minijax/([\w/]+\.py)\)", README)
    source = Path(minijax.__file__).parent
    assert sorted(listed) == sorted(f.relative_to(source).as_posix() for f in source.rglob("*.py"))
