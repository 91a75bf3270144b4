"""Counts code lines: neither blank, nor comment, nor docstring.

`./noxw -s lines` prints a table of the packages and of the rooms of the full library, and how many
of the lines are imports and lists of public names (`__all__`). Its numbers for the stages stand in
README.md, rounded to tens; `-- --write` brings them up to date.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PACKAGES = {
    "glassjax_stage1": ROOT / "packages/stage1/src/glassjax_stage1",
    "glassjax_stage2": ROOT / "packages/stage2/src/glassjax_stage2",
    "glassjax_stage3": ROOT / "packages/stage3/src/glassjax_stage3",
    "glassjax_stage4": ROOT / "packages/stage4/src/glassjax_stage4",
    "glassjax_watch": ROOT / "packages/watch/src/glassjax_watch",
    "glassjax": ROOT / "packages/glassjax/src/glassjax",
}
# Packages by the links of the rows in the table of stages.
OF_THE_README = {
    **{str(number): f"glassjax_stage{number}" for number in range(1, 5)},
    "watch": "glassjax_watch",
}
BLANK = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


class Count(NamedTuple):
    """Numbers of files, of code lines, and of those that import or list names."""

    files: int
    code: int
    imports: int

    def __str__(self) -> str:
        return f"{self.files:7,} {self.code:9,} {self.imports:9,}"


def span(node: ast.AST) -> range:
    return range(node.lineno, node.end_lineno + 1)  # type: ignore[attr-defined]


def is_list_of_names(node: ast.AST) -> bool:
    """Return True for an assignment to `__all__`, and for a call that sets it."""
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return is_call and "set_all" in ast.unparse(node.value.func)


def code_lines(text: str) -> set[int]:
    """Return the numbers of the code lines of a program."""
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in BLANK and token.type != tokenize.ENDMARKER:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if ast.get_docstring(node, clean=False) is not None and first is not None:
                code.difference_update(span(first))
    return code


@cache
def count(file: Path) -> Count:
    """Count one file."""
    text = file.read_text(encoding="utf-8")
    code = code_lines(text)
    imports: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom) or is_list_of_names(node):
            imports.update(span(node))
    return Count(1, len(code), len(imports & code))


def total(files: Iterable[Path]) -> Count:
    return Count(*map(sum, zip(Count(0, 0, 0), *map(count, files), strict=True)))


def table() -> Iterable[tuple[str, Count]]:
    """The packages, the stages first, and the rooms of the library."""
    for package, source in PACKAGES.items():
        yield package, total(source.rglob("*.py"))
    library = PACKAGES["glassjax"]
    yield "  names", total(library.glob("*.py"))
    for room in sorted(path.parent for path in library.glob("*/__init__.py")):
        yield f"  {room.name}/", total(room.rglob("*.py"))


def readme(text: str, rows: dict[str, Count]) -> str:
    """README.md with the numbers of `rows` in its table of stages."""
    for label, package in OF_THE_README.items():
        code = rows[package].code
        row = rf"(?m)^(\| \[{label}\](?:[^|]*\|){{3}}) [\d,]+ \|"
        text, found = re.subn(row, rf"\1 {round(code, -1):,} |", text)
        if found != 1:
            sys.exit(f"lines: README.md has no row for {package} with a number of code lines")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the numbers into README.md")
    options = parser.parse_args()
    rows = dict(table())
    print(f"{'':22}{'files':>7} {'code':>9} {'imports':>9}")
    for name, row in rows.items():
        print(f"{name:22}{row}")
    if options.write:
        README.write_text(readme(README.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main()
