"""Partial evaluation and transposition of a jitted function."""

from collections.abc import Sequence
from typing import Any

from glassjax_stage2 import ShapedArray, Zero, bind
from glassjax_stage2.tangent import instantiate, tangent_type
from glassjax_stage3 import Jaxpr, JaxprEqn, jit_p
from glassjax_stage3.executable import cached_by_jaxpr
from glassjax_stage3.jaxpr import Atom, consts_as_invars
from glassjax_stage3.staging import trace_to_jaxpr
from glassjax_stage4.partial_eval import (
    PartialEqns,
    merge,
    partial_eval_jaxpr,
    partial_eval_rules,
    partition,
    split_call,
)
from glassjax_stage4.transpose import UndefPrimal, backward_pass, transpose_rules

# Once for each program, so that its halves compile only once.
split_jaxpr = cached_by_jaxpr(partial_eval_jaxpr)


def _jit_partial_eval(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
    """A call of the known half, and a call of the unknown half on its residuals."""
    jaxpr, name = eqn.params["jaxpr"], eqn.params["name"]
    parts = split_jaxpr(jaxpr, tuple(unknown_ins))
    smaller, residuals = without_forwarded(parts.known, parts.unknown_outs.count(False))
    known = {"jaxpr": smaller, "name": name}
    unknown = {"jaxpr": parts.unknown, "name": name}
    return split_call(eqn, unknown_ins, parts.unknown_outs, residuals, known, unknown)


@cached_by_jaxpr
def without_forwarded(known: Jaxpr, first: int) -> tuple[Jaxpr, list[ShapedArray | int]]:
    """A known half whose results from `first` on, the residuals, are not arguments or results.

    Returns:
        The program, and for each residual its type, or its number among arguments and results.
    """
    outs, residuals = known.outvars[:first], known.outvars[first:]
    places: dict[Atom, int] = {x: i for i, x in reversed([*enumerate([*known.invars, *outs])])}
    new = [x for x in residuals if x not in places]
    smaller = Jaxpr(known.constvars, known.invars, known.eqns, [*outs, *new])
    return smaller, [places.get(x, x.aval) for x in residuals]


partial_eval_rules[jit_p] = _jit_partial_eval


def _jit_transpose(cts: Sequence[Any], *args: Any, jaxpr: Jaxpr, name: str) -> list[Any]:
    linear = tuple(isinstance(x, UndefPrimal) for x in args)
    nonzero = tuple(type(ct) is not Zero for ct in cts)
    program, consts, nonzero_ins = transpose_jaxpr(jaxpr, linear, nonzero)
    known = [x for x in args if not isinstance(x, UndefPrimal)]
    given = [ct for ct in cts if type(ct) is not Zero]
    outs = iter(bind(jit_p, *consts, *known, *given, name=name, jaxpr=program))
    return [next(outs) if is_nonzero else None for is_nonzero in nonzero_ins]


@cached_by_jaxpr
def transpose_jaxpr(
    jaxpr: Jaxpr,
    linear: tuple[bool, ...],
    nonzero: tuple[bool, ...],
    instantiate_ins: tuple[bool, ...] | None = None,
) -> tuple[Jaxpr, list[Any], list[bool]]:
    """The program from known arguments and nonzero cotangents to cotangents of linear arguments.

    Returns:
        The program, its constants, which are its first arguments, and for each argument of `jaxpr`
        whether the program returns its cotangent. `instantiate_ins` says which it must return.
    """
    forced = instantiate_ins or (False,) * len(linear)
    known_avals, linear_avals = partition(linear, jaxpr.in_avals)
    zero_avals, ct_avals = partition(nonzero, jaxpr.out_avals)
    undefined = list(map(UndefPrimal, linear_avals))
    zeros = [Zero(tangent_type(aval)) for aval in zero_avals]
    nonzero_ins: list[bool] = []

    def transposed_program(*known_and_cts: Any) -> list[Any]:
        given = iter(known_and_cts)
        args, cts = merge(linear, given, undefined), merge(nonzero, zeros, given)
        in_cts = backward_pass(jaxpr, args, cts)
        in_cts = [instantiate(ct) if keep else ct for keep, ct in zip(forced, in_cts, strict=True)]
        nonzero_ins[:] = [ct is not None and type(ct) is not Zero for ct in in_cts]
        return partition(nonzero_ins, in_cts)[1]

    in_avals: list[ShapedArray] = [*known_avals, *ct_avals]
    closed = trace_to_jaxpr(transposed_program, in_avals, "staging of transposition", None)
    return consts_as_invars(closed), closed.consts, nonzero_ins


transpose_rules[jit_p] = _jit_transpose
