"""Which results of a program depend on some of its arguments, read off the program as it is.

What one round of a loop returns, the next one takes. So the rules of loops go round until nothing
is added, and to transform the body each time, only to see what depends on what, would cost more
than all the rest.
"""

from collections.abc import Sequence

from minijax.lax.loops import Flags
from minijax_stage2 import Primitive
from minijax_stage2.jvp import piecewise_constant
from minijax_stage2.promotion import is_inexact
from minijax_stage3 import Jaxpr, Var, jit_p
from minijax_stage3.jaxpr import Atom
from minijax_stage3.jit_rules import jvp_jaxpr
from minijax_stage4.partial_eval import partial_eval_jaxpr_rules

# Primitives that do with their operands what the program does that they hold.
calls: set[Primitive] = {jit_p}


# --8<-- [start:dependence]
def unknown_outs(jaxpr: Jaxpr, unknown_ins: Flags) -> Flags:
    """For each result whether partial evaluation leaves it unknown."""
    unknown = _chosen(jaxpr.invars, unknown_ins)
    for eqn in jaxpr.eqns:
        if unknown.isdisjoint(eqn.invars):
            continue
        ins = _flags(eqn.invars, unknown)
        if eqn.primitive in calls:
            unknown |= _chosen(eqn.outvars, unknown_outs(eqn.params["jaxpr"], ins))
        elif rule := partial_eval_jaxpr_rules.get(eqn.primitive):
            unknown.update(rule(ins, eqn).unknown.outvars)
        else:
            unknown.update(eqn.outvars)
    return _flags(jaxpr.outvars, unknown)


def tangent_outs(jaxpr: Jaxpr, tangent_ins: Flags) -> Flags:
    """For each result whether it has a tangent that is not zero."""
    varying = _chosen(jaxpr.invars, tangent_ins)
    for eqn in jaxpr.eqns:
        if varying.isdisjoint(eqn.invars) or eqn.primitive in piecewise_constant:
            continue
        if eqn.primitive in calls:
            outs = tangent_outs(eqn.params["jaxpr"], _flags(eqn.invars, varying))
            varying |= _chosen(eqn.outvars, outs)
        elif eqn.primitive.holds_programs:
            operands = list({x: None for x in eqn.invars if type(x) is Var})
            alone = Jaxpr([], operands, [eqn], eqn.outvars)
            _, _, outs = jvp_jaxpr(alone, _flags(operands, varying))
            varying |= _chosen(eqn.outvars, outs)
        else:
            varying.update(x for x in eqn.outvars if is_inexact(x.aval.dtype))
    return _flags(jaxpr.outvars, varying)


def cotangent_ins(jaxpr: Jaxpr, linear: Flags, cotangent_outs: Flags) -> Flags:
    """For each argument whether transposition in the linear ones can give it a cotangent."""
    depending = _chosen(jaxpr.invars, linear)
    linear_eqns = []
    for eqn in jaxpr.eqns:
        if not depending.isdisjoint(eqn.invars):
            depending.update(eqn.outvars)
            linear_eqns.append(eqn)
    reached = depending & _chosen(jaxpr.outvars, cotangent_outs)
    for eqn in reversed(linear_eqns):
        if reached.isdisjoint(eqn.outvars):
            continue
        ins = _flags(eqn.invars, depending)
        if eqn.primitive in calls:
            ins = cotangent_ins(eqn.params["jaxpr"], ins, _flags(eqn.outvars, reached))
        reached |= _chosen(eqn.invars, ins)
    return _flags(jaxpr.invars, reached)


# --8<-- [end:dependence]


def _chosen(atoms: Sequence[Atom], flags: Sequence[bool]) -> set[Atom]:
    return {x for x, flag in zip(atoms, flags, strict=True) if flag}


def _flags(atoms: Sequence[Atom], chosen: set[Atom]) -> Flags:
    return tuple([x in chosen for x in atoms])
