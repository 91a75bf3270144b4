"""Dependence analysis: which outputs of a jaxpr depend on which inputs.

The results of one iteration of a loop are the operands of the next. So the rules of loops iterate
to a fixed point, and transforming the body each time, just to find dependences, would cost more
than everything else.
"""

from collections.abc import Callable, Sequence

from minijax.primitives.declare import piecewise_constant
from minijax.primitives.loops import Flags
from minijax.runtime.program_rules import ProgramRules
from minijax_stage2.shaped_array import is_inexact
from minijax_stage3 import Jaxpr, Var
from minijax_stage3.executable import cached_by_jaxpr
from minijax_stage3.jaxpr import Atom
from minijax_stage3.jit_rules import jvp_jaxpr
from minijax_stage4.partial_eval import PartialEqns, partial_eval_rules

# From the arguments of a program that are chosen to the results that depend on them.
Depends = Callable[[Jaxpr, Flags], Flags]

# `rule(depends, ins, params)`: which results depend on the operands that are chosen, by what
# `depends` says of the programs. None: any result may depend on them.
dependence_rules = ProgramRules("dependence analysis", "dependence_rules")


# --8<-- [start:dependence]
@cached_by_jaxpr
def unknown_outs(jaxpr: Jaxpr, unknown_ins: Flags) -> Flags:
    """Flags of the results that partial evaluation leaves unknown."""
    unknown = _chosen(jaxpr.invars, unknown_ins)
    for eqn in jaxpr.eqns:
        if unknown.isdisjoint(eqn.invars):
            continue
        ins = _flags(eqn.invars, unknown)
        if rule := dependence_rules.of(eqn.primitive):
            unknown |= _chosen(eqn.outvars, rule(unknown_outs, ins, eqn.params))
        elif split := partial_eval_rules.get(eqn.primitive):
            parts: PartialEqns = split(ins, eqn)
            unknown.update(parts.unknown.outvars if parts.unknown else ())
        else:
            unknown.update(eqn.outvars)
    return _flags(jaxpr.outvars, unknown)


@cached_by_jaxpr
def tangent_outs(jaxpr: Jaxpr, tangent_ins: Flags) -> Flags:
    """Flags of the results with a nonzero tangent."""
    varying = _chosen(jaxpr.invars, tangent_ins)
    for eqn in jaxpr.eqns:
        if varying.isdisjoint(eqn.invars) or eqn.primitive in piecewise_constant:
            continue
        ins = _flags(eqn.invars, varying)
        if rule := dependence_rules.of(eqn.primitive):
            varying |= _chosen(eqn.outvars, rule(tangent_outs, ins, eqn.params))
        elif eqn.primitive.higher_order:
            operands = list({x: None for x in eqn.invars if type(x) is Var})
            alone = Jaxpr([], operands, [eqn], eqn.outvars)
            _, _, outs = jvp_jaxpr(alone, _flags(operands, varying))
            varying |= _chosen(eqn.outvars, outs)
        else:
            varying.update(x for x in eqn.outvars if is_inexact(x.aval.dtype))
    return _flags(jaxpr.outvars, varying)


def cotangent_ins(jaxpr: Jaxpr, linear: Flags, cotangent_outs: Flags) -> Flags:
    """Flags of the arguments to which transposition may give a cotangent."""
    depending = _chosen(jaxpr.invars, linear)
    linear_eqns = []
    for eqn in jaxpr.eqns:
        if not depending.isdisjoint(eqn.invars):
            depending.update(eqn.outvars)
            linear_eqns.append(eqn)
    reached = depending & _chosen(jaxpr.outvars, cotangent_outs)
    for eqn in reversed(linear_eqns):
        if not reached.isdisjoint(eqn.outvars):
            reached |= depending.intersection(eqn.invars)
    return _flags(jaxpr.invars, reached)


# --8<-- [end:dependence]


def _chosen(atoms: Sequence[Atom], flags: Sequence[bool]) -> set[Atom]:
    return {x for x, flag in zip(atoms, flags, strict=True) if flag}


def _flags(atoms: Sequence[Atom], chosen: set[Atom]) -> Flags:
    return tuple([x in chosen for x in atoms])
