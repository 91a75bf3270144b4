"""The larger and the smaller of two numbers, and clamping to a range."""

from __future__ import annotations

import itertools
from typing import Any

import minijax_stage2 as stage2
from minijax.lax.elementwise.arithmetic import mul
from minijax.lax.elementwise.comparisons import eq, le, lt
from minijax.lax.elementwise.complex_numbers import imag, real
from minijax.lax.elementwise.selection import where
from minijax.primitives.declare import Binary, binary, declare, lower_by_primitives, require_kind
from minijax.primitives.sharding_rules import by_elements
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import promote, require_meeting, require_one_dtype
from minijax_stage2 import Primitive, ShapedArray, bind1, typeof
from minijax_stage2.vmap_rules import elementwise
from minijax_stage3.abstract_eval import arithmetic


def _share(x: Any, other: Any, chosen: Any) -> Any:
    """Return the share of a tangent that passes through operand `x`: 1, or 1/2 in a tie."""
    weight = where(eq(x, chosen), where(eq(x, other), 0.5, 1.0), 0.0)
    return stage2.astype(weight, typeof(chosen).dtype)


# --8<-- [start:binary]
larger = binary(
    "max",
    "The larger of `x` and `y`; not a number where one of them is not.",
    hlo="maximum",
    kinds="biufc",  # for `clamp`; `max` and `min` order complex numbers themselves
    jvp=(
        lambda t, out, x, y: mul(t, _share(x, y, out)),
        lambda t, out, x, y: mul(t, _share(y, x, out)),
    ),
)
smaller = binary(
    "min",
    "The smaller of `x` and `y`; not a number where one of them is not.",
    hlo="minimum",
    kinds="biufc",  # for `clamp`; `max` and `min` order complex numbers themselves
    jvp=(
        lambda t, out, x, y: mul(t, _share(x, y, out)),
        lambda t, out, x, y: mul(t, _share(y, x, out)),
    ),
)
# --8<-- [end:binary]


@operation
def max(x: ArrayLike, y: ArrayLike) -> Array:
    """The larger of `x` and `y`; NaN where either is NaN.

    Complex numbers are ordered by real part, then by imaginary part.

    >>> lax.max(jnp.array([1.0, 5.0, jnp.nan]), jnp.array([3.0, 2.0, 0.0]))
    Array([ 3.,  5., nan], dtype=float32)
    """
    require_meeting(x, y)
    return _chosen(larger, False, x, y)


@operation
def min(x: ArrayLike, y: ArrayLike) -> Array:
    """The smaller of `x` and `y`; NaN where either is NaN.

    Complex numbers are ordered by real part, then by imaginary part.

    >>> lax.min(jnp.array([1.0, 5.0, jnp.nan]), jnp.array([3.0, 2.0, 0.0]))
    Array([ 1.,  2., nan], dtype=float32)
    """
    require_meeting(x, y)
    return _chosen(smaller, True, x, y)


def _chosen(of_reals: Binary, wants_smaller: bool, x: Any, y: Any) -> Any:
    if "c" not in (typeof(x).dtype.kind, typeof(y).dtype.kind):
        return of_reals(x, y)
    x, y = promote(x, y)
    first, second = (x, y) if wants_smaller else (y, x)
    is_first_smaller = where(
        eq(real(first), real(second)),
        lt(imag(first), imag(second)),
        lt(real(first), real(second)),
    )
    return where(is_first_smaller, x, y)


clamp_p = Primitive("clamp")


@operation
def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """`x` limited to the range from `min` to `max`; outside, the derivative is 0.

    Arguments:
        min: the lower bound, a scalar or an array of the shape of `x`.
        x: the array.
        max: the upper bound. Where it is below `min`, the result is `max`.

    For complex numbers only the real parts are compared, as in XLA.

    >>> lax.clamp(0.0, jnp.array([-1.0, 0.5, 2.0]), 1.0)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    require_one_dtype(min, x, max)
    return bind1(clamp_p, *promote(min, x, max))


def _where_ordered(t: Any, *increasing: Any) -> Any:
    """The tangent where the operands, or their real parts, are in ascending order, else 0."""
    parts = [real(x) if typeof(x).dtype.kind == "c" else x for x in increasing]
    for smaller_one, larger_one in itertools.pairwise(parts):
        t = where(lt(smaller_one, larger_one), t, 0)
    return t


def _type_of_clamped(min: ShapedArray, x: ShapedArray, max: ShapedArray) -> list[ShapedArray]:
    require_kind("clamp", "biufc", min, x, max)
    (bounded,) = arithmetic(clamp_p)(min, x)
    return arithmetic(clamp_p)(bounded, max)


def _clamped(min: Any, x: Any, max: Any) -> Any:
    if typeof(x).dtype.kind != "c":
        return smaller(larger(min, x), max)
    # XLA's simplifier ends the process over `maximum` within `minimum` of complex constants.
    bounded = where(le(real(x), real(min)), min, x)
    return where(le(real(bounded), real(max)), bounded, max)


declare(
    clamp_p,
    abstract_eval=_type_of_clamped,
    lower=lower_by_primitives(_clamped),
    vmap=elementwise(clamp_p),
    sharding=by_elements(clamp_p),
    jvp=(
        lambda t, out, min, x, max: _where_ordered(t, x, min, max),
        lambda t, out, min, x, max: _where_ordered(t, min, x, max),
        lambda t, out, min, x, max: _where_ordered(t, max, x),
    ),
)


__all__ = ["clamp", "max", "min"]
