"""`cond`: one of two functions, chosen at run time.

The first higher-order primitive besides `jit`: it holds a program for each branch.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax_stage2 import Primitive, ShapedArray, astype, bind, ne, typeof
from minijax_stage2.argument_names import argument_names
from minijax_stage2.flat_function import FlatFunction, require_function
from minijax_stage2.promotion import result_type
from minijax_stage2.shaped_array import typeof_named
from minijax_stage2.tree import (
    PyTreeDef,
    explain_mismatch,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)
from minijax_stage3 import ClosedJaxpr, Jaxpr, Var
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage3.staging import abstractify, name_and_place_of, trace_to_jaxpr
from minijax_stage4.errors import BranchTypeError

cond_p = Primitive("cond", higher_order=True)


def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """Call `true_fun` or `false_fun` on the operands, chosen by `pred` at run time.

    Arguments:
        pred: a boolean scalar; a number counts as true unless it is zero.
        true_fun: function of the operands.
        false_fun: function of the operands whose result has the same structure and types.
        operands: arrays and pytrees of arrays.

    Returns:
        The result of the chosen function. Only that one runs, except under `vmap` over `pred`,
        where both do.

    Raises:
        BranchTypeError: the results differ in structure or types.
        TypeError: `pred` is not a scalar.

    >>> cond(True, lambda x: x + 1.0, lambda x: -x, 3.0)
    4.0
    """
    pred, leaves, branches, out_tree = stage_cond(pred, true_fun, false_fun, operands)
    return tree_unflatten(out_tree, bind(cond_p, pred, *leaves, branches=branches))


def stage_cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], operands: Any
) -> tuple[Any, list[Any], tuple[Jaxpr, ...], PyTreeDef]:
    """The operands of `cond_p`, its branches, and the structure of its result."""
    for branch in (true_fun, false_fun):
        require_function("cond", branch)
    pred = _as_predicate(pred)
    leaves, in_tree = tree_flatten(operands)
    in_avals = abstractify("cond", true_fun, lambda: argument_names(true_fun, operands, {}), leaves)
    functions = [FlatFunction(f, in_tree) for f in (false_fun, true_fun)]
    closed = [trace_to_jaxpr(f, in_avals, "cond", f.fun) for f in functions]
    target = _common_avals(functions, closed)
    if any(c.out_avals != target for c in closed):
        closed = [trace_to_jaxpr(casting(f, target), in_avals, "cond", f.fun) for f in functions]
    branches, consts = join_consts([(consts_as_invars(c.jaxpr), c.consts) for c in closed])
    return pred, [*consts, *leaves], branches, functions[0].out_tree


def join_consts(
    programs: Sequence[tuple[Jaxpr, Sequence[Any]]],
) -> tuple[tuple[Jaxpr, ...], list[Any]]:
    """Let each of some programs, whose constants are their first arguments, take those of all."""
    jaxprs, consts = zip(*programs, strict=True)
    return take_first_of_all(jaxprs, list(map(len, consts))), [x for row in consts for x in row]


def take_first_of_all(jaxprs: Sequence[Jaxpr], counts: Sequence[int]) -> tuple[Jaxpr, ...]:
    """The programs, each of which also takes the first `counts` arguments of all others."""
    rows = [jaxpr.invars[:count] for jaxpr, count in zip(jaxprs, counts, strict=True)]

    def taking(which: int, jaxpr: Jaxpr) -> Jaxpr:
        ignored = [[Var(x.aval) for x in row] for row in rows]
        params = [x for row in (*ignored[:which], rows[which], *ignored[which + 1 :]) for x in row]
        invars = [*params, *jaxpr.invars[counts[which] :]]
        return Jaxpr([], invars, jaxpr.eqns, jaxpr.outvars)

    return tuple(map(taking, range(len(jaxprs)), jaxprs))


def _as_predicate(pred: Any) -> Any:
    aval = typeof_named("cond: pred", pred)
    if aval.shape:
        raise TypeError(
            f"cond: pred must be a scalar, found {aval}. To choose element by element use "
            "where(pred, x, y); to choose for each example of a batch use vmap."
        )
    return pred if aval.dtype == np.bool_ else ne(pred, 0)


def _common_avals(
    functions: Sequence[FlatFunction], closed: Sequence[ClosedJaxpr]
) -> list[ShapedArray]:
    """The types that the results of both branches can have; Python numbers adapt."""
    false_fun, true_fun = functions
    false_tree, true_tree = false_fun.out_tree, true_fun.out_tree
    if false_tree != true_tree:
        raise BranchTypeError(
            f"cond: {name_and_place_of(true_fun.fun)} and {name_and_place_of(false_fun.fun)} must "
            f"return the same tree structure: {explain_mismatch(true_tree, false_tree)}. Return "
            "the same tree from both, with zeros where one has nothing."
        )
    pairs = list(zip(closed[0].out_avals, closed[1].out_avals, strict=True))
    target = [_join(a, b) for a, b in pairs]
    if None in target:
        numbered = tree_unflatten(true_tree, range(len(pairs)))
        rows = [
            f"    {'result' + keystr(path):<24} {pairs[i][1]!s:<16} {pairs[i][0]}"
            for path, i in tree_flatten_with_path(numbered)[0]
            if target[i] is None
        ]
        table = "\n".join([f"    {'':<24} {'true_fun':<16} false_fun", *rows])
        raise BranchTypeError(
            f"cond: {name_and_place_of(true_fun.fun)} and {name_and_place_of(false_fun.fun)} must "
            f"return the same types\n{table}\nConvert what differs, by astype or reshape."
        )
    return [aval for aval in target if aval is not None]


def _join(a: ShapedArray, b: ShapedArray) -> ShapedArray | None:
    if a == b:
        return a
    if a.shape == b.shape and (a.dtype == b.dtype or a.weak_type or b.weak_type):
        return ShapedArray(a.shape, result_type(a, b).dtype)
    return None


def casting(f: FlatFunction, target: Sequence[ShapedArray]) -> Callable[..., list[Any]]:
    """`f` with results of the types `target`."""

    def casting(*args: Any) -> list[Any]:
        outs = f(*args)
        return [
            out if typeof(out) == aval else astype(out, aval.dtype)
            for out, aval in zip(outs, target, strict=True)
        ]

    return casting
