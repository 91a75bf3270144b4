"""Rules of primitives that call their only program, `jaxpr`, on all of their operands."""

from collections.abc import Callable, Sequence
from typing import Any

from minijax.primitives.dependence import Depends
from minijax.primitives.loops import Flags, call_text
from minijax_stage2 import ShapedArray, Zero
from minijax_stage3 import Jaxpr, JaxprEqn, Literal, Var, eval_jaxpr
from minijax_stage3.lowering import FunctionBuilder, Value
from minijax_stage4.jit_rules import transpose_jaxpr
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


def transpose_program(cts: Sequence[Any], *args: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
    linear = tuple(isinstance(x, UndefPrimal) for x in args)
    nonzero = tuple(type(ct) is not Zero for ct in cts)
    program, consts, nonzero_ins = transpose_jaxpr(jaxpr, linear, nonzero)
    known = [x for x in args if not isinstance(x, UndefPrimal)]
    given = [ct for ct in cts if type(ct) is not Zero]
    outs = iter(eval_jaxpr(program, [], *consts, *known, *given))
    return [next(outs) if keep else None for keep in nonzero_ins]


def dependence_of_program(depends: Depends, ins: Flags, params: dict[str, Any]) -> Flags:
    return depends(params["jaxpr"], ins)


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
