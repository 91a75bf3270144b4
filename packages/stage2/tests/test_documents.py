"""What the documentation shows is what runs."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import glassjax_stage2

README = Path(__file__).parents[1] / "README.md"
MODULES = [
    module.name.removeprefix("glassjax_stage2.")
    for module in pkgutil.walk_packages(glassjax_stage2.__path__, "glassjax_stage2.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"glassjax_stage2.{name}")
    finder = doctest.DocTestFinder()
    namespace = {**vars(glassjax_stage2), **vars(module)}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in finder.find(module, extraglobs=namespace):
        runner.run(test)
    assert runner.summarize().failed == 0


def test_the_program_in_the_readme_prints_what_the_readme_shows():
    blocks = re.search(r"```python\n(.*?)```.*?```text\n(.*?)```", readme(), re.DOTALL)
    program, output = blocks.groups()
    assert run(program) == output


def test_the_readme_lists_every_file_once_in_reading_order():
    files = re.compile(r"\(src/glassjax_stage2/(\w+)\.py\)")
    in_order, looked_up = map(files.findall, readme().split("For reference:"))
    assert sorted(in_order + looked_up) == sorted(MODULES)
    for position, name in enumerate(in_order):
        imports = set(re.findall(r"(?m)^from glassjax_stage2\.(\w+) import", source(name)))
        assert imports <= {*in_order[:position], *looked_up}, f"{name} needs what is later"


def test_the_stage_needs_nothing_but_numpy_and_stage_1():
    imported = run(
        "import sys; before = set(sys.modules); import glassjax_stage2;"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    needed = {name for name in imported.split() if not name.startswith("_")}
    assert needed - {"glassjax_stage1", "glassjax_stage2", "numpy"} <= sys.stdlib_module_names


def readme():
    return README.read_text(encoding="utf-8")


def source(name):
    path = Path(glassjax_stage2.__file__).parent / f"{name}.py"
    return path.read_text(encoding="utf-8")


def run(program):
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return result.stdout
