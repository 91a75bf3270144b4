"""Writes the stubs of facades, from which type checkers know what these import when it is used.

`python -m tools.stubs` writes them anew after the table of a facade has changed.
"""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minijax.lax import primitive_names

SOURCES = Path(__file__).parents[1] / "packages/minijax/src"


def facades() -> Iterator[tuple[str, Path]]:
    """Yield the modules that call `lazy_facade`, and the stub of each."""
    for path in sorted((SOURCES / "minijax").rglob("*.py")):
        if "\n_lazy_facade(" in path.read_text(encoding="utf-8"):
            parts = path.relative_to(SOURCES).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__"), path.with_suffix(".pyi")


def stub(name: str) -> str:
    """The stub of the facade of that name."""
    facade: Any = importlib.import_module(name)
    imports = [f"from {home} import {n} as {p}" for p, (home, n) in facade.__places__.items()]
    own = {*facade.__all__} - {*facade.__places__}
    values = [_declaration(key, value) for key, value in vars(facade).items() if key in own]
    primitives = [f"{each}_p: Primitive" for each in sorted(_primitives(name))]
    imports += ["from minijax_stage2 import Primitive"] if primitives else []
    values.sort(key=lambda text: not text.startswith("from "))
    return formatted("\n".join([f'"""{facade.__doc__}"""', *imports, *values, *primitives]))


def _declaration(name: str, value: Any) -> str:
    """Declare a name that a facade defines itself: a class of another module, or a constant."""
    if isinstance(value, type):
        return f"from {value.__module__} import {value.__qualname__} as {name}"
    return f"{name}: {None if value is None else type(value).__name__}"


def _primitives(facade: str) -> set[str]:
    """The names of the primitives that a facade has."""
    named = {each.name for each in primitive_names.all_primitives()}
    named |= {*primitive_names.FUNCTIONS, *primitive_names.INLINED}
    places = {*importlib.import_module(facade).__places__}
    if facade == "minijax.lax":
        return {each for each in named if f"{each}_p" not in places}
    return named & places if facade == "minijax.lax.linalg" else set()


def formatted(text: str) -> str:
    """A program as `./noxw -s format` leaves it."""
    for options in (["check", "--fix-only", "--select=I"], ["format"]):
        command = [sys.executable, "-m", "ruff", *options, "-q", "--stdin-filename=x.pyi", "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        text = done.stdout
    return text


def main() -> None:
    for name, path in facades():
        path.write_text(stub(name), encoding="utf-8")


if __name__ == "__main__":
    main()
