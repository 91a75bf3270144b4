"""mkdocs hook: the map of the site, a table of primitives and interpreters.

    ```map
    A text for those who read the page in the repository.
    ```

shows it: a cell is the rule of an interpreter for a primitive. It has the colour of the stage that
the rule is in, the rule in short, and a link to where the tutorial shows it. A panel beside the
table shows the whole rule of the cell that the reader points at, touches or moves to by the arrow
keys; `docs/assets/map.js` does that.
"""

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.utils import get_relative_url
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from source import Source, shown

if TYPE_CHECKING:
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

LEARN = Path(__file__).parents[1] / "learn"
FENCE = re.compile(r"^```map\n.*\n```$", re.M)
# Names and signs look like the text around them.
PLAIN, PLAIN_TEXT = re.compile('<span class="[npwo]">(.*?)</span>'), r"\1"
HEADING = re.compile(r"^##+ +(.*)$", re.M)

# The columns: name, table, and the file that fills it for most primitives; None if one rule, which
# is the method that processes any primitive, is that of all of them.
INTERPRETERS = [
    ("evaluate", "impl_rules", "stage2/primitives.py"),
    ("jvp", "jvp_rules", "stage2/jvp_rules.py"),
    ("vmap", "vmap_rules", "stage2/vmap_rules.py"),
    ("stage", "staging", None),
    ("types", "abstract_eval_rules", "stage3/abstract_eval.py"),
    ("lower", "lowering_rules", "stage3/lowering_rules.py"),
    ("partial eval", "partial_eval_rules", None),
    ("transpose", "transpose_rules", "stage4/transpose_rules.py"),
]
# The rules of all primitives that have none of their own: file, method, the rule in short.
SHARED = {
    "staging": ("stage3/staging.py", "JaxprTrace.process", "an equation"),
    "partial_eval_rules": ("stage4/partial_eval.py", "PartialEvalTrace.process", "now / later"),
}
HIGHER_ORDER = [
    "stage3/jit_rules.py",
    "stage4/jit_rules.py",
    "stage4/cond_rules.py",
    "stage4/stop_gradient.py",
]
# The functions that fill a table with their first argument's row.
FILLED_BY = {
    "defjvp": "jvp_rules",
    "deflinear": "jvp_rules",
    "defzero": "jvp_rules",
    "deftranspose": "transpose_rules",
}
NOT_LINEAR = ("# not linear, so it has no transpose",)
# In stage 1 the rules of an interpreter are the cases of its method.
FIRST = {
    "impl_rules": ("stage1/interpreter.py", "EvalInterpreter"),
    "jvp_rules": ("stage1/jvp.py", "JVPInterpreter"),
    "staging": ("stage1/staging.py", "StagingInterpreter.interpret_op"),
}
OPERATORS = {"add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "div": ast.Div, "power": ast.Pow}


@dataclass(frozen=True)
class Rule:
    """A statement that gives an interpreter its rule for a primitive, in full and in short."""

    file: str
    line: int
    parts: tuple[str, ...]  # the statement, and the functions that it is made of
    short: str

    @property
    def stage(self) -> str:
        return self.file[len("stage")]


def on_page_markdown(markdown: str, page: "Page", files: "Files", **kwargs: Any) -> str:
    if not FENCE.search(markdown):
        return markdown
    table = "".join(html(page, files))
    return FENCE.sub(lambda fence: table, markdown)


def on_post_page(output: str, page: "Page", **kwargs: Any) -> str:
    if 'class="map"' not in output:
        return output
    url = get_relative_url("assets/map.js", page.url)
    return output.replace("</head>", f'<script type="module" src="{url}"></script></head>', 1)


def html(page: "Page", files: "Files") -> Iterator[str]:
    places = shown_lines()
    numbers: dict[str, int] = {}  # of the parts of rules, which several cells may share

    def cell(tag: str, rule: Rule, title: str) -> str:
        parts = " ".join(str(numbers.setdefault(part, len(numbers))) for part in rule.parts)
        title = f"{title}, stage {rule.stage}" if rule.file else title
        return (
            f'<td><{tag} data-parts="{parts}" data-title="{title}">{escape(rule.short)}'
            f"</{tag.split()[0]}></td>"
        )

    head = "".join(f'<th scope="col">{name}</th>' for name, *_ in INTERPRETERS)
    yield f'<table class="map"><thead><tr><td></td>{head}</tr></thead><tbody>'
    for names in rows():
        label = " ".join(f"<code>{name}</code>" for name in names)
        yield f'<tr><th scope="row">{label}</th>'
        for interpreter, table, _ in INTERPRETERS:
            rule = rules().get((names[0], table))
            title = f"{' '.join(names)}: {interpreter}"
            if rule is None:
                yield cell("span", Rule("", 0, NOT_LINEAR, "none"), title)
                continue
            where, anchor = places.get(
                (rule.file, rule.line), (f"learn/stage{rule.stage}/index.md", "")
            )
            url = files.get_file_from_path(where).url_relative_to(page.file) + anchor
            yield cell(f'a class="stage-{rule.stage}" href="{url}"', rule, title)
        yield "</tr>"
    yield '</tbody></table><div class="map-rules" hidden>'
    for part in numbers:
        colored = highlight(part, PythonLexer(), HtmlFormatter(nowrap=True))
        yield f"<div>{PLAIN.sub(PLAIN_TEXT, colored)}</div>"
    yield "</div>"


def rows() -> list[list[str]]:
    """The primitives, those of stage 1 first, as the stages declare them; comparisons are one."""
    compared = groups()["COMPARISONS"]
    names = [name for name, table in rules() if table == "impl_rules"]
    names.sort(key=lambda name: rules()[name, "impl_rules"].stage != "1")
    return [
        compared if name == compared[0] else [name] for name in names if name not in compared[1:]
    ]


@functools.cache
def rules() -> dict[tuple[str, str], Rule]:
    """The rule for each primitive and table."""
    found: dict[tuple[str, str], Rule] = {}
    for file in [file for *_, file in INTERPRETERS if file] + HIGHER_ORDER:
        source = Source.read(file)
        for node in source.tree.body:
            for primitive, table in filled(node):
                parts = tuple(map(source.text_of, [node, *definitions(source, node)]))
                found[primitive, table] = Rule(file, node.lineno, parts, in_short(node, primitive))
    primitives = [primitive for primitive, table in found if table == "impl_rules"]
    for table, (file, method, short) in SHARED.items():
        for primitive in primitives:
            found.setdefault((primitive, table), method_of(file, method, short))
    for table, (file, name) in FIRST.items():
        (node,) = Source.read(file).definitions(name)
        for primitive in ("add", "mul"):
            later = found[primitive, table]
            if isinstance(node, ast.FunctionDef):
                found[primitive, table] = method_of(file, name, later.short)
                continue
            case = next(
                each
                for each in ast.walk(node)
                if isinstance(each, ast.match_case)
                and f"Op.{primitive}" in ast.unparse(each.pattern)
            )
            parts = ast.unparse(case), f"# of arrays, in stage {later.stage}:", *later.parts
            found[primitive, table] = Rule(file, case.body[0].lineno, parts, later.short)
    return found


def method_of(file: str, name: str, short: str) -> Rule:
    source = Source.read(file)
    (node,) = source.definitions(name)
    return Rule(file, node.lineno, (source.text_of(node),), short)


def definitions(source: Source, node: ast.stmt) -> list[ast.stmt]:
    """The functions of the file that a rule is made of."""
    names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    return [
        each
        for name in dict.fromkeys(names)
        for each in source.tree.body
        if isinstance(each, ast.FunctionDef) and each.name == name and name not in FILLED_BY
    ]


def in_short(node: ast.stmt, primitive: str) -> str:
    """A rule as a formula, or the name of what makes it."""
    if isinstance(node, ast.For):
        return in_short(node.body[0], primitive)
    if isinstance(node, ast.Assign):
        made_by, formulas = "", [node.value]
    else:
        made_by = ast.unparse(node.value.func)
        formulas = [each for each in node.value.args[1:] if ast.unparse(each) != "None"]
    if made_by == "deflinear":
        return f"{primitive}(t)"
    if made_by == "defzero":
        return "0"
    text = ", ".join(dict.fromkeys(formula(each, primitive) for each in formulas))
    return re.sub(r"\b_", "", text)


def formula(node: ast.expr, primitive: str) -> str:
    if isinstance(node, ast.Lambda):
        body = node.body
        (body,) = body.elts if isinstance(body, ast.List) else (body,)
        return ast.unparse(WithOperators().visit(ast.parse(ast.unparse(body), mode="eval")))
    if isinstance(node, ast.Call):
        maker = ast.unparse(node.func)
        first = node.args[0]
        if maker == "_by":
            return ast.unparse(first)
        if isinstance(first, ast.Constant):
            return str(first.value)
        if isinstance(first, ast.Lambda):
            return formula(first, primitive)
        return "own rule" if maker == "partial" else maker.replace("_", " ")
    return "own rule"


class WithOperators(ast.NodeTransformer):
    """Writes `t * cos(x)` for `mul(t, cos(x))`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if name in OPERATORS and len(node.args) == 2:
            return ast.BinOp(node.args[0], OPERATORS[name](), node.args[1])
        if name == "neg":
            return ast.UnaryOp(ast.USub(), node.args[0])
        if name == "bind1":
            name = primitive_of(node.args[0])
            return ast.Call(ast.Name(name), node.args[1:], [])
        return node


def filled(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """The primitives and the tables of the rules that a statement gives."""
    if isinstance(node, ast.For):
        names = re.findall(r"p\.(\w+)", ast.unparse(node.iter))
        for _, table in (key for inner in node.body for key in filled(inner)):
            for name in names:
                for primitive in groups().get(name, [name.removesuffix("_p")]):
                    yield primitive, table
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        target = node.targets[0]
        yield primitive_of(target.slice), ast.unparse(target.value)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        table = FILLED_BY.get(ast.unparse(node.value.func))
        if table:
            yield primitive_of(node.value.args[0]), table


def primitive_of(node: ast.expr) -> str:
    return ast.unparse(node).removeprefix("p.").removesuffix("_p")


@functools.cache
def groups() -> dict[str, list[str]]:
    """Tuples of primitives with a name, as `UNARY`."""
    return {
        node.targets[0].id: [primitive_of(each) for each in node.value.elts]
        for node in Source.read("stage2/primitives.py").tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
    }


def shown_lines() -> dict[tuple[str, int], tuple[str, str]]:
    """The page and the heading on it under which the tutorial shows each line of the stages."""
    found = {}
    for file in LEARN.glob("**/*.md"):
        page = f"learn/{file.relative_to(LEARN).as_posix()}"
        text = file.read_text(encoding="utf-8")
        headings = list(HEADING.finditer(text))
        starts = [0, *(heading.start() for heading in headings), len(text)]
        for number, start in enumerate(starts[:-1]):
            anchor = f"#{anchor_of(headings[number - 1][1])}" if number else ""
            for line in shown(text[start : starts[number + 1]]):
                found[line] = page, anchor
    return found


def anchor_of(heading: str) -> str:
    """The id that Markdown gives a heading."""
    own = re.search(r"\{ *#([\w.-]+)", heading)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    words = re.sub(r"[^\w\s-]", "", text).strip().lower()
    return own[1] if own else re.sub(r"[-\s]+", "-", words)
