"""Source maps, and their form in JSON.

A map has a list of segments for each generated line. A segment is a column, or a column with the
number of a source file, and a line and a column in it, and perhaps the number of a name. All
numbers begin at zero, and are differences to those of the segment before; columns to those of the
same line. In JSON a number is written in digits of base 32, the lowest first, each as a character
with a bit that tells whether more follow; the lowest bit of all is the sign. (ECMA-426, "Source map
format".)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase, digits

Segment = tuple[int, ...]
Mappings = Sequence[Sequence[Segment]]

_ALPHABET = ascii_uppercase + ascii_lowercase + digits + "+/"


def _encode(number: int) -> str:
    rest = 2 * abs(number) + (number < 0)
    text = ""
    while True:
        rest, digit = divmod(rest, 32)
        text += _ALPHABET[digit + (32 if rest else 0)]
        if not rest:
            return text


def _decode(text: str) -> Segment:
    numbers, total, weight = [], 0, 1
    for character in text:
        more, digit = divmod(_ALPHABET.index(character), 32)
        total += digit * weight
        weight *= 32
        if not more:
            numbers.append(-(total // 2) if total % 2 else total // 2)
            total, weight = 0, 1
    return tuple(numbers)


@dataclass(frozen=True, slots=True)
class SourceMap:
    """A source map.

    Attributes:
        version: the version of the format, 3.
        sources: the names of the source files.
        sources_content: their texts, or nothing.
        names: the names that segments refer to.
        mappings: a list of segments for each generated line.

    >>> from minijax.experimental import source_mapper
    >>> one = source_mapper.SourceMap(3, ["f.py"], [], [], [[(4, 0, 16, 1)]])
    >>> one.to_json()
    '{"version": 3, "sources": ["f.py"], "sourcesContent": [], "names": [], "mappings": "IAgBC"}'
    >>> source_mapper.SourceMap.from_json(one.to_json()) == one
    True
    """

    version: int
    sources: Sequence[str]
    sources_content: Sequence[str]
    names: Sequence[str]
    mappings: Mappings

    @classmethod
    def from_json(cls, json_data: str) -> SourceMap:
        """The map that `to_json` has written.

        Raises:
            ValueError: it is not JSON, or a character of the mappings is none of the format.
        """
        data = json.loads(json_data)
        mappings = [
            [_decode(part) for part in line.split(",")] if line else []
            for line in data["mappings"].split(";")
        ]
        return cls(
            data["version"], data["sources"], data["sourcesContent"], data["names"], mappings
        )

    def to_json(self) -> str:
        """The map as JSON."""
        lines = (
            ",".join("".join(map(_encode, segment)) for segment in line) for line in self.mappings
        )
        return json.dumps(
            {
                "version": self.version,
                "sources": self.sources,
                "sourcesContent": self.sources_content,
                "names": self.names,
                "mappings": ";".join(lines),
            }
        )


class MappingsGenerator:
    """Makes mappings from numbers that are not differences.

    >>> from minijax.experimental import source_mapper
    >>> mappings = source_mapper.MappingsGenerator()
    >>> mappings.new_group()
    >>> mappings.new_segment(4, 0, 16, 1)
    >>> mappings.new_group()
    >>> mappings.new_segment(4, 0, 17, 1)
    >>> mappings.mappings()
    [[(4, 0, 16, 1)], [(4, 0, 1, 0)]]
    """

    def __init__(self) -> None:
        self._lines: list[list[Segment]] = []
        self._last = [0] * 5

    def new_group(self) -> None:
        """Begin the next generated line."""
        self._lines.append([])
        self._last[0] = 0

    def new_segment(self, *seg: int) -> None:
        """Add a segment of 1, 4 or 5 numbers to the line.

        Raises:
            RuntimeError: no line has begun.
            ValueError: there is another number of numbers.
        """
        if not self._lines:
            raise RuntimeError("MappingsGenerator: call new_group() before new_segment()")
        if len(seg) not in (1, 4, 5):
            raise ValueError(f"MappingsGenerator: a segment has 1, 4 or 5 numbers, found {seg}")
        self._lines[-1].append(tuple(n - last for n, last in zip(seg, self._last, strict=False)))
        self._last[: len(seg)] = seg

    def mappings(self) -> Mappings:
        """The segments of each line."""
        return self._lines


class Lines:
    """Makes the map of a text, of which each line comes from at most a few places."""

    def __init__(self) -> None:
        self._mappings = MappingsGenerator()
        self._sources: list[str] = []

    def add(self, *places: tuple[int, str, int, int]) -> None:
        """Add a line: for each place a column, a source file, and a line and column in it."""
        self._mappings.new_group()
        for column, source, line, source_column in places:
            if source not in self._sources:
                self._sources.append(source)
            self._mappings.new_segment(column, self._sources.index(source), line, source_column)

    def source_map(self, with_contents: bool = False) -> SourceMap:
        """The map. `with_contents`: whether it has an empty text for each file."""
        self._mappings.new_group()
        contents = [""] * len(self._sources) if with_contents else []
        return SourceMap(3, self._sources, contents, [], self._mappings.mappings())


__all__ = ["MappingsGenerator", "SourceMap"]
