"""The passes that lower a function to StableHLO, and compile it to optimized HLO."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minijax.experimental.source_mapper.common import Pass, SourceMapDump, register_pass
from minijax.experimental.source_mapper.mlir import create_mlir_sourcemap
from minijax.experimental.source_mapper.source_map import Lines
from minijax.runtime.jit import jit

_METADATA = re.compile(r'metadata={.*?source_file="([^"]*)" source_line=(\d+)')


def _lower(
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


register_pass(Pass("hlo:stable-hlo", _lower, _stable_hlo))
register_pass(Pass("hlo:optimized", _lower, _optimized))

__all__: list[str] = []
