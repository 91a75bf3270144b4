"""Partial evaluation and jaxprs, under the names of `jax.interpreters.partial_eval`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from glassjax import core
from glassjax.extend.core import dce_call
from glassjax.extend.linear_util import WrappedFun
from glassjax.interpreters.ad import Rule, RulesByJAX
from glassjax.runtime.effects import has_effects
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.jax_params import read_jaxpr
from glassjax.runtime.printed_jaxpr import printed_jaxpr
from glassjax_stage2 import ShapedArray
from glassjax_stage3 import dce
from glassjax_stage3.jaxpr import consts_as_invars
from glassjax_stage3.staging import JaxprTracer
from glassjax_stage3.staging import trace_to_jaxpr as _trace_to_jaxpr
from glassjax_stage4.partial_eval import PartialVal, partial_eval, partial_eval_jaxpr

DynamicJaxprTracer = JaxprTracer
Val = Any  # a value or a tracer
partial_eval_jaxpr_custom_rules = core.partial_eval_rules


def _dce_to_ours(primitive: core.Primitive, rule: Rule) -> Rule:
    return lambda used_outs, eqn: rule(used_outs, [True] * len(eqn.invars), eqn)


def _dce_to_jax(primitive: core.Primitive, rule: Rule | None) -> Rule:
    if rule is None:  # the equation stays as it is
        return lambda used_outs, live_ins, eqn: ([True] * len(eqn.invars), eqn)
    return lambda used_outs, live_ins, eqn: rule(used_outs, eqn)


# Rules of dead-code elimination for higher-order primitives: a rule takes flags of the used
# results, flags of operands, and an equation; it returns flags of the needed operands, and the
# smaller equation.
dce_rules = RulesByJAX(core.dce_rules, _dce_to_ours, _dce_to_jax)


def dce_jaxpr_closed_call_rule(
    used_outputs: Sequence[bool], live_ins: Sequence[bool], eqn: core.JaxprEqn
) -> tuple[list[bool], core.JaxprEqn | None]:
    """The rule of `dce_rules` for primitives that call a program, their parameter `call_jaxpr`.

    Arguments:
        used_outputs: flags of the used results of the equation.
        live_ins: ignored.
        eqn: the equation.

    Returns:
        Flags of the needed operands; and the smaller equation, or None if no result is used.
    """
    if not any(used_outputs) and not has_effects(eqn):
        return [False] * len(eqn.invars), None
    return dce_call(used_outputs, eqn)


dce_jaxpr_call_rule = dce_jaxpr_closed_call_rule


@evaluated_by_library
def trace_to_jaxpr_dynamic(
    fun: WrappedFun, in_avals: Sequence[ShapedArray], **options: Any
) -> tuple[core.Jaxpr, list[ShapedArray], list[Any]]:
    """Stage a function of arrays that returns a list of arrays.

    Arguments:
        fun: the function.
        in_avals: the types of its arguments.
        options: ignored.

    Returns:
        The jaxpr, the types of its results, and the values of its constants.
    """
    closed = _trace_to_jaxpr(fun.call_wrapped, in_avals, "trace_to_jaxpr_dynamic", fun.f)
    return printed_jaxpr(closed), closed.out_avals, closed.consts


@evaluated_by_library
def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[core.Jaxpr, list[PartialVal], list[Any]]:
    """Run a function of arrays that returns a list on partly unknown values.

    Arguments:
        fun: the function.
        pvals: its arguments.
        instantiate: ignored: known values are never staged.

    Returns:
        The jaxpr from the unknown arguments to the unknown results, all results, and the values of
        the jaxpr's constants.
    """
    return partial_eval(fun.call_wrapped, pvals, fun.f)


@evaluated_by_library
def abstract_eval_fun(
    fun: Callable[..., Sequence[Any]], *avals: ShapedArray, debug_info: Any = None, **params: Any
) -> list[ShapedArray]:
    """The types of the results of a function of arrays that returns a list of arrays.

    Arguments:
        fun: the function.
        avals: the types of its arguments.
        debug_info: ignored.
        params: its keyword arguments.
    """
    return _trace_to_jaxpr(partial(fun, **params), avals, "abstract_eval_fun", fun).out_avals


def dce_jaxpr(
    jaxpr: core.Jaxpr,
    used_outputs: Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
    live_inputs: bool | Sequence[bool] = True,
) -> tuple[core.Jaxpr, list[bool]]:
    """Keep the chosen results of a jaxpr and the equations that they need.

    Arguments:
        jaxpr: the program.
        used_outputs: flags of the results to keep.
        instantiate: flags of arguments to keep in any case, or one flag for all.
        live_inputs: ignored.

    Returns:
        The smaller jaxpr, and flags of the kept arguments.
    """
    smaller, used = dce.dce_jaxpr(read_jaxpr(jaxpr), used_outputs)
    count = len(jaxpr.invars)
    kept = [instantiate] * count if isinstance(instantiate, bool) else list(instantiate)
    used = [a or b for a, b in zip(used, kept, strict=True)]
    invars = [var for var, keep in zip(jaxpr.invars, used, strict=True) if keep]
    smaller = core.Jaxpr(smaller.constvars, invars, smaller.eqns, smaller.outvars)
    return printed_jaxpr(smaller), used


def dce_jaxpr_consts(
    jaxpr: core.Jaxpr,
    used_outputs: Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[core.Jaxpr, list[bool], list[bool]]:
    """As `dce_jaxpr`, for the constants and then the arguments.

    Arguments:
        jaxpr: the program.
        used_outputs: as in `dce_jaxpr`.
        instantiate: flags of constants and arguments to keep in any case, or one flag for all.

    Returns:
        The smaller jaxpr, flags of the kept constants, and flags of the kept arguments.
    """
    count = len(jaxpr.constvars)
    smaller, used = dce_jaxpr(consts_as_invars(jaxpr), used_outputs, instantiate)
    kept = sum(used[:count])
    consts = [const for const, keep in zip(jaxpr.consts, used, strict=False) if keep]
    constvars, invars = smaller.invars[:kept], smaller.invars[kept:]
    closed = core.Jaxpr(constvars, invars, smaller.eqns, smaller.outvars, consts)
    return closed, used[:count], used[count:]


def prune_closed_jaxpr_outputs(jaxpr: core.Jaxpr, used_outputs: Sequence[bool]) -> core.Jaxpr:
    """The same program with only the chosen results."""
    outvars = [out for out, used in zip(jaxpr.outvars, used_outputs, strict=True) if used]
    return replace(jaxpr, outvars=outvars)


def close_jaxpr(jaxpr: core.Jaxpr) -> core.Jaxpr:
    """The jaxpr itself, which is closed if it has no constants."""
    return jaxpr


def convert_constvars_jaxpr(jaxpr: core.Jaxpr) -> core.Jaxpr:
    """The same program with its constants as its first arguments."""
    return consts_as_invars(jaxpr)


def move_binders_to_back(closed_jaxpr: core.Jaxpr, to_move: Sequence[bool]) -> core.Jaxpr:
    """The same program with the chosen arguments after the others."""
    marked = list(zip(to_move, closed_jaxpr.invars, strict=True))
    invars = [var for moves, var in marked if not moves] + [var for moves, var in marked if moves]
    return replace(closed_jaxpr, invars=invars)


def partial_eval_jaxpr_nounits(
    jaxpr: core.Jaxpr, unknowns: Sequence[bool], instantiate: bool | Sequence[bool]
) -> tuple[core.Jaxpr, core.Jaxpr, list[bool], list[ShapedArray]]:
    """Split a program into its known part, which can run at once, and its unknown part.

    Arguments:
        jaxpr: the program.
        unknowns: flags of the unknown arguments.
        instantiate: flags of results to make unknown in any case, or one flag for all.

    Returns:
        The program of the known arguments, which returns the known results and then the residuals;
        the program of the residuals and the unknown arguments; flags of the unknown results; and
        the types of the residuals.
    """
    count = len(jaxpr.outvars)
    forced = [instantiate] * count if isinstance(instantiate, bool) else list(instantiate)
    parts = partial_eval_jaxpr(read_jaxpr(jaxpr), unknowns, forced)
    residuals = parts.unknown.in_avals[: parts.num_residuals]
    known, unknown = map(printed_jaxpr, (parts.known, parts.unknown))
    return known, unknown, parts.unknown_outs, residuals


__all__ = [
    "DynamicJaxprTracer", "JaxprTracer", "PartialVal", "Val", "abstract_eval_fun", "close_jaxpr",
    "convert_constvars_jaxpr", "dce_jaxpr", "dce_jaxpr_call_rule",
    "dce_jaxpr_closed_call_rule", "dce_jaxpr_consts", "dce_rules",
    "move_binders_to_back", "partial_eval_jaxpr_custom_rules", "partial_eval_jaxpr_nounits",
    "prune_closed_jaxpr_outputs", "trace_to_jaxpr_dynamic", "trace_to_jaxpr_nounits",
]  # fmt: skip
