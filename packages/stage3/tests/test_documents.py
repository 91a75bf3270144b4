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
import glassjax_stage3

README = Path(__file__).parents[1] / "README.md"
MODULES = [
    module.name.removeprefix("glassjax_stage3.")
    for module in pkgutil.walk_packages(glassjax_stage3.__path__, "glassjax_stage3.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"glassjax_stage3.{name}")
    namespace = {**vars(glassjax_stage2), **vars(glassjax_stage3), **vars(module)}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in doctest.DocTestFinder().find(module, extraglobs=namespace):
        runner.run(test)
    assert runner.summarize().failed == 0


def test_the_program_in_the_readme_prints_what_the_readme_shows():
    blocks = re.search(r"```python\n(.*?)```.*?```text\n(.*?)```", readme(), re.DOTALL)
    program, output = blocks.groups()
    assert run(program) == output


def test_the_readme_lists_every_file_once_in_reading_order():
    files = re.compile(r"\(src/glassjax_stage3/(\w+)\.py\)")
    in_order, looked_up = map(files.findall, readme().split("For reference:"))
    assert sorted(in_order + looked_up) == sorted(MODULES)
    for position, name in enumerate(in_order):
        imports = set(re.findall(r"(?m)^from glassjax_stage3\.(\w+) import", source(name)))
        assert imports <= {*in_order[:position], *looked_up}, f"{name} needs what is later"


def test_one_module_knows_jaxlib():
    for name in MODULES:
        if name != "backend":
            assert not re.search(r"^\s*(import|from) jaxlib", source(name), re.M)


def test_the_stage_needs_nothing_but_jaxlib_and_the_stages_before():
    """And jaxlib only once something is compiled, and never jax."""
    imported = run(
        "import sys; before = set(sys.modules); import glassjax_stage3\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})\n"
        "glassjax_stage3.jit(lambda x: x + 1)(1.0)\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    first, then = (
        {name for name in line.split() if not name.startswith("_")} - sys.stdlib_module_names
        for line in imported.splitlines()
    )
    own = {"glassjax_stage1", "glassjax_stage2", "glassjax_stage3", "numpy"}
    assert first <= own
    assert {"jaxlib"} <= then - own <= {"jaxlib", "ml_dtypes"}


def readme():
    return README.read_text(encoding="utf-8")


def source(name):
    path = Path(glassjax_stage3.__file__).parent / f"{name.replace('.', '/')}.py"
    return path.read_text(encoding="utf-8")


def run(program):
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return result.stdout
