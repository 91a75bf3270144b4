"""`cond` and `switch`: one of several functions, chosen at run time."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from minijax.errors.classes import BranchTypeError
from minijax.lax.control_flow.cond_rules import cond_p
from minijax.lax.control_flow.disabled_jit import known_number, known_truth
from minijax.lax.control_flow.program_cache import keeps_programs
from minijax.lax.elementwise.extremes import clamp
from minijax.lax.indexing.indices import as_index
from minijax.lax.shapes.reshaping import expand_dims, squeeze
from minijax.primitives.axis_names import AxisData
from minijax.primitives.effects import does_io, refuse_io
from minijax.primitives.loops import stage_body, stage_to_jaxpr
from minijax.primitives.sharding_rules import agreed
from minijax.primitives.varying import (
    NONE,
    AxisNames,
    VaryingArray,
    mesh_axes_of,
    pvary,
    vary,
    vma_of,
)
from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.current import is_evaluating
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.jit import jit
from minijax.runtime.not_given import not_given
from minijax.runtime.recursion import name_and_place_of
from minijax.runtime.refs import (
    Ref,
    closing_over_refs,
    passing,
    values_of,
    with_outer_refs,
    write_all,
)
from minijax.settings.debugging import infs_option, jit_is_disabled, nans_option
from minijax.settings.promotion import result_type
from minijax.shardings.types import convert, division_of, sharded_type, with_division
from minijax.transforms.custom_vmap import custom_vmap
from minijax_stage2 import ShapedArray, astype, bind, explain_mismatch, ne, typeof
from minijax_stage2.arguments import FlatFunction, argument_names, require_function
from minijax_stage2.shaped_array import typeof_named
from minijax_stage2.source import name_of
from minijax_stage2.tree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from minijax_stage3 import ClosedJaxpr, Jaxpr, Var, eval_jaxpr
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage3.jit_rules import vmap_jaxpr
from minijax_stage3.staging import abstractify
from minijax_stage4.cond import join_consts
from minijax_stage4.partial_eval import merge, partition


@evaluated_by_library
@keeps_programs("true_fun", "false_fun")
def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = not_given,
) -> Any:
    """Call `true_fun` or `false_fun` on the operands, chosen by `pred` at run time.

    Arguments:
        pred: a boolean scalar; a number counts as true unless it is zero.
        true_fun: function of the operands.
        false_fun: function of the operands whose result has the same structure and types.
        operands: arrays and pytrees of arrays.
        operand: the only operand, instead of `operands`.

    Returns:
        The result of the chosen function. Under `vmap` over `pred` both run.

    Raises:
        BranchTypeError: the results differ in structure or types.
        TypeError: `pred` is not a scalar.

    As in JAX, `cond(pred, x, true_fun, y, false_fun)` gives each function its own operand.

    >>> @minijax.jit
    ... def safe_root(x):
    ...     return lax.cond(x > 0, jnp.sqrt, lambda x: 0.0 * x, x)
    >>> safe_root(4.0).item(), safe_root(-4.0).item(), minijax.grad(safe_root)(-4.0).item()
    (2.0, -0.0, 0.0)
    """
    if len(operands) == 2 and callable(false_fun) and callable(operands[1]):
        on_true, apply_true, (on_false, apply_false) = true_fun, false_fun, operands
        if not callable(on_true):
            return cond(
                pred, lambda x, y: apply_true(x), lambda x, y: apply_false(y), on_true, on_false
            )
    operands = _operands("cond", operands, operand)
    if without := closing_over_refs("cond", (true_fun, false_fun), operands):
        return cond(pred, *without[0], *without[1])
    operands = tree_to_arrays(operands)
    aval = typeof_named("cond: pred", pred)
    if aval.shape or aval.dtype.kind == "c":
        raise TypeError(
            f"cond: pred must be a boolean or a real number, a scalar, found {aval}. To choose "
            "element by element use where(pred, x, y); to choose for each example of a batch use "
            "vmap."
        )
    for branch in (true_fun, false_fun):
        require_function("cond", branch)
    if jit_is_disabled() and (chosen := known_truth(pred)) is not None:
        return (true_fun if chosen else false_fun)(*operands)
    which = pred if aval.dtype == np.bool_ else ne(pred, 0)
    return _passing_outer_refs(partial(choose, "cond", which), (false_fun, true_fun), operands)


def _passing_outer_refs(
    stage: Callable[..., Any], branches: Sequence[Callable[..., Any]], operands: Sequence[Any]
) -> Any:
    """`stage(branches, operands)`, in which all branches pass on the references that any uses."""

    def with_refs(refs: Sequence[Ref]) -> Any:
        if not refs:
            return stage(branches, operands)
        values, out = stage([passing(refs, f) for f in branches], (values_of(refs), *operands))
        write_all(refs, values)
        return out

    return with_outer_refs(with_refs)


def _choose(which: Any, operands: Sequence[Any], branches: Sequence[Jaxpr]) -> list[Any]:
    """The results of the branch of that number.

    If devices choose differently, all that a branch takes varies like the choice: no branch may
    have to sum a cotangent over devices of which some are in another branch. All branches return
    what varies if one does. An operand that all of them return need not pass through them.
    """
    branches = _divided_alike(operands, branches)
    if does_io(*branches):
        which = _same_for_all(which)
    axes = vma_of(typeof(which))
    targets = [vary(typeof(x), axes) for x in operands]
    if any(isinstance(aval, VaryingArray) for branch in branches for aval in branch.out_avals) or (
        axes or any(isinstance(aval, VaryingArray) for aval in targets)
    ):
        operands = [pvary(x, mesh_axes_of(axes)) for x in operands]
        branches = [_converted(branch, targets, axes) for branch in branches]
        columns = zip(*[branch.out_avals for branch in branches], strict=True)
        out_axes = [NONE.union(*map(vma_of, column)) for column in columns]
        branches = [_converted(branch, targets, axes, out_axes) for branch in branches]
    columns = zip(*map(_operands_returned, branches), strict=True)
    common = [set(column) for column in columns]
    returned = [found.pop() if len(found) == 1 else None for found in common]
    is_operand = [number is not None for number in returned]
    if any(is_operand):
        smaller = {
            branch: Jaxpr([], branch.invars, branch.eqns, partition(is_operand, branch.outvars)[0])
            for branch in branches
        }
        branches = [smaller[branch] for branch in branches]
    chosen: Callable[..., list[Any]] = partial(bind, cond_p, branches=tuple(branches))
    if (nans_option.value or infs_option.value) and not is_evaluating():
        # Under `vmap` all branches run: in one program, so that only the results are checked.
        chosen = jit(chosen)
    outs = chosen(which, *operands)
    return merge(is_operand, outs, [operands[i] for i in returned if i is not None])


@custom_vmap
def _same_for_all(which: Any) -> Any:
    """The number of a branch, which examples of `vmap` have in common."""
    return which


@_same_for_all.def_vmap
def _refuse_different(axis_size: int, in_batched: Any, which: Any) -> NoReturn:
    refuse_io("vmap of a cond or switch whose examples choose different branches")


def _operands_returned(branch: Jaxpr) -> list[int | None]:
    """For each result the number of the operand that it is; None if it is computed."""
    numbers = {var: number for number, var in enumerate(branch.invars)}
    return [numbers.get(out) if isinstance(out, Var) else None for out in branch.outvars]


def _divided_alike(operands: Sequence[Any], branches: Sequence[Jaxpr]) -> Sequence[Jaxpr]:
    """The branches, whose results are divided alike if the types of any say how.

    Raises:
        ShardingTypeError: the types of two say different things.
    """
    columns = [*zip(*[branch.out_avals for branch in branches], strict=True)]
    said = [next(filter(None, map(sharded_type, column)), None) for column in columns]
    if not any(said):
        return branches
    wanted = [
        None
        if like is None
        else (like.mesh, agreed("cond", column, zip(*map(division_of, column), strict=True)))
        for like, column in zip(said, columns, strict=True)
    ]

    def divided(branch: Jaxpr) -> Jaxpr:
        def program(*args: Any) -> list[Any]:
            return [
                convert(x, with_division(typeof(x), *division)) if division else x
                for x, division in zip(eval_jaxpr(branch, [], *args), wanted, strict=True)
            ]

        return stage_to_jaxpr(program, branch.in_avals, "cond")[0]

    return [divided(branch) for branch in branches]


def _converted(
    branch: Jaxpr,
    in_avals: Sequence[ShapedArray],
    axes: AxisNames,
    out_axes: Sequence[AxisNames] | None = None,
) -> Jaxpr:
    """A branch for operands that vary along more axes, whose results vary along the given ones."""

    def program(*args: Any) -> list[Any]:
        outs = _of_each_device(branch, axes, args)
        if out_axes is None:
            return outs
        return [pvary(x, mesh_axes_of(axes)) for x, axes in zip(outs, out_axes, strict=True)]

    return stage_to_jaxpr(program, in_avals, "cond")[0]


def _of_each_device(branch: Jaxpr, axes: AxisNames, args: Sequence[Any]) -> list[Any]:
    """The results of a branch, of which the types, and those of programs in it, vary like `args`.

    Devices that differ are examples of `vmap`, one on each device.
    """
    in_avals = list(map(typeof, args))
    dims = [
        None if aval == found else 0 for aval, found in zip(branch.in_avals, in_avals, strict=True)
    ]
    if dims.count(None) == len(dims):
        return eval_jaxpr(branch, [], *args)
    axis = AxisData(None, 1, manual=tuple(mesh_axes_of(axes)))
    program, consts, out_dims = vmap_jaxpr(branch, axis, tuple(dims))
    batches = [
        x if dim is None else expand_dims(x, (0,)) for x, dim in zip(args, dims, strict=True)
    ]
    outs = eval_jaxpr(program, [], *consts, *batches)
    return [x if dim is None else squeeze(x, (dim,)) for x, dim in zip(outs, out_dims, strict=True)]


def _operands(caller: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    if operand is not_given:
        return operands
    if operands:
        raise TypeError(
            f"{caller}: operands are given by position, or one as `operand`; found "
            f"{len(operands)} by position besides `operand`"
        )
    return (operand,)


@evaluated_by_library
@keeps_programs("branches")
def switch(
    index: Any,
    branches: Sequence[Callable[..., Any]],
    *operands: Any,
    operand: Any = not_given,
) -> Any:
    """Call one of several functions on the operands, chosen by `index` at run time.

    Arguments:
        index: an integer scalar, clamped to the valid range.
        branches: functions of the operands whose results have the same structure and types.
        operands: arrays and pytrees of arrays.
        operand: the only operand, instead of `operands`.

    Returns:
        The result of the chosen function. Under `vmap` over `index` all of them run.

    Raises:
        ValueError: there are no functions.
        BranchTypeError: the results differ in structure or types.
        TypeError: `index` is not an integer scalar.

    >>> switch(2, [lambda x: x, lambda x: 2 * x, lambda x: 3 * x], 10)
    Array(30, dtype=int32, weak_type=True)
    """
    for branch in branches:
        require_function("switch", branch)
    if not branches:
        raise ValueError("switch: there must be at least one branch")
    aval = typeof_named("switch: index", index)
    if aval.shape or aval.dtype.kind not in "iu":
        raise TypeError(
            f"switch: index must be an integer scalar, found {aval}. To choose element by element "
            "use select or where; to choose for each example of a batch use vmap."
        )
    operands = _operands("switch", operands, operand)
    if without := closing_over_refs("switch", branches, operands):
        return switch(index, without[0], *without[1])
    operands = tree_to_arrays(operands)
    if jit_is_disabled() and (known := known_number(index)) is not None:
        return branches[min(max(known, 0), len(branches) - 1)](*operands)
    if len(branches) == 1:
        return branches[0](*operands)
    index, last = as_index(index), len(branches) - 1
    index = astype(clamp(0, index, last), np.int32)
    return _passing_outer_refs(partial(choose, "switch", index), branches, operands)


def choose(caller: str, index: Any, branches: Sequence[Callable[..., Any]], operands: Any) -> Any:
    """`switch`, for arrays as operands and a boolean index, or an int32 that is in range."""
    leaves, in_tree = tree_flatten(operands)

    def names() -> list[str]:
        return argument_names(branches[0], operands, {})

    in_avals = abstractify(f"{caller} of `{name_of(branches[0])}`", names, leaves)
    distinct = [*{id(f): f for f in branches}.values()]
    functions = [FlatFunction(f, in_tree) for f in distinct]
    closed = [stage_body(f, in_avals, caller, f.fun, names) for f in functions]
    target = _common_types(caller, functions, closed)
    if any(c.out_avals != target for c in closed):
        closed = [
            stage_body(_casting(f, target), in_avals, caller, f.fun, names) for f in functions
        ]
    programs, consts = join_consts([(consts_as_invars(c.jaxpr), c.consts) for c in closed])
    program_of = dict(zip(map(id, distinct), programs, strict=True))
    outs = _choose(index, [*consts, *leaves], [program_of[id(f)] for f in branches])
    return tree_to_arrays(tree_unflatten(functions[0].out_tree, outs))


def _common_types(
    caller: str, functions: Sequence[FlatFunction], closed: Sequence[ClosedJaxpr]
) -> list[ShapedArray]:
    """The types that the results of all branches can have; Python numbers adapt."""
    first = functions[0]
    for other in functions[1:]:
        if other.out_tree != first.out_tree:
            raise BranchTypeError(
                f"{caller}: {name_and_place_of(first.fun)} and {name_and_place_of(other.fun)} must "
                "return the same tree structure: "
                f"{explain_mismatch(first.out_tree, other.out_tree)}. Return the "
                "same tree from all, with zeros where one has nothing."
            )
    columns = list(zip(*(c.out_avals for c in closed), strict=True))
    target = [_meeting_type(avals) for avals in columns]
    if None in target:
        numbered = tree_unflatten(first.out_tree, range(len(columns)))
        rows = [
            f"    {'result' + keystr(path):<24} {', '.join(map(str, columns[i]))}"
            for path, i in tree_flatten_with_path(numbered)[0]
            if target[i] is None
        ]
        table = "\n".join(rows)
        raise BranchTypeError(
            f"{caller}: all branches, {', '.join(name_and_place_of(f.fun) for f in functions)}, "
            f"must return the same types\n{table}\n"
            "Convert what differs, by astype or reshape."
        )
    return [aval for aval in target if aval is not None]


def _meeting_type(avals: Sequence[ShapedArray]) -> ShapedArray | None:
    if len(set(avals)) == 1:
        return avals[0]
    meeting = result_type(*avals)
    fits = all(
        aval.shape == avals[0].shape and (aval.weak_type or aval.dtype == meeting.dtype)
        for aval in avals
    )
    return ShapedArray(avals[0].shape, meeting.dtype) if fits else None


def _casting(f: FlatFunction, target: Sequence[ShapedArray]) -> Callable[..., list[Any]]:
    """`f` with results of the types `target`."""

    def casting(*args: Any) -> list[Any]:
        return [
            out if typeof(out) == aval else astype(out, aval.dtype)
            for out, aval in zip(f(*args), target, strict=True)
        ]

    return casting


__all__ = ["cond", "switch"]
