"""The names of the facades: `python -m tools.facades` writes the table by which they import them.

What a facade offers stands in its file, as imports for type checkers. They are followed here.
"""

import ast
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "packages/minijax/src"
FILE = SOURCES / "minijax/settings/facade_names.py"
HEAD = '''"""The public names of facades, by the modules that define them. Made by tools/facades.py.

`name:alias` is offered as `alias`.
"""

# ruff: noqa: E501

FACADES: dict[str, dict[str, str]] = '''

Offered = dict[str, tuple[str, str]]  # by its public name: a module, and the name there


@cache
def facades() -> dict[str, Path]:
    """The modules that call `lazy_facade`."""
    found = {}
    for path in sorted((SOURCES / "minijax").rglob("*.py")):
        if "_lazy_facade(" in path.read_text(encoding="utf-8"):
            parts = path.relative_to(SOURCES).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def offered_by(path: Path) -> Offered:
    """What the imports for type checkers in a file bring, later ones in the place of earlier."""
    found: Offered = {}
    for module, names in _imports(path):
        found.update(_imported(module, names))
    return found


def _imports(path: Path) -> Iterator[tuple[str, list[ast.alias]]]:
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test).endswith("TYPE_CHECKING"):
            for each in statement.body:
                assert isinstance(each, ast.ImportFrom)
                assert each.module
                if not each.module.endswith(".declared_primitives"):
                    yield each.module, each.names


def _imported(module: str, names: list[ast.alias]) -> Iterator[tuple[str, tuple[str, str]]]:
    for each in names:
        if each.name != "*":
            yield each.asname or each.name, (module, each.name)
        elif module in (others := facades()):
            yield from ((name, (module, name)) for name in offered_by(others[module]))
        else:
            yield from ((name, (module, name)) for name in importlib.import_module(module).__all__)


def tables() -> dict[str, dict[str, str]]:
    """The table of each facade, as `minijax.settings.facade_names` has it."""
    found = {}
    for facade, path in facades().items():
        table: dict[str, list[str]] = {module: [] for module, _ in _imports(path)}
        for public, (module, name) in offered_by(path).items():
            written = name if public == name else f"{name}:{public}"
            table[module].append(written)
        found[facade] = {module: " ".join(sorted(names)) for module, names in table.items()}
    return found


def main() -> None:
    FILE.write_text(f"{HEAD}{json.dumps(tables())}\n", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", str(FILE)], check=True)


if __name__ == "__main__":
    main()
