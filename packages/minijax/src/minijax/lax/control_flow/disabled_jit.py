"""Loops run by Python, for `disable_jit`."""

from collections.abc import Callable
from typing import Any

from minijax.errors.classes import ConcretizationTypeError
from minijax.lax.shapes.split_and_stack import stack
from minijax.runtime.conversion import tree_to_arrays
from minijax_stage2 import tree_map


def scan_in_python(
    f: Callable[[Any, Any], Any], init: Any, xs: Any, length: int, reverse: bool
) -> tuple[Any, Any]:
    """`lax.scan` of at least one round."""
    carry, results = init, []
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = f(carry, tree_map(lambda x, i=i: x[i], xs))
        results.append(y)
    if reverse:
        results.reverse()
    return carry, tree_map(lambda *ys: stack(ys), *map(tree_to_arrays, results))


def while_in_python(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any
) -> tuple[Any] | None:
    """The result of `lax.while_loop`; None if its condition is not known."""
    carry = init
    try:
        while cond_fun(carry):
            carry = body_fun(carry)
    except ConcretizationTypeError:
        return None
    return (carry,)


def known_truth(pred: Any) -> bool | None:
    """Return the value of a predicate; None if it is not known."""
    try:
        return bool(pred)
    except ConcretizationTypeError:
        return None


def known_number(index: Any) -> int | None:
    """Return the value of an integer; None if it is not known."""
    try:
        return int(index)
    except ConcretizationTypeError:
        return None
