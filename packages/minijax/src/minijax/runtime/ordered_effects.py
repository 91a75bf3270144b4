"""Ordered effects: a pass over jaxprs that makes the order of callbacks explicit.

XLA orders operations by data dependence. So each callback takes a token, a boolean that the
previous callback returned, and returns one for the next. A program inside another takes and returns
a token; a loop carries it.
"""

from collections.abc import Callable

import numpy as np

from minijax.runtime.effects import has_effects
from minijax.runtime.program_rules import ProgramRules
from minijax_stage2 import Primitive, ShapedArray
from minijax_stage3 import Jaxpr, JaxprEqn, Literal, Var
from minijax_stage3.executable import cached_by_jaxpr
from minijax_stage3.jaxpr import Atom

TOKEN = ShapedArray((), np.bool_)  # the type of a token

# `rule(with_token, eqn, token, following) -> eqns`: the equations that do what `eqn` does after
# whatever returned `token`, and return `following`. `with_token` makes a program that takes and
# returns a token, last. None: its effects are unordered.
order_rules = ProgramRules("ordered effects", "order_rules")


# --8<-- [start:order]
def in_order(jaxpr: Jaxpr) -> Jaxpr:
    """Return `jaxpr` with tokens that order its effects."""
    if not has_effects(jaxpr):
        return jaxpr
    eqns, _ = _one_after_another(jaxpr.eqns, Literal(np.bool_(False), TOKEN))
    return Jaxpr(jaxpr.constvars, jaxpr.invars, eqns, jaxpr.outvars)


@cached_by_jaxpr
def _with_token(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` with a token as its last argument, and the next one as its last result."""
    token = Var(TOKEN)
    eqns, last = _one_after_another(jaxpr.eqns, token)
    return Jaxpr([], [*jaxpr.invars, token], eqns, [*jaxpr.outvars, last])


def _one_after_another(eqns: list[JaxprEqn], token: Atom) -> tuple[list[JaxprEqn], Atom]:
    ordered = []
    for eqn in eqns:
        if has_effects(eqn):
            following = Var(TOKEN)
            ordered += _rule_of(eqn.primitive)(_with_token, eqn, token, following)
            token = following
        else:
            ordered.append(eqn)
    return ordered, token


# --8<-- [end:order]


def _rule_of(primitive: Primitive) -> Callable[..., list[JaxprEqn]]:
    rule = order_rules.of(primitive)
    if rule is None:
        raise NotImplementedError(
            f"{primitive}: a function inside of it calls Python, as debug.print does, "
            "and nothing says in which order. Call Python before or after it"
        )
    return rule
