"""mkdocs hook: the map of the site, a table of primitives and interpreters.

    ```map
    ```

shows it: a cell is the rule of an interpreter for a primitive. It has the colour of the stage that
the rule is in, and links to where the tutorial shows it.
"""

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from source import Source, shown

if TYPE_CHECKING:
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

LEARN = Path(__file__).parents[1] / "learn"
FENCE = re.compile(r"^```map\n```$", re.M)
HEADING = re.compile(r"^##+ +(.*)$", re.M)

# The columns: name, table, and the file that fills it for most primitives.
INTERPRETERS = [
    ("evaluate", "impl_rules", "stage2/primitives.py"),
    ("jvp", "jvp_rules", "stage2/jvp_rules.py"),
    ("vmap", "vmap_rules", "stage2/vmap_rules.py"),
    ("types", "abstract_eval_rules", "stage3/abstract_eval.py"),
    ("lower", "lowering_rules", "stage3/lowering_rules.py"),
    ("transpose", "transpose_rules", "stage4/transpose_rules.py"),
]
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
# In stage 1 the rules of an interpreter are the cases of its method.
FIRST = {
    "impl_rules": ("stage1/interpreter.py", "EvalInterpreter"),
    "jvp_rules": ("stage1/jvp.py", "JVPInterpreter"),
}


@dataclass(frozen=True)
class Rule:
    """A statement that gives an interpreter its rule for a primitive."""

    file: str
    line: int
    text: str

    @property
    def stage(self) -> str:
        return self.file[len("stage")]


def on_page_markdown(markdown: str, page: "Page", files: "Files", **kwargs: Any) -> str:
    if not FENCE.search(markdown):
        return markdown
    table = "".join(html(page, files))
    return FENCE.sub(lambda fence: table, markdown)


def html(page: "Page", files: "Files") -> Iterator[str]:
    places = shown_lines()
    head = "".join(f'<th scope="col">{name}</th>' for name, *_ in INTERPRETERS)
    yield f'<table class="map"><thead><tr><th></th>{head}</tr></thead><tbody>'
    for names in rows():
        label = " ".join(f"<code>{name}</code>" for name in names)
        yield f'<tr><th scope="row">{label}</th>'
        for interpreter, table, _ in INTERPRETERS:
            rule = rules().get((names[0], table))
            if rule is None:
                yield f'<td title="{names[0]} is not linear: it has no transpose"></td>'
                continue
            where, anchor = places.get(
                (rule.file, rule.line), (f"learn/stage{rule.stage}/index.md", "")
            )
            url = files.get_file_from_path(where).url_relative_to(page.file) + anchor
            says = f"{' '.join(names)}: {interpreter}, stage {rule.stage}"
            yield (
                f'<td><a class="stage-{rule.stage}" href="{url}" aria-label="{says}" '
                f'title="{escape(rule.text)}"></a></td>'
            )
        yield "</tr>"
    yield "</tbody></table>"


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
    for file in [file for *_, file in INTERPRETERS] + HIGHER_ORDER:
        source = Source.read(file)
        for node in source.tree.body:
            text = "\n".join(source.lines[node.lineno - 1 : node.end_lineno])
            for key in filled(node):
                found[key] = Rule(file, node.lineno, text)
    for table, (file, name) in FIRST.items():
        (node,) = Source.read(file).definitions(name)
        for primitive in ("add", "mul"):
            case = next(
                each
                for each in ast.walk(node)
                if isinstance(each, ast.match_case)
                and f"Op.{primitive}" in ast.unparse(each.pattern)
            )
            body = case.body[0]
            found[primitive, table] = Rule(file, body.lineno, ast.unparse(case))
    return found


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
