"""The recorder for traces, whose rules are in tables, and whose values are arrays."""

import ast
import linecache
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import FunctionType
from typing import Any

import numpy as np

from glassjax_stage1.interpreter import Interpreter
from glassjax_stage2.jvp import JVPTrace, jvp_rules
from glassjax_stage2.shaped_array import typeof
from glassjax_stage2.source import hide_frames_of, user_source
from glassjax_stage2.trace import EvalTrace, Rules, Trace, eval_trace, impl_rules
from glassjax_stage2.vmap import BatchTrace, vmap_rules
from glassjax_watch.recorder import bottom_of, finders, for_readers, rule_of, show, source_of
from glassjax_watch.recording import Recording, Rule, Shown

# The rules by which a trace handles primitives, or by which values of a class are evaluated.
rules_of_class: dict[type, Rules] = {
    EvalTrace: impl_rules,
    JVPTrace: jvp_rules,
    BatchTrace: vmap_rules,
}


@bottom_of.register
def _bottom_of_traces(trace: Trace) -> Interpreter:
    return trace if isinstance(trace, EvalTrace) else eval_trace


def _line_of_source() -> tuple[str, int] | None:
    """The line that stage 2's messages would name."""
    source = user_source()
    return None if source is None else (source.code.co_filename, source.line)


finders.insert(0, _line_of_source)


@rule_of.register
def _rule_in_table(trace: Trace, method: Callable[..., Any], primitive: Any, args: Any) -> Rule:
    table = _table(trace, primitive, args)
    rule = None if table is None else table.get(primitive)
    if table is None or rule is None:  # the trace handles this primitive without a rule
        function = getattr(method, "__func__", method)
        return Rule(function.__qualname__, source_of(function))
    return Rule(f"{table.table}[{primitive}_p]", statement_of(rule, str(primitive)))


def _table(trace: Trace, primitive: Any, args: Any) -> Rules | None:
    classes = list(type(trace).__mro__)
    if isinstance(trace, EvalTrace):
        if primitive.higher_order:
            return impl_rules
        classes = [cls for x in args for cls in type(x).__mro__] + classes
    own = getattr(trace, "rules", None)
    return next((rules_of_class[cls] for cls in classes if cls in rules_of_class), own)


@cache
def statement_of(rule: Any, primitive: str) -> str:
    """The source of the statement that declares a rule, if it can be found."""
    functions = [*_functions_in(rule)]
    for function in functions:  # inside a statement, such as a call of `defjvp`
        code = function.__code__
        for node, text in _statements(code.co_filename):
            is_factory = isinstance(node, ast.FunctionDef) and node.name != function.__name__
            if not is_factory and code.co_firstlineno in _lines(node):
                return text
    for function in functions:  # made by a function that a statement calls
        factory = function.__qualname__.partition(".")[0]
        for file in _files_of_package(function.__module__.partition(".")[0]):
            for node, text in _statements(file, f"{primitive}_p"):
                words = {*re.findall(r"\w+", text)}
                if isinstance(node, ast.Expr | ast.Assign) and {f"{primitive}_p", factory} <= words:
                    return text
    return source_of(functions[0]) if functions else ""


def _functions_in(rule: Any) -> Iterator[FunctionType]:
    """A function, and the functions that it was made from."""
    if isinstance(rule, partial):
        yield from _functions_in(rule.func)
    if isinstance(rule, FunctionType):
        yield rule
        for cell in rule.__closure__ or ():
            contents = cell.cell_contents
            for each in contents if isinstance(contents, tuple) else (contents,):
                if isinstance(each, FunctionType):
                    yield each


def _files_of_package(package: str) -> list[str]:
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] == package]
    return [file for module in modules if (file := getattr(module, "__file__", None))]


@cache
def _statements(file: str, word: str = "") -> list[tuple[ast.stmt, str]]:
    """The statements of a file, with their texts; none if it does not contain `word`."""
    lines = linecache.getlines(file)
    if not any(word in line for line in lines):
        return []
    try:
        body = ast.parse("".join(lines)).body
    except SyntaxError:  # not a Python file
        return []
    texts = ["".join(lines[number - 1] for number in _lines(node)) for node in body]
    return [*zip(body, map(for_readers, texts), strict=True)]


def _lines(node: ast.stmt) -> range:
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    return range(first, (node.end_lineno or first) + 1)


@show.register
def _show_array(x: np.ndarray | np.generic, recording: Recording) -> Shown:
    return Shown(shown_array(x))


def shown_array(x: Any) -> str:
    """The numbers of a small array; the type of any other."""
    try:
        numbers = np.asarray(x) if x.size <= 8 else None
    except (TypeError, RuntimeError):  # no numbers, or deleted
        numbers = None
    if numbers is None:
        return str(typeof(x))
    text = " ".join(np.array2string(numbers, precision=4, floatmode="maxprec").split())
    return text.replace("[ ", "[").replace(" ]", "]")


hide_frames_of(__file__)
