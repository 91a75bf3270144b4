"""What the documentation shows is what runs."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import glassjax_stage1

README = Path(__file__).parents[1] / "README.md"
MODULES = [module.name for module in pkgutil.iter_modules(glassjax_stage1.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"glassjax_stage1.{name}")
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_the_program_in_the_readme_prints_what_the_readme_shows():
    blocks = re.search(r"```python\n(.*?)```.*?```text\n(.*?)```", readme(), re.DOTALL)
    program, output = blocks.groups()
    assert run(program) == output


def test_the_readme_lists_every_file_once_in_reading_order():
    files = re.compile(r"\(src/glassjax_stage1/(\w+)\.py\)")
    in_order = files.findall(readme())
    assert sorted(in_order) == sorted(MODULES)
    for position, name in enumerate(in_order):
        imports = set(re.findall(r"(?m)^from glassjax_stage1\.(\w+) import", source(name)))
        assert imports <= {*in_order[:position]}, f"{name} needs what is later"


def test_the_stage_needs_nothing_but_python():
    imported = run(
        "import sys; before = set(sys.modules); import glassjax_stage1;"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    assert set(imported.split()) - {"glassjax_stage1"} <= sys.stdlib_module_names


def readme():
    return README.read_text(encoding="utf-8")


def source(name):
    return (Path(glassjax_stage1.__file__).parent / f"{name}.py").read_text(encoding="utf-8")


def run(program):
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return result.stdout
