"""`cond`: one of two functions, chosen at run time.

The first higher-order primitive besides `jit`: it holds a program for each branch.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from glassjax_stage2 import Primitive, ShapedArray, bind, explain_mismatch, ne
from glassjax_stage2.arguments import FlatFunction, argument_names, require_function
from glassjax_stage2.shaped_array import typeof_named
from glassjax_stage2.source import name_of
from glassjax_stage2.tree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from glassjax_stage3 import Jaxpr, Var
from glassjax_stage3.jaxpr import consts_as_invars
from glassjax_stage3.staging import abstractify, trace_to_jaxpr
from glassjax_stage4.errors import BranchTypeError

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
    for branch in (true_fun, false_fun):
        require_function("cond", branch)
    pred = _as_predicate(pred)
    leaves, in_tree = tree_flatten(operands)
    names = partial(argument_names, true_fun, operands, {})
    in_avals = abstractify(f"cond of `{name_of(true_fun)}`", names, leaves)
    functions = [FlatFunction(f, in_tree) for f in (false_fun, true_fun)]
    closed = [trace_to_jaxpr(f, in_avals, "cond", f.fun) for f in functions]
    _require_same_types(functions, [c.out_avals for c in closed])
    branches, consts = join_consts([(consts_as_invars(c), c.consts) for c in closed])
    outs = bind(cond_p, pred, *consts, *leaves, branches=branches)
    return tree_unflatten(functions[0].out_tree, outs)


def join_consts(
    programs: Sequence[tuple[Jaxpr, Sequence[Any]]],
) -> tuple[tuple[Jaxpr, ...], list[Any]]:
    """Let each program, whose first arguments are its constants, take the constants of all."""
    rows = [jaxpr.invars[: len(consts)] for jaxpr, consts in programs]

    def taking(which: int, jaxpr: Jaxpr) -> Jaxpr:
        ignored = [[Var(x.aval) for x in row] for row in rows]
        params = [x for row in (*ignored[:which], rows[which], *ignored[which + 1 :]) for x in row]
        return Jaxpr([], [*params, *jaxpr.invars[len(rows[which]) :]], jaxpr.eqns, jaxpr.outvars)

    jaxprs = tuple(taking(which, jaxpr) for which, (jaxpr, _) in enumerate(programs))
    return jaxprs, [x for _, consts in programs for x in consts]


def _as_predicate(pred: Any) -> Any:
    aval = typeof_named("cond: pred", pred)
    if aval.shape:
        raise TypeError(
            f"cond: pred must be a scalar, found {aval}. To choose element by element use "
            "where(pred, x, y); to choose for each example of a batch use vmap."
        )
    return pred if aval.dtype == np.bool_ else ne(pred, 0)


def _require_same_types(
    functions: Sequence[FlatFunction], out_avals: Sequence[Sequence[ShapedArray]]
) -> None:
    false_fun, true_fun = functions
    both = " and ".join(f"`{name_of(f.fun)}`" for f in (true_fun, false_fun))
    if false_fun.out_tree != true_fun.out_tree:
        raise BranchTypeError(
            f"cond: {both} must return the same tree structure: "
            f"{explain_mismatch(true_fun.out_tree, false_fun.out_tree)}. Return the same tree from "
            "both, with zeros where one has nothing."
        )
    on_false, on_true = out_avals
    paths_and_avals, _ = tree_flatten_with_path(tree_unflatten(true_fun.out_tree, on_true))
    for (path, a), b in zip(paths_and_avals, on_false, strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise BranchTypeError(
                f"cond: {both} must return the same types, but result{keystr(path)} is {a} of the "
                f"first and {b} of the second. Convert one of them, by astype or reshape."
            )
