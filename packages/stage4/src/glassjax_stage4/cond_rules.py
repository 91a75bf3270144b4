"""The rules of `cond`: each interpreter transforms the program of each branch.

Branches must keep results of the same types. So if a transformation gives one branch a result that
another lacks (a tangent, a batch axis, a residual), all branches get it.
"""

# ruff: noqa: F403, F405
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from operator import or_
from typing import Any

from glassjax_stage2 import *
from glassjax_stage2.shaped_array import is_inexact
from glassjax_stage2.tangent import tangent_type, zeros
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3 import *
from glassjax_stage3.jaxpr import require_accepted
from glassjax_stage3.jit_rules import jvp_jaxpr, vmap_jaxpr
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature
from glassjax_stage3.staging import trace_to_jaxpr
from glassjax_stage4.cond import cond_p, join_consts
from glassjax_stage4.jit_rules import split_jaxpr, transpose_jaxpr
from glassjax_stage4.partial_eval import PartialEqns, PartialJaxprs, partial_eval_rules, split_call
from glassjax_stage4.stop_gradient import stop_gradient
from glassjax_stage4.transpose import UndefPrimal, nonlinear_in, transpose_rules

Branches = tuple[Jaxpr, ...]


def _any_of(rows: Iterable[Sequence[bool]]) -> tuple[bool, ...]:
    """Flags of the columns that are true in any row."""
    return tuple(map(any, zip(*rows, strict=True)))


def cond_impl(which: Any, *operands: Any, branches: Branches) -> list[Any]:
    return eval_jaxpr(branches[int(which)], [], *operands)


impl_rules[cond_p] = cond_impl


def cond_jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], *, branches: Branches
) -> tuple[list[Any], list[Any]]:
    nonzero = tuple(type(t) is not Zero for t in tangents[1:])
    forced = _any_of(jvp_jaxpr(branch, nonzero)[2] for branch in branches)
    jvps, consts = join_consts([jvp_jaxpr(branch, nonzero, forced)[:2] for branch in branches])
    given = [t for t in tangents[1:] if type(t) is not Zero]
    which, *operands = primals
    results = bind(primitive, which, *consts, *operands, *given, branches=jvps)
    computed = iter(results[len(forced) :])
    out_tangents = [
        next(computed) if is_nonzero else Zero(tangent_type(aval))
        for is_nonzero, aval in zip(forced, branches[0].out_avals, strict=True)
    ]
    return results[: len(forced)], out_tangents


jvp_rules[cond_p] = partial(cond_jvp, cond_p)


def cond_vmap(
    primitive: Primitive,
    axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    *,
    branches: Branches,
    select: Callable[..., Any] = select_n,
) -> tuple[list[Any], list[BatchDim]]:
    """Batch each branch; if examples take different branches, compute all."""
    (which, *operands), (which_dim, *operand_dims) = values, dims
    if which_dim is not None:
        which = move_batch_dim(which, axis, which_dim, 0)
        results = _compute_all(which, axis, operands, operand_dims, branches)
        outs = [_choose(which, *cases, select=select) for cases in zip(*results, strict=True)]
        return outs, [0] * len(outs)
    key = axis, tuple(operand_dims)
    natural = [vmap_jaxpr(branch, *key)[2] for branch in branches]
    batched = _any_of([dim is not None for dim in out_dims] for out_dims in natural)
    programs = [vmap_jaxpr(branch, *key, batched)[:2] for branch in branches]
    batches, consts = join_consts(programs)
    outs = bind(primitive, which, *consts, *operands, branches=batches)
    return outs, [0 if b else None for b in batched]


def _compute_all(
    which: Any,
    axis: BatchAxis,
    operands: Sequence[Any],
    dims: Sequence[BatchDim],
    branches: Branches,
) -> Iterator[list[Any]]:
    """The results of all branches, among which each example has its own.

    A branch gets the operands of other examples as constants. Their results and derivatives need
    not be finite, and zero times an infinite derivative is not zero.
    """
    varies = [isinstance(x, Tracer) and is_inexact(typeof(x).dtype) for x in operands]
    operands = [
        move_batch_dim(x, axis, dim, 0) if v else x
        for x, dim, v in zip(operands, dims, varies, strict=True)
    ]
    dims = tuple(0 if v else dim for dim, v in zip(dims, varies, strict=True))
    for number, branch in enumerate(branches):
        choose = partial(_choose, eq(which, typeof(which).dtype.type(number)))
        program, consts, _ = vmap_jaxpr(branch, axis, dims, (True,) * len(branch.outvars))
        guarded = [
            choose(stop_gradient(x), x) if v else x for x, v in zip(operands, varies, strict=True)
        ]
        yield eval_jaxpr(program, [], *consts, *guarded)


def _choose(which: Any, *cases: Any, select: Callable[..., Any] = select_n) -> Any:
    """The case with the number in `which`, for each example."""
    shape = typeof(cases[0]).shape
    which = which if len(shape) == 1 else broadcast_in_dim(which, shape, (0,))
    return select(which, *cases)


vmap_rules[cond_p] = partial(cond_vmap, cond_p)


def cond_type(which: ShapedArray, *operands: ShapedArray, branches: Branches) -> list[ShapedArray]:
    """The types of the results; one is weak only if it is weak in every branch."""
    for branch in branches:
        require_accepted("cond: a branch", branch.in_avals, operands)
    columns = zip(*(branch.out_avals for branch in branches), strict=True)
    return [avals[0] if len(set(avals)) == 1 else avals[0].strip_weak_type() for avals in columns]


def _cond_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    pred: Value,
    *operands: Value,
    branches: Branches,
) -> list[Value]:
    on_false, on_true = (branch_region(b, branch, operands, out_avals) for branch in branches)
    types = signature([pred], out_avals)
    return b.emit(f'"stablehlo.if"({pred.name}) ({on_true}, {on_false}) : {types}', *out_avals)


def branch_region(
    b: FunctionBuilder, branch: Jaxpr, operands: Sequence[Value], out_avals: Sequence[ShapedArray]
) -> str:
    """Lower a branch to a function, and return the region that calls it."""
    function = b.module.private_function(branch, "branch")
    name, count = b.fresh_name(), len(out_avals)
    names = ", ".join(x.name for x in operands)
    call = f"func.call @{function}({names}) : {signature(operands, out_avals)}"
    if not count:
        return f"{{ {call} stablehlo.return }}"
    outs = ", ".join(f"{name}#{i}" for i in range(count))
    types = ", ".join(map(mlir_type, out_avals))
    return f"{{ {name}:{count} = {call} stablehlo.return {outs} : {types} }}"


abstract_eval_rules[cond_p] = cond_type
lowering_rules[cond_p] = _cond_lower


def with_common_residuals(
    parts: Sequence[PartialJaxprs],
) -> tuple[Branches, Branches, list[ShapedArray]]:
    """The known and the unknown halves, which return and take the same residuals.

    Only one branch runs, so there are as many of each type as in the branch with the most.
    """
    common = list(reduce(or_, (Counter(p.residuals) for p in parts)).elements())
    known, unknown = zip(*(_with_residuals(p, common) for p in parts), strict=True)
    return known, unknown, common


def _with_residuals(parts: PartialJaxprs, common: Sequence[ShapedArray]) -> tuple[Jaxpr, Jaxpr]:
    """Both halves of a branch, with zeros and parameters for the residuals that it lacks."""
    known, unknown, _, count = parts

    def filled(residuals: Sequence[Any], missing: Callable[[ShapedArray], Any]) -> list[Any]:
        own = defaultdict(list)
        for aval, x in zip(parts.residuals, residuals, strict=True):
            own[aval].append(x)
        return [own[aval].pop(0) if own[aval] else missing(aval) for aval in common]

    def program(*args: Any) -> list[Any]:
        outs = eval_jaxpr(known, [], *args)
        first = len(outs) - count
        return [*outs[:first], *filled(outs[first:], zeros)]

    returning = trace_to_jaxpr(program, known.in_avals, "staging of partial evaluation", None)
    invars = [*filled(unknown.invars[:count], Var), *unknown.invars[count:]]
    return returning, Jaxpr([], invars, unknown.eqns, unknown.outvars)


def cond_partial_eval(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
    is_unknown, *ins = unknown_ins
    if is_unknown:
        return PartialEqns([], eqn)
    branches = eqn.params["branches"]
    unknown_outs = _any_of(split_jaxpr(branch, tuple(ins)).unknown_outs for branch in branches)
    parts = [split_jaxpr(branch, tuple(ins), unknown_outs) for branch in branches]
    known, unknown, residuals = with_common_residuals(parts)
    halves = {"branches": known}, {"branches": unknown}
    return split_call(eqn, ins, unknown_outs, residuals, *halves)


partial_eval_rules[cond_p] = cond_partial_eval


def cond_transpose(
    primitive: Primitive, cts: Sequence[Any], which: Any, *operands: Any, branches: Branches
) -> list[Any]:
    if isinstance(which, UndefPrimal):
        raise nonlinear_in(primitive, [0])
    linear = tuple(isinstance(x, UndefPrimal) for x in operands)
    nonzero = tuple(type(ct) is not Zero for ct in cts)
    forced = _any_of(transpose_jaxpr(branch, linear, nonzero)[2] for branch in branches)
    programs = [transpose_jaxpr(branch, linear, nonzero, forced)[:2] for branch in branches]
    transposes, consts = join_consts(programs)
    known = [x for x in operands if not isinstance(x, UndefPrimal)]
    given = [ct for ct in cts if type(ct) is not Zero]
    outs = iter(bind(primitive, which, *consts, *known, *given, branches=transposes))
    return [None, *(next(outs) if is_nonzero else None for is_nonzero in forced)]


transpose_rules[cond_p] = partial(cond_transpose, cond_p)
