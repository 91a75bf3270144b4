"""Linear maps that are given by their transpose, and optionally by themselves.

Such a map represents the derivative of a function with a custom derivative in reverse mode.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from minijax.primitives.axis_names import map_first
from minijax.primitives.calls import WithToken
from minijax.primitives.declare_program import declare_program
from minijax.primitives.loops import call_text, stage_body
from minijax_stage2 import Primitive, ShapedArray, Zero, bind, reduce_sum, typeof
from minijax_stage2.functions import add
from minijax_stage2.jvp import jvp_flat
from minijax_stage2.tangent import instantiate, tangent_type
from minijax_stage2.vmap import BatchAxis, BatchDim, BatchTrace, move_batch_dim
from minijax_stage3 import Jaxpr, JaxprEqn, Literal, Var, eval_jaxpr, jit_p
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage3.lowering import FunctionBuilder, Value
from minijax_stage4.errors import NonlinearError
from minijax_stage4.transpose import UndefPrimal

Values = Sequence[Any]
Dims = Sequence[BatchDim]
Flat = Callable[..., list[Any]]  # a function of arrays that returns a list of them

custom_linear_p = Primitive("custom_linear", higher_order=True)


def linear_call(
    pull_back: Callable[[Values, Values], list[Any]],
    push_forward: Flat | None,
    residuals: Values,
    tangents: Values,
    out_types: Sequence[ShapedArray],
    is_own_derivative: bool = False,
) -> list[Any]:
    """A linear map of the tangents, from its transpose, and optionally a function of all values.

    That function is staged: the values that it closes over are operands, too. In forward mode the
    derivative is that of the function; or the map itself, if `is_own_derivative`.
    """
    consts: Sequence[Any] = []
    forward = None
    if push_forward is not None:
        avals = [typeof(x) for x in (*residuals, *tangents)]
        closed = stage_body(push_forward, avals, "a custom derivative", None)
        consts, forward = closed.consts, consts_as_invars(closed.jaxpr)
    count = len(consts)
    return bind(
        custom_linear_p,
        *consts,
        *residuals,
        *tangents,
        pull_back=lambda known, cts: pull_back(known[count:], cts),
        forward=forward,
        num_residuals=count + len(residuals),
        out_types=tuple(out_types),
        is_own_derivative=is_own_derivative,
    )


def _known(forward: Jaxpr | None) -> Jaxpr:
    if forward is None:
        raise TypeError(
            "a function with a custom derivative in reverse mode is differentiated in forward "
            "mode (jvp, jacfwd, hessian), but custom_vjp says nothing of that. Use grad, vjp or "
            "jacrev; or define the other mode as well, by defjvp; or give the function a "
            "custom_jvp, from which reverse mode follows."
        )
    return forward


def _evaluate_linear(*values: Any, forward: Jaxpr | None, **params: Any) -> list[Any]:
    return eval_jaxpr(_known(forward), [], *values)


def _jvp_linear(
    primals: Values, tangents: Values, *, forward: Jaxpr | None, **params: Any
) -> tuple[list[Any], list[Any]]:
    function = partial(eval_jaxpr, _known(forward), [])
    if not params["is_own_derivative"]:
        return jvp_flat(function, primals, tangents, None)
    count = params["num_residuals"]
    zeros = [Zero(tangent_type(typeof(x))) for x in primals]
    outs = bind(custom_linear_p, *primals, forward=forward, **params)
    out_tangents: list[Any] = [Zero(tangent_type(typeof(out))) for out in outs]
    if any(type(t) is not Zero for t in tangents[:count]):
        given = [*tangents[:count], *zeros[count:]]
        _, out_tangents = jvp_flat(function, primals, given, None)
    if any(type(t) is not Zero for t in tangents[count:]):
        given = [*primals[:count], *map(instantiate, tangents[count:])]
        more = bind(custom_linear_p, *given, forward=forward, **params)
        out_tangents = [
            t if type(s) is Zero else add(s, t) for s, t in zip(out_tangents, more, strict=True)
        ]
    return outs, out_tangents


def _lower_linear(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *args: Value,
    forward: Jaxpr | None,
    **params: Any,
) -> list[Value]:
    return call_text(b, _known(forward), "custom_linear", args)


def _vmap_linear(
    axis: BatchAxis,
    values: Values,
    dims: Dims,
    *,
    pull_back: Any,
    forward: Jaxpr | None,
    num_residuals: int,
    out_types: tuple[ShapedArray, ...],
    is_own_derivative: bool,
) -> tuple[list[Any], list[BatchDim]]:
    def of_batch(residuals: Values, cts: Values) -> list[Any]:
        res_dims, in_dims = dims[:num_residuals], dims[num_residuals:]
        return pull_back_batch(pull_back, residuals, res_dims, cts, in_dims, axis)

    def push_forward_batch(*values: Any) -> list[Any]:
        return map_first(partial(eval_jaxpr, _known(forward), []), values, dims, axis)

    outs = linear_call(
        of_batch,
        None if forward is None else push_forward_batch,
        values[:num_residuals],
        values[num_residuals:],
        [axis.batch(aval, 0) for aval in out_types],
        is_own_derivative,
    )
    return outs, [0] * len(outs)


def _transpose_linear(
    cts: Values, *args: Any, pull_back: Any, num_residuals: int, **params: Any
) -> list[Any]:
    residuals, tangents = args[:num_residuals], args[num_residuals:]
    if any(isinstance(x, UndefPrimal) for x in residuals):
        raise NonlinearError("a custom derivative in reverse mode is not linear in its residuals")
    in_cts = pull_back(residuals, cts)
    return [
        *[None] * num_residuals,
        *(
            ct if isinstance(t, UndefPrimal) else None
            for ct, t in zip(in_cts, tangents, strict=True)
        ),
    ]


def pull_back_batch(
    pull_back: Callable[[Values, Values], list[Any]],
    residuals: Values,
    res_dims: Dims,
    cts: Values,
    in_dims: Dims,
    axis: BatchAxis,
    trace: BatchTrace | None = None,
) -> list[Any]:
    """Cotangents of whole batches; a shared operand gets their sum."""
    nonzero = [type(ct) is not Zero for ct in cts]
    in_zeros: list[Any] = []

    def of_one(*residuals_and_given: Any) -> list[Any]:
        given = iter(residuals_and_given[len(res_dims) :])
        example_cts = [
            next(given) if keep else Zero(axis.example(ct.aval, 0).strip_weak_type())
            for ct, keep in zip(cts, nonzero, strict=True)
        ]
        in_cts = pull_back(residuals_and_given[: len(res_dims)], example_cts)
        in_zeros[:] = [ct if type(ct) is Zero else None for ct in in_cts]
        return [ct for ct in in_cts if type(ct) is not Zero]

    given = [ct for ct in cts if type(ct) is not Zero]
    dims = [*res_dims, *[0] * len(given)]
    found = iter(map_first(of_one, [*residuals, *given], dims, axis, trace))
    in_cts: list[Any] = []
    for zero, dim in zip(in_zeros, in_dims, strict=True):
        if zero is not None:
            in_cts.append(Zero(axis.batch(zero.aval, dim)))
        elif dim is None:
            in_cts.append(reduce_sum(next(found), 0))
        else:
            in_cts.append(move_batch_dim(next(found), axis, 0, dim))
    return in_cts


def _order_linear(
    with_token: WithToken, eqn: JaxprEqn, token: Var | Literal, following: Var
) -> list[JaxprEqn]:
    """A call of the function that is known to be linear."""
    params = {"jaxpr": with_token(_known(eqn.params["forward"])), "name": "custom_linear"}
    return [JaxprEqn(jit_p, [*eqn.invars, token], [*eqn.outvars, following], params, eqn.source)]


declare_program(
    custom_linear_p,
    evaluate=_evaluate_linear,
    abstract_eval=lambda *in_avals, out_types, **params: list(out_types),
    lower=_lower_linear,
    vmap=_vmap_linear,
    jvp=_jvp_linear,
    transpose=_transpose_linear,
    partial_eval=None,
    dce=None,
    dependence=None,
    order=_order_linear,
    keys=lambda keys_of, count, *, forward, **params: keys_of(_known(forward)),
    steps=None,
)
