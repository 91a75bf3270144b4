"""Maps from the lines of compiled programs to lines of their source, as editors read them.

`generate_sourcemaps` makes them for a function at chosen stages of its compilation, the passes. The
names follow `jax.experimental.source_mapper`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from glassjax.runtime.jit import jit
from glassjax.runtime.printed_jaxpr import Doc, JaxPrinter
from glassjax.runtime.staging import make_jaxpr
from glassjax.settings.config import config
from glassjax.settings.names import also_importable_as, list_public_names
from glassjax_stage2.arguments import require_function
from glassjax_stage2.source import Source
from glassjax_stage3 import Jaxpr, JaxprEqn

# Source maps, and their form in JSON.
#
# A map has a list of segments for each generated line. A segment is a column, or a column with
# the number of a source file, and a line and a column in it, and perhaps the number of a name.
# All numbers start at zero, and are stored as differences from the previous segment; columns, from
# the previous segment of the same line. In JSON a number is written in digits of base 32, the
# lowest first, each as a character with a bit that tells whether more follow; the lowest bit of all
# is the sign. (ECMA-426, "Source map format".)


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

    >>> from glassjax.experimental import source_mapper
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
    """Makes mappings from absolute numbers.

    >>> from glassjax.experimental import source_mapper
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
    """Makes the map of a text, line by line."""

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
        """The map; `with_contents` adds an empty text for each file."""
        self._mappings.new_group()
        contents = [""] * len(self._sources) if with_contents else []
        return SourceMap(3, self._sources, contents, [], self._mappings.mappings())


# Passes: stages of a compilation whose text can be mapped to the source.


@dataclass(frozen=True, slots=True)
class SourceMapDump:
    """The text of a program after a pass, and the map of its lines.

    Attributes:
        source_map: the map.
        generated_code: the text.
        pass_name: the name of the pass.
    """

    source_map: SourceMap
    generated_code: str
    pass_name: str


@dataclass(frozen=True, slots=True)
class Pass:
    """A stage of a compilation.

    Attributes:
        name: its name.
        compile_fn: a function of a directory, a function, its arguments and its keyword arguments,
            that compiles as far as is needed. Passes with one such function share its result.
        generate_dump: a function of that result that returns a `SourceMapDump`.
    """

    name: str
    compile_fn: Callable[..., Any]
    generate_dump: Callable[..., SourceMapDump]


_passes: dict[str, Pass] = {}


def register_pass(pass_: Pass) -> None:
    """Add a pass to `all_passes`.

    Raises:
        ValueError: there is one of its name.
    """
    if pass_.name in _passes:
        raise ValueError(f"register_pass: there is a pass of the name {pass_.name!r}")
    _passes[pass_.name] = pass_


def all_passes() -> Sequence[Pass]:
    """The passes.

    >>> from glassjax.experimental import source_mapper
    >>> [each.name for each in source_mapper.all_passes()]
    ['jaxpr', 'hlo:stable-hlo', 'hlo:optimized']
    """
    return list(_passes.values())


def filter_passes(regex: str) -> Sequence[Pass]:
    """The passes whose name begins with a match of `regex`."""
    return [each for name, each in _passes.items() if re.match(regex, name)]


@contextmanager
def flag_env(**kwargs: Any) -> Iterator[None]:
    """Set flags of absl, by name, for the block of a `with`.

    Raises:
        ValueError: there are flags, and the program has not imported absl, which declares them.
    """
    flags = getattr(sys.modules.get("absl.flags"), "FLAGS", None)
    if kwargs and flags is None:
        raise ValueError(f"flag_env: import absl.flags before setting {', '.join(kwargs)}")
    before = {name: getattr(flags, name) for name in kwargs}
    try:
        for name, value in kwargs.items():
            setattr(flags, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(flags, name, value)


def compile_with_env(
    f: Callable[..., Any],
    f_args: Sequence[Any],
    f_kwargs: Mapping[str, Any],
    env_flags: Mapping[str, Any],
    compiler_flags: Mapping[str, Any] | None,
) -> None:
    """Compile a function anew, so that the compiler writes its files.

    Arguments:
        f: the function.
        f_args: its arguments.
        f_kwargs: its keyword arguments.
        env_flags: flags of absl, set meanwhile.
        compiler_flags: options of the compiler.
    """

    def recompile(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    with flag_env(**env_flags):
        jit(recompile).lower(*f_args, **f_kwargs).compile(compiler_flags)


# Source maps of a function, for some passes.


def generate_sourcemaps(
    f: Callable[..., Any], passes: Sequence[Pass], **pass_kwargs: Any
) -> Callable[..., Sequence[SourceMapDump]]:
    """Return a function that maps the program of a call of `f` to its source.

    Arguments:
        f: function of arrays and pytrees of arrays.
        passes: the stages of the compilation; `filter_passes` finds them by name.
        pass_kwargs: keyword arguments of the passes.

    Returns:
        A function of the arguments of `f`. It returns a list with a `SourceMapDump` for each pass.

    Raises:
        TypeError: `f` is not a function.

    >>> from glassjax.experimental import source_mapper
    >>> passes = source_mapper.filter_passes("jaxpr")
    >>> (dump,) = source_mapper.generate_sourcemaps(jnp.sin, passes)(1.0)
    >>> print(dump.generated_code)
    { lambda ; a:f32[]. let b:f32[] = sin a in (b,) }
    """
    require_function("generate_sourcemaps", f)

    def dumps(*args: Any, **kwargs: Any) -> list[SourceMapDump]:
        compiled: dict[Any, Any] = {}
        found = []
        with TemporaryDirectory() as directory:
            for each in passes:
                if each.compile_fn not in compiled:
                    place = Path(directory, each.name.replace(":", "__"))
                    place.mkdir()
                    compiled[each.compile_fn] = each.compile_fn(
                        str(place), f, args, kwargs, **pass_kwargs
                    )
                found.append(each.generate_dump(compiled[each.compile_fn], **pass_kwargs))
        return found

    return dumps


# The pass that stages a function to a jaxpr: each equation is mapped to its source.


_MARK = re.compile("\ue000([0-9]+)\ue001")  # private characters, which no program prints


class MarkingPrinter(JaxPrinter):
    """Marks the beginning of each equation by its number, without width."""

    def __init__(self) -> None:
        super().__init__()
        self.eqns: list[JaxprEqn] = []

    def width(self, line: str) -> int:
        return len(_MARK.sub("", line))

    def eqn(self, eqn: JaxprEqn, used: set[int] | None = None) -> list[Doc]:
        number = len(self.eqns)
        self.eqns.append(eqn)
        return [f"\ue000{number}\ue001", *super().eqn(eqn, used)]


def canonicalize_filename(file_name: str) -> str:
    """The name of a source file in maps.

    It is the name without the matches of the setting `hlo_source_file_canonicalization_regex`.

    >>> from glassjax.experimental import source_mapper
    >>> with glassjax.config.override(hlo_source_file_canonicalization_regex="^/home/[^/]*/"):
    ...     source_mapper.canonicalize_filename("/home/ada/train.py")
    'train.py'
    """
    pattern: str | None = config.hlo_source_file_canonicalization_regex
    return re.sub(pattern, "", file_name) if pattern else file_name


def _position(source: Source) -> tuple[int, int]:
    """The line and the column of a place, both counted from zero."""
    positions = list(source.code.co_positions())
    number = source.offset // 2
    column = positions[number][2] if number < len(positions) else None
    return source.line - 1, column or 0


def _compile(
    work_dir: str, f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], **_: Any
) -> Jaxpr:
    return make_jaxpr(f)(*args, **kwargs)


def _dump(closed: Jaxpr, **_: Any) -> SourceMapDump:
    printer = MarkingPrinter()
    marked = printer.text(closed).split("\n")
    found = Lines()
    for line in marked:
        places, shift = [], 0
        for match in _MARK.finditer(line):
            source = printer.eqns[int(match[1])].source
            if source is not None:
                file = canonicalize_filename(source.code.co_filename)
                places.append((match.start() - shift, file, *_position(source)))
            shift += len(match[0])
        found.add(*places)
    text = "\n".join(_MARK.sub("", line) for line in marked)
    return SourceMapDump(found.source_map(), text, "jaxpr")


register_pass(Pass("jaxpr", _compile, _dump))


# The source map of a program in MLIR, from the locations of its operations.


class Location(NamedTuple):
    """A place in a source file; lines begin at 1."""

    file: str
    line: int
    col: int


class Redirect(NamedTuple):
    """A location that refers to another by its number."""

    tgt_id: int


_PLACE = r'loc\("(?P<file>[^"]*)":(?P<line>\d+):(?P<col>\d+)(?: to \d*:\d+)?\)'
_HERE = re.compile(_PLACE)  # in a line of the program
_NUMBER = re.compile(r"loc\(#loc(\d+)\)")
_DEFINITION = re.compile(rf"#loc(?P<id>\d+) = {_PLACE}")
# A named scope, or a call, for which the inner place counts.
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

    >>> from glassjax.experimental import source_mapper
    >>> line = 'return %0 : tensor<f32> loc("f.py":17:4)'
    >>> source_mapper.create_mlir_sourcemap(line).mappings
    [[(0, 0, 16, 4)], []]
    """
    lines = mlir_dump.split("\n")
    defined = _definitions(lines)
    found = Lines()
    for line in lines:
        place = None if line.startswith("#loc") else _line_source(line, defined)
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


def _line_source(line: str, defined: dict[int, Location | Redirect]) -> Location | None:
    """The place that a line of the program comes from."""
    if match := _HERE.search(line):
        return _location(match)
    match = _NUMBER.search(line)
    place = defined.get(int(match[1])) if match else None
    while isinstance(place, Redirect):
        place = defined.get(place.tgt_id)
    return place


# The passes that lower a function to StableHLO, and compile it to optimized HLO.


_METADATA = re.compile(r'metadata={.*?source_file="([^"]*)" source_line=(\d+)')


def _stablehlo_lower(
    work_dir: str, f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], **_: Any
) -> Any:
    return jit(lambda *args: f(*args, **kwargs)).lower(*args)


def _stable_hlo(lowered: Any, **_: Any) -> SourceMapDump:
    text = lowered.as_text(debug_info=True)
    return SourceMapDump(create_mlir_sourcemap(text), text, "hlo:stable-hlo")


def _optimized(lowered: Any, **_: Any) -> SourceMapDump:
    text = lowered.compile().as_text()
    found = Lines()
    for line in text.split("\n"):
        match = _METADATA.search(line)
        if match is None:
            found.add()
        else:
            indent = len(line) - len(line.lstrip())
            found.add((indent, match[1], int(match[2]) - 1, 0))
    return SourceMapDump(found.source_map(), text, "hlo:optimized")


register_pass(Pass("hlo:stable-hlo", _stablehlo_lower, _stable_hlo))
register_pass(Pass("hlo:optimized", _stablehlo_lower, _optimized))


__all__ = [
    "MappingsGenerator",
    "Pass",
    "SourceMap",
    "SourceMapDump",
    "all_passes",
    "canonicalize_filename",
    "compile_with_env",
    "create_mlir_sourcemap",
    "filter_passes",
    "generate_sourcemaps",
    "register_pass",
]
list_public_names(globals())

also_importable_as(
    globals(),
    "glassjax.experimental.source_mapper.common",
    "glassjax.experimental.source_mapper.generate_map",
    "glassjax.experimental.source_mapper.hlo",
    "glassjax.experimental.source_mapper.jaxpr",
    "glassjax.experimental.source_mapper.mlir",
)
