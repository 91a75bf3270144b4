"""Passes: stages of a compilation whose text can be mapped to the source."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from minijax.experimental.source_mapper.source_map import SourceMap
from minijax.runtime.jit import jit


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
    """Add a pass to those of `all_passes`.

    Raises:
        ValueError: there is one of its name.
    """
    if pass_.name in _passes:
        raise ValueError(f"register_pass: there is a pass of the name {pass_.name!r}")
    _passes[pass_.name] = pass_


def all_passes() -> Sequence[Pass]:
    """The passes.

    >>> from minijax.experimental import source_mapper
    >>> [each.name for each in source_mapper.all_passes()]
    ['hlo:stable-hlo', 'hlo:optimized', 'jaxpr']
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
    """Compile a function anew, for what the compiler writes to files.

    Arguments:
        f: the function.
        f_args: its arguments.
        f_kwargs: its keyword arguments.
        env_flags: flags of absl, set meanwhile.
        compiler_flags: options of the compiler.
    """

    def again(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    with flag_env(**env_flags):
        jit(again).lower(*f_args, **f_kwargs).compile(compiler_flags)


__all__ = [
    "Pass", "SourceMapDump", "all_passes", "compile_with_env", "filter_passes", "flag_env",
    "register_pass",
]  # fmt: skip
