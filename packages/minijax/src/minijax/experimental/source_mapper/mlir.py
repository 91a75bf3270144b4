"""The source map of a program in MLIR, whose operations say where they come from."""

import re
from typing import NamedTuple

from minijax.experimental.source_mapper.source_map import Lines, SourceMap


class Location(NamedTuple):
    """A place in a source file; lines begin at 1."""

    file: str
    line: int
    col: int


class Redirect(NamedTuple):
    """A location that is that of another number."""

    tgt_id: int


_PLACE = r'loc\("(?P<file>[^"]*)":(?P<line>\d+):(?P<col>\d+)(?: to \d*:\d+)?\)'
_HERE = re.compile(_PLACE)  # in a line of the program
_NUMBER = re.compile(r"loc\(#loc(\d+)\)")
_DEFINITION = re.compile(rf"#loc(?P<id>\d+) = {_PLACE}")
# With the name of a scope, or a call, of which the inner place counts.
_REDIRECTIONS = (
    re.compile(r'#loc(\d+) = loc\(".*"\(#loc(\d+)\)\)'),
    re.compile(r"#loc(\d+) = loc\(callsite\(#loc(\d+) at #loc\d+\)\)"),
)


def create_mlir_sourcemap(mlir_dump: str) -> SourceMap:
    """The map of a program.

    Arguments:
        mlir_dump: its text with locations, which may be numbered and defined in lines of their own:
            `jit(f).lower(x).as_text(debug_info=True)`.

    Returns:
        A map that has a segment for each operation with a place in a file.

    >>> from minijax.experimental import source_mapper
    >>> line = 'return %0 : tensor<f32> loc("f.py":17:4)'
    >>> source_mapper.create_mlir_sourcemap(line).mappings
    [[(0, 0, 16, 4)], []]
    """
    lines = mlir_dump.split("\n")
    defined = _definitions(lines)
    found = Lines()
    for line in lines:
        place = None if line.startswith("#loc") else _place(line, defined)
        if place is None:
            found.add()
        else:
            indent = len(line) - len(line.lstrip())
            found.add((indent, place.file, place.line - 1, place.col))
    return found.source_map(with_contents=True)


def _definitions(lines: list[str]) -> dict[int, Location | Redirect]:
    defined: dict[int, Location | Redirect] = {}
    for line in lines:
        if match := _DEFINITION.match(line):
            defined[int(match["id"])] = _location(match)
            continue
        for pattern in _REDIRECTIONS:
            if match := pattern.match(line):
                defined[int(match[1])] = Redirect(int(match[2]))
    return defined


def _location(match: re.Match[str]) -> Location:
    return Location(match["file"], int(match["line"]), int(match["col"]))


def _place(line: str, defined: dict[int, Location | Redirect]) -> Location | None:
    """The place that a line of the program comes from."""
    if match := _HERE.search(line):
        return _location(match)
    match = _NUMBER.search(line)
    place = defined.get(int(match[1])) if match else None
    while isinstance(place, Redirect):
        place = defined.get(place.tgt_id)
    return place


__all__ = ["Location", "Redirect", "create_mlir_sourcemap"]
