"""The primitive of functions with custom derivatives, and its rules.

Evaluation of such a call simply runs the function. Differentiation runs the rule instead. vmap maps
both. Staging turns the program of the function into an equation that carries the rule.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from minijax.primitives.axis_names import map_first, map_flat
from minijax.primitives.calls import (
    evaluate_program,
    keys_of_program,
    lower_program,
    order_program,
    run_program,
    transpose_program,
    type_of_program,
)
from minijax.primitives.declare_program import declare_program
from minijax.primitives.loops import stage_body
from minijax.runtime.ensure_compile_time_eval import CompileTimeTrace
from minijax.transforms.custom_derivatives.linear_call import (
    Dims,
    Flat,
    Values,
    linear_call,
    pull_back_batch,
)
from minijax_stage1.interpreter import set_interpreter
from minijax_stage2 import Primitive, ShapedArray, Trace, Tracer, Zero, bind, current_trace, typeof
from minijax_stage2.shaped_array import is_inexact
from minijax_stage2.tangent import instantiate, tangent_type
from minijax_stage2.trace import EvalTrace
from minijax_stage2.vmap import BatchAxis, BatchDim, BatchTrace, move_batch_dim
from minijax_stage3 import Jaxpr, eval_jaxpr
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage3.staging import JaxprTrace
from minijax_stage4.partial_eval import PartialEvalTrace, merge, partition

custom_call_p = Primitive("custom_call", higher_order=True)


Printed = tuple[str, dict[str, Any]]


class JvpRule:
    """A derivative in forward mode.

    Arguments:
        jvp: function of a list of primals and one of tangents, `Zero` among them, that returns
            such lists for the results.
        printed: the name of the primitive in JAX, and its parameters, for the text of jaxprs.
    """

    def __init__(
        self,
        jvp: Callable[[Values, Values], tuple[list[Any], list[Any]]],
        printed: Printed = ("custom_jvp_call", {}),
    ):
        self.jvp = jvp
        self.printed = printed

    def batched(self, axis: BatchAxis, dims: Dims, trace: BatchTrace | None) -> "JvpRule":
        """The batched rule, whose results have the batch axis first."""

        def jvp(primals: Values, tangents: Values) -> tuple[list[Any], list[Any]]:
            nonzero = [type(t) is not Zero for t in tangents]
            given_dims = [dim for dim, keep in zip(dims, nonzero, strict=True) if keep]
            out_nonzero: list[bool] = []

            def of_one(*primals_and_given: Any) -> list[Any]:
                primals = primals_and_given[: len(nonzero)]
                zeros = [Zero.like(x) for x, keep in zip(primals, nonzero, strict=True) if not keep]
                tangents = merge(nonzero, zeros, primals_and_given[len(nonzero) :])
                outs, out_tangents = self.jvp(primals, tangents)
                out_nonzero[:] = [type(t) is not Zero for t in out_tangents]
                return [*outs, *(t for t in out_tangents if type(t) is not Zero)]

            values = [*primals, *(t for t in tangents if type(t) is not Zero)]
            results = map_first(of_one, values, [*dims, *given_dims], axis, trace)
            outs = results[: len(out_nonzero)]
            zeros = [Zero.like(x) for x, keep in zip(outs, out_nonzero, strict=True) if not keep]
            return outs, merge(out_nonzero, zeros, results[len(outs) :])

        return JvpRule(jvp, self.printed)


class VjpRule:
    """A derivative in reverse mode.

    Arguments:
        fwd: function of a list of primals, and for each whether it has a tangent. It returns a list
            of results, one of residuals, and other static data for `bwd`.
        bwd: function of that data, residuals, and cotangents of the results, `Zero` among them. It
            returns for each primal its cotangent or `Zero`.
        forward: the derivative in forward mode, if it is known as well.
        printed: the name of the primitive in JAX, and its parameters, for the text of jaxprs.
    """

    def __init__(
        self,
        fwd: Callable[[Values, Sequence[bool]], tuple[list[Any], list[Any], Any]],
        bwd: Callable[[Any, Values, Values], list[Any]],
        forward: JvpRule | None = None,
        printed: Printed = ("custom_vjp_call", {}),
    ):
        self.fwd = fwd
        self.bwd = bwd
        self.forward = forward
        self.printed = printed

    def jvp(self, primals: Values, tangents: Values) -> tuple[list[Any], list[Any]]:
        """A linear map of tangents given by its transpose, and possibly itself."""
        nonzero = [type(t) is not Zero for t in tangents]
        outs, residuals, knowledge = self.fwd(primals, nonzero)
        count = len(residuals)
        out_types = [tangent_type(typeof(x)) for x in outs]
        varies = [is_inexact(aval.dtype) for aval in out_types]

        def pull_back(known: Values, cts: Values) -> list[Any]:
            constant, _ = partition(varies, out_types)
            cts = merge(varies, list(map(Zero, constant)), cts)
            return partition(nonzero, self.bwd(knowledge, known[:count], cts))[1]

        expected = partition(varies, out_types)[1]
        known, push_forward = residuals, None
        if self.forward is not None:
            known = [*residuals, *primals]
            push_forward = partial(_push_forward, self.forward, nonzero, varies, expected, count)
        given = [t for t in tangents if type(t) is not Zero]
        out_tangents = linear_call(pull_back, push_forward, known, given, expected)
        return outs, merge(varies, list(map(Zero, partition(varies, out_types)[0])), out_tangents)

    def batched(self, axis: BatchAxis, dims: Dims, trace: BatchTrace | None) -> "VjpRule":
        """The batched rule, whose results have the batch axis first."""

        def fwd(primals: Values, nonzero: Sequence[bool]) -> tuple[list[Any], list[Any], Any]:
            found: list[Any] = []

            def of_one(*primals: Any) -> list[Any]:
                outs, residuals, knowledge = self.fwd(primals, nonzero)
                found[:] = [len(outs), knowledge]
                return [*outs, *residuals]

            results, res_dims = map_flat(of_one, primals, dims, axis, trace)
            count, knowledge = found
            outs = [
                move_batch_dim(x, axis, dim, 0)
                for x, dim in zip(results[:count], res_dims[:count], strict=True)
            ]
            return outs, results[count:], (knowledge, tuple(res_dims[count:]))

        def bwd(knowledge: Any, residuals: Values, cts: Values) -> list[Any]:
            of_one, res_dims = knowledge
            pull_back = partial(self.bwd, of_one)
            return pull_back_batch(pull_back, residuals, res_dims, cts, dims, axis, trace)

        forward = None if self.forward is None else self.forward.batched(axis, dims, trace)
        return VjpRule(fwd, bwd, forward, self.printed)


def _push_forward(
    rule: JvpRule,
    nonzero: Sequence[bool],
    varies: Sequence[bool],
    expected: Sequence[ShapedArray],
    num_residuals: int,
    *values: Any,
) -> list[Any]:
    """The nonzero tangents of the results, from residuals, primals, and nonzero tangents."""
    primals = values[num_residuals : num_residuals + len(nonzero)]
    zeros = [Zero.like(x) for x, keep in zip(primals, nonzero, strict=True) if not keep]
    tangents = merge(nonzero, zeros, values[num_residuals + len(nonzero) :])
    found = list(map(instantiate, partition(varies, rule.jvp(primals, tangents)[1])[1]))
    types = [typeof(t).strip_weak_type() for t in found]
    if types != [aval.strip_weak_type() for aval in expected]:
        raise TypeError(
            "custom_vjp: the rules given by defvjp and defjvp must return results of the same "
            f"types; their tangents are {list(expected)} and {types}"
        )
    return found


def custom_call(fun: Flat, rule: Any, args: Values, name: Any) -> list[Any]:
    """Call `fun` with the derivative `rule`."""
    trace = current_trace()
    if isinstance(_below_vmap(trace), EvalTrace) or (
        isinstance(trace, CompileTimeTrace) and not any(isinstance(x, Tracer) for x in args)
    ):
        return fun(*args)
    is_staging = isinstance(trace, JaxprTrace) and not isinstance(trace, PartialEvalTrace)
    if is_staging or (isinstance(trace, PartialEvalTrace) and any(map(trace.is_unknown, args))):
        closed = stage_body(fun, [typeof(x) for x in args], "a custom derivative", name)
        return bind(
            custom_call_p,
            *closed.consts,
            *args,
            jaxpr=consts_as_invars(closed.jaxpr),
            rule=rule,
            num_consts=len(closed.consts),
        )
    if any(isinstance(x, Tracer) and x.interpreter is trace for x in args):
        params = {"fun": fun, "rule": rule}
        if isinstance(trace, BatchTrace):
            params["trace"] = trace
        return trace.process(custom_call_p, args, params)
    with set_interpreter(trace.parent):
        return custom_call(fun, rule, args, name)


def _below_vmap(trace: Trace) -> Trace:
    """The first trace, from this one downwards, that is not just vmap."""
    while isinstance(trace, BatchTrace):
        trace = trace.parent  # type: ignore[assignment]
    return trace


def _jvp(
    primals: Values,
    tangents: Values,
    *,
    rule: Any,
    num_consts: int = 0,
    jaxpr: Jaxpr | None = None,
    fun: Flat | None = None,
) -> tuple[list[Any], list[Any]]:
    for x, t in zip(primals[:num_consts], tangents[:num_consts], strict=True):
        if type(t) is not Zero:
            raise TypeError(
                "a function with a custom derivative is differentiated with respect to a value "
                f"that it closes over, of type {typeof(x)}; its rule knows of its arguments only. "
                "Make the value an argument, or use stop_gradient, or closure_convert."
            )
    outs, out_tangents = rule.jvp(primals[num_consts:], tangents[num_consts:])
    if jaxpr is not None:
        expected = [aval.strip_weak_type() for aval in jaxpr.out_avals]
        found = [typeof(x).strip_weak_type() for x in outs]
        if found != expected:
            raise TypeError(
                "the rule of a custom derivative must return what the function returns, of types "
                f"{expected}; found {found}"
            )
    return outs, out_tangents


def _vmap(
    axis: BatchAxis,
    values: Values,
    dims: Dims,
    *,
    rule: Any,
    num_consts: int = 0,
    jaxpr: Jaxpr | None = None,
    fun: Flat | None = None,
    trace: BatchTrace | None = None,
) -> tuple[list[Any], list[BatchDim]]:
    of_one: Any = fun if jaxpr is None else partial(eval_jaxpr, jaxpr, [])
    consts = values[:num_consts]

    def of_batch(*args: Any) -> list[Any]:
        return map_first(of_one, [*consts, *args], dims, axis, trace)

    batched = rule.batched(axis, dims[num_consts:], trace)
    outs = custom_call(of_batch, batched, values[num_consts:], None)
    return outs, [0] * len(outs)


declare_program(
    custom_call_p,
    evaluate=evaluate_program,
    abstract_eval=type_of_program,
    lower=lower_program("custom_call"),
    vmap=_vmap,
    jvp=_jvp,
    transpose=transpose_program,
    partial_eval=None,  # differentiated before, it is gone
    dce=None,
    dependence=None,  # as its rule says, which is the user's
    order=order_program,
    keys=keys_of_program,
    steps=run_program,
)
