"""Runs the cells of a page, and the checks of its exercises, in the browser's Python.

A failure is told as JSON: the kind of error, its message, where it is in the cell or else in the
check, what is written there, what the check found instead, and the traceback.
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

Namespace = dict[str, object]


class Output(io.TextIOBase):
    """What a cell prints, passed on at once."""

    def __init__(self, write: Callable[[str], object]):
        self.pass_on = write
        self.is_empty = True

    def write(self, text: str) -> int:
        self.is_empty = False
        self.pass_on(text)
        return len(text)


def new_namespace() -> Namespace:
    """The names of a program; dataclasses, for one, look up its module."""
    module = sys.modules["cells"] = ModuleType("cells")
    return module.__dict__


page = new_namespace()


CHECK = "<the check>"


def run(code: str, name: str, write: Callable[[str], object]) -> str:
    """Runs a cell in the page's namespace. Returns its failure, or nothing."""
    return outcome(lambda: execute(code, name, page, write), name)


def check(code: str, checks: str, name: str, write: Callable[[str], object]) -> str:
    """Runs an exercise and its check, in a namespace that ends with them."""
    trial = dict(page)

    def both() -> None:
        execute(code, name, trial, write)
        execute(checks, CHECK, trial, write)

    return outcome(both, name)


def execute(code: str, name: str, namespace: Namespace, write: Callable[[str], object]) -> None:
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


def outcome(program: Callable[[], None], name: str) -> str:
    """Runs a program. Returns its failure as JSON, or nothing."""
    try:
        program()
    except BaseException as error:  # also of sys.exit and of the button that stops a cell
        return json.dumps(failure(error, name))
    return ""


def failure(error: BaseException, name: str) -> dict[str, str]:
    trace = traceback.TracebackException.from_exception(error)
    while trace.stack and trace.stack[0].filename == __file__:
        del trace.stack[0]
    places = [(frame.filename, frame.lineno) for frame in trace.stack]
    if isinstance(error, SyntaxError):
        places.append((error.filename, error.lineno))
    lines, line_of_check = ([n for file, n in places if file == f] for f in (name, CHECK))
    where, code, found = "", "", ""
    if lines:
        where, code = f"line {lines[-1]}", linecache.getline(name, lines[-1])
    elif line_of_check:
        where, code = f"line {line_of_check[-1]} of the check", asserted(line_of_check[-1])
        if isinstance(error, AssertionError):
            found = compared(code, error)
    return {
        "kind": type(error).__name__,
        "message": getattr(error, "msg", None) or str(error),
        "where": where,
        "code": code.strip(),
        "found": found,
        "traceback": "".join(trace.format()),
    }


def compared(code: str, error: BaseException) -> str:
    """The value of the left side of a comparison that failed, computed again."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    try:
        left = ast.parse(f"({code})", mode="eval").body.left
        value = eval(compile(ast.Expression(left), CHECK, "eval"), frame.f_globals, frame.f_locals)
        text = repr(value)
    except Exception:  # it is no comparison, or depends on what has changed since
        return ""
    return text if len(text) <= 300 else f"{text[:300]}..."


def asserted(line: int) -> str:
    """What the check asserts in a line, or else the line."""
    code = "".join(linecache.getlines(CHECK))
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assert) and node.lineno <= line <= node.end_lineno:
            return ast.get_source_segment(code, node.test)
    return linecache.getline(CHECK, line)
