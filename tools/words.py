"""The words of the house: hits of the patterns of words.toml, by rule.

python -m tools.words               counts, by rule
python -m tools.words divided       the hits of one rule
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("words.toml")


class Piece(NamedTuple):
    """A text of one kind: prose ("text"), a comment ("comments"), or a name ("names")."""

    kind: str
    text: str
    file: Path
    line: int


def rules():
    return tomllib.loads(LIST.read_text(encoding="utf-8"))


@cache
def pattern(text, whole=False):
    text = text.replace(" ", r"\s+")
    return re.compile(rf"(?:{text})\Z" if whole else rf"\b(?:{text})\b", re.IGNORECASE)


def pieces():
    for file in sorted(ROOT.glob("packages/*/src/**/*.py")):
        text = file.read_text(encoding="utf-8")
        yield from pieces_of_tree(file, ast.parse(text))
        yield from comments(file, text)
    pages = "docs/**/*.md", "packages/*/README.md", "README.md", "CONTRIBUTING.md"
    for page in (file for each in pages for file in sorted(ROOT.glob(each))):
        yield Piece("text", prose(page.read_text(encoding="utf-8")), page, 1)


def pieces_of_tree(file, tree):
    """The docstrings, messages and names of a module."""
    docstrings = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(ast.Constant(str() as text) as constant):
                docstrings.add(constant)
                lines = [line.split("``")[0] for line in prose(text).splitlines()]
                shown = ["" if line.strip()[:3] in (">>>", "...") else line for line in lines]
                yield Piece("text", "\n".join(shown), file, node.lineno)
            case ast.Constant(str() as text) if " " in text and node not in docstrings:
                yield Piece("text", text, file, node.lineno)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield Piece("names", node.name, file, node.lineno)
            case ast.arg():
                yield Piece("names", node.arg, file, node.lineno)
            case ast.Name(name, ast.Store()):
                yield Piece("names", name, file, node.lineno)


def comments(file, text):
    """The comments of a module; lines that are only comments, one below the other, are one."""
    if "#" not in text:
        return
    block = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        (row, _), shown = token.start, prose(token.string[1:].strip())
        alone = token.line.lstrip().startswith("#")
        if alone and block and block[-1][0] == row - 1:
            block.append((row, shown))
            continue
        yield from joined(file, block)
        block = [(row, shown)]
        if not alone:
            yield from joined(file, block)
            block = []
    yield from joined(file, block)


def joined(file, block):
    if block:
        yield Piece("comments", "\n".join(text for _, text in block), file, block[0][0])


def prose(text):
    """A text without code, each line where it was."""
    text = re.sub(r"^( *)(`{3,}).*?^\1\2", lines_only, text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]+`|\]\([^)\n]*\)", "`_`", text)


def lines_only(match):
    return "\n" * match.group().count("\n")


def hits():
    """For each rule, its hits: the file, the line, and the text."""
    rows = {name: [] for name in rules()}
    for kind, text, file, line in pieces():
        for name, rule in rules_of_kind(kind):
            for found in finds(rule, kind, text):
                start = found.start()
                shown = text[max(0, start - 40) : found.end() + 40].replace("\n", " ")
                where = file.relative_to(ROOT), line + text.count("\n", 0, start)
                rows[name].append((*where, shown))
    return rows


@cache
def rules_of_kind(kind):
    kinds = {"comments": ("text", "comments")}.get(kind, (kind,))
    return [(name, rule) for name, rule in rules().items() if any(map(rule.get, kinds))]


def finds(rule, kind, text):
    if kind == "names":
        found = pattern(rule["names"], whole=True).match(text)
        return [found] if found else []
    found = [*pattern(rule["text"]).finditer(text)] if "text" in rule else []
    if kind == "comments" and "comments" in rule:
        found += filter(None, [pattern(rule["comments"]).match(text)])
    excepts = rule.get("except", ()) if found else ()
    allowed = [match.span() for each in excepts for match in pattern(each).finditer(text)]
    return [m for m in found if not any(a <= m.start() and m.end() <= b for a, b in allowed)]


def main(arguments):
    found = hits()
    for name in arguments:
        for file, line, shown in found[name]:
            print(f"{file}:{line}: {shown}")
    if not arguments:
        for name, rows in found.items():
            print(f"{name:20} {len(rows):4}")


if __name__ == "__main__":
    main(sys.argv[1:])
