"""mkdocs hook: pieces of the sources, shown where the pages explain them.

A fence names a file and what to show of it, separated by semicolons:

    ```python file="stage1/interpreter.py" show="Interpreter:; Interpreter.run"
    ```

`python -m tools.excerpts` writes the code into it, for those who read the pages in the repository;
a page whose code differs from the file ends a strict build. Each piece is one of

- `imports`: the imports and the list of public names;
- `name`, `Class.method`: a definition;
- `Class:`: the class line, and what the class holds before its methods;
- `'text'`: the statements at the top of the file that begin with the text;
- `A .. B`: the statements at the top of the file from one of the above to another;
- `name 'text' .. 'text'`: the statements of a long function from one that begins with the
  first text to one that begins with the second; either may be left out.

In place of `show`, `region="name"` shows the lines between `# --8<-- [start:name]` and
`# --8<-- [end:name]`; with neither, the whole file is shown.

The lines are those of the file, except that they are wrapped at 80 columns, that a docstring is cut
to its summary, and that comments for tools are left out.
"""

import ast
import functools
import io
import itertools
import logging
import re
import subprocess
import sys
import textwrap
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
WIDTH = 80
FENCE = re.compile(
    r'^```python file="([^"\n]+)"(?: (show|region)="([^"\n]+)")?\n(.*?)^```[ \t]*$', re.M | re.S
)
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
DEFINITION = FUNCTION | ast.ClassDef

log = logging.getLogger("mkdocs.hooks.source")


@dataclass(frozen=True)
class Excerpt:
    """A fence, and what it refers to."""

    fence: re.Match[str]
    file: str
    items: list[str]  # what it shows; none for a region, or a whole file
    region: str
    committed: str  # the lines that the fence has

    @classmethod
    def of(cls, fence: re.Match[str]) -> "Excerpt":
        file, kind, value, committed = fence.groups()
        items = [item.strip() for item in value.split(";")] if kind == "show" else []
        return cls(fence, file, items, value if kind == "region" else "", committed)

    @property
    def title(self) -> str:
        """The file, and the class, if all that is shown is part of one."""
        owners = {item.rpartition(".")[0] for item in self.items if not re.search("[ ']", item)}
        return " · ".join([self.file, *filter(None, owners)] if len(owners) == 1 else [self.file])

    @property
    def lines(self) -> str:
        """What the fence should have: the title as a comment, and the code."""
        if self.items:
            code = excerpt(self.file, self.items)
        elif self.region:
            code = region(self.file, self.region)
        else:
            code = Source.wrapped(self.file).text
        return f"# {self.title}\n{code.strip(chr(10))}\n"

    @property
    def code(self) -> str:
        """The code that the fence has, without its title."""
        return self.committed.partition("\n")[2]


def excerpts(markdown: str) -> Iterator[Excerpt]:
    return map(Excerpt.of, FENCE.finditer(markdown))


def filled(markdown: str) -> str:
    """A page whose fences have what they should have."""

    def fill(fence: re.Match[str]) -> str:
        head = fence[0].partition("\n")[0]
        return f"{head}\n{Excerpt.of(fence).lines}```"

    return FENCE.sub(fill, markdown)


def on_page_markdown(markdown: str, page: Any = None, **kwargs: Any) -> str:
    for each in excerpts(markdown):
        if each.committed != each.lines:
            where = page.file.src_uri if page else "a page"
            log.warning(f"{where}: not what {each.file} has; run python -m tools.excerpts")
    return FENCE.sub(render, markdown)


def render(fence: re.Match[str]) -> str:
    """A fence as a code block, with the file as its title."""
    each = Excerpt.of(fence)
    return f'```python title="{each.title}"\n{each.code}```'


def excerpt(file: str, items: list[str]) -> str:
    """The lines of `file` that `items` name, as the site shows them."""
    source = Source.wrapped(file)
    definition = re.compile(r"[@#]|def |class |async ")
    pieces: list[str] = []
    found = []
    for item in items:
        lines = [source.lines[number - 1] for number in source.numbers(item)]
        found.append(re.sub(r"\n{3,}(?= )", "\n\n", "\n".join(lines).strip("\n")))
    are_mixed = len({piece.startswith(" ") for piece in found}) > 1
    inside = ""  # the class whose head is shown above, or named in a comment
    for item, piece in zip(items, found, strict=True):
        if are_mixed and not piece.startswith(" "):
            inside = item
        elif are_mixed and f"{owner_of(item)}:" != inside:
            piece = textwrap.dedent(piece)
            note = f"# In {owner_of(item)}:"
            if note != inside:
                inside, piece = note, f"{note}\n{piece}"
        if pieces:
            apart = definition.match(piece) or (definition.match(pieces[-1]) and piece[0] != " ")
            pieces.append("\n\n\n" if apart else "\n\n")
        pieces.append(piece)
    return textwrap.dedent("".join(pieces))


def owner_of(item: str) -> str:
    """The class or function that an item of a fence is part of."""
    name, has_parts, _ = item.partition(" ")
    return name if has_parts else name.rpartition(".")[0]


def region(file: str, name: str) -> str:
    """The lines of a file between two marks."""
    text = path_of(file).read_text(encoding="utf-8")
    marks = rf"# --8<-- \[start:{name}\]\n(.*?)^ *# --8<-- \[end:{name}\]"
    found = re.search(marks, text, re.M | re.S)
    if found is None:
        raise LookupError(f"{file} has no region {name}")
    return wrap(textwrap.dedent(found[1]))


def shown(markdown: str) -> Iterator[tuple[str, int]]:
    """The files and numbers of the lines that a page shows of the stages."""
    for each in excerpts(markdown):
        for item in each.items:
            for number in Source.read(each.file).numbers(item):
                yield each.file, number


def path_of(file: str) -> Path:
    """`stage1/jvp.py` is the file of that name in the package `glassjax_stage1`."""
    name, _, rest = file.partition("/")
    package = "glassjax" if name == "glassjax" else f"glassjax_{name}"
    path = ROOT / "packages" / name / "src" / package / rest
    return path if path.exists() else ROOT / file


@dataclass
class Source:
    """A file, and where its definitions are."""

    file: str
    text: str

    @classmethod
    @functools.cache
    def read(cls, file: str) -> "Source":
        """A file of a stage as it is."""
        return cls(file, path_of(file).read_text(encoding="utf-8"))

    @classmethod
    @functools.cache
    def wrapped(cls, file: str) -> "Source":
        """A file of a stage as the site shows it."""
        return cls(file, wrap(cls.read(file).text))

    @functools.cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @functools.cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    def text_of(self, node: ast.stmt) -> str:
        return textwrap.dedent("\n".join(self.lines[node.lineno - 1 : node.end_lineno]))

    def numbers(self, item: str) -> list[int]:
        """The numbers of the lines that an item names."""
        if item == "imports":
            return [n for node in self.tree.body if is_import(node) for n in self.span(node)]
        if item.endswith(":"):
            return self.head(item.removesuffix(":"))
        if part := re.fullmatch(r"([\w.]+) (?:'(.*?)' )?\.\.(?: '(.*)')?", item):
            return self.part(*part.groups())
        first, _, last = item.partition(" .. ")
        if last:
            return list(range(self.top(first)[0], self.top(last)[-1] + 1))
        return self.top(item)

    def top(self, item: str) -> list[int]:
        """The lines of a definition, or of the statements that begin with a text."""
        if item.startswith("'"):
            found = [node for node in self.tree.body if self.begins(node, item.strip("'"))]
        else:
            found = self.definitions(item)
        if not found:
            raise LookupError(f"{self.file} has no {item}")
        return [n for node in found for n in self.span(node)]

    def definitions(self, name: str) -> list[ast.stmt]:
        """The statements that define a name: several where it is overloaded."""
        owner, _, member = name.rpartition(".")
        bodies = [node.body for node in self.definitions(owner)] if owner else [self.tree.body]
        return [node for body in bodies for node in flat(body) if member in names_of(node)]

    def begins(self, node: ast.stmt, text: str) -> bool:
        """Return True if a statement begins with a text, wherever its lines are broken."""
        first = self.lines[node.lineno - 1 : min(node.lineno + 3, node.end_lineno)]
        return without_spaces("".join(first)).startswith(without_spaces(text))

    def head(self, name: str) -> list[int]:
        """A class as far as its first method."""
        (node,) = self.definitions(name)
        methods = [self.span(each).start for each in node.body if isinstance(each, FUNCTION)]
        return [n for n in self.span(node) if not methods or n < methods[0]]

    def part(self, name: str, first: str | None, last: str | None) -> list[int]:
        """The statements of a function between two that begin with texts."""
        node = self.definitions(name)[-1]
        inner = [each for each in ast.walk(node) if isinstance(each, ast.stmt)]
        inner = sorted((each for each in inner if each is not node), key=lambda each: each.lineno)
        starts = self.span(node)[0] if first is None else self.find(inner, first, name).start
        after = [each for each in inner if self.span(each).start >= starts]
        stop = node.end_lineno + 1 if last is None else self.find(after, last, name).stop
        return list(range(starts, stop))

    def find(self, nodes: list[ast.stmt], text: str, name: str) -> range:
        for node in nodes:
            if self.begins(node, text):
                return self.span(node)
        raise LookupError(f"{self.file}: {name} has no statement that begins with {text!r}")

    def span(self, node: ast.stmt) -> range:
        """The lines of a statement, with its decorators and the comments above it."""
        decorators = getattr(node, "decorator_list", [])
        start = min([node.lineno, *(each.lineno for each in decorators)])
        while start > 1 and self.lines[start - 2].lstrip().startswith("#"):
            start -= 1
        return range(start, node.end_lineno + 1)


def without_spaces(text: str) -> str:
    return "".join(text.split())


def flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements, and those under an `if` at the top of a file or class."""
    for node in body:
        if isinstance(node, ast.If):
            yield from flat(node.body + node.orelse)
        else:
            yield node


def names_of(node: ast.stmt) -> set[str]:
    """What a statement defines."""
    if isinstance(node, DEFINITION):
        return {node.name}
    if isinstance(node, ast.Assign):
        found = [n for target in node.targets for n in ast.walk(target)]
    elif isinstance(node, ast.AnnAssign):
        found = [node.target]
    else:
        return set()
    return {each.id for each in found if isinstance(each, ast.Name)}


def is_import(node: ast.stmt) -> bool:
    """Return True for imports, also those for types only, and for lists of public names."""
    if isinstance(node, ast.If):
        return all(is_import(each) for each in node.body)
    return isinstance(node, ast.Import | ast.ImportFrom) or "__all__" in names_of(node)


# To 80 columns


def wrap(text: str) -> str:
    """A program in 80 columns: the same statements, on more lines."""
    text = re.sub(r" +# (type: ignore|noqa|fmt: skip)[^\n]*", "", text)
    text = re.sub(r"^ *# (ruff:|mypy:|fmt:|--8<--) ?[^\n]*\n", "", text, flags=re.M)
    text = comments_above(summaries(text))
    command = [sys.executable, "-m", "ruff", "format", "--isolated", f"--line-length={WIDTH}", "-"]
    text = subprocess.run(command, input=text, text=True, capture_output=True, check=True).stdout
    return "\n".join(fitted(filled_comments(text.splitlines()))) + "\n"


def summaries(text: str) -> str:
    """A program whose docstrings are cut to their summaries."""
    lines = text.splitlines(keepends=True)
    definitions = [each for each in ast.walk(ast.parse(text)) if isinstance(each, DEFINITION)]
    for node in sorted(definitions, key=lambda each: -each.lineno):  # from the last to the first
        if docstring := ast.get_docstring(node):
            first = node.body[0]
            margin = " " * first.col_offset
            raw = lines[first.lineno - 1].lstrip().startswith("r")
            summary = " ".join(docstring.partition("\n\n")[0].split())
            if not raw:
                summary = summary.replace("\\", "\\\\")
            filled = textwrap.fill(
                f'{"r" * raw}"""{summary}"""',
                WIDTH,
                initial_indent=margin,
                subsequent_indent=margin,
                break_on_hyphens=False,
            )
            lines[first.lineno - 1 : first.end_lineno] = [filled + "\n"]
    return "".join(lines)


def comments_above(text: str) -> str:
    """A program whose comments stand above the lines that are too long with them."""
    lines = text.splitlines()
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for token in reversed(tokens):
        number, column = token.start
        if token.type != tokenize.COMMENT:
            continue
        line = lines[number - 1]
        if len(line) > WIDTH and line[:column].strip():
            lines[number - 1 : number] = [margin_of(line) + token.string, line[:column].rstrip()]
    return "\n".join(lines) + "\n"


def margin_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def filled_comments(lines: list[str]) -> Iterator[str]:
    """Lines with comments of several lines filled again, if one of their lines is too long."""
    for margin, group in itertools.groupby(lines, lambda line: re.match("( *# )?", line)[1]):
        together = list(group)
        if margin is None or max(map(len, together)) <= WIDTH:
            yield from together
            continue
        words = " ".join(line.removeprefix(margin) for line in together)
        yield from textwrap.wrap(words, WIDTH, initial_indent=margin, subsequent_indent=margin)


STRING = re.compile(r' *(f?)"((?:[^"\\]|\\.)*)"([,)]*)')


def fitted(lines: Iterable[str]) -> Iterator[str]:
    """Lines with strings that are lines of their own on as many lines as they take."""
    strings: list[re.Match[str]] = []  # the last lines, if Python joins them with the next
    for line in lines:
        string = STRING.fullmatch(line)
        if strings and not (string and margin_of(line) == margin_of(strings[0][0])):
            yield from joined(strings)
            strings = []
        if string:
            strings.append(string)
            if string[3]:
                yield from joined(strings)
                strings = []
        else:
            yield line
    yield from joined(strings)


def joined(strings: list[re.Match[str]]) -> Iterator[str]:
    """Strings that Python joins, broken elsewhere if one of them is too long."""
    if all(len(string[0]) <= WIDTH for string in strings):
        yield from (string[0] for string in strings)
        return
    margin, end = margin_of(strings[0][0]), strings[-1][3]
    words = [
        (string[1], word)
        for string in strings
        for word in re.findall(r"(?:\{[^{}]*\}|\\n|[^ {\\])+ *| +|.", string[2])
    ]
    room = WIDTH - len(margin) - len('f""') - len(end)
    pieces: list[tuple[str, str]] = []
    for prefix, word in words:
        before, piece = pieces[-1] if pieces else ("", "")
        if not pieces or len(piece + word) > room or piece.endswith("\\n"):
            pieces.append((prefix if "{" in word else "", word))
        else:
            pieces[-1] = (before or (prefix if "{" in word else ""), piece + word)
    for number, (prefix, piece) in enumerate(pieces, 1):
        yield f'{margin}{prefix}"{piece}"{end if number == len(pieces) else ""}'
