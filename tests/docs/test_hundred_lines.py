"""The hundred lines: few, shown, and right; and what later chapters quote of them."""

import ast
import math
import re
import sys
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs/hooks"))

import chapters  # noqa: E402
import hundred_lines  # noqa: E402
from blocks import blocks  # noqa: E402

CELLS = [
    block
    for block in blocks((ROOT / "docs" / hundred_lines.PAGE).read_text("utf-8"))
    if block.kind == "exec"
]


@pytest.fixture
def zero():
    """The names that the hundred lines define, without the cells that use them."""
    names = {}
    exec(hundred_lines.program().text, names)
    return names


def test_they_are_at_most_a_hundred_and_all_are_shown():
    assert len(hundred_lines.lines_of(hundred_lines.program().text)) <= 100
    assert all(block.is_shown for block in CELLS)
    assert max(len(line) for block in CELLS for line in block.code.splitlines()) <= 80


def test_they_have_no_types_and_no_errors():
    nodes = list(ast.walk(ast.parse(hundred_lines.program().text)))
    assert not any(isinstance(node, ast.Raise | ast.Assert | ast.AnnAssign) for node in nodes)
    assert not any(node.annotation for node in nodes if isinstance(node, ast.arg))
    imports = [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    assert set(imports) <= sys.stdlib_module_names


def test_cells_that_use_them_do_not_change_them():
    defined = set(ast_names(hundred_lines.program().text))
    for block in CELLS:
        if not hundred_lines.is_part(block):
            assert not defined & set(ast_names(block.code))


def ast_names(code):
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.Assign):
            targets = [name for target in node.targets for name in ast.walk(target)]
            yield from (name.id for name in targets if isinstance(name, ast.Name))


def test_every_pair_of_derivatives_is_the_second_derivative(zero):
    def f(x):
        return zero["mul"](x, zero["sin"](zero["add"](x, 1.0)))

    def derivative(f):
        return lambda x: zero["jvp"](f, x, 1.0)[1]

    def staged(f):
        return lambda x: zero["eval_jaxpr"](zero["make_jaxpr"](f, "x"), x)

    def mapped(f):
        return lambda x: zero["vmap"](f)([x, x])[1]

    second = 2.0 * math.cos(1.5) - 0.5 * math.sin(1.5)
    for inner, outer in product((derivative, zero["grad"]), repeat=2):
        for around in (lambda f: f, staged, mapped):
            assert around(outer(around(inner(f))))(0.5) == pytest.approx(second)


def test_boxes_of_nested_interpreters_are_kept_apart(zero):
    def is_one(d):  # the derivative of x times that of x + y by y
        return d(lambda x: zero["mul"](x, d(lambda y: zero["add"](x, y))(1.0)))(1.0) == 1.0

    assert is_one(zero["grad"])
    assert is_one(lambda f: lambda x: zero["jvp"](f, x, 1.0)[1])

    def times_three(x):
        inner = zero["make_jaxpr"](lambda y: zero["mul"](x, y), "x")
        return zero["eval_jaxpr"](inner, 3.0)

    assert zero["eval_jaxpr"](zero["make_jaxpr"](times_three, "x"), 10.0) == 30.0


def test_constant_functions_have_programs_and_derivatives(zero):
    assert zero["eval_jaxpr"](zero["make_jaxpr"](lambda x: 5.0, "x"), 1.0) == 5.0
    assert zero["jvp"](lambda x: 5.0, 1.0, 1.0) == (5.0, 0.0)
    assert zero["vmap"](lambda x: 5.0)([1.0, 2.0]) == [5.0, 5.0]
    assert zero["vjp"](lambda x, y: x, 1.0, 1.0, 2.0) == [1.0, 0.0]


def test_an_interpreter_that_fails_is_left(zero):
    with pytest.raises(ZeroDivisionError):
        zero["jvp"](lambda x: 1 / 0, 1.0, 1.0)
    assert zero["stack"] == [zero["evaluate"]]


def test_the_first_gradient_takes_a_quarter_of_an_hour():
    page = (ROOT / "docs" / hundred_lines.PAGE).read_text("utf-8")
    before, found, _ = page.partition("print(grad(foo)(2.0))")
    assert found
    assert chapters.minutes(f"{before}\n```\n") <= 15


def test_titles_count_the_lines():
    page = (ROOT / "docs" / hundred_lines.PAGE).read_text("utf-8")
    spans = re.findall(r'title="lines (\d+) to (\d+)"', hundred_lines.with_counts(page))
    last = 0
    for first, end in spans:
        assert int(first) == last + 1
        last = int(end)
    assert last == len(hundred_lines.lines_of(hundred_lines.program().text))


def test_later_chapters_grow_every_line():
    chapters = [path.read_text("utf-8") for path in (ROOT / "docs/learn").rglob("*.md")]
    quoted = {
        number
        for fence in hundred_lines.FENCE.finditer("\n".join(chapters))
        for item in fence[1].split("; ")
        for number in hundred_lines.program().numbers(item)
    }
    lines = hundred_lines.program().lines
    missing = [line for n, line in enumerate(lines, 1) if line.strip() and n not in quoted]
    assert [line for line in missing if not line.startswith(("import ", "class "))] == []


def test_a_quotation_counts_and_shows_its_lines():
    filled = hundred_lines.filled('```python grows="JVP.rule; jvp"\n```\n')
    _, comment, *code, _ = filled.splitlines()
    first, last = map(int, re.findall(r"\d+", comment.partition("·")[2]))
    assert len(hundred_lines.lines_of("\n".join(code))) == last - first + 2  # with the class line
    assert code[:2] == ["class JVP(Interpreter):", "    def rule(self, op, *duals):"]
    assert hundred_lines.filled(filled) == filled
    assert f'title="{comment[2:]}"' in hundred_lines.with_titles(filled)
    with pytest.raises(LookupError, match="has no pmap"):
        hundred_lines.filled('```python grows="pmap"\n```\n')
