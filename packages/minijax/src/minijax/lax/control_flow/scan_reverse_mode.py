"""Reverse mode of `scan`: partial evaluation, and transposition to a scan in reverse."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minijax.lax.control_flow.scan_primitive import carry_through, scan_p, scan_type, split_operands
from minijax.primitives.dependence import cotangent_ins, unknown_outs
from minijax.primitives.loops import Flags, cut, until_stable
from minijax.runtime.effects import has_effects
from minijax_stage2 import Zero, bind
from minijax_stage2.primitives import add_p
from minijax_stage2.source import Source
from minijax_stage2.tangent import instantiate
from minijax_stage3 import (
    Jaxpr,
    JaxprEqn,
    Var,
    eval_jaxpr,
)
from minijax_stage3.jaxpr import Atom
from minijax_stage4.jit_rules import split_jaxpr, transpose_jaxpr
from minijax_stage4.partial_eval import (
    PartialEqns,
    PartialJaxprs,
    merge,
    partition,
    without_dead_code,
)
from minijax_stage4.transpose import UndefPrimal


class _Halves(NamedTuple):
    """A scan split into its known and unknown halves.

    `known` takes the known operands, and returns the known results, then the residuals. The scan of
    the other half has the parameters `unknown`.
    """

    known: Jaxpr
    unknown: dict[str, Any]
    unknown_ins: Flags
    unknown_outs: Flags
    sources: list[tuple[str, int]]  # of each residual: among "ins" or "outs" of `known`
    constant: list[bool]  # whether a residual is the same in every round

    def operands(
        self, known_ins: Sequence[Any], known_outs: Sequence[Any], unknown_ins: Sequence[Any]
    ) -> list[Any]:
        """The operands of the unknown scan."""
        residuals = [
            known_ins[number] if where == "ins" else known_outs[number]
            for where, number in self.sources
        ]
        stacked, constant = partition(self.constant, residuals)
        num_carry = self.unknown["num_carry"]
        num_consts = self.unknown["num_consts"] - len(constant)
        consts, carry, xs = cut(unknown_ins, num_consts, num_carry)
        return [*constant, *consts, *carry, *stacked, *xs]


def _halves(unknown_ins: Flags, params: dict[str, Any]) -> _Halves:
    jaxpr, num_carry = params["jaxpr"], params["num_carry"]
    of_consts, _, of_xs = split_operands(unknown_ins, params)
    num_results = len(jaxpr.outvars) - num_carry

    of_carry = carry_through(unknown_outs, unknown_ins, params)
    must = (*of_carry, *[False] * num_results)
    parts: PartialJaxprs = split_jaxpr(jaxpr, (*of_consts, *of_carry, *of_xs), must)
    all_outs = parts.known.outvars
    outs, residuals = cut(all_outs, len(all_outs) - parts.num_residuals)
    consts, carry, elements = cut(parts.known.invars, of_consts.count(False), of_carry.count(False))
    results = outs[len(carry) :]

    # Only what differs from round to round is stacked. The rest is computed once, before the loop.
    same: set[Any] = set(consts)
    before_loop = []
    for eqn in parts.known.eqns:
        is_same = all(type(x) is not Var or x in same for x in eqn.invars)
        if is_same and not has_effects(eqn):
            same.update(eqn.outvars)
            before_loop.append(eqn)
    constant = [x in same for x in residuals]
    there_already = {*same, *elements, *results}
    stacked = [x for x in residuals if x not in there_already]
    hoisted = [x for x in residuals if x in same and x not in consts]
    body = without_dead_code(Jaxpr([], parts.known.invars, parts.known.eqns, [*outs, *stacked]))
    known_params = {**params, "jaxpr": body, "num_consts": len(consts), "num_carry": len(carry)}
    known = _known_program(known_params, consts, before_loop, hoisted)

    places: dict[Any, tuple[str, int]] = {}
    for number, var in enumerate([*results, *stacked, *hoisted], len(carry)):
        places[var] = "outs", number
    for number, var in enumerate(parts.known.invars):
        if var in same or var in elements:
            places[var] = "ins", number
    in_residuals, in_consts, in_carry, in_xs = cut(
        parts.unknown.invars, len(residuals), sum(of_consts), sum(of_carry)
    )
    in_stacked, in_constant = partition(constant, in_residuals)
    invars = [*in_constant, *in_consts, *in_carry, *in_stacked, *in_xs]
    eqns = parts.unknown.eqns
    if params["length"] > params["unroll"]:
        eqns = list(map(_in_a_loop_of_its_own, eqns))
    unknown = {
        **params,
        "jaxpr": Jaxpr([], invars, eqns, parts.unknown.outvars),
        "num_consts": len(in_constant) + len(in_consts),
        "num_carry": len(in_carry),
    }
    return _Halves(
        known,
        unknown,
        (*of_consts, *of_carry, *of_xs),
        tuple(parts.unknown_outs),
        [places[x] for x in residuals],
        constant,
    )


def _in_a_loop_of_its_own(eqn: JaxprEqn) -> JaxprEqn:
    """A deferred equation, which XLA does not merge with what the other loop computed."""
    if "prevent_cse" not in eqn.params:
        return eqn
    params = {**eqn.params, "prevent_cse": False}
    return JaxprEqn(eqn.primitive, eqn.invars, eqn.outvars, params, eqn.source)


def _known_program(
    params: dict[str, Any],
    consts: Sequence[Var],
    before_loop: Sequence[JaxprEqn],
    hoisted: Sequence[Var],
) -> Jaxpr:
    """Run the known scan, and compute its loop-invariant values outside of it."""
    _, carry, elements = split_operands(params["jaxpr"].in_avals, params)
    length = params["length"]
    rest = [*map(Var, carry)]
    rest += [Var(x.with_axis(0, length).strip_weak_type()) for x in elements]
    in_avals = [var.aval for var in (*consts, *rest)]
    outvars = list(map(Var, scan_type(*in_avals, **params)))
    eqns = list(before_loop)
    if outvars or has_effects(params["jaxpr"]):
        eqns.append(JaxprEqn(scan_p, [*consts, *rest], outvars, params))
    return without_dead_code(Jaxpr([], [*consts, *rest], eqns, [*outvars, *hoisted]))


def partial_eval(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
    halves = _halves(tuple(unknown_ins), eqn.params)
    known_ins, unknown_ins = partition(halves.unknown_ins, eqn.invars)
    known_outs, outs_unknown = partition(halves.unknown_outs, eqn.outvars)
    known_outs += [Var(aval) for aval in halves.known.out_avals[len(known_outs) :]]
    operands = halves.operands(known_ins, known_outs, unknown_ins)
    return PartialEqns(
        _equations(halves.known, known_ins, known_outs, eqn.source),
        JaxprEqn(scan_p, operands, outs_unknown, halves.unknown, eqn.source),
    )


def _equations(
    program: Jaxpr, invars: Sequence[Atom], outvars: Sequence[Var], source: Source | None
) -> list[JaxprEqn]:
    """The equations of a program, inlined between outer variables."""
    outside: dict[Any, Any] = dict(zip(program.invars, invars, strict=True))
    outside.update(zip(program.outvars, outvars, strict=True))
    eqns = []
    for eqn in program.eqns:
        outside.update((x, Var(x.aval)) for x in eqn.outvars if x not in outside)
        ins, outs = ([outside.get(x, x) for x in xs] for xs in (eqn.invars, eqn.outvars))
        eqns.append(JaxprEqn(eqn.primitive, ins, outs, eqn.params, eqn.source or source))
    return eqns


def transpose(cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
    """A scan in the other direction, over the cotangents."""
    linear = tuple(isinstance(x, UndefPrimal) for x in args)
    if all(carry_through(unknown_outs, linear, params)):
        return _transpose_linear(cts, args, params)
    # Something is carried that is not linear, such as a counter. It runs ahead.
    halves = _halves(linear, params)
    known_ins, unknown_ins = partition(halves.unknown_ins, args)
    known_outs = eval_jaxpr(halves.known, [], *known_ins)
    operands = halves.operands(known_ins, known_outs, unknown_ins)
    _, out_cts = partition(halves.unknown_outs, cts)
    in_cts = _transpose_linear(out_cts, operands, halves.unknown)
    num_stacked = halves.constant.count(False)
    consts, carry, xs = split_operands(in_cts, halves.unknown)
    unknown_cts = [*consts[halves.constant.count(True) :], *carry, *xs[num_stacked:]]
    return merge(halves.unknown_ins, [None] * len(known_ins), unknown_cts)


def _transpose_linear(cts: Sequence[Any], args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The transpose of a scan that is linear in its whole carry."""
    jaxpr, num_carry = params["jaxpr"], params["num_carry"]
    consts, _, xs = split_operands(args, params)
    of_consts, of_xs = (
        tuple(isinstance(x, UndefPrimal) for x in operands) for operands in (consts, xs)
    )
    linear = (*of_consts, *[True] * num_carry, *of_xs)
    carry_cts, ys_cts = cut(cts, num_carry)
    of_ys = tuple(type(ct) is not Zero for ct in ys_cts)
    of_carry = until_stable(
        tuple(type(ct) is not Zero for ct in carry_cts),
        lambda flags: split_operands(cotangent_ins(jaxpr, linear, (*flags, *of_ys)), params)[1],
    )
    must = (*[False] * len(consts), *of_carry, *[False] * len(xs))
    program, more, nonzero_ins = transpose_jaxpr(jaxpr, linear, (*of_carry, *of_ys), must)
    known_consts, known_xs = (
        [x for x in operands if not isinstance(x, UndefPrimal)] for operands in (consts, xs)
    )
    carry_cts = [instantiate(ct) for ct, keep in zip(carry_cts, of_carry, strict=True) if keep]
    ys_cts = [ct for ct in ys_cts if type(ct) is not Zero]

    # The program takes constants, elements, cotangents. What it returns for constants adds up
    # from round to round.
    in_consts, in_xs, in_carry, in_ys = cut(
        program.invars, len(more) + len(known_consts), len(known_xs), len(carry_cts)
    )
    sizes = [sum(part) for part in split_operands(nonzero_ins, params)]
    to_consts, to_carry, to_xs = cut(program.outvars, *sizes[:2])
    in_sums, out_sums = ([Var(x.aval) for x in to_consts] for _ in range(2))
    additions = [
        JaxprEqn(add_p, [total, x], [out], {})
        for total, x, out in zip(in_sums, to_consts, out_sums, strict=True)
    ]
    body = Jaxpr(
        [],
        [*in_consts, *in_carry, *in_sums, *in_ys, *in_xs],
        [*program.eqns, *additions],
        [*to_carry, *out_sums, *to_xs],
    )
    sums = [instantiate(Zero(x.aval)) for x in in_sums]
    outs = bind(
        scan_p,
        *(*more, *known_consts, *carry_cts, *sums, *ys_cts, *known_xs),
        **{
            **params,
            "jaxpr": body,
            "num_consts": len(in_consts),
            "num_carry": len(carry_cts) + len(sums),
            "reverse": not params["reverse"],
        },
    )
    found_carry, found_sums, found_xs = cut(outs, len(carry_cts), len(sums))
    found = iter([*found_sums, *found_carry, *found_xs])
    return [next(found) if nonzero else None for nonzero in nonzero_ins]
