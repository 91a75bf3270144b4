"""Implicit solutions: an equation and its solvers as programs.

A solution depends on the values that its equation closes over. So equation and solvers are staged,
and those values become arguments of their programs, visible to interpreters.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minijax.errors.classes import TreeMismatchError
from minijax.primitives.loops import Avals, stage_body
from minijax.pytrees import structures
from minijax_stage2 import explain_mismatch
from minijax_stage2.arguments import FlatFunction
from minijax_stage2.source import name_of
from minijax_stage2.tree import PyTreeDef, keystr, tree_flatten_with_path, tree_unflatten
from minijax_stage3 import Jaxpr
from minijax_stage3.jaxpr import consts_as_invars


class Program(NamedTuple):
    """A staged function: it takes the values that it closes over, then its arguments."""

    jaxpr: Jaxpr
    consts: list[Any]
    out_tree: PyTreeDef


def stage_part(
    caller: str, fun: Callable[..., Any], in_avals: Avals, in_tree: PyTreeDef, named: Any = None
) -> Program:
    """Stage a function that is part of an equation; messages name `named` instead."""
    flat = FlatFunction(fun, in_tree)
    closed = stage_body(flat, in_avals, caller, named or fun)
    return Program(consts_as_invars(closed.jaxpr), closed.consts, flat.out_tree)


def without_aux(what: str, fun: Any, out_tree: PyTreeDef, has_aux: bool) -> PyTreeDef:
    """The structure of the solution within the structure of a solver's result.

    Raises:
        ValueError: with `has_aux` it did not return a pair.
    """
    if not has_aux:
        return out_tree
    node = structures.node_data(out_tree)
    if node is None or node[0] is not tuple or len(structures.children(out_tree)) != 2:
        raise ValueError(
            f"{what} `{name_of(fun)}` must return a pair, the solution and what else is to be "
            f"known, because of has_aux=True; found {out_tree}"
        )
    return structures.children(out_tree)[0]


def check_structure(what: str, fun: Any, name: str, expected: PyTreeDef, found: PyTreeDef) -> None:
    """Raise an error if the structure of a function's result differs from that of `name`."""
    if found != expected:
        raise TreeMismatchError(
            f"{what} `{name_of(fun)}` must return the structure of {name}: "
            + explain_mismatch(expected, found, name="result")
        )


def check_types(
    what: str, fun: Any, name: str, tree: PyTreeDef, expected: Avals, found: Avals
) -> None:
    """Raise an error if the types of a function's result differ from those of `name`.

    Raises:
        ValueError: shapes differ.
        TypeError: dtypes do.
    """
    differing = _differing(expected, found)
    if not differing:
        return
    paths = [path for path, _ in tree_flatten_with_path(tree_unflatten(tree, expected))[0]]
    rows = [("", name, "returned")]
    rows += [(f"result{keystr(paths[i])}", str(expected[i]), str(found[i])) for i in differing]
    table = "\n".join(f"    {path:<24} {x:<16} {y}" for path, x, y in rows)
    shapes_differ = any(expected[i].shape != found[i].shape for i in differing)
    error = ValueError if shapes_differ else TypeError
    raise error(f"{what} `{name_of(fun)}` must return the types of {name}\n{table}")


def _differing(expected: Avals, found: Avals) -> Sequence[int]:
    return [
        i
        for i, (x, y) in enumerate(zip(expected, found, strict=True))
        if x.strip_weak_type() != y.strip_weak_type()
    ]
