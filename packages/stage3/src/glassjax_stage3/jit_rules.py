"""The rules of a jitted function: each interpreter transforms the program that it holds.

Nested functions mean nested rules, and Python's stack limits their depth, so each level uses as few
frames as possible.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from glassjax_stage2 import ShapedArray, Zero, bind, impl_rules, jvp_rules, vmap_rules
from glassjax_stage2.jvp import jvp_flat
from glassjax_stage2.tangent import instantiate, tangent_type
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim, vmap_flat
from glassjax_stage3.abstract_eval import abstract_eval_rules
from glassjax_stage3.array import Array, call
from glassjax_stage3.dce import dce_jaxpr, dce_rules
from glassjax_stage3.executable import cached_by_jaxpr, compile_jaxpr
from glassjax_stage3.jaxpr import Jaxpr, JaxprEqn, consts_as_invars, eval_jaxpr, require_accepted
from glassjax_stage3.jit import jit_p
from glassjax_stage3.lowering import FunctionBuilder, Value, lowering_rules, signature
from glassjax_stage3.staging import trace_to_jaxpr

Flags = tuple[bool, ...]  # one for each value


def _jit_impl(*args: Any, jaxpr: Jaxpr, name: str) -> list[Array]:
    return call(compile_jaxpr(jaxpr, f"jit_{name}"), args)


impl_rules[jit_p] = _jit_impl


def _jit_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Jaxpr, name: str
) -> tuple[list[Any], list[Any]]:
    nonzero = tuple(type(t) is not Zero for t in tangents)
    jvp_program, consts, out_nonzero = jvp_jaxpr(jaxpr, nonzero)
    given = [t for t in tangents if type(t) is not Zero]
    results = bind(jit_p, *consts, *primals, *given, name=name, jaxpr=jvp_program)
    count = len(jaxpr.outvars)
    computed = iter(results[count:])
    out_tangents = [
        next(computed) if is_nonzero else Zero(tangent_type(aval))
        for is_nonzero, aval in zip(out_nonzero, jaxpr.out_avals, strict=True)
    ]
    return results[:count], out_tangents


@cached_by_jaxpr
def jvp_jaxpr(
    jaxpr: Jaxpr, nonzero: Flags, instantiate_outs: Flags | None = None
) -> tuple[Jaxpr, list[Any], list[bool]]:
    """The program from primals and nonzero tangents to results and nonzero tangents.

    Returns:
        The program, its constants, which are its first arguments, and for each result whether the
        program returns its tangent. `instantiate_outs` says which it must return, even if zero.
    """
    forced = instantiate_outs or (False,) * len(jaxpr.outvars)
    out_nonzero: list[bool] = []

    def jvp_fun(*primals_and_tangents: Any) -> list[Any]:
        primals = primals_and_tangents[: len(nonzero)]
        given = iter(primals_and_tangents[len(nonzero) :])
        tangents = [
            next(given) if is_nonzero else Zero.like(x)
            for is_nonzero, x in zip(nonzero, primals, strict=True)
        ]
        outs, out_tangents = jvp_flat(partial(eval_jaxpr, jaxpr, []), primals, tangents, None)
        out_tangents = [
            instantiate(t) if keep else t for keep, t in zip(forced, out_tangents, strict=True)
        ]
        out_nonzero[:] = [type(t) is not Zero for t in out_tangents]
        return [*outs, *(t for t in out_tangents if type(t) is not Zero)]

    tangent_avals = [
        tangent_type(aval) for aval, keep in zip(jaxpr.in_avals, nonzero, strict=True) if keep
    ]
    closed = trace_to_jaxpr(jvp_fun, [*jaxpr.in_avals, *tangent_avals], "staging of jvp", None)
    return consts_as_invars(closed), closed.consts, out_nonzero


jvp_rules[jit_p] = _jit_jvp


def _jit_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], *, jaxpr: Jaxpr, name: str
) -> tuple[list[Any], list[BatchDim]]:
    vmap_program, consts, out_dims = vmap_jaxpr(jaxpr, axis, tuple(dims))
    outs = bind(jit_p, *consts, *values, name=name, jaxpr=vmap_program)
    return outs, out_dims


@cached_by_jaxpr
def vmap_jaxpr(
    jaxpr: Jaxpr, axis: BatchAxis, dims: tuple[BatchDim, ...], batch_outs: Flags | None = None
) -> tuple[Jaxpr, list[Any], list[BatchDim]]:
    """The program of whole batches.

    Returns:
        The program, its constants, which are its first arguments, and the batch axis of each
        result. `batch_outs` says which must have one, which is then the first axis.
    """
    forced = batch_outs or (False,) * len(jaxpr.outvars)
    out_dims: list[BatchDim] = []

    def batched_outs(*values: Any) -> list[Any]:
        outs, dims_of_outs = vmap_flat(partial(eval_jaxpr, jaxpr, []), values, dims, axis, None)
        out_dims[:] = [0 if batch else dim for batch, dim in zip(forced, dims_of_outs, strict=True)]
        return [
            move_batch_dim(out, axis, dim, 0) if batch else out
            for batch, out, dim in zip(forced, outs, dims_of_outs, strict=True)
        ]

    in_avals = list(map(axis.batch, jaxpr.in_avals, dims))
    closed = trace_to_jaxpr(batched_outs, in_avals, "staging of vmap", None)
    return consts_as_invars(closed), closed.consts, out_dims


vmap_rules[jit_p] = _jit_vmap


def _jit_type(*in_avals: ShapedArray, jaxpr: Jaxpr, name: str) -> list[ShapedArray]:
    require_accepted(f"jit of `{name}`", jaxpr.in_avals, in_avals)
    return jaxpr.out_avals


abstract_eval_rules[jit_p] = _jit_type


def _jit_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], *args: Value, jaxpr: Jaxpr, name: str
) -> list[Value]:
    function = b.module.private_function(jaxpr, name)
    names = ", ".join(x.name for x in args)
    return b.emit(f"func.call @{function}({names}) : {signature(args, out_avals)}", *out_avals)


lowering_rules[jit_p] = _jit_lower


@cached_by_jaxpr
def smaller_jaxpr(jaxpr: Jaxpr, used_outs: Flags) -> tuple[Jaxpr, list[bool]] | None:
    """`jaxpr` without dead code; None if unchanged, since a cache must not hold its own key."""
    smaller, used_ins = dce_jaxpr(jaxpr, used_outs)
    return None if smaller is jaxpr else (smaller, used_ins)


def _jit_dce(used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    found = smaller_jaxpr(eqn.params["jaxpr"], tuple(used_outs))
    if found is None:
        return [True] * len(eqn.invars), eqn
    jaxpr, used_ins = found
    if not jaxpr.eqns and not any(used_outs):
        return used_ins, None
    invars = [x for x, used in zip(eqn.invars, used_ins, strict=True) if used]
    outvars = [x for x, used in zip(eqn.outvars, used_outs, strict=True) if used]
    params = {**eqn.params, "jaxpr": jaxpr}
    return used_ins, JaxprEqn(eqn.primitive, invars, outvars, params, eqn.source)


dce_rules[jit_p] = _jit_dce
