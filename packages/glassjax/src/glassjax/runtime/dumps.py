"""Dumps: files of the programs that are compiled, in the directory `config.dump_ir_to`.

The names of the files are JAX's, since tools look for them.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import CodeType

from glassjax.settings.config import config
from glassjax.xla.coordination import pprof_profile
from glassjax_stage3 import Jaxpr
from glassjax_stage3.jaxpr import inner_jaxprs

_jaxprs, _modules = count(), count()


def dump_jaxpr(name: str, jaxpr: Jaxpr) -> None:
    """Write a program that is lowered, as text and as a profile, where `dump_ir_modes` has them."""
    stem = f"jax_{next(_jaxprs):06}_{name}"
    if "jaxpr" in _modes():
        _path(f"{stem}.jaxpr.txt").write_text(str(jaxpr), encoding="utf-8")
    if "eqn_count_pprof" in _modes():
        _path(f"{stem}.eqn_count_pprof").write_bytes(equation_profile(jaxpr))


def dump_module(text: str) -> None:
    """Write a StableHLO module that is compiled, where `dump_ir_modes` has "stablehlo"."""
    if "stablehlo" in _modes():
        name = text[:200].partition("@")[2].partition(" ")[0].strip('"')
        _path(f"jax_ir{next(_modules):04}_{name}_compile.mlir").write_text(text, encoding="utf-8")


def _modes() -> list[str]:
    return config.dump_ir_modes.split(",")


def _path(name: str) -> Path:
    directory = Path(config.dump_ir_to)
    directory.mkdir(parents=True, exist_ok=True)
    return directory / name.replace("/", "")


Line = tuple[CodeType, int]


def equation_profile(jaxpr: Jaxpr) -> bytes:
    """The count of equations by primitive and line of the user's program, for the tool `pprof`.

    The callers of an equation in an inner program are the equations that hold it.
    """
    strings = {"": 0}

    def string(text: str) -> int:
        return strings.setdefault(text, len(strings))

    locations: dict[Line, int] = {}
    functions: dict[CodeType, int] = {}
    samples = [
        {
            "location_id": [locations.setdefault(line, len(locations) + 1) for line in stack],
            "value": [number],
            "label": [{"key": string("primitive"), "str": string(primitive)}],
        }
        for (primitive, stack), number in Counter(_equations(jaxpr, (), set())).items()
    ]
    lines = [
        {"function_id": functions.setdefault(code, len(functions) + 1), "line": line}
        for code, line in locations
    ]
    profile = {
        "sample": samples,
        "sample_type": [{"type": string("equations"), "unit": string("count")}],
        "location": [{"id": id, "line": [line]} for id, line in enumerate(lines, 1)],
        "function": [
            {
                "id": id,
                "name": string(code.co_qualname),
                "filename": string(code.co_filename),
                "start_line": code.co_firstlineno,
            }
            for code, id in functions.items()
        ],
        "string_table": list(strings),
    }
    return gzip.compress(pprof_profile(json.dumps(profile)))


def _equations(
    jaxpr: Jaxpr, callers: tuple[Line, ...], seen: set[Jaxpr]
) -> Iterator[tuple[str, tuple[Line, ...]]]:
    """The name of the primitive of each equation, and its lines, its own first.

    An inner program that several equations call is counted once.
    """
    for eqn in jaxpr.eqns:
        source = eqn.source
        lines = callers if source is None else ((source.code, source.line), *callers)
        yield eqn.primitive.name, lines
        for inner in inner_jaxprs(eqn):
            if inner not in seen:
                seen.add(inner)
                yield from _equations(inner, lines, seen)
