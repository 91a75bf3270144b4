"""Effects: which programs do more than return results, and so must run in any case."""

from collections.abc import Callable, Sequence

from minijax_stage2 import Primitive
from minijax_stage3 import Jaxpr, JaxprEqn
from minijax_stage3.dce import dce_rules
from minijax_stage3.jaxpr import inner_jaxprs

DCERule = Callable[[Sequence[bool], JaxprEqn], tuple[list[bool], JaxprEqn | None]]

effectful: set[Primitive] = set()


def has_effects(program: Jaxpr | JaxprEqn) -> bool:
    """Return True if running a program, or one equation, does more than return results."""
    if isinstance(program, Jaxpr):
        primitives = {eqn.primitive for eqn in program.eqns}
        if not any(primitive.higher_order for primitive in primitives):
            return not effectful.isdisjoint(primitives)
        return any(map(has_effects, program.eqns))
    if program.primitive in effectful:
        return True
    return program.primitive.higher_order and any(map(has_effects, inner_jaxprs(program)))


def declare_effects(primitive: Primitive) -> None:
    """Let a primitive run even if nothing uses its results."""
    effectful.add(primitive)
    define_dce(primitive, dce_rules.get(primitive))


def define_dce(primitive: Primitive, rule: DCERule | None) -> None:
    """Let `rule` shrink equations that are used or have effects; None: they do not change."""

    def dce(used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
        if not any(used_outs) and not has_effects(eqn):
            return [False] * len(eqn.invars), None
        return ([True] * len(eqn.invars), eqn) if rule is None else rule(used_outs, eqn)

    dce_rules[primitive] = dce
