"""The rules of `scan`: each interpreter transforms the program of the body."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax.lax.control_flow.scan_primitive import (
    carry_through,
    dependence_of_scan,
    scan_p,
    scan_type,
    split_operands,
)
from minijax.lax.control_flow.scan_reverse_mode import partial_eval, transpose
from minijax.primitives.calls import WithToken
from minijax.primitives.declare_program import declare_program
from minijax.primitives.dependence import tangent_outs
from minijax.primitives.loops import (
    Avals,
    Flags,
    call_text,
    cut,
    until_stable,
    while_text,
)
from minijax.transforms.custom_derivatives.logs import log_from_program
from minijax.transforms.saved_values import (
    MaySave,
    SavedEqns,
    save_in_program,
    saving_rules,
    split_eqn,
)
from minijax_stage2 import ShapedArray, Zero, bind, typeof
from minijax_stage2.tangent import instantiate, tangent_type
from minijax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from minijax_stage3 import (
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    dce_jaxpr,
    eval_jaxpr,
)
from minijax_stage3.jit_rules import jvp_jaxpr, vmap_jaxpr
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature
from minijax_stage4.partial_eval import (
    merge,
    partition,
)


def _lower(b: FunctionBuilder, out_avals: Avals, *args: Value, **params: Any) -> list[Value]:
    """A loop over a counter, the carry, and the results; each iteration writes one element."""
    jaxpr, length, rounds = params["jaxpr"], params["length"], params["unroll"]
    consts, init, xs = split_operands(args, params)
    num_carry = len(init)
    counter = ShapedArray((), np.int32)

    def number(value: int) -> Value:
        return b.constant(value, counter)

    def binary(operation: str, x: Value, y: Value) -> Value:
        return b.emit(f"stablehlo.{operation} {x.name}, {y.name} : tensor<i32>", counter)[0]

    def one_round(i: Value, state: Sequence[Value]) -> list[Value]:
        position = binary("subtract", number(length - 1), i) if params["reverse"] else i
        zero = number(0)
        elements = [_element(b, x, position, zero) for x in xs]
        outs = call_text(b, jaxpr, "scan_body", [*consts, *state[:num_carry], *elements])
        ys = [
            _with_element(b, ys, y, position, zero)
            for ys, y in zip(state[num_carry:], outs[num_carry:], strict=True)
        ]
        return [*outs[:num_carry], *ys]

    def body(state: list[Value]) -> list[Value]:
        i, *rest = state
        for _ in range(rounds):
            rest = one_round(i, rest)
            i = binary("add", i, number(1))
        return [i, *rest]

    def condition(state: list[Value]) -> Value:
        compared = f"stablehlo.compare LT, {state[0].name}, {number(in_loop).name}"
        types = f"(tensor<i32>, tensor<i32>) -> {mlir_type(ShapedArray((), np.bool_))}"
        return b.emit(f"{compared} : {types}", ShapedArray((), np.bool_))[0]

    in_loop = length - length % rounds
    # Results begin with what their type cannot tell from any other array: zeros.
    state = [number(0), *init, *(b.constant(0, aval) for aval in out_avals[num_carry:])]
    if in_loop > rounds:
        state = while_text(b, state, condition, body)
    elif in_loop:
        state = body(state)
    i, *rest = state
    for _ in range(length % rounds):
        rest = one_round(i, rest)
        i = binary("add", i, number(1))
    return rest


def _element(b: FunctionBuilder, x: Value, position: Value, zero: Value) -> Value:
    """The element of `x` at a position along its first axis."""
    shape = x.aval.shape
    starts = [position, *[zero] * (len(shape) - 1)]
    names = ", ".join(start.name for start in starts)
    part = ShapedArray((1, *shape[1:]), x.aval.dtype)
    sizes = list(part.shape)
    (piece,) = b.emit(
        f"stablehlo.dynamic_slice {x.name}, {names}, sizes = {sizes} : "
        f"{signature([x, *starts], [part])}",
        part,
    )
    return b.reshape(piece, shape[1:])


def _with_element(b: FunctionBuilder, ys: Value, y: Value, position: Value, zero: Value) -> Value:
    """`ys` with `y` at a position along its first axis."""
    piece = b.reshape(y, (1, *y.aval.shape))
    operands = [ys, piece, position, *[zero] * y.aval.ndim]
    names = ", ".join(x.name for x in operands)
    return b.emit(
        f"stablehlo.dynamic_update_slice {names} : {signature(operands, [ys.aval])}", ys.aval
    )[0]


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    jaxpr, num_carry = params["jaxpr"], params["num_carry"]
    nonzero = tuple(type(t) is not Zero for t in tangents)
    of_consts, _, of_xs = split_operands(nonzero, params)
    num_results = len(jaxpr.outvars) - num_carry

    of_carry = carry_through(tangent_outs, nonzero, params)
    must = (*of_carry, *[False] * num_results)
    program, more, out_nonzero = jvp_jaxpr(jaxpr, (*of_consts, *of_carry, *of_xs), must)
    consts, init, xs = split_operands(primals, params)
    const_dots, carry_dots, xs_dots = split_operands(tangents, params)
    const_dots = [t for t in const_dots if type(t) is not Zero]
    xs_dots = [t for t in xs_dots if type(t) is not Zero]
    carry_dots = [instantiate(t) for t, keep in zip(carry_dots, of_carry, strict=True) if keep]

    # The program takes constants, primals, tangents. Each tangent goes beside its primal.
    num_dots = len(carry_dots)
    in_more, in_consts, in_carry, in_xs, dot_consts, dot_carry, dot_xs = cut(
        program.invars, len(more), len(consts), len(init), len(xs), len(const_dots), num_dots
    )
    out_carry, out_ys, out_dots, out_ys_dots = cut(
        program.outvars, num_carry, num_results, num_dots
    )
    ordered = Jaxpr(
        [],
        [*in_more, *in_consts, *dot_consts, *in_carry, *dot_carry, *in_xs, *dot_xs],
        program.eqns,
        [*out_carry, *out_dots, *out_ys, *out_ys_dots],
    )
    outs = bind(
        scan_p,
        *(*more, *consts, *const_dots, *init, *carry_dots, *xs, *xs_dots),
        **{
            **params,
            "jaxpr": ordered,
            "num_consts": len(more) + len(consts) + len(const_dots),
            "num_carry": num_carry + num_dots,
        },
    )
    out_carry, out_dots, out_ys, out_ys_dots = cut(outs, num_carry, num_dots, num_results)
    results = [*out_carry, *out_ys]
    zero_outs, _ = partition(out_nonzero, results)
    zeros = [Zero(tangent_type(typeof(x))) for x in zero_outs]
    return results, merge(out_nonzero, zeros, [*out_dots, *out_ys_dots])


# --8<-- [start:vmap]
def _vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], **params: Any
) -> tuple[list[Any], list[BatchDim]]:
    jaxpr, num_carry = params["jaxpr"], params["num_carry"]
    consts, init, xs = split_operands(values, params)
    const_dims, init_dims, xs_dims = split_operands(tuple(dims), params)
    num_results = len(jaxpr.outvars) - num_carry
    element_dims = tuple(None if dim is None else 0 for dim in xs_dims)

    def program_for(batched: Flags) -> tuple[Jaxpr, list[Any], list[BatchDim]]:
        carry_dims = tuple(0 if b else None for b in batched)
        must = (*batched, *[False] * num_results)
        in_dims = (*const_dims, *carry_dims, *element_dims)
        return vmap_jaxpr(jaxpr, axis, in_dims, must)

    batched = until_stable(
        tuple(dim is not None for dim in init_dims),
        lambda flags: [dim is not None for dim in program_for(flags)[2][:num_carry]],
    )
    program, more, out_dims = program_for(batched)
    init = [
        move_batch_dim(x, axis, dim, 0) if b else x
        for x, dim, b in zip(init, init_dims, batched, strict=True)
    ]
    xs = [
        x if dim is None else move_batch_dim(x, axis, dim, 1)
        for x, dim in zip(xs, xs_dims, strict=True)
    ]
    num_consts = len(more) + len(consts)
    outs = bind(
        scan_p, *more, *consts, *init, *xs, **{**params, "jaxpr": program, "num_consts": num_consts}
    )
    ys_dims = [None if dim is None else dim + 1 for dim in out_dims[num_carry:]]
    return outs, [*out_dims[:num_carry], *ys_dims]


# --8<-- [end:vmap]


def _dce(used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    """Drop unused results, and parts of the carry that only they themselves use."""
    params = eqn.params
    jaxpr, num_carry = params["jaxpr"], params["num_carry"]
    used_carry, used_results = tuple(used_outs[:num_carry]), tuple(used_outs[num_carry:])
    used_carry = until_stable(
        used_carry,
        lambda flags: split_operands(dce_jaxpr(jaxpr, [*flags, *used_results])[1], params)[1],
    )
    program, used = dce_jaxpr(jaxpr, [*used_carry, *used_results])
    of_consts, _, of_xs = split_operands(used, params)
    used_ins = [*of_consts, *used_carry, *of_xs]
    if all(used_ins) and all(used_outs) and program is jaxpr:
        return used_ins, eqn
    smaller = {
        **params,
        "jaxpr": Jaxpr([], partition(used_ins, jaxpr.invars)[1], program.eqns, program.outvars),
        "num_consts": sum(of_consts),
        "num_carry": sum(used_carry),
    }
    _, invars = partition(used_ins, eqn.invars)
    _, outvars = partition([*used_carry, *used_results], eqn.outvars)
    return used_ins, JaxprEqn(scan_p, invars, outvars, smaller, eqn.source)


def _order(
    with_token: WithToken, eqn: JaxprEqn, token: Var | Literal, following: Var
) -> list[JaxprEqn]:
    """The token is carried, last."""

    def put(items: Sequence[Any], position: int, item: Any) -> list[Any]:
        return [*items[:position], item, *items[position:]]

    num_carry = eqn.params["num_carry"]
    num_before = eqn.params["num_consts"] + num_carry
    jaxpr = with_token(eqn.params["jaxpr"])
    *invars, given = jaxpr.invars
    *outvars, last = jaxpr.outvars
    body = Jaxpr([], put(invars, num_before, given), jaxpr.eqns, put(outvars, num_carry, last))
    return [
        JaxprEqn(
            scan_p,
            put(eqn.invars, num_before, token),
            put(eqn.outvars, num_carry, following),
            {**eqn.params, "jaxpr": body, "num_carry": num_carry + 1},
            eqn.source,
        )
    ]


def _keys(
    keys_of: Callable[[Jaxpr], Any],
    count: int,
    *,
    jaxpr: Jaxpr,
    length: int,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Any:
    found = keys_of(jaxpr)
    return found.each_round("scan", num_consts, num_carry) if length > 1 else found


def _save(eqn: JaxprEqn, may_save: MaySave) -> SavedEqns | None:
    """Save values of each iteration as stacked results, the elements of the second scan."""
    parts = save_in_program(eqn.params["jaxpr"], may_save)
    if parts is None:
        return None
    kept, invars = cut(parts.unknown.invars, parts.num_residuals)
    saved = [Var(x.aval.with_axis(0, eqn.params["length"])) for x in kept]
    body = Jaxpr([], [*invars, *kept], parts.unknown.eqns, parts.unknown.outvars)
    return split_eqn(
        eqn,
        saved,
        ({**eqn.params, "jaxpr": parts.known}, eqn.invars),
        ({**eqn.params, "jaxpr": body}, [*eqn.invars, *saved]),
    )


saving_rules[scan_p] = _save


def _steps(args: Sequence[Any], **params: Any) -> None:
    consts, carry, xs = split_operands(args, params)
    xs = list(map(np.asarray, xs))
    rounds = range(params["length"])
    for i in reversed(rounds) if params["reverse"] else rounds:
        outs = eval_jaxpr(params["jaxpr"], [], *consts, *carry, *(x[i] for x in xs))
        carry = outs[: params["num_carry"]]


declare_program(
    scan_p,
    abstract_eval=scan_type,
    lower=_lower,
    vmap=_vmap,
    jvp=_jvp,
    transpose=transpose,
    partial_eval=partial_eval,
    dce=_dce,
    dependence=dependence_of_scan,
    order=_order,
    keys=_keys,
    steps=_steps,
)
log_from_program(scan_p)
