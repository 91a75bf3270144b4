"""Runs the cells of a page, and the checks of its exercises, in the browser's Python.

A failure is told as JSON: the kind of error, its message, where it is in the cell or else in the
check, what is written there, the values of its parts if it is an assertion, and the traceback.
"""

import ast
import contextlib
import io
import json
import linecache
import sys
import traceback
from collections.abc import Callable
from types import ModuleType


class Output(io.TextIOBase):
    """What a cell prints, passed on at once."""

    def __init__(self, write: Callable[[str], object]):
        self.pass_on = write
        self.is_empty = True

    def write(self, text: str) -> int:
        self.is_empty = False
        self.pass_on(text)
        return len(text)


CHECK = "<the check>"


class Program:
    """The program of a page, which each of its cells continues."""

    def __init__(self):
        self.module = ModuleType("cells")

    def run(self, code: str, name: str, write: Callable[[str], object]) -> str:
        """Runs a cell. Returns its failure, or nothing."""
        return self.outcome(lambda: execute(code, name, self.module.__dict__, write), name)

    def check(self, code: str, checks: str, name: str, write: Callable[[str], object]) -> str:
        """Runs an exercise and its check, in a namespace that ends with them."""
        trial = dict(self.module.__dict__)

        def both() -> None:
            execute(code, name, trial, write)
            execute(checks, CHECK, trial, write)

        return self.outcome(both, name)

    def outcome(self, program: Callable[[], None], name: str) -> str:
        """Runs a program. Returns its failure as JSON, or nothing."""
        sys.modules["cells"] = self.module  # where dataclasses, for one, look up their modules
        try:
            program()
        except BaseException as error:  # also of sys.exit and of the button that stops a cell
            return json.dumps(failure(error, name))
        return ""


def execute(
    code: str, name: str, namespace: dict[str, object], write: Callable[[str], object]
) -> None:
    """Runs a program. If it prints nothing, the value of its last expression is printed."""
    linecache.cache[name] = len(code), None, code.splitlines(keepends=True), name
    tree = ast.parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    output = Output(write)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        exec(compile(tree, name, "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
            if output.is_empty and value is not None:
                print(repr(value))


def failure(error: BaseException, name: str) -> dict[str, object]:
    trace = traceback.TracebackException.from_exception(error)
    while trace.stack and trace.stack[0].filename == __file__:
        del trace.stack[0]
    places = [(frame.filename, frame.lineno) for frame in trace.stack]
    if isinstance(error, SyntaxError):
        places.append((error.filename, error.lineno))
    lines, line_of_check = ([n for file, n in places if file == f] for f in (name, CHECK))
    where, code, found = "", "", []
    if lines:
        where, code = f"line {lines[-1]}", linecache.getline(name, lines[-1])
    elif line_of_check:
        where, code = f"line {line_of_check[-1]} of the check", asserted(line_of_check[-1])
        if isinstance(error, AssertionError):
            found = parts(code, error)
    return {
        "kind": type(error).__name__,
        "message": getattr(error, "msg", None) or str(error),
        "where": where,
        "code": code.strip(),
        "parts": found,
        "traceback": "".join(trace.format()),
    }


def parts(code: str, error: BaseException) -> list[list[str]]:
    """The parts of an assertion that failed, each with its value, computed again."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    found = []
    for node in values_of(code):
        try:
            program = compile(ast.Expression(node), CHECK, "eval")
            value = eval(program, frame.f_globals, frame.f_locals)
            text, written = repr(value), ast.unparse(node)
        except Exception:  # it depends on what has changed since
            continue
        if text != written and not isinstance(value, type):
            found.append([written, text if len(text) <= 300 else f"{text[:300]}..."])
    return found


def values_of(code: str) -> list[ast.expr]:
    """What an assertion compares, passes to a function, or denies."""
    try:
        tree = ast.parse(f"({code})", mode="eval").body
    except SyntaxError:  # another statement raised the error
        return []
    match tree:
        case ast.Compare(left, _, others):
            return [left, *others]
        case ast.Call(_, arguments):
            return arguments
        case ast.UnaryOp(ast.Not(), operand):
            return [operand]
    return [tree]


def asserted(line: int) -> str:
    """What the check asserts in a line, or else the line."""
    code = "".join(linecache.getlines(CHECK))
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assert) and node.lineno <= line <= node.end_lineno:
            return ast.get_source_segment(code, node.test)
    return linecache.getline(CHECK, line)
