"""Rules of primitives that call their only program, `jaxpr`, on all of their operands."""

from collections.abc import Callable, Sequence
from typing import Any

from minijax.primitives.declare_program import complete
from minijax.primitives.dependence import Depends
from minijax.primitives.loops import Flags, call_text
from minijax_stage2 import Primitive, ShapedArray, Zero, bind
from minijax_stage2.primitives import reshape_p
from minijax_stage2.tangent import tangent_type
from minijax_stage2.vmap import BatchAxis, BatchDim
from minijax_stage3 import Jaxpr, JaxprEqn, Literal, Var, eval_jaxpr, jit_p
from minijax_stage3.dce import dce_rules
from minijax_stage3.jit_rules import jvp_jaxpr, vmap_jaxpr
from minijax_stage3.lowering import FunctionBuilder, Value
from minijax_stage4.jit_rules import split_jaxpr, transpose_jaxpr
from minijax_stage4.partial_eval import PartialEqns, merge, partition, split_call
from minijax_stage4.transpose import UndefPrimal

WithToken = Callable[[Jaxpr], Jaxpr]


def evaluate_program(*args: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
    return eval_jaxpr(jaxpr, [], *args)


def type_of_program(*in_avals: ShapedArray, jaxpr: Jaxpr, **params: Any) -> list[ShapedArray]:
    return jaxpr.out_avals


def lower_program(name: str) -> Callable[..., list[Value]]:
    """The lowering rule that calls the program as a function of that name."""

    def rule(
        b: FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        *args: Value,
        jaxpr: Jaxpr,
        **params: Any,
    ) -> list[Value]:
        return call_text(b, jaxpr, name, args)

    return rule


def jvp_program(primitive: Primitive) -> Callable[..., Any]:
    """The jvp rule that has `primitive` call the jvp of the program."""

    def rule(
        primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Jaxpr, **params: Any
    ) -> tuple[list[Any], list[Any]]:
        nonzero = tuple(type(t) is not Zero for t in tangents)
        program, consts, out_nonzero = jvp_jaxpr(jaxpr, nonzero)
        given = [t for t in tangents if type(t) is not Zero]
        results = bind(primitive, *consts, *primals, *given, jaxpr=program, **params)
        outs, dots = results[: len(jaxpr.outvars)], results[len(jaxpr.outvars) :]
        zeros = [Zero(tangent_type(aval)) for aval in partition(out_nonzero, jaxpr.out_avals)[0]]
        return outs, merge(out_nonzero, zeros, dots)

    return rule


def vmap_program(primitive: Primitive) -> Callable[..., Any]:
    """The vmap rule that has `primitive` call the program of whole batches."""

    def rule(
        axis: BatchAxis,
        values: Sequence[Any],
        dims: Sequence[BatchDim],
        /,
        *,
        jaxpr: Jaxpr,
        **params: Any,
    ) -> tuple[list[Any], list[BatchDim]]:
        program, consts, out_dims = vmap_jaxpr(jaxpr, axis, tuple(dims))
        return bind(primitive, *consts, *values, jaxpr=program, **params), out_dims

    return rule


def transpose_call(bind_program: Callable[..., list[Any]]) -> Callable[..., Any]:
    """The transposition rule that calls the transposed program.

    It does so by `bind_program(*operands, jaxpr=, **params)`.
    """

    def rule(cts: Sequence[Any], *args: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
        linear = tuple(isinstance(x, UndefPrimal) for x in args)
        nonzero = tuple(type(ct) is not Zero for ct in cts)
        program, consts, nonzero_ins = transpose_jaxpr(jaxpr, linear, nonzero)
        known = [x for x in args if not isinstance(x, UndefPrimal)]
        given = [ct for ct in cts if type(ct) is not Zero]
        outs = iter(bind_program(*consts, *known, *given, jaxpr=program, **params))
        return [next(outs) if keep else None for keep in nonzero_ins]

    return rule


def partial_eval_call(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
    """Two calls by the primitive of a call: of the known half of its program, and of the other."""
    parts = split_jaxpr(eqn.params["jaxpr"], tuple(unknown_ins))
    halves = ({**eqn.params, "jaxpr": half} for half in (parts.known, parts.unknown))
    return split_call(eqn, unknown_ins, parts.unknown_outs, parts.residuals, *halves)


transpose_program = transpose_call(evaluate_program)
dce_program = dce_rules[jit_p]  # of any primitive


def dependence_of_program(depends: Depends, ins: Flags, params: dict[str, Any]) -> Flags:
    return depends(params["jaxpr"], ins)


def pass_token(eqn: JaxprEqn, token: Var | Literal, following: Var) -> JaxprEqn:
    """The equation that hands a token on, past one that happens at no time of its own."""
    return JaxprEqn(reshape_p, [token], [following], {"new_sizes": ()}, eqn.source)


def order_program(
    with_token: WithToken, eqn: JaxprEqn, token: Var | Literal, following: Var
) -> list[JaxprEqn]:
    params = {**eqn.params, "jaxpr": with_token(eqn.params["jaxpr"])}
    invars, outvars = [*eqn.invars, token], [*eqn.outvars, following]
    return [JaxprEqn(eqn.primitive, invars, outvars, params, eqn.source)]


def keys_of_program(
    keys_of: Callable[[Jaxpr], Any], count: int, *, jaxpr: Jaxpr, **params: Any
) -> Any:
    return keys_of(jaxpr)


def run_program(args: Sequence[Any], *, jaxpr: Jaxpr, **params: Any) -> None:
    eval_jaxpr(jaxpr, [], *args)


complete(
    jit_p,
    dependence=dependence_of_program,
    order=order_program,
    keys=keys_of_program,
    steps=run_program,
)
