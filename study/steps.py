"""The steps of a study: what is left blank in a stage, and the tests that say whether it holds.

`stage1.toml` and so on describe them, in the order in which the tutorial teaches them.
"""

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
STAGES = ("stage1", "stage2", "stage3", "stage4")


@dataclass(frozen=True)
class Step:
    """A function to write."""

    number: int
    law: str  # what holds once it is written
    file: str
    names: tuple[str, ...]  # of functions in the file, `Class.method` for methods
    hint: str
    chapter: str  # of the tutorial
    # Names of tests, `file.py::test` or `file.py::test[case]`, that fail without the function, and
    # need no later step.
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.number}. {self.law}"


def steps_of(stage: str) -> list[Step]:
    """The steps of a stage, in order."""
    table = tomllib.loads((Path(__file__).parent / f"{stage}.toml").read_text(encoding="utf-8"))
    return [
        Step(
            number=number,
            law=each["law"],
            file=each["file"],
            names=tuple(each["names"]),
            hint=" ".join(each["hint"].split()),
            chapter=each["chapter"],
            tests=tuple(each["tests"]),
        )
        for number, each in enumerate(table["step"], start=1)
    ]


def package_of(stage: str) -> Path:
    """Where the sources of a stage are."""
    return ROOT / "packages" / stage / "src" / f"minijax_{stage}"


def folder_of_tests(stage: str) -> Path:
    return ROOT / "packages" / stage / "tests"


def blanked(text: str, step: Step) -> str:
    """A program in which the functions of a step have no bodies but their docstrings."""
    lines = text.splitlines(keepends=True)
    functions = [(definition(ast.parse(text), name), name) for name in step.names]
    for function, name in sorted(functions, key=lambda each: -each[0].lineno):  # the last one first
        body = function.body[1:] if ast.get_docstring(function) else function.body
        start = body[0].lineno if body else function.end_lineno + 1
        margin = " " * function.body[0].col_offset
        lines[start - 1 : function.end_lineno] = [
            f"{margin}# Step {step}.\n",
            f"{margin}{blank(step, name)}\n",
        ]
    return "".join(lines)


def blank(step: Step, name: str) -> str:
    """The line that stands where a function is to be written."""
    return f'raise NotImplementedError("step {step.number}: write `{name}`")'


def definition(tree: ast.AST, name: str) -> ast.FunctionDef:
    """The function of a name, the last one where it is overloaded."""
    for part in name.split("."):
        found = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part
        ]
        if not found:
            raise LookupError(f"no definition of {name}")
        tree = found[-1]
    return tree
