"""From formulas to functions: wide dtypes, polynomials, series, rare cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.lax.control_flow.conditionals import cond
from glassjax.lax.control_flow.scan import scan
from glassjax.lax.control_flow.while_loop import while_loop
from glassjax.lax.conversion import bitcast_convert_type
from glassjax.lax.elementwise import abs, square, where
from glassjax.lax.reductions import reduce_or
from glassjax.lax.slicing import stack
from glassjax.lax.transcendental import log
from glassjax.primitives.declare import Rule, Unary, lower_by_primitives, unary
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import promote
from glassjax_stage2 import broadcast_to, typeof
from glassjax_stage2.functions import full_like
from glassjax_stage2.promotion import broadcast_shapes

# Formulas evaluated in a wider dtype than their operands have.


Formula = Callable[..., Any]


def call_in_32_bits_at_least(function: Formula, *operands: Any) -> Any:
    """Call a function with float32 for 16-bit operands; its derivatives then have 32 bits, too."""
    dtype = typeof(operands[0]).dtype
    if dtype.itemsize >= 4:
        return function(*operands)
    wide = [stage2.astype(x, np.float32) for x in operands]
    return stage2.astype(function(*wide), dtype)


def in_32_bits_at_least(formula: Formula) -> Rule:
    """The lowering rule of a formula that is evaluated in float32 for 16-bit operands."""
    return lower_by_primitives(lambda *xs: call_in_32_bits_at_least(formula, *xs))


def in_64_bits(formula: Formula, *, below: int = 8) -> Rule:
    """The lowering rule of a formula that is evaluated in float64, for floats of fewer bytes.

    If a formula loses a few digits, as a difference of logarithms does, float64 has them to spare:
    the float32 result is the exact one, rounded.
    """

    def widened(*operands: Any) -> Any:
        dtype = typeof(operands[0]).dtype
        if dtype.itemsize >= below:  # or complex
            return formula(*operands)
        return stage2.astype(formula(*map(to_64_bits, operands)), dtype)

    return lower_by_primitives(widened)


def with_derivatives(
    name: str,
    *formulas: Formula,
    widened: Callable[[Formula], Rule] = in_32_bits_at_least,
    kinds: str = "f",
) -> Unary:
    """An elementwise function and its derivatives, each a primitive that a formula computes.

    A formula rounds its result only, and reverse mode keeps only the operand. The last formula is
    differentiated if higher derivatives are asked for.
    """
    formula, *rest = formulas

    def tangent(t: Any, out: Any, x: Any) -> Any:
        if rest:
            return t * slope(x)
        return stage2.jvp(formula, (x,), (t,))[1]

    if rest:
        slope = with_derivatives(f"{name}_slope", *rest, widened=widened, kinds=kinds)
    return unary(name, "", hlo=widened(formula), kinds=kinds, jvp=tangent)


def to_64_bits(x: Any) -> Any:
    """A float as float64, even a subnormal float32, which XLA's conversion flushes to zero."""
    dtype = typeof(x).dtype
    if dtype.itemsize == 8:
        return x
    single = stage2.astype(x, np.float32)
    bits = bitcast_convert_type(single, np.int32)
    size = stage2.astype(bits & 0x7FFFFFFF, np.float64) * 2.0**-149
    subnormal = where(bits < 0, -size, size)
    is_small = abs(single) < np.finfo(np.float32).tiny.item()
    return where(is_small, subnormal, stage2.astype(single, np.float64))


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


# Polynomials with known coefficients, for approximations.


def horner(coefficients: Sequence[float], x: Any) -> Any:
    """The polynomial with these coefficients, highest degree first, by Horner's rule."""
    out: Any = coefficients[0]
    for c in coefficients[1:]:
        out = out * x + c
    return out


# `x - log(1 + x)`, the exponent of many densities.


_ARTANH_TERMS = 18


def artanh_series(r: Any) -> Any:
    """`(artanh(r) - r) / r**3`, for `r` up to a third."""
    return horner([1 / (2 * k + 3) for k in reversed(range(_ARTANH_TERMS))], square(r))


def minus_log1p(x: Any, one_more: Any) -> Any:
    """`x - log(one_more)` for `one_more = 1 + x`, which must be accurate near 0.

    Near 0 nothing cancels: the logarithm is `2 * artanh(x / (2 + x))`.
    """
    is_near = abs(x) < 0.5
    near = where(is_near, x, 0.0)
    r = near / (near + 2.0)
    by_series = near * r - 2.0 * (r * square(r) * artanh_series(r))
    return where(is_near, by_series, x - log(one_more))
