"""Formulas with control flow: long polynomials, series until convergence, rare cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.lax.control_flow.conditionals import cond
from glassjax.lax.control_flow.scan import scan
from glassjax.lax.control_flow.while_loop import while_loop
from glassjax.lax.elementwise import where
from glassjax.lax.reductions import reduce_or
from glassjax.lax.slicing import stack
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import promote
from glassjax_stage2 import broadcast_to, typeof
from glassjax_stage2.functions import full_like
from glassjax_stage2.promotion import broadcast_shapes

# Polynomials by Horner's rule.


UNROLLED = 8


@operation(static="unroll")
def polynomial(x: ArrayLike, coeffs: Sequence[ArrayLike], *, unroll: int | None = None) -> Array:
    """The polynomial with these coefficients, lowest degree first, by Horner's rule.

    Arguments:
        x: where it is evaluated.
        coeffs: the coefficients: numbers, or arrays that broadcast with `x`.
        unroll: how many steps are written out; more run as a loop. 8 by default.

    Returns:
        An array of the common shape and dtype; zeros if there are no coefficients.

    >>> lax.polynomial(3.0, [1.0, 5.0, 2.0])
    Array(34., dtype=float32, weak_type=True)
    """
    if not coeffs:
        return full_like(x, 0)
    point, *numbers = promote(x, *coeffs)
    shape = broadcast_shapes(*(typeof(y).shape for y in (point, *numbers)))
    out: Any = broadcast_to(numbers.pop(), shape)
    if len(numbers) <= (UNROLLED if unroll is None else unroll):
        for number in reversed(numbers):
            out = stage2.add(stage2.mul(out, point), number)
        return out
    rows = stack([broadcast_to(number, shape) for number in reversed(numbers)])
    return scan(lambda out, row: (out * point + row, None), out, rows)[0]


# Series and continued fractions, computed for each element until convergence.


State = Sequence[Any]


def converge(
    step: Callable[..., State],
    start: State,
    is_active: Any,
    is_unconverged: Callable[[State, State], Any],
    limit: int,
) -> list[Any]:
    """Apply a step to every element until none changes.

    Arguments:
        step: function of the number of the step, a float from 0 on, and of the arrays of the state,
            real or complex; it returns the next state.
        start: the initial state, arrays of one shape and dtype.
        is_active: mask of the elements to iterate. The others do not change; a step need not be
            defined for them.
        is_unconverged: function of two successive states that returns a mask of the elements that
            need more steps.
        limit: the maximum number of steps.

    Returns:
        The last state.
    """
    n = np.zeros((), np.finfo(typeof(start[0]).dtype).dtype)[()]

    def converge_cond(carry: Any) -> Any:
        n, is_active, _ = carry
        axes = range(typeof(is_active).ndim)
        return (n < limit) & reduce_or(is_active, tuple(axes))

    def converge_body(carry: Any) -> Any:
        n, is_active, state = carry
        new = step(n, *state)
        unfinished = is_active & is_unconverged(state, new)
        kept = [where(is_active, x, y) for x, y in zip(new, state, strict=True)]
        return n + 1.0, unfinished, kept

    _, _, state = while_loop(converge_cond, converge_body, (n, is_active, list(start)))
    return list(state)


# Formulas of rare cases, evaluated only if one occurs.


def where_any(mask: Any, function: Callable[..., Any], otherwise: Any, *operands: Any) -> Any:
    """`where(mask, function(*operands), otherwise)`, evaluated only if the mask holds somewhere."""
    every = tuple(range(typeof(mask).ndim))
    return cond(
        reduce_or(mask, every),
        lambda *operands: where(mask, function(*operands), otherwise),
        lambda *operands: otherwise,
        *operands,
    )
