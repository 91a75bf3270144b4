"""Effects: what a program does beside returning results, under JAX's names of their classes."""

from collections.abc import Callable
from typing import Any, NoReturn

from minijax.runtime.effects import effectful
from minijax_stage2 import Primitive
from minijax_stage3 import Jaxpr, JaxprEqn
from minijax_stage3.jaxpr import inner_jaxprs


class Effect:
    """A class of effects, for primitives that libraries define."""


class DebugEffect(Effect):
    """The effect of `debug.print` and `debug.callback`.

    >>> from minijax import debug
    >>> jaxpr = minijax.make_jaxpr(lambda x: debug.print("{}", x))(1.0)
    >>> [type(effect) is debug.DebugEffect for effect in jaxpr.effects]
    [True]
    """

    def __str__(self) -> str:
        return "Debug"


class OrderedDebugEffect(Effect):
    """The effect of `debug.print` and `debug.callback` that are `ordered`.

    >>> from minijax import debug
    >>> str(debug.OrderedDebugEffect())
    'OrderedDebug'
    """

    def __str__(self) -> str:
        return "OrderedDebug"


class IOEffect(Effect):
    """The effect of `io_callback`."""

    def __str__(self) -> str:
        return "IO"


class OrderedIOEffect(Effect):
    """The effect of `io_callback` that is `ordered`."""

    def __str__(self) -> str:
        return "OrderedIO"


class _EffectOf(Effect):
    """The effect of a primitive that says nothing more of it."""

    def __init__(self, primitive: Primitive):
        self._name = primitive.name

    def __repr__(self) -> str:
        return self._name


# By primitive, functions of the parameters that return the effect, the same object each time.
effect_rules: dict[Primitive, Callable[[dict[str, Any]], Effect]] = {}


def ordered_or_not(ordered: Effect, unordered: Effect) -> Callable[[dict[str, Any]], Effect]:
    """A rule for a primitive with the parameter `ordered`."""
    return lambda params: ordered if params["ordered"] else unordered


def effects_of(program: Jaxpr | JaxprEqn) -> set[Effect]:
    """The effects of running a program, or one equation."""
    if isinstance(program, Jaxpr):
        return {effect for eqn in program.eqns for effect in effects_of(eqn)}
    primitive = program.primitive
    found = {effect for jaxpr in inner_jaxprs(program) for effect in effects_of(jaxpr)}
    if primitive in effectful:
        if primitive not in effect_rules:
            effect = _EffectOf(primitive)
            effect_rules[primitive] = lambda params: effect
        found.add(effect_rules[primitive](program.params))
    return found


def does_io(*programs: Jaxpr) -> bool:
    """Return True if any of the programs calls `io_callback`."""
    found = set[Effect]().union(*map(effects_of, programs))
    return any(isinstance(effect, IOEffect | OrderedIOEffect) for effect in found)


def refuse_io(where: str) -> NoReturn:
    """Raise an error for callbacks that `vmap` would run for examples that do not call them."""
    raise NotImplementedError(
        f"{where}: io_callback in it would run for all of them. Use lax.map, or debug.callback, "
        "which may run more often"
    )


__all__ = ["DebugEffect", "Effect", "IOEffect", "OrderedDebugEffect", "OrderedIOEffect"]
