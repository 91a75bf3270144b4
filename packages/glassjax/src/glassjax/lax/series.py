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
from glassjax.primitives.declare import declare, lower_by, types_by
from glassjax.primitives.sharding_rules import by_types
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import promote
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.functions import full_like
from glassjax_stage2.promotion import broadcast_shapes
from glassjax_stage2.tangent import sum_of
from glassjax_stage2.vmap_rules import elementwise
from glassjax_stage4 import UndefPrimal
from glassjax_stage4.transpose import nonlinear_in, unbroadcast

# Polynomials by Horner's rule.


UNROLLED = 8


polynomial_p = Primitive("polynomial")


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
    operands = promote(x, *coeffs)
    if len(coeffs) == 1:
        shape = broadcast_shapes(*(typeof(operand).shape for operand in operands))
        return stage2.broadcast_to(operands[1], shape)
    return bind1(polynomial_p, *operands, **({} if unroll is None else {"unroll": unroll}))


def _polynomial_type(*operands: ShapedArray, unroll: int | None = None) -> list[ShapedArray]:
    shape = broadcast_shapes(*(x.shape for x in operands))
    return [ShapedArray(shape, operands[0].dtype, all(x.weak_type for x in operands))]


def _horner(x: Any, *coeffs: Any, unroll: int = UNROLLED) -> list[Any]:
    shape = broadcast_shapes(*(typeof(y).shape for y in (x, *coeffs)))
    *rest, out = coeffs
    out = stage2.broadcast_to(out, shape)
    if len(rest) <= unroll:
        for number in reversed(rest):
            out = stage2.add(stage2.mul(out, x), number)
        return [out]
    rows = stack([stage2.broadcast_to(number, shape) for number in reversed(rest)])
    return [scan(lambda out, row: (out * x + row, None), out, rows)[0]]


def _polynomial_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    (x, *coeffs), (t, *coeffs_dot) = primals, tangents
    number = typeof(x).dtype.type
    out = bind1(polynomial_p, *primals, **params)
    terms = []
    if type(t) is not stage2.Zero:
        slopes = [stage2.mul(number(power), c) for power, c in enumerate(coeffs[1:], 1)]
        terms.append(stage2.mul(t, polynomial(x, slopes, **params)))
    if any(type(c_dot) is not stage2.Zero for c_dot in coeffs_dot):
        held = [number(0) if type(c_dot) is stage2.Zero else c_dot for c_dot in coeffs_dot]
        terms.append(bind1(polynomial_p, x, *held, **params))
    return [out], [sum_of(terms, typeof(out), primals)]


def _polynomial_transpose(
    cts: Sequence[Any], x: Any, *coeffs: Any, unroll: int | None = None
) -> list[Any]:
    """Multiply the cotangent by `x` once more for each higher power."""
    if isinstance(x, UndefPrimal):
        raise nonlinear_in(polynomial_p, [0])
    (ct,), found = cts, []
    for c in coeffs:
        found.append(unbroadcast(ct, c.aval) if isinstance(c, UndefPrimal) else None)
        ct = ct * x
    return [None, *found]


declare(
    polynomial_p,
    abstract_eval=_polynomial_type,
    lower=lower_by(_horner),
    vmap=elementwise(polynomial_p),
    sharding=by_types(types_by(_horner)),
    jvp=_polynomial_jvp,
    transpose=_polynomial_transpose,
)


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
