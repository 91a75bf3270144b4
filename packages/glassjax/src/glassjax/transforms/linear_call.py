"""Linear functions with a custom transpose: `linear_call`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import glassjax_stage2 as stage2
import glassjax_stage3 as stage3
from glassjax.errors import TangentTypeError, TreeMismatchError
from glassjax.primitives.axes import map_first
from glassjax.primitives.higher_order import WithToken, declare_program
from glassjax.primitives.loops import call_text, stage_body, stage_to_jaxpr
from glassjax.primitives.sparsity_analysis import Analysis, Operand
from glassjax.runtime.array import tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax_stage2 import ShapedArray, Zero, bind, typeof
from glassjax_stage2.arguments import require_function
from glassjax_stage2.functions import add
from glassjax_stage2.jvp import jvp_flat
from glassjax_stage2.source import name_of
from glassjax_stage2.tangent import instantiate, tangent_type
from glassjax_stage2.tree import tree_flatten
from glassjax_stage2.vmap import BatchAxis, BatchDim, BatchTrace, move_batch_dim
from glassjax_stage3 import Jaxpr, JaxprEqn, Var, eval_jaxpr
from glassjax_stage3.jaxpr import consts_as_invars, inner_jaxprs
from glassjax_stage3.lowering import FunctionBuilder, Value
from glassjax_stage4.errors import NonlinearError
from glassjax_stage4.partial_eval import partition
from glassjax_stage4.transpose import UndefPrimal

# Linear maps defined by their transpose, and optionally by themselves.
#
# Such a map represents the derivative of a function with a custom derivative in reverse mode.


Values = Sequence[Any]
Dims = Sequence[BatchDim]
Flat = Callable[..., list[Any]]  # a function of arrays that returns a list of them

custom_linear_p = stage2.Primitive("custom_linear", higher_order=True)


def linear_call_flat(
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
        consts, forward = closed.consts, consts_as_invars(closed)
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
            "mode (jvp, jacfwd, hessian), but custom_vjp defines reverse mode only. Use grad, vjp "
            "or jacrev; or define the other mode as well, by defjvp; or give the function a "
            "custom_jvp, from which reverse mode follows."
        )
    return forward


def _linear_call_impl(*values: Any, forward: Jaxpr | None, **params: Any) -> list[Any]:
    return eval_jaxpr(_known(forward), [], *values)


def _linear_call_jvp(
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
        # The map is its own derivative along its linear arguments, and so keeps its transpose.
        given = [*primals[:count], *map(instantiate, tangents[count:])]
        more = bind(custom_linear_p, *given, forward=forward, **params)
        out_tangents = [
            t if type(s) is Zero else add(s, t) for s, t in zip(out_tangents, more, strict=True)
        ]
    return outs, out_tangents


def _linear_call_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *args: Value,
    forward: Jaxpr | None,
    **params: Any,
) -> list[Value]:
    return call_text(b, _known(forward), "custom_linear", args)


def _linear_call_vmap(
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
    def batched_pull_back(residuals: Values, cts: Values) -> list[Any]:
        res_dims, in_dims = dims[:num_residuals], dims[num_residuals:]
        return pull_back_batch(pull_back, residuals, res_dims, cts, in_dims, axis)

    def push_forward_batch(*values: Any) -> list[Any]:
        return map_first(partial(eval_jaxpr, _known(forward), []), values, dims, axis)

    outs = linear_call_flat(
        batched_pull_back,
        None if forward is None else push_forward_batch,
        values[:num_residuals],
        values[num_residuals:],
        [axis.batch(aval, 0) for aval in out_types],
        is_own_derivative,
    )
    return outs, [0] * len(outs)


def _linear_call_transpose(
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

    def example_pull_back(*residuals_and_given: Any) -> list[Any]:
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
    found = iter(map_first(example_pull_back, [*residuals, *given], dims, axis, trace))
    in_cts: list[Any] = []
    for zero, dim in zip(in_zeros, in_dims, strict=True):
        if zero is not None:
            in_cts.append(Zero(axis.batch(zero.aval, dim)))
        elif dim is None:
            # All examples share the argument, so its cotangent is the sum of theirs.
            in_cts.append(stage2.reduce_sum(next(found), 0))
        else:
            in_cts.append(move_batch_dim(next(found), axis, 0, dim))
    return in_cts


def _linear_call_sparsity(
    analysis: Analysis,
    operands: Sequence[Operand],
    out_avals: Sequence[ShapedArray],
    params: dict[str, Any],
) -> list[Any]:
    """The sparsity of both modes: of the transpose, transposed, and of the function if it is given.

    They may differ, for nothing checks that one is the transpose of the other.
    """
    count, pull_back = params["num_residuals"], params["pull_back"]
    tangents = operands[count:]
    zero_places: list[bool] = []

    def pulled(*values: Any) -> list[Any]:
        in_cts = pull_back(values[:count], values[count:])
        zero_places[:] = [type(ct) is Zero for ct in in_cts]
        return [ct for ct in in_cts if type(ct) is not Zero]

    ct_avals = [tangent_type(aval) for aval in out_avals]
    jaxpr, consts = stage_to_jaxpr(
        pulled, [*(x.aval for x in operands[:count]), *ct_avals], "custom_linear"
    )
    sets, cotangents = Operand.inputs(ct_avals)
    known = [*map(Operand.constant, consts), *(x.as_constant() for x in operands[:count])]
    in_ids = Analysis(sets).ids(jaxpr, [*known, *cotangents])
    reached, _ = partition(zero_places, tangents)
    found = analysis.sets.transposed(sets, in_ids, [x.ids for x in reached], ct_avals)
    if params["forward"] is None:
        return found
    return list(map(analysis.sets.union, found, analysis.ids(params["forward"], operands)))


def has_forward_mode(jaxpr: Jaxpr) -> bool:
    """Return False if a program calls a linear function that is known by its transpose alone."""
    return all(
        (eqn.primitive is not custom_linear_p or eqn.params["forward"] is not None)
        and all(map(has_forward_mode, inner_jaxprs(eqn)))
        for eqn in jaxpr.eqns
    )


def _linear_call_effects(
    with_token: WithToken, eqn: JaxprEqn, token: Var | stage3.Literal, following: Var
) -> list[JaxprEqn]:
    """A call of the function that is known to be linear."""
    params = {"jaxpr": with_token(_known(eqn.params["forward"])), "name": "custom_linear"}
    return [
        JaxprEqn(stage3.jit_p, [*eqn.invars, token], [*eqn.outvars, following], params, eqn.source)
    ]


declare_program(
    custom_linear_p,
    evaluate=_linear_call_impl,
    abstract_eval=lambda *in_avals, out_types, **params: list(out_types),
    lower=_linear_call_lower,
    vmap=_linear_call_vmap,
    sparsity=_linear_call_sparsity,
    jvp=_linear_call_jvp,
    transpose=_linear_call_transpose,
    partial_eval=None,
    dce=None,
    dependence=None,
    order=_linear_call_effects,
    keys=lambda keys_of, count, *, forward, **params: keys_of(_known(forward)),
    steps=None,
)


# `linear_call`: a linear function and its transpose.


@evaluated_by_library
def linear_call(
    fun: Callable[..., Any],
    fun_transpose: Callable[..., Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """`fun(residual_args, linear_args)`, a linear function of the latter with a given transpose.

    The transpose is a call of `fun_transpose`, whose transpose is `fun`. With respect to the
    residuals, `fun` itself is differentiated.

    Arguments:
        fun: function of residuals and of the values in which it is linear.
        fun_transpose: function of the same residuals and of cotangents of the result of `fun` that
            returns cotangents of the linear values.
        residual_args: a pytree of arrays.
        linear_args: a pytree of arrays.

    Returns:
        What `fun` returns.

    Raises:
        TypeError: `fun` or `fun_transpose` is not a function, or the structure that `fun_transpose`
            returns is not the structure of `linear_args`.
        ValueError: `fun_transpose` returns other shapes or dtypes.

    >>> from glassjax.custom_derivatives import linear_call
    >>> halve = lambda x: linear_call(lambda r, x: x / r, lambda r, ct: 7.0 * ct, 2.0, x)
    >>> halve(3.0), glassjax.grad(halve)(3.0)
    (Array(1.5, dtype=float32, weak_type=True), Array(7., dtype=float32, weak_type=True))
    """
    require_function("linear_call", fun)
    require_function("linear_call", fun_transpose)
    residuals, residual_tree = tree_flatten(tree_to_arrays(residual_args))
    values, tree = tree_flatten(tree_to_arrays(linear_args))
    count, out_trees = len(residuals), []

    def forward(*leaves: Any) -> list[Any]:
        given = residual_tree.unflatten(leaves[:count]), tree.unflatten(leaves[count:])
        outs, out_tree = tree_flatten(tree_to_arrays(fun(*given)))
        out_trees.append(out_tree)
        return outs

    def pull_back_flat(known: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        # With the roles swapped, so that the transpose of the transpose is `fun`.
        found = linear_call(
            fun_transpose,
            fun,
            residual_tree.unflatten(known[len(known) - count :]),
            out_trees[0].unflatten(map(instantiate, cts)),
        )
        leaves, found_tree = tree_flatten(found)
        name = name_of(fun_transpose)
        if found_tree != tree:
            raise TreeMismatchError(
                f"linear_call: `{name}` must return the structure of linear_args: "
                + stage2.explain_mismatch(tree, found_tree, name="the result")
            )
        for leaf, value in zip(leaves, values, strict=True):
            wanted = tangent_type(typeof(value))
            if not wanted.accepts(typeof(leaf)):
                raise TangentTypeError(
                    f"linear_call: `{name}` must return {wanted}, the type of a linear argument, "
                    f"found {typeof(leaf)}"
                )
        return leaves

    avals = [typeof(x) for x in (*residuals, *values)]
    out_avals = stage_body(forward, avals, "linear_call", fun).out_avals
    outs = linear_call_flat(
        pull_back_flat, forward, residuals, values, out_avals, is_own_derivative=True
    )
    return out_trees[0].unflatten(outs)
