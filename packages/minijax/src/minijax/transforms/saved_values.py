"""Values that `checkpoint` saves, also in the inner programs of a program.

A policy decides about one equation at a time. An equation that holds programs (a branch, the body
of a loop) is split into one that also returns what its programs save, and one that computes its
results again from that.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from minijax.runtime.effects import has_effects
from minijax_stage2 import Primitive
from minijax_stage3 import Jaxpr, JaxprEqn, Var, jit_p
from minijax_stage4.partial_eval import PartialJaxprs

MaySave = Callable[[JaxprEqn], bool]


class SavedEqns(NamedTuple):
    """Equations that compute values and save some; and those that compute the others again."""

    first: list[JaxprEqn]
    saved: list[Var]
    again: list[JaxprEqn]


Call = tuple[dict[str, Any], Sequence[Any]]  # parameters and operands


def split_eqn(eqn: JaxprEqn, saved: list[Var], first: Call, again: Call) -> SavedEqns:
    """One equation that also returns `saved`, and one that computes the results from that."""

    def call(params: dict[str, Any], operands: Sequence[Any], outvars: Sequence[Var]) -> JaxprEqn:
        return JaxprEqn(eqn.primitive, operands, outvars, params, eqn.source)

    return SavedEqns([call(*first, [*eqn.outvars, *saved])], saved, [call(*again, eqn.outvars)])


# How a primitive that holds programs saves values in them; None where nothing is saved.
saving_rules: dict[Primitive, Callable[[JaxprEqn, MaySave], SavedEqns | None]] = {}


def save_eqns(eqns: Iterable[JaxprEqn], may_save: MaySave) -> SavedEqns:
    """Save the results of those equations that `may_save` selects, in inner programs too.

    An equation with effects runs once: all of its results are saved.
    """
    found = SavedEqns([], [], [])
    for eqn in eqns:
        if has_effects(eqn) or may_save(eqn):
            found.first.append(eqn)
            found.saved.extend(eqn.outvars)
            continue
        rule = saving_rules.get(eqn.primitive)
        inner = rule and rule(eqn, may_save)
        first, saved, again = inner or ([eqn], [], [eqn])
        found.first.extend(first)
        found.saved.extend(saved)
        found.again.extend(again)
    return found


def save_in_program(jaxpr: Jaxpr, may_save: MaySave) -> PartialJaxprs | None:
    """Split a program: `known` returns its results, then what is saved; `unknown` takes that
    before its arguments, and returns the results."""
    first, saved, again = save_eqns(jaxpr.eqns, may_save)
    if not saved:
        return None
    return PartialJaxprs(
        Jaxpr([], jaxpr.invars, first, [*jaxpr.outvars, *saved]),
        Jaxpr([], [*saved, *jaxpr.invars], again, jaxpr.outvars),
        [True] * len(jaxpr.outvars),
        len(saved),
    )


def save_in_call(eqn: JaxprEqn, may_save: MaySave) -> SavedEqns | None:
    """The rule of a primitive that applies the program `jaxpr` to its operands."""
    parts = save_in_program(eqn.params["jaxpr"], may_save)
    if parts is None:
        return None
    saved = [Var(aval) for aval in parts.residuals]
    first, again = ({**eqn.params, "jaxpr": half} for half in (parts.known, parts.unknown))
    return split_eqn(eqn, saved, (first, eqn.invars), (again, [*saved, *eqn.invars]))


saving_rules[jit_p] = save_in_call
