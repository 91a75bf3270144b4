"""Partial evaluation: compute what is known now, and stage the rest as a jaxpr.

It has two forms: for a function while it is traced (`PartialEvalTrace`), and for a staged program
(`partial_eval_jaxpr`). Both keep program order, which is a topological order, so no graph has to be
sorted.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from glassjax_stage2 import Primitive, ShapedArray, typeof
from glassjax_stage2.shaped_array import dialect, python_scalars
from glassjax_stage2.trace import Params, Rules
from glassjax_stage3 import Jaxpr, JaxprEqn, Literal, Var, dce_jaxpr, typecheck_jaxpr
from glassjax_stage3.abstract_eval import abstract_eval
from glassjax_stage3.jaxpr import Atom, inner_jaxprs
from glassjax_stage3.staging import JaxprTrace, JaxprTracer


class PartialVal(NamedTuple):
    """A value that may be known: its type, and the value itself or None."""

    aval: ShapedArray
    const: Any = None

    @classmethod
    def known(cls, x: Any) -> "PartialVal":
        return cls(typeof(x), x)

    @classmethod
    def unknown(cls, aval: ShapedArray) -> "PartialVal":
        return cls(aval)

    @property
    def is_known(self) -> bool:
        return self.const is not None


# `rule(unknown_ins, eqn) -> PartialEqns`. None: if an operand is unknown, so is every result.
partial_eval_rules = Rules("partial evaluation", "partial_eval_rules")


class PartialEqns(NamedTuple):
    """The two halves of an equation with some unknown operands.

    `known` can run at once. `unknown` needs the unknown operands, and may use the results of
    `known`; None if no result needs them.
    """

    known: Sequence[JaxprEqn]
    unknown: JaxprEqn | None


_NUMBERS = (*python_scalars, np.generic)


class PartialEvalTrace(JaxprTrace):
    """Stages operations on its own tracers, the unknowns, and leaves the rest to its parent."""

    def __init__(self, f: Any = None):
        super().__init__("partial evaluation", f)

    def is_unknown(self, x: Any) -> bool:
        return isinstance(x, JaxprTracer) and x.interpreter is self

    def is_literal(self, scalar: Any) -> bool:
        """Return False for an Array: it was computed, so it is a residual, new in each call."""
        return isinstance(scalar, _NUMBERS)

    def process(self, primitive: Primitive, args: Sequence[Any], params: Params) -> list[Any]:
        if not any(map(self.is_unknown, args)):
            return self.leave_to_parent(primitive, args, params)  # type: ignore[no-any-return]
        if partial_eval_rules.get(primitive) is None:
            return super().process(primitive, args, params)
        return self.split(primitive, args, params)

    def split(self, primitive: Primitive, args: Sequence[Any], params: Params) -> list[Any]:
        """Run the known half of a higher-order primitive, and stage the rest."""
        invars = [Var(typeof(x)) for x in args]
        in_avals = tuple([var.aval for var in invars])
        outvars = [Var(aval) for aval in abstract_eval(primitive, in_avals, params)]
        eqn = JaxprEqn(primitive, invars, outvars, params)
        known, unknown = partial_eval_rules[primitive](list(map(self.is_unknown, args)), eqn)
        values: dict[Atom, Any] = dict(zip(invars, args, strict=True))

        def apply(process: Callable[..., list[Any]], eqn: JaxprEqn) -> None:
            if eqn.outvars or any(program.eqns for program in inner_jaxprs(eqn)):
                operands = [x.val if isinstance(x, Literal) else values[x] for x in eqn.invars]
                outs = process(eqn.primitive, operands, eqn.params)
                values.update(zip(eqn.outvars, outs, strict=True))

        for each in known:
            apply(self.leave_to_parent, each)
        if unknown is not None:
            apply(super().process, unknown)
        return [values[var] for var in outvars]


def partial_eval(
    f: Callable[..., Sequence[Any]], in_pvals: Sequence[PartialVal], name: Any = None
) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """Run `f`, a function of arrays that returns a list, on partly unknown values.

    Returns:
        A jaxpr from the unknown arguments to the unknown results; all results, with values if
        known; and the values of the jaxpr's constants, the residuals.
    """
    trace = dialect().interpreter(PartialEvalTrace)(name)
    with trace.run():
        unknowns = iter(trace.new_args([p.aval for p in in_pvals if not p.is_known]))
        outs = f(*[p.const if p.is_known else next(unknowns) for p in in_pvals])
    out_pvals = [
        PartialVal.unknown(out.aval) if trace.is_unknown(out) else PartialVal.known(out)
        for out in outs
    ]
    closed = trace.to_jaxpr([out for out in outs if trace.is_unknown(out)])
    values = dict(zip(closed.constvars, closed.consts, strict=True))
    unknown = without_dead_code(closed)
    unknown.constvars = free_variables(unknown)
    return unknown, out_pvals, [values[var] for var in unknown.constvars]


def without_dead_code(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` without dead equations, with the same arguments."""
    smaller, _ = dce_jaxpr(jaxpr)
    return Jaxpr(jaxpr.constvars, jaxpr.invars, smaller.eqns, smaller.outvars)


class PartialJaxprs(NamedTuple):
    """A program split into a part that can run at once and a part that needs the unknowns.

    `known` takes the known arguments and returns the known results, then the residuals.
    `unknown` takes the residuals, then the unknown arguments, and returns the unknown results.
    """

    known: Jaxpr
    unknown: Jaxpr
    unknown_outs: list[bool]
    num_residuals: int

    @property
    def residuals(self) -> list[ShapedArray]:
        """The types of the residuals."""
        return self.unknown.in_avals[: self.num_residuals]


def partial_eval_jaxpr(
    jaxpr: Jaxpr, unknown_ins: Sequence[bool], instantiate: Sequence[bool] | None = None
) -> PartialJaxprs:
    """Split `jaxpr`, which has no constants, into known and unknown parts.

    Arguments:
        jaxpr: the program.
        unknown_ins: for each argument whether it is unknown.
        instantiate: for each result whether to make it unknown in any case.
    """
    unknown: set[Atom] = {v for v, u in zip(jaxpr.invars, unknown_ins, strict=True) if u}
    known_eqns: list[JaxprEqn] = []
    unknown_eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        ins = [atom in unknown for atom in eqn.invars]
        if not any(ins):
            known_eqns.append(eqn)
            continue
        rule = partial_eval_rules.get(eqn.primitive)
        parts: PartialEqns = rule(ins, eqn) if rule else PartialEqns([], eqn)
        known_eqns.extend(parts.known)
        if parts.unknown is not None:
            unknown_eqns.append(parts.unknown)
            unknown.update(parts.unknown.outvars)

    keep = instantiate or [False] * len(jaxpr.outvars)
    unknown_outs = [kept or out in unknown for out, kept in zip(jaxpr.outvars, keep, strict=True)]
    outs_known, outs_unknown = partition(unknown_outs, jaxpr.outvars)
    ins_known, ins_unknown = partition(unknown_ins, jaxpr.invars)
    # An equation without operands is not worth a residual: both halves compute it, unless it is a
    # call or has side effects, for which dead-code elimination keeps it.
    kept = dce_jaxpr(Jaxpr([], [], known_eqns, []))[0].eqns
    both = [e for e in known_eqns if not (e.invars or e.primitive.higher_order or e in kept)]
    unknown_eqns = [*both, *unknown_eqns]
    later = without_dead_code(Jaxpr([], ins_unknown, unknown_eqns, outs_unknown))
    residuals = free_variables(later)
    at_once = without_dead_code(Jaxpr([], ins_known, known_eqns, [*outs_known, *residuals]))
    later = Jaxpr([], [*residuals, *ins_unknown], later.eqns, later.outvars)
    return PartialJaxprs(at_once, later, unknown_outs, len(residuals))


def free_variables(jaxpr: Jaxpr) -> list[Var]:
    """The variables that are neither arguments nor results of equations, in order of use."""
    bound = {*jaxpr.invars, *[var for eqn in jaxpr.eqns for var in eqn.outvars]}
    used = [*[x for eqn in jaxpr.eqns for x in eqn.invars], *jaxpr.outvars]
    return list(dict.fromkeys([x for x in used if type(x) is Var and x not in bound]))


def split_call(
    eqn: JaxprEqn,
    unknown_ins: Sequence[bool],
    unknown_outs: Sequence[bool],
    residuals: Sequence[ShapedArray | int],
    known: Params,
    unknown: Params,
) -> PartialEqns:
    """Split an equation that applies programs to its last operands.

    Arguments:
        eqn: the equation. Both halves take the operands before those, such as a predicate.
        unknown_ins: for each operand of the programs whether it is unknown.
        unknown_outs: for each result whether it is unknown.
        residuals: types of the residuals: the known half returns them last, the unknown half takes
            them before its operands. A number stands for a known operand or, after those, a known
            result, which need not be returned again.
        known: the parameters of the known half.
        unknown: the parameters of the unknown half.
    """
    count = len(eqn.invars) - len(unknown_ins)
    both, operands = eqn.invars[:count], eqn.invars[count:]
    ins_known, ins_unknown = partition(unknown_ins, operands)
    outs_known, outs_unknown = partition(unknown_outs, eqn.outvars)
    kept = [(*ins_known, *outs_known)[x] if isinstance(x, int) else Var(x) for x in residuals]
    new = [var for var, x in zip(kept, residuals, strict=True) if not isinstance(x, int)]
    return PartialEqns(
        [JaxprEqn(eqn.primitive, [*both, *ins_known], [*outs_known, *new], known, eqn.source)],
        JaxprEqn(eqn.primitive, [*both, *kept, *ins_unknown], outs_unknown, unknown, eqn.source),
    )


def typecheck_partial_eval(jaxpr: Jaxpr, unknown_ins: Sequence[bool], parts: PartialJaxprs) -> None:
    """Verify that both halves are well formed, and match each other and the whole.

    Raises:
        TypeError: they do not.
    """
    ins_known, ins_unknown = partition(unknown_ins, jaxpr.in_avals)
    outs_known, outs_unknown = partition(parts.unknown_outs, jaxpr.out_avals)
    residuals = parts.residuals
    expected_known = ins_known, [*outs_known, *residuals]
    expected_unknown = [*residuals, *ins_unknown], outs_unknown
    for half, expected in ((parts.known, expected_known), (parts.unknown, expected_unknown)):
        found = typecheck_jaxpr(half)
        if found != expected:
            raise TypeError(f"partial evaluation: a half has types {found}, not {expected}")


def partition(which: Sequence[bool], items: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The items for which `which` is false, and those for which it is true."""
    lists: tuple[list[Any], list[Any]] = [], []
    for is_second, item in zip(which, items, strict=True):
        lists[is_second].append(item)
    return lists


def merge(which: Sequence[bool], first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    """Invert `partition`."""
    rest = iter(first), iter(second)
    return [next(rest[is_second]) for is_second in which]
