"""The rules of `cond`: each interpreter transforms the program of each branch.

The first operand selects the branch: a boolean chooses between two, an int32 is the number of a
branch.

Branches must keep results of the same types. So if a transformation gives one branch a result that
another lacks (a tangent, a batch axis, a residual), all branches get it.
"""

# ruff: noqa: F403, F405
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minijax_stage2 import *
from minijax_stage2.promotion import is_inexact
from minijax_stage2.tangent import tangent_type
from minijax_stage2.vmap import BatchDim, move_batch_dim, of_batch_axis
from minijax_stage3 import (
    Jaxpr,
    JaxprEqn,
    Var,
    abstract_eval_rules,
    dce_jaxpr,
    eval_jaxpr,
    lowering_rules,
)
from minijax_stage3.abstract_eval import require_accepted
from minijax_stage3.dce import dce_rules
from minijax_stage3.jit_rules import jvp_jaxpr, vmap_jaxpr
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature
from minijax_stage3.staging import trace_to_jaxpr
from minijax_stage4.cond import cond_p, join_consts
from minijax_stage4.jit_rules import split_jaxpr, transpose_jaxpr
from minijax_stage4.partial_eval import (
    PartialEqns,
    PartialJaxprs,
    merge,
    partial_eval_rules,
    partition,
)
from minijax_stage4.stop_gradient import stop_gradient
from minijax_stage4.transpose import UndefPrimal, nonlinear_in, transpose_rules

Branches = tuple[Jaxpr, ...]


def _any_of(rows: Iterable[Sequence[bool]]) -> tuple[bool, ...]:
    """Flags of the columns that are true in any row."""
    return tuple(map(any, zip(*rows, strict=True)))


def _evaluate(which: Any, *operands: Any, branches: Branches) -> list[Any]:
    return eval_jaxpr(branches[int(which)], [], *operands)


impl_rules[cond_p] = _evaluate


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, branches: Branches
) -> tuple[list[Any], list[Any]]:
    nonzero = tuple(type(t) is not Zero for t in tangents[1:])
    must = _any_of(jvp_jaxpr(branch, nonzero)[2] for branch in branches)
    jvp_branches, consts = join_consts_of(
        jvp_jaxpr(branch, nonzero, must)[:2] for branch in branches
    )
    given = [t for t in tangents[1:] if type(t) is not Zero]
    which, *operands = primals
    results = bind(cond_p, which, *consts, *operands, *given, branches=jvp_branches)
    count = len(must)
    zero_avals, _ = partition(must, branches[0].out_avals)
    zeros = [Zero(tangent_type(aval)) for aval in zero_avals]
    return results[:count], merge(must, zeros, results[count:])


jvp_rules[cond_p] = _jvp


def _vmap(
    axis_size: int, values: Sequence[Any], dims: Sequence[BatchDim], *, branches: Branches
) -> tuple[list[Any], list[BatchDim]]:
    (which, *operands), (which_dim, *operand_dims) = values, dims
    if which_dim is not None:  # different examples take different branches: all run
        which = move_batch_dim(which, axis_size, which_dim, 0)
        return _compute_all(which, axis_size, operands, operand_dims, branches)
    key = axis_size, tuple(operand_dims)
    what = of_batch_axis(operands, operand_dims)
    natural = [vmap_jaxpr(branch, *key, None, what)[2] for branch in branches]
    batched = _any_of([dim is not None for dim in out_dims] for out_dims in natural)
    programs = [vmap_jaxpr(branch, *key, batched, what)[:2] for branch in branches]
    vmap_branches, consts = join_consts_of(programs)
    outs = bind(cond_p, which, *consts, *operands, branches=vmap_branches)
    return outs, [0 if b else None for b in batched]


def _compute_all(
    which: Any,
    axis_size: int,
    operands: Sequence[Any],
    dims: Sequence[BatchDim],
    branches: Branches,
) -> tuple[list[Any], list[BatchDim]]:
    """The results of the branch that each example takes; all branches are computed.

    The other branches get their operands as constants. Their results need not be finite, nor their
    derivatives, and zero times such a derivative is not zero.
    """
    varies = [isinstance(x, Tracer) and is_inexact(typeof(x).dtype) for x in operands]
    operands = [
        move_batch_dim(x, axis_size, dim, 0) if v else x
        for x, dim, v in zip(operands, dims, varies, strict=True)
    ]
    dims = tuple(0 if v else dim for dim, v in zip(dims, varies, strict=True))
    results: list[Any] = []
    for number, branch in enumerate(branches):
        of_examples = _chooser(which, number)
        batched = (True,) * len(branch.outvars)
        what = of_batch_axis(operands, dims)
        program, consts, _ = vmap_jaxpr(branch, axis_size, dims, batched, what)
        guarded = [
            of_examples(x, stop_gradient(x)) if v else x
            for x, v in zip(operands, varies, strict=True)
        ]
        outs = eval_jaxpr(program, [], *consts, *guarded)
        if number:
            outs = [of_examples(x, other) for x, other in zip(outs, results, strict=True)]
        results = outs
    return results, [0] * len(results)


def _chooser(which: Any, number: int) -> Callable[[Any, Any], Any]:
    """Return the function that takes one value for examples of branch `number`, else another."""
    is_boolean = typeof(which).dtype == np.bool_
    is_taken = which if is_boolean else eq(which, np.int32(number))

    def choose(taken: Any, other: Any) -> Any:
        cases = (taken, other) if is_boolean and number == 0 else (other, taken)
        return select_n(broadcast_in_dim(is_taken, typeof(taken).shape, (0,)), *cases)

    return choose


vmap_rules[cond_p] = _vmap


def join_consts_of(
    programs: Iterable[tuple[Jaxpr, Sequence[Any]]],
) -> tuple[Branches, list[Any]]:
    """`join_consts` for programs whose constants are their first arguments."""
    return join_consts(
        [
            (Jaxpr(p.invars[: len(consts)], p.invars[len(consts) :], p.eqns, p.outvars), consts)
            for p, consts in programs
        ]
    )


def _abstract_eval(
    which: ShapedArray, *operands: ShapedArray, branches: Branches
) -> list[ShapedArray]:
    if which.shape or not (
        which.dtype == np.int32 or (which.dtype == np.bool_ and len(branches) == 2)
    ):
        raise TypeError(
            "cond: the first operand must be the number of a branch, an int32 scalar, or a boolean "
            f"where there are two; found {which} for {len(branches)} branches"
        )
    for branch in branches:
        require_accepted("cond: a branch", branch.in_avals, operands)
    return [_common_aval(avals) for avals in zip(*(b.out_avals for b in branches), strict=True)]


def _common_aval(avals: Sequence[ShapedArray]) -> ShapedArray:
    """The type of a result that is weak only if every branch has it so."""
    return avals[0] if len(set(avals)) == 1 else avals[0].strip_weak_type()


def _lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    which: Value,
    *operands: Value,
    branches: Branches,
) -> list[Value]:
    """Lower each branch to a function, which the regions of `if` or `case` call."""
    names = ", ".join(x.name for x in operands)
    types = ", ".join(map(mlir_type, out_avals))

    def region(branch: Jaxpr) -> str:
        function = b.module.private_function(branch, "branch")
        name = b.fresh_name()
        count = len(out_avals)
        outs = ", ".join(f"{name}#{i}" for i in range(count)) if count > 1 else name
        binder = f"{name}:{count} = " if count else ""
        type_of_call = signature(operands, out_avals)
        call = f"{binder}func.call @{function}({names}) : {type_of_call}"
        returned = f"stablehlo.return {outs} : {types}" if count else "stablehlo.return"
        return f"{{ {call} {returned} }}"

    regions = list(map(region, branches))
    operation = "case"
    if which.aval.dtype == np.bool_:
        operation, regions = "if", regions[::-1]
    head, types = f'"stablehlo.{operation}"({which.name})', signature([which], out_avals)
    return b.emit(f"{head} ({', '.join(regions)}) : {types}", *out_avals)


abstract_eval_rules[cond_p] = _abstract_eval
lowering_rules[cond_p] = _lower


class _Split(NamedTuple):
    """Branches split into known and unknown halves, with common residuals."""

    known: Branches
    unknown: Branches
    unknown_outs: tuple[bool, ...]
    residuals: list[ShapedArray]


def _split(branches: Branches, unknown_ins: tuple[bool, ...]) -> _Split:
    unknown_outs = _any_of(split_jaxpr(branch, unknown_ins).unknown_outs for branch in branches)
    parts = [split_jaxpr(branch, unknown_ins, unknown_outs) for branch in branches]
    known, unknown, residuals = with_common_residuals(parts)
    return _Split(known, unknown, unknown_outs, residuals)


def with_common_residuals(
    parts: Sequence[PartialJaxprs],
) -> tuple[Branches, Branches, list[ShapedArray]]:
    """The known and the unknown halves, which return and take the residuals of all branches."""
    residuals = [p.unknown.in_avals[: p.num_residuals] for p in parts]
    known = tuple(_return_all_residuals(p, i, residuals) for i, p in enumerate(parts))
    unknown = tuple(_take_all_residuals(p, i, residuals) for i, p in enumerate(parts))
    return known, unknown, [aval for row in residuals for aval in row]


def _return_all_residuals(
    parts: PartialJaxprs, which: int, residuals: Sequence[Sequence[ShapedArray]]
) -> Jaxpr:
    """The known half of one branch, with zeros for the residuals of the others."""

    def program(*args: Any) -> list[Any]:
        outs = eval_jaxpr(parts.known, [], *args)
        count = len(outs) - parts.num_residuals
        rows = [
            outs[count:] if i == which else [aval.convert(full_like(Var(aval), 0)) for aval in row]
            for i, row in enumerate(residuals)
        ]
        return [*outs[:count], *(x for row in rows for x in row)]

    return trace_to_jaxpr(
        program, parts.known.in_avals, "staging of partial evaluation", None
    ).jaxpr


def _take_all_residuals(
    parts: PartialJaxprs, which: int, residuals: Sequence[Sequence[ShapedArray]]
) -> Jaxpr:
    """The unknown half of one branch, which ignores the residuals of the others."""
    jaxpr, count = parts.unknown, parts.num_residuals
    rows = [
        jaxpr.invars[:count] if i == which else [Var(aval) for aval in row]
        for i, row in enumerate(residuals)
    ]
    invars = [*(var for row in rows for var in row), *jaxpr.invars[count:]]
    return Jaxpr([], invars, jaxpr.eqns, jaxpr.outvars)


def _partial_eval(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
    if unknown_ins[0]:
        return PartialEqns([], eqn)
    pred, *operands = eqn.invars
    split = _split(eqn.params["branches"], tuple(unknown_ins[1:]))
    known_ins, waiting_ins = partition(unknown_ins[1:], operands)
    known_outs, waiting_outs = partition(split.unknown_outs, eqn.outvars)
    residuals = [Var(aval) for aval in split.residuals]
    known, waiting = {"branches": split.known}, {"branches": split.unknown}
    return PartialEqns(
        [JaxprEqn(cond_p, [pred, *known_ins], [*known_outs, *residuals], known, eqn.source)],
        JaxprEqn(cond_p, [pred, *residuals, *waiting_ins], waiting_outs, waiting, eqn.source),
    )


partial_eval_rules[cond_p] = _partial_eval


def _transpose(cts: Sequence[Any], pred: Any, *operands: Any, branches: Branches) -> list[Any]:
    if isinstance(pred, UndefPrimal):
        raise nonlinear_in(cond_p, [0])
    linear = tuple(isinstance(x, UndefPrimal) for x in operands)
    nonzero = tuple(type(ct) is not Zero for ct in cts)
    must = _any_of(transpose_jaxpr(branch, linear, nonzero)[2] for branch in branches)
    programs, consts = join_consts_of(
        transpose_jaxpr(branch, linear, nonzero, must)[:2] for branch in branches
    )
    known = [x for x in operands if not isinstance(x, UndefPrimal)]
    given = [ct for ct in cts if type(ct) is not Zero]
    outs = iter(bind(cond_p, pred, *consts, *known, *given, branches=programs))
    return [None, *(next(outs) if is_nonzero else None for is_nonzero in must)]


transpose_rules[cond_p] = _transpose


def _dce(used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    smaller = [dce_jaxpr(branch, used_outs) for branch in eqn.params["branches"]]
    used_ins = _any_of(used for _, used in smaller)
    branches = tuple(
        Jaxpr(
            [],
            [var for var, used in zip(branch.invars, used_ins, strict=True) if used],
            small.eqns,
            small.outvars,
        )
        for branch, (small, _) in zip(eqn.params["branches"], smaller, strict=True)
    )
    used = [True, *used_ins]
    invars = [x for x, u in zip(eqn.invars, used, strict=True) if u]
    outvars = [x for x, u in zip(eqn.outvars, used_outs, strict=True) if u]
    return used, JaxprEqn(cond_p, invars, outvars, {"branches": branches}, eqn.source)


dce_rules[cond_p] = _dce
