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
import glassjax_stage4

README = Path(__file__).parents[1] / "README.md"
FILES = [
    module.name.removeprefix("glassjax_stage4.")
    for module in pkgutil.walk_packages(glassjax_stage4.__path__, "glassjax_stage4.")
]
STAGES = (glassjax_stage2, glassjax_stage3, glassjax_stage4)


@pytest.mark.parametrize("name", FILES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"glassjax_stage4.{name}")
    namespace = {key: x for source in (*STAGES, module) for key, x in vars(source).items()}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in doctest.DocTestFinder().find(module, extraglobs=namespace):
        runner.run(test)
    assert runner.summarize().failed == 0


def test_the_program_in_the_readme_prints_what_the_readme_shows():
    blocks = re.search(r"```python\n(.*?)```.*?```text\n(.*?)```", readme(), re.DOTALL)
    program, output = blocks.groups()
    assert run(program) == output


def test_the_readme_lists_every_file_once_in_reading_order():
    files = re.compile(r"\(src/glassjax_stage4/(\w+)\.py\)")
    in_order, looked_up = map(files.findall, readme().split("For reference:"))
    assert sorted(in_order + looked_up) == sorted(FILES)
    for position, name in enumerate(in_order):
        imports = set(re.findall(r"(?m)^from glassjax_stage4\.(\w+) import", source(name)))
        assert imports <= {*in_order[:position], *looked_up}, f"{name} needs what is later"


def test_what_the_package_offers_is_listed():
    assert len({*glassjax_stage4.__all__}) == len(glassjax_stage4.__all__)
    for name in glassjax_stage4.__all__:
        assert getattr(glassjax_stage4, name).__doc__ or name.endswith(("_rules", "_p"))


def test_no_file_name_is_reserved_on_any_system():
    assert not {"aux", "con", "nul", "prn"}.intersection(FILES)


def test_the_stage_needs_nothing_new():
    """And differentiating numbers does not even load jaxlib."""
    imported = run(
        "import sys; before = set(sys.modules); import glassjax_stage4, glassjax_stage4.tape\n"
        "glassjax_stage4.grad(lambda x: x * x)(1.0)\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})\n"
    )
    needed = {name for name in imported.split() if not name.startswith("_")}
    own = {"glassjax_stage1", "glassjax_stage2", "glassjax_stage3", "glassjax_stage4", "numpy"}
    assert needed - sys.stdlib_module_names <= own


def readme():
    return README.read_text(encoding="utf-8")


def source(name):
    path = Path(glassjax_stage4.__file__).parent / f"{name}.py"
    return path.read_text(encoding="utf-8")


def run(program):
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return result.stdout
