"""Jaxprs of both libraries as plain data, and where two of them differ."""

import enum
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


def _is_jaxpr(x: Any) -> bool:
    return hasattr(x, "eqns") and hasattr(x, "invars")


def _is_type(x: Any) -> bool:
    """Return True for the type of an array; that of a token has its name only."""
    return hasattr(x, "weak_type") and type(x).__name__ != "AbstractToken"


def type_data(aval: Any) -> str:
    """The shape, dtype and weakness of a type."""
    if not _is_type(aval):
        return type(aval).__name__
    dtype = getattr(aval.dtype, "names", None) or (str(aval.dtype),)
    return f"{'~' * bool(aval.weak_type)}{dtype[0]}{list(aval.shape)}"


class _Names(dict):
    """Variables numbered in the order in which they are first met."""

    def __missing__(self, var: Any) -> int:
        self[var] = len(self)
        return self[var]


def _value(x: Any) -> Any:
    """A parameter, without identities and the name of its library."""
    if _is_jaxpr(x):
        return jaxpr_data(x)
    if isinstance(x, type | np.dtype):
        return str(np.dtype(x)) if not isinstance(x, type) or issubclass(x, np.generic) else x
    if isinstance(x, enum.Enum):
        return f"{type(x).__name__}.{x.name}"
    if x is None or isinstance(x, bool | str):
        return x
    if isinstance(x, int | float | complex | np.number | np.ndarray):
        return repr(np.asarray(x).tolist())
    if hasattr(x, "axis_names"):
        return f"{type(x).__name__} {x.axis_names}"
    if isinstance(x, Mapping):
        return {str(key): _value(value) for key, value in sorted(x.items())}
    if hasattr(x, "elts"):  # leaves in groups
        return [list(map(str, getattr(each, "elts", each))) for each in x.elts]
    if isinstance(x, tuple | list):
        kind = [type(x).__name__] if hasattr(x, "_fields") else []
        return [*kind, *map(_value, x)]
    if _is_type(x):
        return type_data(x)
    if callable(x) or hasattr(x, "call_wrapped"):
        return "a function"
    text = re.sub(r" at 0x[0-9a-f]+|\bid=\d+", "", str(x)).replace("glassjax", "jax")
    return f"{type(x).__name__}: {text}"


def jaxpr_data(jaxpr: Any) -> dict[str, Any]:
    """What a reader of jaxprs can tell of one; variables are numbers."""
    jaxpr = jaxpr.jaxpr if hasattr(jaxpr, "jaxpr") else jaxpr
    names = _Names()

    def atom(x: Any) -> Any:
        if hasattr(x, "val"):
            value = (
                x.val if getattr(x.aval.dtype, "names", None) else np.asarray(x.val, x.aval.dtype)
            )
            return f"{np.asarray(value).tolist()!r}:{type_data(x.aval)}"
        return names[x]

    def bound(x: Any) -> str:
        return f"{names[x]}:{type_data(x.aval)}"

    return {
        "constvars": list(map(bound, jaxpr.constvars)),
        "invars": list(map(bound, jaxpr.invars)),
        "eqns": [
            {
                "primitive": eqn.primitive.name,
                "invars": list(map(atom, eqn.invars)),
                "params": {name: _value(x) for name, x in sorted(eqn.params.items())},
                "outvars": list(map(bound, eqn.outvars)),
                "effects": sorted(type(effect).__name__ for effect in eqn.effects),
            }
            for eqn in jaxpr.eqns
        ],
        "outvars": list(map(atom, jaxpr.outvars)),
    }


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    """Where the data of two jaxprs differ, one line for each place, ours first."""
    ours_named, theirs_named = ([eqn["primitive"] for eqn in x["eqns"]] for x in (ours, theirs))
    if ours_named != theirs_named:
        yield f"equations: {' '.join(ours_named)} | {' '.join(theirs_named)}"
        return
    for name in ("constvars", "invars", "outvars"):
        if ours[name] != theirs[name]:
            yield f"{name} of a program"
    for our_eqn, their_eqn in zip(ours["eqns"], theirs["eqns"], strict=True):
        yield from _eqn_differences(our_eqn, their_eqn)


def _eqn_differences(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    primitive = ours["primitive"]
    for name in ("invars", "outvars", "effects"):
        if ours[name] != theirs[name]:
            yield f"{primitive}: {name} {ours[name]} | {theirs[name]}"
    for name in sorted({*ours["params"], *theirs["params"]}):
        if name not in ours["params"]:
            yield f"{primitive}: no parameter {name}"
        elif name not in theirs["params"]:
            yield f"{primitive}: parameter {name} is ours alone"
        else:
            yield from _value_differences(
                f"{primitive}: {name}", ours["params"][name], theirs["params"][name]
            )


def _value_differences(place: str, ours: Any, theirs: Any) -> Iterator[str]:
    if ours == theirs:
        return
    pairs = [(ours, theirs)]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = list(zip(ours, theirs, strict=True))
    programs = [(x, y) for x, y in pairs if isinstance(x, dict) and isinstance(y, dict)]
    if not programs or not all("eqns" in x and "eqns" in y for x, y in programs):
        yield f"{place} {ours} | {theirs}"
    else:
        for x, y in programs:
            yield from differences(x, y)
