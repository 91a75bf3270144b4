"""Closed-over arrays of one repeated number, such as `np.zeros((1000, 1000))`.

Such an array is not copied to the device: the program holds the number, and broadcasts it if XLA
fuses that with its uses. A product, for example, would need the array in memory, and XLA would fill
it at every call.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax_stage2 import ShapedArray
from minijax_stage2.primitives import (
    ARITHMETIC,
    COMPARISONS,
    UNARY,
    broadcast_in_dim_p,
    convert_element_type_p,
    reduce_sum_p,
    reshape_p,
    select_n_p,
    transpose_p,
)
from minijax_stage3 import Jaxpr, JaxprEqn, Var
from minijax_stage3.executable import cached_by_jaxpr
from minijax_stage3.jaxpr import Literal

_SMALLEST = 2**20  # bytes; smaller ones are not worth looking through
_CHUNK = 2**20  # elements that are compared at once

_FUSED = {*ARITHMETIC, *COMPARISONS, *UNARY, select_n_p, reduce_sum_p}
_VIEWS = {broadcast_in_dim_p, convert_element_type_p, reshape_p, transpose_p}

_Number = tuple[int, bytes]  # the position of a constant, and the number in its own dtype


def without_uniform(jaxpr: Jaxpr, consts: Sequence[Any]) -> tuple[Jaxpr, list[bool]]:
    """Write large uniform constants into a program.

    Arguments:
        jaxpr: the program, whose first arguments are the constants.
        consts: their values.

    Returns:
        The program, `jaxpr` itself if no constant is uniform; and whether each argument is still
        one.
    """
    numbers = [
        (position, number)
        for position, x in enumerate(consts)
        if (number := _uniform_number(x, jaxpr.invars[position].aval)) is not None
        and _is_fused(jaxpr, jaxpr.invars[position])
    ]
    written = {position for position, _ in numbers}
    kept = [position not in written for position in range(len(jaxpr.invars))]
    return (_with_literals(jaxpr, tuple(numbers)) if numbers else jaxpr), kept


def _is_fused(jaxpr: Jaxpr, var: Var) -> bool:
    """Return True if a program nowhere needs an argument, or a view of it, in memory."""
    views = {var}
    for eqn in jaxpr.eqns:
        if views.isdisjoint(eqn.invars):
            continue
        if eqn.primitive in _VIEWS:
            views.update(eqn.outvars)
        elif eqn.primitive not in _FUSED:
            return False
    return views.isdisjoint(jaxpr.outvars)


@cached_by_jaxpr
def _with_literals(jaxpr: Jaxpr, numbers: tuple[_Number, ...]) -> Jaxpr:
    eqns = []
    for position, number in numbers:
        var = jaxpr.invars[position]
        literal = Literal(np.frombuffer(number, var.aval.dtype)[0], ShapedArray((), var.aval.dtype))
        params = {"shape": var.aval.shape, "broadcast_dimensions": ()}
        eqns.append(JaxprEqn(broadcast_in_dim_p, [literal], [var], params))
    written = {position for position, _ in numbers}
    invars = [var for position, var in enumerate(jaxpr.invars) if position not in written]
    return Jaxpr([], invars, [*eqns, *jaxpr.eqns], jaxpr.outvars)


def _uniform_number(x: Any, aval: ShapedArray) -> bytes | None:
    """The number of which a large numpy array consists, bit by bit; None for other arrays."""
    if not isinstance(x, np.ndarray) or x.nbytes < _SMALLEST or x.dtype.kind not in "biuf":
        return None
    flat = x.reshape(-1, order="A")
    if not np.may_share_memory(flat, x):  # strides that no flat array has: a copy was made
        return None
    words = flat.view(f"u{x.dtype.itemsize}")  # zeros of both signs differ, and NaN is itself
    first = words[0]
    if any((words[start : start + _CHUNK] != first).any() for start in _starts(words.size)):
        return None
    return np.asarray(flat[0], aval.dtype).tobytes()


def _starts(size: int) -> range:
    return range(0, size, _CHUNK)
