"""Polynomials by Horner's rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minijax.lax.control_flow.scan import scan
from minijax.lax.elementwise.arithmetic import add, mul
from minijax.lax.shapes.split_and_stack import stack
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import promote
from minijax_stage2 import broadcast_to, typeof
from minijax_stage2.functions import full_like
from minijax_stage2.promotion import broadcast_shapes

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
            out = add(mul(out, point), number)
        return out
    rows = stack([broadcast_to(number, shape) for number in reversed(numbers)])
    return scan(lambda out, row: (add(mul(out, point), row), None), out, rows)[0]


__all__ = ["polynomial"]
