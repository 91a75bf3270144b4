"""Jaxprs as text, in JAX's notation: `{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }`."""

import string
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from minijax_stage3.jaxpr import Atom, Jaxpr, JaxprEqn, Var

LINE_WIDTH = 80


def all_names() -> Iterator[str]:
    """a, b, ..., z, ba, bb, ...: as JAX does, numbers in base 26 whose digit 0 is a."""
    yield from string.ascii_lowercase
    for leading in all_names():
        if leading != "a":
            yield from (leading + letter for letter in string.ascii_lowercase)


class Names(dict["Var", str]):
    """Assigns the next free name to each variable."""

    def __init__(self) -> None:
        super().__init__()
        self.free = all_names()

    def __missing__(self, var: "Var") -> str:
        self[var] = name = next(self.free)
        return name


def jaxpr_to_str(jaxpr: "Jaxpr") -> str:
    """`jaxpr` as text."""
    return "\n".join(_jaxpr_lines(jaxpr, Names()))


def eqn_to_str(eqn: "JaxprEqn") -> str:
    """One equation as text, with its own variable names."""
    return "\n".join(_eqn_lines(eqn, Names(), used=None))


def _jaxpr_lines(jaxpr: "Jaxpr", names: Names) -> list[str]:
    consts = _binders(jaxpr.constvars, names)
    args = _binders(jaxpr.invars, names)
    used = {id(x) for eqn in jaxpr.eqns for x in eqn.invars} | {id(x) for x in jaxpr.outvars}
    blocks = [_eqn_lines(eqn, names, used) for eqn in jaxpr.eqns]
    outs = _tuple([_atom(atom, names) for atom in jaxpr.outvars])
    head = f"{{ lambda {consts}; {args}. let"
    if all(len(block) == 1 for block in blocks):
        line = f"{head} {'; '.join(block[0] for block in blocks)} in {outs} }}"
        if len(line) <= LINE_WIDTH:
            return [line]
    body = [f"    {line}" for block in blocks for line in block]
    return [head, *body, f"  in {outs} }}"]


def _eqn_lines(eqn: "JaxprEqn", names: Names, used: set[int] | None) -> list[str]:
    operands = "".join(f" {_atom(atom, names)}" for atom in eqn.invars)
    outs = " ".join(
        f"{names[var] if used is None or id(var) in used else '_'}:{var.aval}"
        for var in eqn.outvars
    )
    programs_last = sorted(eqn.params.items(), key=lambda item: (_holds_jaxprs(item[1]), item[0]))
    params = [_param_lines(key, value, names) for key, value in programs_last]
    head = f"{outs} = {eqn.primitive}" if outs else str(eqn.primitive)
    if not params:
        return [head + operands]
    line = f"{head}[{' '.join(lines[0] for lines in params)}]{operands}"
    if all(len(lines) == 1 for lines in params) and len(line) <= LINE_WIDTH:
        return [line]
    body = [f"  {line}" for lines in params for line in lines]
    return [f"{head}[", *body, f"]{operands}"]


def _param_lines(key: str, value: Any, names: Names) -> list[str]:
    if _is_jaxpr(value):
        first, *rest = _jaxpr_lines(value, names)
        return [f"{key}={first}", *rest]
    if _holds_jaxprs(value):
        inner = [f"  {line}" for x in value for line in _jaxpr_lines(x, names)]
        return [f"{key}=(", *inner, ")"]
    if isinstance(value, np.dtype):
        return [f"{key}={value.name}"]
    return [f"{key}={value}"]


def _is_jaxpr(x: Any) -> bool:
    return hasattr(x, "eqns")


def _holds_jaxprs(x: Any) -> bool:
    return _is_jaxpr(x) or (isinstance(x, tuple) and bool(x) and all(map(_is_jaxpr, x)))


def _binders(variables: Sequence["Var"], names: Names) -> str:
    return " ".join(f"{names[var]}:{var.aval}" for var in variables)


def _atom(atom: "Atom", names: Names) -> str:
    return f"{atom.val}:{atom.aval}" if hasattr(atom, "val") else names[atom]


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
