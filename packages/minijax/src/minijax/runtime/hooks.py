"""Hooks of debugging checks: functions that evaluation and jitted functions call.

Each does nothing unless its own switch is on, and none is called before some switch has been on
(`Switch.used`), so they cost nothing otherwise. `minijax.checks` fills the lists.
"""

from collections.abc import Callable, Sequence
from typing import Any

from minijax_stage2 import Primitive

# How a primitive of Arrays is evaluated, even in a function of a stage: the last of these, called
# with the primitive, operands and parameters.
evaluations: list[Callable[[Primitive, Sequence[Any], dict[str, Any]], list[Any]]] = []
# How an Array that is divided among several processes gets another sharding: the last of these.
moves_of_placed: list[Callable[[Any, Any, Any], Any]] = []
# A value with a sharding constraint: the last of these, called with the value and the sharding.
constraints: list[Callable[[Any, Any], Any]] = []
# Called with a primitive, its operands, parameters and results, once it is evaluated.
after_primitive: list[
    Callable[[Primitive, Sequence[Any], dict[str, Any], Sequence[Any]], None]
] = []
# Called when a function of the library returns to code that nothing transforms.
after_function: list[Callable[[], None]] = []
# Called with a jitted function and its arguments. One that returns something, a tuple of the
# result, has made the call.
before_jitted_call: list[Callable[[Any, Any, Any], tuple[Any] | None]] = []


def call_by_hook(function: Any, args: Any, kwargs: Any) -> tuple[Any] | None:
    """The result of a jitted function, in a tuple, if a check makes the call; otherwise None."""
    for hook in before_jitted_call:
        result = hook(function, args, kwargs)
        if result is not None:
            return result
    return None
