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
    """Functions or rules to write."""

    number: int
    law: str  # what holds once it is written
    marks: int  # of a hundred for the four stages
    file: str
    # Functions of the file, `Class.method` for methods; or the beginnings of statements at its top,
    # such as `defjvp(p.sin_p`, which give a primitive its rule.
    names: tuple[str, ...]
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
            marks=each["marks"],
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
    return ROOT / "packages" / stage / "src" / f"glassjax_{stage}"


def folder_of_tests(stage: str) -> Path:
    return ROOT / "packages" / stage / "tests"


def blanked(text: str, step: Step) -> str:
    """A program without the rules of a step, and with only the docstrings of its functions."""
    lines = text.splitlines(keepends=True)
    found = [(definition(ast.parse(text), name), name) for name in step.names]
    for node, name in sorted(found, key=lambda each: -each[0].lineno):  # the last one first
        start, margin, instead = node.lineno, "", f"# Write `{name}` ... here."
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            start = body[0].lineno if body else node.end_lineno + 1
            margin, instead = " " * node.body[0].col_offset, blank(step, name)
        lines[start - 1 : node.end_lineno] = [f"{margin}# Step {step}.\n", f"{margin}{instead}\n"]
    return "".join(lines)


def is_blank(text: str, step: Step, name: str) -> bool:
    """Return True if a program has nothing yet of what a step names."""
    if is_rule(name):
        return not any(line.startswith(name) for line in text.splitlines())
    return blank(step, name) in text


def is_rule(name: str) -> bool:
    return "(" in name or "[" in name


def blank(step: Step, name: str) -> str:
    """The line that stands where a function is to be written."""
    return f'raise NotImplementedError("step {step.number}: write `{name}`")'


def definition(tree: ast.AST, name: str) -> ast.stmt:
    """The statement of a rule, or the function of a name, the last one where it is overloaded."""
    if is_rule(name):
        (rule,) = (node for node in tree.body if ast.unparse(node).startswith(name))
        return rule
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
