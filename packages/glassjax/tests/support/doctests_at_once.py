"""Docstring examples, compiled as one program where they can be traced.

By itself each would compile programs of its own, which takes nearly all of the time. So docstrings
are traced; one program computes what many of them show; then it is shown, and compared with what
they say. What shows `f"{float(x):.2f}"` is traced up to `x`.
"""

import ast
import contextlib
import doctest
import io

import glassjax
from glassjax import core, jit, make_jaxpr, tree
from glassjax.extend.core import jaxpr_as_fun

MOST_AT_ONCE = 60  # docstrings
OF_VALUES = {"abs", "bool", "float", "int", "len", "list", "print", "repr", "round", "str", "tuple"}
OF_TEXT = {"print", "repr", "str"}  # that of a tracer is another one


def assert_examples_run(tests):
    """Runs the examples of docstrings, and shows those that fail as doctest does.

    A docstring that cannot be traced, or shows something else as part of a large program, is run
    by itself.
    """
    runner = doctest.DocTestRunner()
    for start in range(0, len(tests), MOST_AT_ONCE):
        group = tests[start : start + MOST_AT_ONCE]
        right = right_at_once(group)
        for test in group:
            if test not in right:
                runner.run(test)
    assert runner.failures == 0


def right_at_once(tests):
    traced = []
    for test in tests:
        settings = glassjax.config.values
        with contextlib.suppress(Exception):
            traced.append(Traced(test))
        for name, value in settings.items():  # which an example has changed that did not end
            if glassjax.config.read(name) != value:
                glassjax.config.update(name, value)
    try:
        values = jit(lambda: [jaxpr_as_fun(each.jaxpr)() for each in traced])()
    except Exception:
        return []
    return [each.test for each, v in zip(traced, values, strict=True) if each.shows_what_it_says(v)]


class Traced:
    """The examples of a docstring, with the program of what they show."""

    def __init__(self, test):
        self.test = test
        self.shown = []  # for each example its code, and the values that it takes
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.jaxpr = make_jaxpr(self.run)()
        if printed.getvalue() or self.jaxpr.jaxpr.effects:
            raise ValueError("what it writes does not depend on the program alone")

    def run(self):
        names = dict(self.test.globs)
        for example in self.test.examples:
            if example.exc_msg is not None:
                raise ValueError("an error is told as it is raised")
            parsed = ast.parse(example.source)
            if not isinstance(parsed.body[0], ast.Expr):
                exec(compile(example.source, self.test.name, "single"), names)
                continue
            split = Split(names)
            parsed.body[0].value = split(parsed.body[0].value)
            shown = ast.fix_missing_locations(ast.Interactive(parsed.body))
            self.shown.append((example, compile(shown, self.test.name, "single"), split.values))
        leaves, self.treedef = tree.flatten([values for _, _, values in self.shown])
        self.leaves = [None if isinstance(x, core.Tracer) else x for x in leaves]
        self.is_traced = [isinstance(x, core.Tracer) for x in leaves]
        return [x for x in leaves if isinstance(x, core.Tracer)]

    def shows_what_it_says(self, computed):
        computed = iter(computed)
        pairs = zip(self.leaves, self.is_traced, strict=True)
        values = tree.unflatten(self.treedef, [next(computed) if t else x for x, t in pairs])
        for (example, code, _), names in zip(self.shown, values, strict=True):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                try:
                    exec(code, names)
                except Exception:
                    return False
            flags = sum(flag for flag, is_on in example.options.items() if is_on)
            if not doctest.OutputChecker().check_output(example.want, printed.getvalue(), flags):
                return False
        return True


class Split:
    """Evaluates what can be traced of an expression; what is returned takes it by new names."""

    def __init__(self, names):
        self.names, self.values = names, {}

    def __call__(self, node):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        function = node.func.id if is_call else None
        if not isinstance(node, ast.JoinedStr) and function not in OF_TEXT:
            try:
                value = eval(compile(ast.Expression(node), "<part>", "eval"), self.names)
            except Exception:
                if function not in OF_VALUES and not isinstance(
                    node, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Tuple | ast.List
                ):
                    raise
            else:
                name = f"value_{len(self.values)}"
                self.values[name] = value
                return ast.Name(name, ast.Load())
        for field, child in ast.iter_fields(node):
            if isinstance(child, list):
                setattr(node, field, [self.part(each) for each in child])
            elif field != "func":
                setattr(node, field, self.part(child))
        return node

    def part(self, node):
        if isinstance(node, ast.FormattedValue | ast.keyword):
            node.value = self(node.value)
        elif isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
            return self(node)
        return node
