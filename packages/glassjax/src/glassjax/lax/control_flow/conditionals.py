"""`cond`, `switch` and `platform_dependent`: a program chooses among programs."""

from collections.abc import Callable, Hashable, Sequence
from functools import cache, partial
from typing import Any, NoReturn

import numpy as np

import glassjax_stage2 as stage2
import glassjax_stage3 as stage3
from glassjax import xla
from glassjax.errors import BranchTypeError
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.control_flow.program_cache import keeps_programs, known_number, known_truth
from glassjax.lax.elementwise import clamp, select_n
from glassjax.lax.gathering import as_index
from glassjax.lax.shapes import expand_dims, squeeze
from glassjax.primitives import axes as mesh_axes
from glassjax.primitives import sparsity_rules
from glassjax.primitives.declare import declare
from glassjax.primitives.higher_order import Depends, WithToken, complete, declare_program
from glassjax.primitives.loops import Flags, call_text, stage_body, stage_to_jaxpr
from glassjax.primitives.methods import does_io, refuse_io
from glassjax.primitives.sharding_rules import agreed
from glassjax.runtime import refs as references
from glassjax.runtime.array import is_evaluating, tree_to_arrays
from glassjax.runtime.effects import define_dce
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.jit import jit
from glassjax.runtime.lowering import Function, platform_of
from glassjax.runtime.nesting import nests_calls
from glassjax.runtime.pipeline import name_and_place_of
from glassjax.runtime.places import default_placement
from glassjax.settings.names import not_given
from glassjax.settings.number_types import letter_of, result_type
from glassjax.settings.options import infs_option, jit_is_disabled, nans_option
from glassjax.shardings.memories import in_space, space_of
from glassjax.shardings.types import convert, sharded_type, spec_of, with_spec
from glassjax.transforms import checkpoint
from glassjax.transforms.custom_vmap import custom_vmap
from glassjax_stage2 import Primitive, ShapedArray, bind, typeof
from glassjax_stage2.arguments import FlatFunction, argument_names, require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import typeof_named
from glassjax_stage2.source import name_of
from glassjax_stage2.tree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from glassjax_stage3 import Jaxpr, JaxprEqn, Var
from glassjax_stage3.abstract_eval import abstract_eval
from glassjax_stage3.jaxpr import consts_as_invars
from glassjax_stage3.jit_rules import vmap_jaxpr
from glassjax_stage3.lowering import FunctionBuilder, Value, signature
from glassjax_stage3.staging import abstractify
from glassjax_stage4 import cond_rules as stage4
from glassjax_stage4.cond import cond_p as cond_of_two
from glassjax_stage4.cond import join_consts
from glassjax_stage4.cond_rules import Branches
from glassjax_stage4.partial_eval import PartialJaxprs, merge, partition

# The primitive of `cond` and `switch`, which chooses between any number of programs.
#
# The rules extend stage 4's rules of `cond_p`, which has two programs and a boolean. Here the first
# operand is the number of a program, an int32.


cond_p = Primitive("cond", higher_order=True)


def _platform_index_type(
    which: ShapedArray, *operands: ShapedArray, branches: Branches
) -> list[ShapedArray]:
    if which.shape or which.dtype != np.int32:
        raise TypeError(
            f"cond: the first operand must be an int32 scalar, the number of a branch; found "
            f"{which}"
        )
    return stage4.cond_type(which, *operands, branches=branches)


def _cond_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    which: Value,
    *operands: Value,
    branches: Branches,
) -> list[Value]:
    """Lower to `case`; if the index is known, to a call of that branch."""
    if isinstance(b, Function) and which.name in b.known:
        return call_text(b, branches[b.known[which.name]], "branch", operands)
    regions = [stage4.branch_region(b, branch, operands, out_avals) for branch in branches]
    types = signature([which], out_avals)
    text = f'"stablehlo.case"({which.name}) ({", ".join(regions)}) : {types}'
    return b.emit(text, *out_avals)


def _cond_dependence(depends: Depends, ins: Flags, params: dict[str, Any]) -> Flags:
    which, *operands = ins
    outs = [depends(branch, tuple(operands)) for branch in params["branches"]]
    return tuple([which or any(flags) for flags in zip(*outs, strict=True)])


def _cond_sparsity(
    analysis: sparsity_rules.Analysis,
    operands: Sequence[sparsity_rules.Operand],
    out_avals: Sequence[ShapedArray],
    params: dict[str, Any],
) -> list[Any]:
    which, *inputs = operands
    branches, chosen = params["branches"], which.value()
    if chosen is not None:
        branches = [branches[min(max(int(chosen), 0), len(branches) - 1)]]
    outs = zip(*[analysis.ids(branch, inputs) for branch in branches], strict=True)
    return [analysis.sets.union(*ids) for ids in outs]


sparsity_rules.sparsity_rules[cond_of_two] = _cond_sparsity


def _cond_effects(
    with_token: WithToken, eqn: JaxprEqn, token: Var | stage3.Literal, following: Var
) -> list[JaxprEqn]:
    params = {"branches": tuple(map(with_token, eqn.params["branches"]))}
    invars, outvars = [*eqn.invars, token], [*eqn.outvars, following]
    return [JaxprEqn(eqn.primitive, invars, outvars, params, eqn.source)]


def _cond_keys(keys_of: Callable[[Jaxpr], Any], count: int, *, branches: Branches) -> Any:
    """A key is used after a conditional if any branch uses it."""
    first, *others = map(keys_of, branches)
    return first.either(others).at(range(1, count), count)


def _varying(in_avals: Sequence[ShapedArray], params: dict[str, Any]) -> list[frozenset[Hashable]]:
    """The varying axes of all branches' results, and of the index."""
    columns = zip(*[branch.out_avals for branch in params["branches"]], strict=True)
    return [
        mesh_axes.vma_of(in_avals[0]).union(*map(mesh_axes.vma_of, column)) for column in columns
    ]


def _save(eqn: JaxprEqn, may_save: checkpoint.MaySave) -> checkpoint.SavedEqns | None:
    branches = eqn.params["branches"]
    parts = [checkpoint.save_in_program(branch, may_save) for branch in branches]
    if not any(parts):
        return None
    # A branch that saves nothing is computed again as a whole.
    whole = [PartialJaxprs(b, b, [True] * len(b.outvars), 0) for b in branches]
    first, again, residuals = stage4.with_common_residuals(
        [part or unsplit for part, unsplit in zip(parts, whole, strict=True)]
    )
    saved = [Var(aval) for aval in residuals]
    which, *operands = eqn.invars
    return checkpoint.split_eqn(
        eqn,
        saved,
        ({"branches": first}, eqn.invars),
        ({"branches": again}, [which, *saved, *operands]),
    )


def _cond_dce(used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    smaller = [stage3.dce_jaxpr(branch, used_outs) for branch in eqn.params["branches"]]
    used = [True, *map(any, zip(*[used for _, used in smaller], strict=True))]
    branches = tuple(
        Jaxpr([], partition(used[1:], branch.invars)[1], small.eqns, small.outvars)
        for branch, (small, _) in zip(eqn.params["branches"], smaller, strict=True)
    )
    _, invars = partition(used, eqn.invars)
    _, outvars = partition(used_outs, eqn.outvars)
    return used, JaxprEqn(eqn.primitive, invars, outvars, {"branches": branches}, eqn.source)


COLUMNS: dict[str, Any] = {
    "dependence": _cond_dependence,
    "order": _cond_effects,
    "keys": _cond_keys,
    "steps": None,  # evaluation runs a branch step by step
}
declare_program(
    cond_p,
    sparsity=_cond_sparsity,
    evaluate=stage4.cond_impl,
    abstract_eval=_platform_index_type,
    lower=_cond_lower,
    vmap=partial(stage4.cond_vmap, cond_p, select=select_n),
    jvp=partial(stage4.cond_jvp, cond_p),
    transpose=partial(stage4.cond_transpose, cond_p),
    partial_eval=stage4.cond_partial_eval,
    dce=_cond_dce,
    **COLUMNS,
)
complete(cond_of_two, **COLUMNS)
define_dce(cond_of_two, None)
for _primitive in (cond_p, cond_of_two):  # a library function may contain a stage's `cond`
    mesh_axes.varying_program_rules[_primitive] = _varying
    checkpoint.saving_rules[_primitive] = _save


# `cond` and `switch`: one of several functions, chosen at run time.


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

    >>> @glassjax.jit
    ... def safe_root(x):
    ...     return lax.cond(x > 0, jnp.sqrt, lambda x: 0.0 * x, x)
    >>> safe_root(4.0).item(), safe_root(-4.0).item(), glassjax.grad(safe_root)(-4.0).item()
    (2.0, -0.0, 0.0)
    """
    # JAX's older form: cond(pred, true_operand, true_fun, false_operand, false_fun).
    if len(operands) == 2 and callable(false_fun) and callable(operands[1]):
        on_true, apply_true, (on_false, apply_false) = true_fun, false_fun, operands
        if not callable(on_true):
            return cond(
                pred, lambda x, y: apply_true(x), lambda x, y: apply_false(y), on_true, on_false
            )
    operands = _branch_operands("cond", operands, operand)
    if without := references.closing_over_refs("cond", (true_fun, false_fun), operands):
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
    which = stage2.astype(pred if aval.dtype == np.bool_ else stage2.ne(pred, 0), np.int32)
    return _passing_outer_refs(partial(choose, "cond", which), (false_fun, true_fun), operands)


def _passing_outer_refs(
    stage: Callable[..., Any], branches: Sequence[Callable[..., Any]], operands: Sequence[Any]
) -> Any:
    """`stage(branches, operands)`, in which all branches pass on the references that any uses."""

    def with_refs(refs: Sequence[references.Ref]) -> Any:
        if not refs:
            return stage(branches, operands)
        values, out = stage(
            [references.passing(refs, f) for f in branches], (references.values_of(refs), *operands)
        )
        references.write_all(refs, values)
        return out

    return references.with_outer_refs(with_refs)


def _choose(which: Any, operands: Sequence[Any], branches: Sequence[Jaxpr]) -> list[Any]:
    """The results of the branch with this index.

    If devices choose different branches, all operands vary like the index: otherwise a branch might
    have to sum a cotangent over devices that run different branches. If a result varies in
    one branch, it varies in all. Operands that all branches return bypass the conditional.
    """
    branches = _sharded_alike(operands, branches)
    if does_io(*branches):
        which = _same_for_all(which)
    axes = mesh_axes.vma_of(typeof(which))
    targets = [mesh_axes.vary(typeof(x), axes) for x in operands]
    if any(
        isinstance(aval, mesh_axes.VaryingArray) for branch in branches for aval in branch.out_avals
    ) or (axes or any(isinstance(aval, mesh_axes.VaryingArray) for aval in targets)):
        operands = [mesh_axes.pvary(x, mesh_axes.mesh_axes_of(axes)) for x in operands]
        branches = [_varying_branch(branch, targets, axes) for branch in branches]
        columns = zip(*[branch.out_avals for branch in branches], strict=True)
        out_axes = [mesh_axes.NONE.union(*map(mesh_axes.vma_of, column)) for column in columns]
        branches = [_varying_branch(branch, targets, axes, out_axes) for branch in branches]
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
        # Under `vmap` all branches run, in one program, so that `debug_nans` checks only the
        # results.
        chosen = jit(chosen)
    outs = chosen(which, *operands)
    return merge(is_operand, outs, [operands[i] for i in returned if i is not None])


@custom_vmap
def _same_for_all(which: Any) -> Any:
    """The index of a branch; under `vmap`, an error if it is batched."""
    return which


@_same_for_all.def_vmap
def _refuse_different(axis_size: int, in_batched: Any, which: Any) -> NoReturn:
    refuse_io("vmap of a cond or switch whose examples choose different branches")


def _operands_returned(branch: Jaxpr) -> list[int | None]:
    """For each result the number of an equal operand; None if it is computed."""
    numbers = {var: number for number, var in enumerate(branch.invars)}
    return [numbers.get(out) if isinstance(out, Var) else None for out in branch.outvars]


def _sharded_alike(operands: Sequence[Any], branches: Sequence[Jaxpr]) -> Sequence[Jaxpr]:
    """The branches, with the shardings of any branch's result types applied to all.

    Raises:
        ShardingTypeError: two branches conflict.
    """
    columns = [*zip(*[branch.out_avals for branch in branches], strict=True)]
    sharded_types = [next(filter(None, map(sharded_type, column)), None) for column in columns]
    if not any(sharded_types):
        return branches
    wanted = [
        None
        if like is None
        else (like.mesh, agreed("cond", column, zip(*map(spec_of, column), strict=True)))
        for like, column in zip(sharded_types, columns, strict=True)
    ]

    def shard_branch(branch: Jaxpr) -> Jaxpr:
        def sharded_branch(*args: Any) -> list[Any]:
            return [
                convert(x, with_spec(typeof(x), *spec)) if spec else x
                for x, spec in zip(stage3.eval_jaxpr(branch, [], *args), wanted, strict=True)
            ]

        return stage_to_jaxpr(sharded_branch, branch.in_avals, "cond")[0]

    return [shard_branch(branch) for branch in branches]


def _varying_branch(
    branch: Jaxpr,
    in_avals: Sequence[ShapedArray],
    axes: mesh_axes.AxisNames,
    out_axes: Sequence[mesh_axes.AxisNames] | None = None,
) -> Jaxpr:
    """A branch for operands that vary along more axes, whose results vary along the given ones."""

    def varying_program(*args: Any) -> list[Any]:
        outs = _branch_per_device(branch, axes, args)
        if out_axes is None:
            return outs
        return [
            mesh_axes.pvary(x, mesh_axes.mesh_axes_of(axes))
            for x, axes in zip(outs, out_axes, strict=True)
        ]

    return stage_to_jaxpr(varying_program, in_avals, "cond")[0]


def _branch_per_device(branch: Jaxpr, axes: mesh_axes.AxisNames, args: Sequence[Any]) -> list[Any]:
    """The results of a branch whose types, and its inner programs', vary like `args`.

    Devices count as examples of `vmap`, one on each device.
    """
    in_avals = list(map(typeof, args))
    dims = [
        None if aval == found else 0 for aval, found in zip(branch.in_avals, in_avals, strict=True)
    ]
    if dims.count(None) == len(dims):
        return stage3.eval_jaxpr(branch, [], *args)
    axis = mesh_axes.AxisData(None, 1, manual=tuple(mesh_axes.mesh_axes_of(axes)))
    program, consts, out_dims = vmap_jaxpr(branch, axis, tuple(dims))
    batches = [
        x if dim is None else expand_dims(x, (0,)) for x, dim in zip(args, dims, strict=True)
    ]
    outs = stage3.eval_jaxpr(program, [], *consts, *batches)
    return [x if dim is None else squeeze(x, (dim,)) for x, dim in zip(outs, out_dims, strict=True)]


def _branch_operands(caller: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
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
    if aval.shape or letter_of(aval.dtype) not in "iu":
        raise TypeError(
            f"switch: index must be an integer scalar, found {aval}. To choose element by element "
            "use select or where; to choose for each example of a batch use vmap."
        )
    operands = _branch_operands("switch", operands, operand)
    if without := references.closing_over_refs("switch", branches, operands):
        return switch(index, without[0], *without[1])
    operands = tree_to_arrays(operands)
    if jit_is_disabled() and (known := known_number(index)) is not None:
        return branches[min(max(known, 0), len(branches) - 1)](*operands)
    if len(branches) == 1:
        return branches[0](*operands)
    index, last = as_index(index), len(branches) - 1
    # Clamped before it is narrowed, since a wide integer would wrap around.
    index = stage2.astype(clamp(*stage2.promote(0, index, last)), np.int32)
    return _passing_outer_refs(partial(choose, "switch", index), branches, operands)


def choose(caller: str, index: Any, branches: Sequence[Callable[..., Any]], operands: Any) -> Any:
    """`switch` for arrays as operands, with an int32 in range as index."""
    leaves, in_tree = tree_flatten(operands)

    def branch_operand_names() -> list[str]:
        return argument_names(branches[0], operands, {})

    in_avals = abstractify(f"{caller} of `{name_of(branches[0])}`", branch_operand_names, leaves)
    # A function that is given for several branches is traced once.
    distinct = [*{id(f): f for f in branches}.values()]
    functions = [FlatFunction(f, in_tree) for f in distinct]
    closed = [stage_body(f, in_avals, caller, f.fun, branch_operand_names) for f in functions]
    target = _common_types(caller, functions, closed)
    if any(c.out_avals != target for c in closed):
        closed = [
            stage_body(_casting(f, target), in_avals, caller, f.fun, branch_operand_names)
            for f in functions
        ]
    programs, consts = join_consts([(consts_as_invars(c), c.consts) for c in closed])
    program_of = dict(zip(map(id, distinct), programs, strict=True))
    outs = _choose(index, [*consts, *leaves], [program_of[id(f)] for f in branches])
    return tree_to_arrays(tree_unflatten(functions[0].out_tree, outs))


def _common_types(
    caller: str, functions: Sequence[FlatFunction], closed: Sequence[Jaxpr]
) -> list[ShapedArray]:
    """The common types of the branches' results; Python numbers adapt."""
    first = functions[0]
    for other in functions[1:]:
        if other.out_tree != first.out_tree:
            raise BranchTypeError(
                f"{caller}: {name_and_place_of(first.fun)} and {name_and_place_of(other.fun)} must "
                "return the same tree structure: "
                f"{stage2.explain_mismatch(first.out_tree, other.out_tree)}. Return the "
                "same tree from all, with zeros where one has nothing."
            )
    columns = list(zip(*(c.out_avals for c in closed), strict=True))
    target = [_common_type(avals) for avals in columns]
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


def _common_type(avals: Sequence[ShapedArray]) -> ShapedArray | None:
    if len(set(avals)) == 1:
        return avals[0]
    common, space = result_type(*avals), space_of(avals[0])
    fits = all(
        space_of(aval) is space
        and aval.shape == avals[0].shape
        and (aval.weak_type or aval.dtype == common.dtype)
        for aval in avals
    )
    return in_space(ShapedArray(avals[0].shape, common.dtype), space) if fits else None


def _casting(f: FlatFunction, target: Sequence[ShapedArray]) -> Callable[..., list[Any]]:
    """`f` with results of the types `target`."""

    def casting(*args: Any) -> list[Any]:
        return [
            out if typeof(out) == aval else stage2.astype(out, aval.dtype)
            for out, aval in zip(f(*args), target, strict=True)
        ]

    return casting


# `platform_dependent`: one of several functions, chosen by platform.


platform_index_p = Primitive("platform_index")

_INDEX = ShapedArray((), np.int32)


@hiding_frames
def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Call the function for the platform that runs the program.

    All of them are traced, and must return results of the same structure and types; only the chosen
    one is compiled. Outside `jit` only this one is called.

    Arguments:
        args: the arguments of the function.
        default: the function for all other platforms.
        per_platform: functions by platform: "cpu", "cuda", "rocm", "tpu".

    Raises:
        TypeError: one of them is not a function.
        ValueError: a platform is "gpu", which may mean "cuda" or "rocm".
        NotImplementedError: there is no function for this platform, and no default.

    >>> platform_dependent(3, cpu=lambda x: x + 1, default=lambda x: x)
    4
    """
    named = {**per_platform, **({} if default is None else {"default": default})}
    for name, function in named.items():
        if not callable(function):
            raise TypeError(
                f"platform_dependent: {name} must be a function, found {shown(function)}"
            )
    if "gpu" in per_platform:
        raise ValueError("platform_dependent: use 'cuda' or 'rocm' in place of 'gpu'")
    platforms = [*((name,) for name in per_platform), *([None] if default else [])]
    index = stage2.bind1(platform_index_p, platforms=tuple(platforms))
    functions = list(named.values())
    if not isinstance(index, stage2.Tracer):
        return functions[int(index)](*args)
    return choose("platform_dependent", index, functions, tree_to_arrays(args))


Platforms = tuple[tuple[str, ...] | None, ...]  # by function; None: all others


def _platform_index(platform: str, platforms: Platforms) -> int:
    """The index of the function for a platform."""
    for index, names in enumerate(platforms):
        if names is None or platform in names:
            return index
    given = ", ".join(repr(name) for names in platforms for name in names or ())
    raise NotImplementedError(
        f"platform_dependent: there is no function for {platform!r} among "
        f"{given or 'none'}, and no default"
    )


def _platform_index_impl(*, platforms: Platforms) -> list[Any]:
    default = default_placement()
    devices = () if default is None else default.sharding.device_tuple
    return [np.int32(_platform_index(xla.platform_of(devices), platforms))]


def _platform_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], *, platforms: Platforms
) -> list[Value]:
    number = _platform_index(platform_of(b), platforms)
    index = b.constant(number, _INDEX)
    if isinstance(b, Function):
        # `_cond_lower` then writes this branch alone: others may call routines of other platforms.
        b.known[index.name] = number
    return [index]


class PlatformIndex(ShapedArray):
    """The type of the index of a platform, for readers: JAX's `cond` says the platforms, too."""

    __slots__ = ("platforms",)

    platforms: Platforms

    def __new__(cls, platforms: Platforms) -> "PlatformIndex":
        aval = object.__new__(cls)
        aval.shape, aval.dtype, aval.weak_type = (), _INDEX.dtype, False
        aval.platforms = platforms
        return aval

    def strip_weak_type(self) -> ShapedArray:
        return _INDEX

    @staticmethod
    def abstract_eval(
        primitive: Primitive, in_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> Sequence[ShapedArray]:
        """The result types of a primitive of an index of a platform, as of other indices."""
        avals = tuple(_INDEX if type(aval) is PlatformIndex else aval for aval in in_avals)
        return abstract_eval(primitive, avals, params)


_type_for_readers = cache(PlatformIndex)  # one object for each type


def _index_type(*, platforms: Platforms) -> list[ShapedArray]:
    return [_type_for_readers(platforms) if nests_calls() else _INDEX]


declare(platform_index_p, abstract_eval=_index_type, lower=_platform_lower)
stage2.impl_rules[platform_index_p] = _platform_index_impl
