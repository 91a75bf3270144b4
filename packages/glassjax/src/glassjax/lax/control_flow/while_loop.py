"""`while_loop`, under every transformation."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

import glassjax_stage2 as stage2
import glassjax_stage3 as stage3
from glassjax.lax.control_flow.conditionals import cond
from glassjax.lax.control_flow.program_cache import keeps_programs, while_in_python
from glassjax.lax.control_flow.scan import scan
from glassjax.lax.gathering import default_fill_value
from glassjax.lax.reductions import reduce_or
from glassjax.primitives import higher_order, loops, sparsity_rules
from glassjax.primitives.axes import plain_type, varying_program_rules, vma_of
from glassjax.primitives.methods import does_io, refuse_io
from glassjax.runtime import refs as references
from glassjax.runtime.array import to_array, tree_to_arrays
from glassjax.runtime.effects import has_effects
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.number_types import is_key_type
from glassjax.settings.options import jit_is_disabled
from glassjax.transforms.autodiff import jvp
from glassjax.transforms.checkpoint import checkpoint, name_p
from glassjax.transforms.custom_derivatives import custom_jvp
from glassjax.transforms.custom_vmap import custom_vmap
from glassjax.tree_util import treedef_tuple
from glassjax_stage2 import ShapedArray, Zero, bind, typeof
from glassjax_stage2.arguments import FlatFunction, argument_names, require_function
from glassjax_stage2.functions import full_like, one_int
from glassjax_stage2.shaped_array import is_inexact
from glassjax_stage2.source import name_of
from glassjax_stage2.tangent import instantiate, tangent_type
from glassjax_stage2.tree import tree_flatten, tree_unflatten
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3 import Jaxpr, JaxprEqn, Var, eval_jaxpr
from glassjax_stage3.jaxpr import consts_as_invars, inner_jaxprs, require_accepted
from glassjax_stage3.jit_rules import jvp_jaxpr, vmap_jaxpr
from glassjax_stage3.lowering import FunctionBuilder, Value
from glassjax_stage3.staging import abstractify
from glassjax_stage4.partial_eval import PartialEqns, merge, partition
from glassjax_stage4.transpose import UndefPrimal

# The primitive of `while_loop`.
#
# Its operands are the constants of the condition, the constants of the body, the carry. Both
# programs take their constants first.


while_p = stage2.Primitive("while", higher_order=True)


# The rules of `while_loop`: each interpreter transforms its two programs.


def _split_operands(
    items: Sequence[Any], cond_consts: int, body_consts: int
) -> tuple[Any, Any, Any]:
    """Constants of the condition, constants of the body, carry."""
    begin = cond_consts + body_consts
    return items[:cond_consts], items[cond_consts:begin], items[begin:]


def _while_type(
    *in_avals: ShapedArray,
    cond_jaxpr: Jaxpr,
    body_jaxpr: Jaxpr,
    cond_consts: int,
    body_consts: int,
) -> list[ShapedArray]:
    cond_avals, body_avals, carry = _split_operands(in_avals, cond_consts, body_consts)
    for jaxpr, found in ((cond_jaxpr, [*cond_avals, *carry]), (body_jaxpr, [*body_avals, *carry])):
        require_accepted("while: a program", jaxpr.in_avals, found)
    return body_jaxpr.out_avals


def _while_lower(
    b: FunctionBuilder,
    out_avals: loops.Avals,
    *args: Value,
    cond_jaxpr: Jaxpr,
    body_jaxpr: Jaxpr,
    cond_consts: int,
    body_consts: int,
) -> list[Value]:
    cond_operands, body_operands, init = _split_operands(args, cond_consts, body_consts)

    def condition(carry: list[Value]) -> Value:
        return loops.call_text(b, cond_jaxpr, "while_condition", [*cond_operands, *carry])[0]

    def body_text(carry: list[Value]) -> list[Value]:
        return loops.call_text(b, body_jaxpr, "while_body", [*body_operands, *carry])

    return loops.while_text(b, init, condition, body_text)


def _while_dependence(
    depends: higher_order.Depends, ins: loops.Flags, params: dict[str, Any]
) -> loops.Flags:
    """Return flags of carry parts that depend on flagged operands; all, if the condition does."""
    cond_flags, body_flags, carry_flags = _split_operands(
        ins, params["cond_consts"], params["body_consts"]
    )
    carry_flags = loops.until_stable(
        carry_flags, lambda flags: depends(params["body_jaxpr"], (*body_flags, *flags))
    )
    # The condition decides the trip count, and thereby every part of the carry.
    (condition_flag,) = depends(params["cond_jaxpr"], (*cond_flags, *carry_flags))
    return tuple([condition_flag or flag for flag in carry_flags])


def _while_sparsity(
    analysis: sparsity_rules.Analysis,
    operands: Sequence[sparsity_rules.Operand],
    out_avals: Sequence[ShapedArray],
    params: dict[str, Any],
) -> list[Any]:
    cond_operands, consts, carry = _split_operands(
        operands, params["cond_consts"], params["body_consts"]
    )
    body = params["body_jaxpr"]
    carry = analysis.until_stable(carry, lambda carry: analysis.ids(body, [*consts, *carry]))
    (ends,) = analysis.ids(params["cond_jaxpr"], [*cond_operands, *carry])
    if ends.any():
        return sparsity_rules.dense(analysis, operands, out_avals, params)
    return [x.ids for x in carry]


def _while_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    """Jvp rule: a loop of the carry and its tangents that are nonzero in some iteration."""
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    cond_consts, body_consts = params["cond_consts"], params["body_consts"]
    cond_operands, body_operands, init = _split_operands(primals, cond_consts, body_consts)
    _, body_dots, init_dots = _split_operands(tangents, cond_consts, body_consts)
    consts_nonzero = tuple(type(t) is not Zero for t in body_dots)
    nonzero = _while_dependence(
        higher_order.tangent_outs, tuple(type(t) is not Zero for t in tangents), params
    )
    program, consts, _ = jvp_jaxpr(body_jaxpr, (*consts_nonzero, *nonzero), nonzero)
    dots = [instantiate(t) for t, keep in zip(init_dots, nonzero, strict=True) if keep]
    const_dots = [t for t in body_dots if type(t) is not Zero]
    # The program takes constants, primals, tangents, with the body's constants first in both.
    size, count = len(init), len(consts) + body_consts
    in_consts, in_carry, in_const_dots, in_dots = loops.split_by_sizes(
        program.invars, count, size, len(const_dots)
    )
    invars = [*in_consts, *in_const_dots, *in_carry, *in_dots]
    ordered = Jaxpr([], invars, program.eqns, program.outvars)
    # The condition sees only primals: a boolean has no tangent.
    condition = Jaxpr(
        [],
        [*cond_jaxpr.invars, *(Var(typeof(t)) for t in dots)],
        cond_jaxpr.eqns,
        cond_jaxpr.outvars,
    )
    outs = bind(
        while_p,
        *cond_operands,
        *consts,
        *body_operands,
        *const_dots,
        *init,
        *dots,
        cond_jaxpr=condition,
        body_jaxpr=ordered,
        cond_consts=cond_consts,
        body_consts=count + len(const_dots),
    )
    zeros = [
        Zero(tangent_type(typeof(x))) for x, keep in zip(init, nonzero, strict=True) if not keep
    ]
    return outs[:size], merge(nonzero, zeros, outs[size:])


def _while_vmap(
    axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    *,
    cond_jaxpr: Jaxpr,
    body_jaxpr: Jaxpr,
    cond_consts: int,
    body_consts: int,
) -> tuple[list[Any], list[BatchDim]]:
    """Batching rule: iterate until the last example ends; ended ones keep their carry."""
    cond_operands, body_operands, init = _split_operands(values, cond_consts, body_consts)
    cond_dims, body_dims, init_dims = _split_operands(tuple(dims), cond_consts, body_consts)

    def programs_for(batched: loops.Flags) -> tuple[Any, Any]:
        carry_dims = tuple(0 if b else None for b in batched)
        return (
            vmap_jaxpr(cond_jaxpr, axis, (*cond_dims, *carry_dims)),
            vmap_jaxpr(body_jaxpr, axis, (*body_dims, *carry_dims), batched),
        )

    def becomes_batched(batched: loops.Flags) -> list[bool]:
        (_, _, (cond_dim,)), (_, _, out_dims) = programs_for(batched)
        # Examples that end after different numbers of iterations have different carries.
        return [cond_dim is not None or dim is not None for dim in out_dims]

    batched = loops.until_stable(tuple(dim is not None for dim in init_dims), becomes_batched)
    init = [
        move_batch_dim(x, axis, dim, 0) if b else x
        for x, dim, b in zip(init, init_dims, batched, strict=True)
    ]
    condition, body = programs_for(batched)
    (cond_program, more_cond, (cond_dim,)), (body_program, more_body, _) = condition, body
    cond_operands, body_operands = [*more_cond, *cond_operands], [*more_body, *body_operands]
    if cond_dim is not None:
        if does_io(cond_jaxpr, body_jaxpr):
            refuse_io(
                "vmap of a while_loop whose examples end after different numbers of iterations"
            )
        (cond_program, cond_more), (body_program, body_more) = _until_all_end(
            cond_program, body_program, len(cond_operands), len(body_operands)
        )
        cond_operands, body_operands = (
            [*cond_more, *cond_operands],
            [*body_more, *cond_operands, *body_operands],
        )
    outs = bind(
        while_p,
        *cond_operands,
        *body_operands,
        *init,
        cond_jaxpr=cond_program,
        body_jaxpr=body_program,
        cond_consts=len(cond_operands),
        body_consts=len(body_operands),
    )
    return outs, [0 if b else None for b in batched]


# The name of the condition by which `vmap` selects among computed values.
SOME_EXAMPLES = "examples that go on"


def _until_all_end(
    condition: Jaxpr, body: Jaxpr, cond_consts: int, body_consts: int
) -> tuple[tuple[Jaxpr, list[Any]], tuple[Jaxpr, list[Any]]]:
    """The programs of a loop that runs while the condition holds for any example, and constants.

    Both programs take these first; then the body takes the condition's constants, and its own.
    """

    def any_holds(*args: Any) -> list[Any]:
        return [reduce_or(eval_jaxpr(condition, [], *args)[0], (0,))]

    def masked_step(*args: Any) -> list[Any]:
        cond_operands, body_operands, carry = _split_operands(args, cond_consts, body_consts)
        (holds,) = eval_jaxpr(condition, [], *cond_operands, *carry)
        outs = eval_jaxpr(body, [], *body_operands, *carry)
        # `checkify` finds the condition by this name: a check counts only for examples that go on.
        holds = stage2.bind1(name_p, holds, name=SOME_EXAMPLES)
        return [
            stage2.select_n(stage2.broadcast_in_dim(holds, typeof(x).shape, (0,)), x, new)
            for x, new in zip(carry, outs, strict=True)
        ]

    carry_avals = body.in_avals[body_consts:]
    in_avals = [*condition.in_avals[:cond_consts], *body.in_avals[:body_consts], *carry_avals]
    return (
        loops.stage_to_jaxpr(any_holds, condition.in_avals, "vmap"),
        loops.stage_to_jaxpr(masked_step, in_avals, "vmap"),
    )


def _while_partial_eval(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
    """The loop of the known values, and the whole loop for the unknown ones.

    Residuals of iterations cannot be stored, since the trip count is unknown.
    """
    unknown = _while_dependence(higher_order.unknown_outs, tuple(unknown_ins), eqn.params)
    if all(unknown):
        return PartialEqns([], eqn)
    # The condition is known here: otherwise all of the carry would be unknown.
    known_params, used = _smaller_loop(eqn.params, [not u for u in unknown])
    _, operands = partition(used, eqn.invars)
    known_outs, _ = partition(unknown, eqn.outvars)
    known = [JaxprEqn(while_p, operands, known_outs, known_params, eqn.source)]
    if not any(unknown):
        return PartialEqns(known, None)
    # The whole loop also recomputes known values, which are unused.
    outvars = [var if u else Var(var.aval) for var, u in zip(eqn.outvars, unknown, strict=True)]
    return PartialEqns(
        known,
        JaxprEqn(while_p, eqn.invars, outvars, _quiet_loop(eqn.params), eqn.source),
    )


def _quiet_loop(params: dict[str, Any]) -> dict[str, Any]:
    """The loop that runs again, without its effects."""
    return {name: _quiet(x) if isinstance(x, Jaxpr) else x for name, x in params.items()}


def _quiet(jaxpr: Jaxpr) -> Jaxpr:
    if not has_effects(jaxpr):
        return jaxpr
    eqns = []
    for eqn in jaxpr.eqns:
        if not has_effects(eqn):
            eqns.append(eqn)
        elif inner_jaxprs(eqn):
            params = {
                name: tuple(map(_quiet, x)) if name == "branches" else x
                for name, x in _quiet_loop(eqn.params).items()
            }
            eqns.append(JaxprEqn(eqn.primitive, eqn.invars, eqn.outvars, params, eqn.source))
        elif eqn.outvars:
            raise NotImplementedError(
                f"while_loop: to linearize it, it would have to run twice, and with it "
                f"`{eqn.primitive}` in its body. Use scan, or forward mode (jvp, jacfwd)."
            )
    return Jaxpr(jaxpr.constvars, jaxpr.invars, eqns, jaxpr.outvars)


def _while_transpose(cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
    if all(type(ct) is Zero for ct in cts) or not any(isinstance(x, UndefPrimal) for x in args):
        return [None] * len(args)
    raise ValueError(
        "reverse-mode differentiation of while_loop, or of fori_loop with bounds that are traced, "
        "needs residuals of every iteration, and the trip count is unknown. "
        "Give while_loop a bound, by max_steps, or use scan, or fori_loop with bounds that are "
        "Python ints; forward mode (jvp, jacfwd) works."
    )


def _smaller_loop(
    params: dict[str, Any], used_outs: Sequence[bool]
) -> tuple[dict[str, Any], list[bool]]:
    """The loop without values that neither the condition nor a used result depends on."""
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    cond_consts, body_consts = params["cond_consts"], params["body_consts"]
    # What the condition reads is used, even if no result depends on it.
    cond_program, cond_used = stage3.dce_jaxpr(cond_jaxpr)
    used = loops.until_stable(
        tuple([a or b for a, b in zip(used_outs, cond_used[cond_consts:], strict=True)]),
        lambda flags: stage3.dce_jaxpr(body_jaxpr, flags)[1][body_consts:],
    )
    body_program, ins = stage3.dce_jaxpr(body_jaxpr, used)
    cond_ins = [*cond_used[:cond_consts], *used]
    body_ins = [*ins[:body_consts], *used]
    smaller = {
        "cond_jaxpr": Jaxpr(
            [], partition(cond_ins, cond_jaxpr.invars)[1], cond_program.eqns, cond_program.outvars
        ),
        "body_jaxpr": Jaxpr(
            [], partition(body_ins, body_jaxpr.invars)[1], body_program.eqns, body_program.outvars
        ),
        "cond_consts": sum(cond_used[:cond_consts]),
        "body_consts": sum(ins[:body_consts]),
    }
    return smaller, [*cond_ins[:cond_consts], *body_ins]


def _while_dce(used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    params, used_ins = _smaller_loop(eqn.params, used_outs)
    if all(used_ins):
        return used_ins, eqn
    used_carry = used_ins[len(used_ins) - len(used_outs) :]
    _, invars = partition(used_ins, eqn.invars)
    _, outvars = partition(used_carry, eqn.outvars)
    return used_ins, JaxprEqn(while_p, invars, outvars, params, eqn.source)


def _while_effects(
    with_token: higher_order.WithToken, eqn: JaxprEqn, token: Var | stage3.Literal, following: Var
) -> list[JaxprEqn]:
    """Carry the token last, and before it the condition's value, if the condition has effects.

    In that case, the condition is evaluated before the loop, and at the end of each iteration.
    """

    def fresh(variables: Sequence[Any]) -> list[Var]:
        return [Var(x.aval) for x in variables]

    def loop(invars: Sequence[Any], outvars: Sequence[Var], **params: Any) -> JaxprEqn:
        return JaxprEqn(while_p, invars, outvars, {**eqn.params, **params}, eqn.source)

    condition, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
    if not has_effects(condition):
        condition = Jaxpr(
            [], [*condition.invars, *fresh([token])], condition.eqns, condition.outvars
        )
        invars, outvars = [*eqn.invars, token], [*eqn.outvars, following]
        return [loop(invars, outvars, cond_jaxpr=condition, body_jaxpr=with_token(body))]
    cond_consts, body_consts = eqn.params["cond_consts"], eqn.params["body_consts"]
    cond_operands, body_operands, init = _split_operands(eqn.invars, cond_consts, body_consts)

    def asks(operands: list[Any], holds: Var, after: Var) -> JaxprEqn:
        held = {"jaxpr": with_token(condition), "name": "while_condition"}
        return JaxprEqn(stage3.jit_p, operands, [holds, after], held, eqn.source)

    # The condition of StableHLO's while returns one boolean, and so cannot return a token.
    first, asked = fresh([following] * 2)
    before = asks([*cond_operands, *init, token], first, asked)
    in_cond, in_body, carry, out_carry = map(
        fresh, (cond_operands, body_operands, init, body.outvars)
    )
    was, given, done, holds, after = fresh([following] * 5)
    body_params = {"jaxpr": with_token(body), "name": "while_body"}
    token_body = Jaxpr(
        [],
        [*in_body, *in_cond, *carry, was, given],
        [
            JaxprEqn(
                stage3.jit_p, [*in_body, *carry, given], [*out_carry, done], body_params, eqn.source
            ),
            asks([*in_cond, *out_carry, done], holds, after),
        ],
        [*out_carry, holds, after],
    )
    carried = fresh([*init, following, following])
    loop_eqn = loop(
        [*body_operands, *cond_operands, *init, first, asked],
        [*eqn.outvars, *fresh([following]), following],
        cond_jaxpr=Jaxpr([], carried, [], [carried[-2]]),
        body_jaxpr=token_body,
        cond_consts=0,
        body_consts=body_consts + cond_consts,
    )
    return [before, loop_eqn]


def _while_keys(
    keys_of: Callable[[Jaxpr], Any],
    count: int,
    *,
    cond_jaxpr: Jaxpr,
    body_jaxpr: Jaxpr,
    cond_consts: int,
    body_consts: int,
) -> Any:
    keys_of(cond_jaxpr).each_iteration("while_loop", len(cond_jaxpr.invars))
    found = keys_of(body_jaxpr).each_iteration("while_loop", body_consts, len(body_jaxpr.outvars))
    return found.at(range(cond_consts, count), count)


def _while_steps(
    args: Sequence[Any],
    *,
    cond_jaxpr: Jaxpr,
    body_jaxpr: Jaxpr,
    cond_consts: int,
    body_consts: int,
) -> None:
    cond_operands, body_operands, carry = _split_operands(args, cond_consts, body_consts)
    while eval_jaxpr(cond_jaxpr, [], *cond_operands, *carry)[0]:
        carry = eval_jaxpr(body_jaxpr, [], *body_operands, *carry)


def _axes_of_condition(
    in_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[frozenset[Hashable]]:
    """The results vary along the condition's axes, since devices may differ in the trip count."""
    return [vma_of(params["cond_jaxpr"].out_avals[0])] * len(params["body_jaxpr"].outvars)


varying_program_rules[while_p] = _axes_of_condition

higher_order.declare_program(
    while_p,
    abstract_eval=_while_type,
    lower=_while_lower,
    vmap=_while_vmap,
    sparsity=_while_sparsity,
    jvp=_while_jvp,
    transpose=_while_transpose,
    partial_eval=_while_partial_eval,
    dce=_while_dce,
    dependence=_while_dependence,
    order=_while_effects,
    keys=_while_keys,
    steps=_while_steps,
)


# `while_loop`: a body that runs while a condition holds, decided at run time.


Carry = TypeVar("Carry")


@evaluated_by_library
@keeps_programs("cond_fun", "body_fun", "max_steps", "checkpoints")
def while_loop(
    cond_fun: Callable[[Carry], Any],
    body_fun: Callable[[Carry], Carry],
    init_val: Carry,
    *,
    max_steps: int | None = None,
    checkpoints: int = 16,
) -> Carry:
    """Apply `body_fun` to its own result repeatedly, while `cond_fun` of it is true.

    With `max_steps`, which JAX does not have, the loop is differentiable in reverse mode as well.
    With `n` checkpoints there are log `max_steps` to base `n` levels. Reverse mode keeps `n`
    carries for each level, and computes each step once per level: with two levels, the memory is
    that of two square roots of `max_steps` carries. Its time grows with the number of steps taken,
    not with `max_steps`. Under `vmap` the loop continues while any example does.

    If the condition still holds after `max_steps` steps, there is no result. Then each part of the
    carry that the body changes is NaN, and so are its derivatives; integers have the least value of
    their dtype, or the greatest if it is unsigned, booleans are True, and random keys are the last
    ones. To stop there without that, count the steps in the carry, and let `cond_fun` compare them.

    Arguments:
        cond_fun: function of the carry that returns a boolean scalar.
        body_fun: function of the carry that returns the next one, of the same structure and
            types.
        init_val: the initial carry, a pytree of arrays.
        max_steps: the greatest number of steps until the condition is false; None: unknown.
        checkpoints: the number of carries that reverse mode keeps per level, 2 or more.

    Returns:
        The first carry for which `cond_fun` is false.

    Raises:
        TypeError: `cond_fun` does not return a boolean scalar, the carry changes its type, or
            `max_steps` or `checkpoints` is not an int.
        ValueError: it is differentiated in reverse mode without `max_steps`; `max_steps` is
            negative, or `checkpoints` less than 2.

    >>> import glassjax.numpy as jnp
    >>> while_loop(lambda x: x < 100, lambda x: x * 3, jnp.int32(1))
    Array(243, dtype=int32)
    >>> def power(x):  # the first one that is at least 10
    ...     return while_loop(lambda y: y < 10, lambda y: x * y, x, max_steps=100)
    >>> glassjax.value_and_grad(power)(jnp.float32(2))
    (Array(16., dtype=float32), Array(32., dtype=float32))
    """
    if max_steps is None:
        return repeat_while(cond_fun, body_fun, init_val)
    bound = Bound(
        one_int("while_loop: max_steps", max_steps),
        one_int("while_loop: checkpoints", checkpoints),
    )
    if bound.steps < 0 or bound.checkpoints < 2:
        raise ValueError(
            "while_loop: max_steps must be at least 0 and checkpoints at least 2, found "
            f"{bound.steps} and {bound.checkpoints}"
        )
    return repeat_while(cond_fun, body_fun, init_val, bound=bound)


class Bound(NamedTuple):
    """The greatest number of steps of a loop, and the number of carries kept per level."""

    steps: int
    checkpoints: int


def repeat_while(
    cond_fun: Callable[..., Any],
    body_fun: Callable[..., Any],
    init_val: Any,
    counts: bool = False,
    bound: Bound | None = None,
) -> Any:
    """`while_loop`, or with `counts` a `fori_loop`, whose users see only its last carry entry."""
    for function in (cond_fun, body_fun):
        require_function("while_loop", function)

    def stage_loop(refs: Sequence[references.Ref]) -> Any:
        if not refs:
            return _repeat_alone(cond_fun, body_fun, init_val, counts, bound)
        body = references.passing(refs, body_fun)
        state = _repeat_alone(
            lambda state: references.passing(refs, cond_fun)(*state)[1],
            lambda state: body(*state),
            (references.values_of(refs), init_val),
            counts,
            bound,
        )
        references.write_all(refs, state[0])
        return state[1]

    return references.with_outer_refs(stage_loop)


def _repeat_alone(
    cond_fun: Callable[..., Any],
    body_fun: Callable[..., Any],
    init_val: Any,
    counts: bool,
    bound: Bound | None,
) -> Any:
    """`repeat_while` of functions that use no references of the surrounding code."""
    if jit_is_disabled() and bound is None:
        done = while_in_python(cond_fun, body_fun, tree_to_arrays(init_val))
        if done:
            return tree_to_arrays(done[0])

    def operand_names() -> list[str]:
        return argument_names(body_fun, (init_val,), {})

    init, tree = tree_flatten(init_val)
    # for its error, which names an argument that is not an array
    abstractify(f"while_loop of `{name_of(body_fun)}`", operand_names, init)
    in_tree = treedef_tuple([tree])
    body = FlatFunction(body_fun, in_tree)
    closed, init = loops.stage_with_carry(
        "while_loop",
        body_fun,
        lambda avals: loops.stage_body(body, avals, "while_loop", body_fun, operand_names),
        lambda: body.out_tree,
        tree,
        init,
        counts,
    )
    condition = FlatFunction(cond_fun, in_tree)
    closed_cond = loops.stage_body(
        condition, [typeof(x) for x in init], "while_loop", cond_fun, operand_names
    )
    if len(condition.out_tree.nodes) != 1 or [
        plain_type(a).strip_weak_type() for a in closed_cond.out_avals
    ] != [ShapedArray((), np.bool_)]:
        is_leaf = len(condition.out_tree.nodes) == 1 and closed_cond.out_avals
        found = closed_cond.out_avals[0] if is_leaf else condition.out_tree
        raise TypeError(
            f"while_loop: `{name_of(cond_fun)}` must return one boolean scalar, found {found}. "
            "Compare numbers; make one boolean of several by all or any."
        )
    cond_jaxpr, cond_consts = consts_as_invars(closed_cond), closed_cond.consts
    cond_operands, seen = loops.split_by_sizes(cond_jaxpr.invars, len(cond_consts))
    # The condition gets no constants of the body, so invariant parts that it reads stay in the
    # carry.
    in_use = {x for eqn in cond_jaxpr.eqns for x in eqn.invars}.union(cond_jaxpr.outvars)
    body_jaxpr, is_const = loops.hoist_invariant(
        consts_as_invars(closed), len(closed.consts), tuple(var in in_use for var in seen)
    )
    seen, _ = partition(is_const, seen)
    changing, invariant = partition(is_const, init)
    condition_jaxpr = Jaxpr([], [*cond_operands, *seen], cond_jaxpr.eqns, cond_jaxpr.outvars)
    body_consts = [*invariant, *closed.consts]
    if bound is None:
        outs = bind(
            while_p,
            *cond_consts,
            *body_consts,
            *changing,
            cond_jaxpr=condition_jaxpr,
            body_jaxpr=body_jaxpr,
            cond_consts=len(cond_consts),
            body_consts=len(body_consts),
        )
    else:
        programs = condition_jaxpr, body_jaxpr
        outs = _repeat_bounded(programs, cond_consts, body_consts, changing, bound)
    return tree_unflatten(tree, map(to_array, merge(is_const, outs, invariant)))


# A loop with a bound, through which reverse mode goes.
#
# To be differentiated, it becomes nested loops: the outermost one has one iteration for each saved
# carry, and each iteration runs a loop of the next level under `checkpoint`. So a level keeps only
# the carries at the start of its iterations, and no other value outlives a step.


def _repeat_bounded(
    programs: tuple[Jaxpr, Jaxpr],
    cond_consts: Sequence[Any],
    body_consts: Sequence[Any],
    init: Sequence[Any],
    bound: Bound,
) -> list[Any]:
    """The last carry of a bounded loop; no numbers if its condition holds after the last step."""
    condition, body = programs

    def state_of(steps: Any, carry: Sequence[Any], cond_consts: Sequence[Any]) -> list[Any]:
        return [steps, eval_jaxpr(condition, [], *cond_consts, *carry)[0], *carry]

    def step(state: Sequence[Any], consts: Any) -> list[Any]:
        steps, _, *carry = state
        cond_consts, body_consts = consts
        return state_of(steps + 1, eval_jaxpr(body, [], *body_consts, *carry), cond_consts)

    def continues(state: Sequence[Any]) -> Any:
        return state[1] & (state[0] < bound.steps)

    @custom_jvp
    def repeated(consts: Any, state: Any) -> Any:
        return repeat_while(continues, lambda state: step(state, consts), state)

    def nested(consts: Any, state: Any) -> Any:
        def up_to(count: int, state: Any) -> Any:
            if count <= 1:
                return cond(continues(state), lambda s: step(s, consts), lambda s: s, state)
            part = -(-count // bound.checkpoints)

            def level(state: Any, _: None) -> tuple[Any, None]:
                return up_to(part, state), None

            def whole(state: Any) -> Any:
                return scan(checkpoint(level), state, length=bound.checkpoints)[0]

            return cond(_anywhere(continues(state)), whole, lambda s: s, state)

        return up_to(bound.steps, state)

    repeated.defjvp(lambda primals, tangents: jvp(nested, primals, tangents))
    state = state_of(to_array(np.int32(0)), init, cond_consts)
    _, unfinished, *carry = repeated((list(cond_consts), list(body_consts)), state)
    return [_unless(unfinished, x) for x in carry]


@custom_vmap
def _anywhere(active: Any) -> Any:
    """A boolean; for a batch of them, True if any is."""
    return active


@_anywhere.def_vmap
def _in_the_batch(axis_size: int, in_batched: Any, active: Any) -> tuple[Any, bool]:
    return _anywhere(reduce_or(active, (0,)) if in_batched[0] else active), False


def _unless(unfinished: Any, x: Any) -> Any:
    """A part of the carry, unless the loop is unfinished: then NaN, or what stands for it."""
    aval = typeof(x)
    if is_key_type(aval.dtype):
        return x
    unfinished = stage2.broadcast_in_dim(unfinished, aval.shape, ())
    fill = full_like(x, default_fill_value(aval.dtype))
    if is_inexact(aval.dtype):
        # The derivative of a product with NaN is NaN. In a finished loop the factor is 1: zero
        # cotangents times NaN would be NaN as well.
        fill = x * stage2.select_n(unfinished, full_like(x, 1), fill)
    return stage2.select_n(unfinished, x, fill)
