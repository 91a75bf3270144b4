"""The pass that stages a function to a jaxpr: each equation is mapped to its source."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minijax.experimental.source_mapper.common import Pass, SourceMapDump, register_pass
from minijax.experimental.source_mapper.source_map import Lines
from minijax.runtime.printed_jaxpr import Doc, JaxPrinter
from minijax.runtime.staging import make_jaxpr
from minijax.settings.config import config
from minijax_stage2.source import Source
from minijax_stage3 import ClosedJaxpr, JaxprEqn

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
    """The name of a source file as maps have it.

    That is the name without what the setting `hlo_source_file_canonicalization_regex` matches.

    >>> from minijax.experimental import source_mapper
    >>> with minijax.config.override(hlo_source_file_canonicalization_regex="^/home/[^/]*/"):
    ...     source_mapper.canonicalize_filename("/home/ada/train.py")
    'train.py'
    """
    pattern: str | None = config.hlo_source_file_canonicalization_regex
    return re.sub(pattern, "", file_name) if pattern else file_name


def _position(source: Source) -> tuple[int, int]:
    """The line and the column of a place, which both begin at zero."""
    positions = list(source.code.co_positions())
    number = source.offset // 2
    column = positions[number][2] if number < len(positions) else None
    return source.line - 1, column or 0


def _compile(
    work_dir: str, f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], **_: Any
) -> ClosedJaxpr:
    return make_jaxpr(f)(*args, **kwargs)


def _dump(closed: ClosedJaxpr, **_: Any) -> SourceMapDump:
    printer = MarkingPrinter()
    marked = printer.text(closed.jaxpr).split("\n")
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

__all__: list[str] = []
