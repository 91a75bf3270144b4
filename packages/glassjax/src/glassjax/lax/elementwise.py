"""Elementwise functions."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.dtypes import DTypeLike
from glassjax.lax.shapes import full_like
from glassjax.primitives import declare, reduction_rules, sparsity_rules
from glassjax.primitives.sharding_rules import by_elements
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import (
    operation,
    require_alike,
    require_dtypes_alike,
    require_kind,
    require_ranks_alike,
    require_shapes_alike,
)
from glassjax.settings.number_types import letter_of, weak_if_all_are
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.functions import ints
from glassjax_stage2.primitives import div_p, pow_p
from glassjax_stage2.shaped_array import dialect
from glassjax_stage2.tangent import instantiate
from glassjax_stage2.vmap_rules import elementwise
from glassjax_stage3.abstract_eval import arithmetic
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type
from glassjax_stage4 import UndefPrimal

# Arithmetic, element by element.


@operation
def neg(x: ArrayLike) -> Array:
    """`-x`.

    >>> lax.neg(jnp.array([1, -2]))
    Array([-1,  2], dtype=int32)
    """
    return stage2.neg(x)


@operation(kinds="fc")
def reciprocal(x: ArrayLike) -> Array:
    """`1 / x`.

    >>> jnp.reciprocal(jnp.array([4.0, 0.0]))
    Array([0.25,  inf], dtype=float32)
    """
    return bind1(integer_pow_p, x, y=-1)


@operation(kinds="iufc")
def add(x: ArrayLike, y: ArrayLike) -> Array:
    """`x + y`.

    >>> lax.add(jnp.array([[1], [2]]), jnp.array([[10, 20]]))
    Array([[11, 21],
           [12, 22]], dtype=int32)
    """
    return stage2.add(x, y)


add_any_p = Primitive("add_any")


def add_any(x: Any, y: Any) -> Any:
    """The sum of two tangents, or cotangents, of one value."""
    return bind1(add_any_p, *stage2.promote(x, y))


declare.declare(
    add_any_p,
    abstract_eval=arithmetic(add_any_p),
    lower=declare.lower_by_types("add"),
    vmap=elementwise(add_any_p),
    sharding=by_elements(add_any_p),
    sparsity=sparsity_rules.by_elements,
    reduction=reduction_rules.linear,
    jvp=(lambda t, out, x, y: t, lambda t, out, x, y: t),
    transpose=(lambda ct, x, y: ct, lambda ct, x, y: ct),
    jointly=True,
)


@operation(kinds="iufc")
def sub(x: ArrayLike, y: ArrayLike) -> Array:
    """`x - y`.

    >>> lax.sub(jnp.array([5, 7]), 2)
    Array([3, 5], dtype=int32)
    """
    return stage2.sub(x, y)


@operation(kinds="iufc", static="out_dtype")
def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> Array:
    """`x * y`.

    Arguments:
        x, y: arrays of one shape and dtype, or numbers.
        out_dtype: the dtype to which both are converted first; None: their own.

    Raises:
        TypeError: shapes or dtypes differ.

    >>> lax.mul(jnp.array([1.0, 2.0]), 2.5)
    Array([2.5, 5. ], dtype=float32)
    """
    if out_dtype is not None:
        dtype = dialect().dtype_of("mul", out_dtype)
        x, y = stage2.astype(x, dtype), stage2.astype(y, dtype)
    return stage2.mul(x, y)


@operation(kinds="iufc")
def div(x: ArrayLike, y: ArrayLike) -> Array:
    """`x / y`; a quotient of integers is rounded towards zero.

    >>> lax.div(jnp.array([7, -7]), 2), lax.div(7.0, 2.0)
    (Array([ 3, -3], dtype=int32), Array(3.5, dtype=float32, weak_type=True))
    """
    return bind1(div_p, *stage2.promote(x, y))


@operation
def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """`x` to the power `y`; a negative real number only to a whole power.

    >>> lax.pow(jnp.array([2.0, 9.0]), jnp.array([3.0, 0.5]))
    Array([8., 3.], dtype=float32)
    """
    require_kind("pow", "fc", typeof(x))
    if letter_of(typeof(y).dtype) in "iu":  # integer exponents fit any dtype
        require_ranks_alike("pow", typeof(x), typeof(y))
        return weak_if_all_are(bind1(pow_p, *stage2.promote(x, y)), y)
    require_alike("pow", "", typeof(x), typeof(y))
    return bind1(pow_p, *stage2.promote(x, y))


integer_pow_p = Primitive("integer_pow")


@operation(static="y")
def integer_pow(x: ArrayLike, y: int) -> Array:
    """`x` to the power of the int `y`, by repeated multiplication.

    Raises:
        TypeError: `x` is an integer, and `y` is negative.

    >>> lax.integer_pow(jnp.array([2.0, 4.0]), -2)
    Array([0.25  , 0.0625], dtype=float32)
    """
    if y in (0, 1):
        require_kind("integer_pow", "iufc", typeof(x))
    if y == 0:
        return stage2.functions.full_like(x, 1)
    return x if y == 1 else bind1(integer_pow_p, x, y=y)  # type: ignore[return-value]


def _integer_pow_type(x: ShapedArray, *, y: int) -> list[ShapedArray]:
    require_kind("integer_pow", "iufc", x)
    if y < 0 and letter_of(x.dtype) in "iu":
        raise TypeError(
            f"integer_pow: {x} are integers, which have no power {y}; convert them to floats"
        )
    return [x]


def _integer_pow_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, y: int
) -> list[Value]:
    (out,) = out_avals

    def emit(operation: str, first: Value, second: Value) -> Value:
        text = f"stablehlo.{operation} {first.name}, {second.name} : {mlir_type(out)}"
        return b.emit(text, out)[0]

    power: Value | None = None
    exponent = -y if y < 0 else y
    while exponent:
        if exponent & 1:
            power = x if power is None else emit("multiply", power, x)
        exponent >>= 1
        if exponent:
            x = emit("multiply", x, x)
    if power is None:
        return [b.constant(1, out)]
    return [emit("divide", b.constant(1, out), power) if y < 0 else power]


declare.declare(
    integer_pow_p,
    abstract_eval=_integer_pow_type,
    lower=_integer_pow_lower,
    vmap=elementwise(integer_pow_p),
    sharding=by_elements(integer_pow_p),
    sparsity=sparsity_rules.by_elements,
    jvp=(lambda t, out, x, *, y: t * (y * integer_pow(x, y - 1)),),
)


square = declare.unary(
    "square",
    """`x * x`.

    >>> lax.square(jnp.array([-2, 3]))
    Array([4, 9], dtype=int32)
    """,
    hlo=declare.lower_by_primitives(lambda x: stage2.mul(x, x)),
    kinds="iufc",
    jvp=lambda t, out, x: t * (2 * x),
)

one_minus_square = declare.unary(
    "one_minus_square",
    """`1 - x**2`, as `(1 + x) * (1 - x)`, which loses no digits where `x` is nearly 1.

    >>> lax.one_minus_square(3.0)
    Array(-8., dtype=float32, weak_type=True)
    """,
    hlo=declare.lower_by_primitives(lambda x: (1 + x) * (1 - x)),
    kinds="iufc",
    jvp=lambda t, out, x: t * (-2 * x),
)


# Comparisons, element by element.


@operation(kinds="")
def eq(x: ArrayLike, y: ArrayLike) -> Array:
    """`x == y`, element by element.

    >>> lax.eq(jnp.array([1.0, jnp.nan]), jnp.array([1.0, jnp.nan]))
    Array([ True, False], dtype=bool)
    """
    return stage2.eq(x, y)


@operation(kinds="")
def ne(x: ArrayLike, y: ArrayLike) -> Array:
    """`x != y`, element by element.

    >>> lax.ne(jnp.array([1.0, jnp.nan]), jnp.array([1.0, jnp.nan]))
    Array([False,  True], dtype=bool)
    """
    return stage2.ne(x, y)


@operation(kinds="")
def lt(x: ArrayLike, y: ArrayLike) -> Array:
    """`x < y`, element by element.

    >>> lax.lt(jnp.array([1, 2, 3]), 2)
    Array([ True, False, False], dtype=bool)
    """
    return stage2.lt(x, y)


@operation(kinds="")
def le(x: ArrayLike, y: ArrayLike) -> Array:
    """`x <= y`, element by element.

    >>> lax.le(jnp.array([1, 2, 3]), 2)
    Array([ True,  True, False], dtype=bool)
    """
    return stage2.le(x, y)


@operation(kinds="")
def gt(x: ArrayLike, y: ArrayLike) -> Array:
    """`x > y`, element by element.

    >>> lax.gt(jnp.array([1, 2, 3]), 2)
    Array([False, False,  True], dtype=bool)
    """
    return stage2.gt(x, y)


@operation(kinds="")
def ge(x: ArrayLike, y: ArrayLike) -> Array:
    """`x >= y`, element by element.

    >>> lax.ge(jnp.array([1, 2, 3]), 2)
    Array([False,  True,  True], dtype=bool)
    """
    return stage2.ge(x, y)


# Functions that select elements by a condition.


@operation
def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """`on_true` where `pred` is true, else `on_false`, element by element.

    Arguments:
        pred: booleans, in the shape of the others or a scalar.
        on_true, on_false: the arrays to choose from.

    Raises:
        TypeError: the two differ in dtype or shape, or `pred` is neither boolean nor integer.

    >>> lax.select(jnp.array([True, False]), jnp.array([1, 2]), jnp.array([10, 20]))
    Array([ 1, 20], dtype=int32)
    """
    _require_cases(*map(typeof, (pred, on_false, on_true)))
    return select_n(pred, on_false, on_true)


@operation
def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """The case whose number is in `which`, element by element.

    Arguments:
        which: booleans, which select one of two cases, or integers, from 0 on.
        cases: arrays of one dtype and one shape.

    Raises:
        TypeError: `which` is of another dtype, or the cases differ in dtype or shape, or `which` is
            boolean and there are more than two.
        ValueError: there are no cases.

    >>> which, ones = jnp.array([2, 0, 1]), jnp.ones(3, int)
    >>> lax.select_n(which, 5 * ones, 6 * ones, 7 * ones)
    Array([7, 5, 6], dtype=int32)
    """
    _require_cases(*map(typeof, (which, *cases)))
    dtype = typeof(which).dtype
    if not cases:
        raise ValueError("select_n: expected at least one case, found none")
    if letter_of(dtype) not in "biu":
        raise TypeError(f"select_n: which must be boolean or integer, found {typeof(which)}")
    if dtype == np.bool_:
        if len(cases) > 2:
            raise TypeError(f"select_n: booleans choose between 2 cases, found {len(cases)}")
        return stage2.select_n(which, *cases) if len(cases) == 2 else cases[0]  # type: ignore[return-value]
    return bind1(select_numbered_p, which, *cases)


def _require_cases(which: ShapedArray, *cases: ShapedArray) -> None:
    """Raise TypeError if operands of a selection differ in shape; the condition may be a scalar."""
    require_shapes_alike("select_n", *(cases if not which.shape else (which, *cases)))


# Stage 2 has the primitive of booleans, and of two cases.
select_numbered_p = Primitive("select_n")


def _numbered_type(which: ShapedArray, *cases: ShapedArray) -> list[ShapedArray]:
    require_dtypes_alike("select_n", *cases)
    _require_cases(which, *cases)
    return [next((case for case in cases if not case.weak_type), cases[0])]


def _select_numbered(which: Any, *cases: Any, first: int = 0) -> list[Any]:
    """Halve the cases, so that the chain of selections is short."""
    if len(cases) == 1:
        return [*cases]
    middle = len(cases) // 2
    (low,) = _select_numbered(which, *cases[:middle], first=first)
    (high,) = _select_numbered(which, *cases[middle:], first=first + middle)
    return [stage2.select_n(stage2.le(first + middle, which), low, high)]


def _numbered_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    out = bind1(select_numbered_p, *primals)
    return [out], [bind1(select_numbered_p, primals[0], *map(instantiate, tangents[1:]))]


def _numbered_transpose(cts: Sequence[Any], which: Any, *cases: Any) -> list[Any]:
    (ct,), zero = cts, full_like(cts[0], 0)
    numbers = np.arange(len(cases), dtype=typeof(which).dtype)
    which = clamp(numbers[0], which, numbers[-1])
    return [None] + [
        stage2.select_n(stage2.eq(which, number), zero, ct) if type(case) is UndefPrimal else None
        for number, case in zip(numbers, cases, strict=True)
    ]


declare.declare(
    select_numbered_p,
    abstract_eval=_numbered_type,
    lower=declare.lower_by(_select_numbered),
    vmap=elementwise(select_numbered_p, fills=True),
    sharding=by_elements(select_numbered_p),
    reduction=reduction_rules.selection,
    jvp=_numbered_jvp,
    transpose=_numbered_transpose,
)


@operation
def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where `condition` is true, else `y`, element by element."""
    return stage2.where(condition, x, y)


# Complex numbers and their parts.


real_p = Primitive("real")
imag_p = Primitive("imag")
complex_p = Primitive("complex")
conj_p = Primitive("conj")


@operation
def real(x: ArrayLike) -> Array:
    """The real part of a complex `x`.

    >>> lax.real(jnp.array([1.0 + 2.0j, 3.0 - 4.0j]))
    Array([1., 3.], dtype=float32)
    """
    return bind1(real_p, x)


@operation
def imag(x: ArrayLike) -> Array:
    """The imaginary part of a complex `x`.

    >>> lax.imag(jnp.array([1.0 + 2.0j, 3.0 - 4.0j]))
    Array([ 2., -4.], dtype=float32)
    """
    return bind1(imag_p, x)


@operation(kinds="f")
def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """`x + 1j * y`, for real `x` and `y` of 32 or 64 bits.

    >>> lax.complex(jnp.array([1.0, 2.0]), 3.0)
    Array([1.+3.j, 2.+3.j], dtype=complex64)
    """
    return bind1(complex_p, *stage2.promote(x, y))


@operation
def conj(x: ArrayLike) -> Array:
    """`x` with its imaginary part negated; a real `x` becomes complex.

    >>> lax.conj(jnp.array([1.0 + 2.0j, 3.0 - 4.0j]))
    Array([1.-2.j, 3.+4.j], dtype=complex64)
    """
    if typeof(x).dtype.kind != "c":
        return bind1(complex_p, x, full_like(x, 0))
    return bind1(conj_p, x)


def _conj_type(x: ShapedArray) -> list[ShapedArray]:
    require_kind("conj", "c", x)
    return [x]


def _complex_part_type(primitive: Primitive) -> Callable[[ShapedArray], list[ShapedArray]]:
    def part_type(x: ShapedArray) -> list[ShapedArray]:
        if x.dtype.kind != "c":
            raise TypeError(f"{primitive}: expected a complex operand, found {x}")
        return [ShapedArray(x.shape, np.finfo(x.dtype).dtype, x.weak_type)]

    return part_type


def _complex_type(x: ShapedArray, y: ShapedArray) -> list[ShapedArray]:
    (part,) = arithmetic(complex_p)(x, y)
    if part.dtype not in (np.float32, np.float64):
        raise TypeError(f"complex: expected real operands of 32 or 64 bits, found {x} and {y}")
    return [ShapedArray(part.shape, np.result_type(part.dtype, np.complex64), part.weak_type)]


declare.declare(
    real_p,
    abstract_eval=_complex_part_type(real_p),
    lower=declare.lower_by_types("real"),
    vmap=elementwise(real_p),
    sharding=by_elements(real_p),
    sparsity=sparsity_rules.by_elements,
    reduction=reduction_rules.linear,
    jvp=(lambda t, out, x: real(t),),
    transpose=(lambda ct, x: complex(ct, full_like(ct, 0)),),
)
declare.declare(
    imag_p,
    abstract_eval=_complex_part_type(imag_p),
    lower=declare.lower_by_types("imag"),
    vmap=elementwise(imag_p),
    sharding=by_elements(imag_p),
    sparsity=sparsity_rules.by_elements,
    reduction=reduction_rules.linear,
    jvp=(lambda t, out, x: imag(t),),
    transpose=(lambda ct, x: complex(full_like(ct, 0), -ct),),
)
declare.declare(
    complex_p,
    abstract_eval=_complex_type,
    lower=declare.lower_by_types("complex"),
    vmap=elementwise(complex_p),
    sharding=by_elements(complex_p),
    sparsity=sparsity_rules.by_elements,
    reduction=reduction_rules.linear,
    jvp=(
        lambda t, out, x, y: complex(t, full_like(t, 0)),
        lambda t, out, x, y: complex(full_like(t, 0), t),
    ),
    transpose=(lambda ct, x, y: real(ct), lambda ct, x, y: -imag(ct)),
    jointly=True,
)
declare.declare(
    conj_p,
    abstract_eval=_conj_type,
    lower=declare.lower_by_primitives(lambda x: complex(real(x), -imag(x))),
    vmap=elementwise(conj_p),
    sharding=by_elements(conj_p),
    sparsity=sparsity_rules.by_elements,
    reduction=reduction_rules.linear,
    jvp=(lambda t, out, x: conj(t),),
    transpose=(lambda ct, x: conj(ct),),
)


# Copies, for readers of programs: XLA decides about memory.


copy_p = Primitive("copy")


def copy(x: Any) -> Any:
    """`x` as another value of a program, as in programs of JAX; nothing is copied."""
    return bind1(copy_p, x)


declare.declare(
    copy_p,
    abstract_eval=lambda x: [x],
    lower=lambda b, out_avals, x: [x],
    vmap=elementwise(copy_p),
    sharding=by_elements(copy_p),
    sparsity=sparsity_rules.by_elements,
    reduction=reduction_rules.linear,
    jvp=(lambda t, out, x: copy(t),),
    transpose=(lambda ct, x: copy(ct),),
)


# The larger and the smaller of two numbers, and clamping to a range.


def _share(larger_one: Any, other: Any, x: Any, out: Any) -> Any:
    """The share of a tangent of `x`, one of the two: 1 if `x` is the result, 1/2 in a tie, or 0."""
    is_complex = typeof(out).dtype.kind == "c"
    is_chosen = stage2.eq(x, out) if is_complex else stage2.gt(larger_one, other)
    is_tie = stage2.eq(larger_one, other)
    if is_complex:  # XLA has its own order
        is_chosen = stage2.select_n(is_tie, is_chosen, False)
    one, zero, half = (full_like(out, number) for number in (1, 0, 0.5))
    return stage2.select_n(is_chosen, stage2.select_n(is_tie, zero, half), one)


# --8<-- [start:binary]
larger = declare.binary(
    "max",
    "The larger of `x` and `y`; not a number where one of them is not.",
    hlo="maximum",
    kinds="biufc",  # for `clamp`; `max` and `min` order complex numbers themselves
    jvp=(
        lambda t, out, x, y: t * _share(x, y, x, out),
        lambda t, out, x, y: t * _share(y, x, y, out),
    ),
)
smaller = declare.binary(
    "min",
    "The smaller of `x` and `y`; not a number where one of them is not.",
    hlo="minimum",
    kinds="biufc",  # for `clamp`; `max` and `min` order complex numbers themselves
    jvp=(
        lambda t, out, x, y: t * _share(y, x, x, out),
        lambda t, out, x, y: t * _share(x, y, y, out),
    ),
)
# --8<-- [end:binary]


@operation(kinds="")
def max(x: ArrayLike, y: ArrayLike) -> Array:
    """The larger of `x` and `y`; NaN where either is NaN.

    Complex numbers are ordered by real part, then by imaginary part.

    >>> lax.max(jnp.array([1.0, 5.0, jnp.nan]), jnp.array([3.0, 2.0, 0.0]))
    Array([ 3.,  5., nan], dtype=float32)
    """
    return _choose_extreme(larger, False, x, y)


@operation(kinds="")
def min(x: ArrayLike, y: ArrayLike) -> Array:
    """The smaller of `x` and `y`; NaN where either is NaN.

    Complex numbers are ordered by real part, then by imaginary part.

    >>> lax.min(jnp.array([1.0, 5.0, jnp.nan]), jnp.array([3.0, 2.0, 0.0]))
    Array([ 1.,  2., nan], dtype=float32)
    """
    return _choose_extreme(smaller, True, x, y)


def _choose_extreme(choose_real: declare.Binary, wants_smaller: bool, x: Any, y: Any) -> Any:
    if "c" not in (typeof(x).dtype.kind, typeof(y).dtype.kind):
        return choose_real(x, y)
    x, y = stage2.promote(x, y)
    first, second = (x, y) if wants_smaller else (y, x)
    is_first_smaller = where(
        real(first) == real(second), imag(first) < imag(second), real(first) < real(second)
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
    low, aval, high = map(typeof, (min, x, max))
    require_dtypes_alike("clamp", low, aval, high)
    for bound in (low, high):
        if bound.shape:
            require_shapes_alike("clamp", bound, aval)
    return bind1(clamp_p, *stage2.promote(min, x, max))


def _where(condition: Any, t: Any) -> Any:
    return stage2.select_n(condition, full_like(t, 0), t)


def _part(x: Any) -> Any:
    """The real number by which a number is compared."""
    return real(x) if typeof(x).dtype.kind == "c" else x


def _lt(x: Any, y: Any) -> Any:
    return stage2.lt(_part(x), _part(y))


def _gt(x: Any, y: Any) -> Any:
    return stage2.gt(_part(x), _part(y))


def _clamp_type(min: ShapedArray, x: ShapedArray, max: ShapedArray) -> list[ShapedArray]:
    require_kind("clamp", "biufc", min, x, max)
    (bounded,) = arithmetic(clamp_p)(min, x)
    return arithmetic(clamp_p)(bounded, max)


def _clamped(min: Any, x: Any, max: Any) -> Any:
    if typeof(x).dtype.kind != "c":
        return smaller(larger(min, x), max)
    # Not max and min: XLA's simplifier crashes on `maximum` within `minimum` of complex constants.
    bounded = where(real(x) <= real(min), min, x)
    return where(real(bounded) <= real(max), bounded, max)


declare.declare(
    clamp_p,
    abstract_eval=_clamp_type,
    lower=declare.lower_by_primitives(_clamped),
    vmap=elementwise(clamp_p),
    sharding=by_elements(clamp_p),
    sparsity=sparsity_rules.by_elements,
    jvp=(
        lambda t, out, min, x, max: _where(_gt(min, x) & _lt(min, max), t),
        lambda t, out, min, x, max: _where(_gt(x, min) & _lt(x, max), t),
        lambda t, out, min, x, max: _where(_gt(x, max), t),
    ),
)


# Functions of the bits of numbers.


bitwise_and = declare.binary(
    "and",
    """`x & y`, bit by bit.

    >>> lax.bitwise_and(jnp.array([0b1100, 0b1111]), 0b1010)
    Array([ 8, 10], dtype=int32)
    """,
    hlo="and",
    kinds="biu",
)
bitwise_or = declare.binary(
    "or",
    """`x | y`, bit by bit.

    >>> lax.bitwise_or(jnp.array([0b1100, 0b0001]), 0b1010)
    Array([14, 11], dtype=int32)
    """,
    hlo="or",
    kinds="biu",
)
bitwise_xor = declare.binary(
    "xor",
    """`x ^ y`, bit by bit.

    >>> lax.bitwise_xor(jnp.array([0b1100, 0b0001]), 0b1010)
    Array([ 6, 11], dtype=int32)
    """,
    hlo="xor",
    kinds="biu",
)
bitwise_not = declare.unary(
    "not",
    """`~x`, bit by bit.

    >>> lax.bitwise_not(jnp.array([0, 1])), lax.bitwise_not(jnp.array([True, False]))
    (Array([-1, -2], dtype=int32), Array([False,  True], dtype=bool))
    """,
    hlo="not",
    kinds="biu",
)

shift_left = declare.binary(
    "shift_left",
    """The bits of `x` moved up by `y` places.

    >>> lax.shift_left(jnp.array([1, 3]), 4)
    Array([16, 48], dtype=int32)
    """,
    hlo="shift_left",
    kinds="iu",
)
shift_right_arithmetic = declare.binary(
    "shift_right_arithmetic",
    """The bits of `x` moved down by `y` places; those that come in are copies of the highest.

    >>> lax.shift_right_arithmetic(jnp.array([-16, 16]), 2)
    Array([-4,  4], dtype=int32)
    """,
    hlo="shift_right_arithmetic",
    kinds="iu",
)
shift_right_logical = declare.binary(
    "shift_right_logical",
    """The bits of `x` moved down by `y` places; those that come in are 0.

    >>> lax.shift_right_logical(jnp.array([-16, 16], jnp.int8), jnp.int8(2))
    Array([60,  4], dtype=int8)
    """,
    hlo="shift_right_logical",
    kinds="iu",
)
population_count = declare.unary(
    "population_count",
    """The number of bits of `x` that are set.

    >>> lax.population_count(jnp.array([0b0, 0b1011, 0b1111]))
    Array([0, 3, 4], dtype=int32)
    """,
    hlo="popcnt",
    kinds="iu",
)
clz = declare.unary(
    "clz", """The number of zero bits of `x` before the highest that is set.

    >>> lax.clz(jnp.array([1, 2, 255], jnp.uint8))
    Array([7, 6, 0], dtype=uint8)
    """, hlo="count_leading_zeros",
    kinds="iu",
)  # fmt: skip


def _mulhi(x: Any, y: Any) -> Any:
    dtype = typeof(x).dtype
    bits = dtype.itemsize * 8
    if bits < 64:
        wide = np.dtype(f"{dtype.kind}8")
        product = mul(stage2.astype(x, wide), stage2.astype(y, wide))
        shift = shift_right_arithmetic if letter_of(dtype) == "i" else shift_right_logical
        return stage2.astype(shift(product, wide.type(bits)), dtype)
    # Two digits in base 2**32; the high one carries the sign.
    high_shift = shift_right_arithmetic if letter_of(dtype) == "i" else shift_right_logical
    (low, high), (other_low, other_high) = (
        (n & dtype.type(2**32 - 1), high_shift(n, dtype.type(32))) for n in (x, y)
    )
    carry = shift_right_logical(low * other_low, dtype.type(32))
    first = high * other_low + carry
    second = low * other_high + (first & dtype.type(2**32 - 1))
    carries = high_shift(first, dtype.type(32)) + high_shift(second, dtype.type(32))
    return high * other_high + carries


mulhi = declare.binary(
    "mulhi",
    """The upper half of the digits of `x * y`: for integers of `n` bits the product over `2**n`.

    >>> lax.mulhi(jnp.int32([2**30, -(2**30)]), jnp.int32([12, 12]))
    Array([ 3, -3], dtype=int32)
    """,
    hlo=declare.lower_by_primitives(_mulhi),
    kinds="iu",
)


# The size and the sign of real and complex numbers.


def _magnitude(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.finfo(dtype).dtype if dtype.kind == "c" else dtype


def _abs_tangent(t: Any, out: Any, x: Any) -> Any:
    if typeof(x).dtype.kind != "c":
        return where(x >= 0, t, -t)
    return real(t * (conj(x) / where(out == 0, 1, out)))


def _abs_lower(b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value) -> list[Value]:
    plain = declare.lower_by_types("abs")(b, out_avals, x)
    return plain if x.aval.dtype.kind != "c" else _infinite(b, out_avals, x, *plain)


@declare.lower_by_primitives
def _infinite(z: Any, size: Any) -> Any:
    """The size of a complex number: infinite if a part is, whatever the other one is."""
    parts = real(z), imag(z)
    re_infinite, im_infinite = ((part == math.inf) | (part == -math.inf) for part in parts)
    return where(re_infinite | im_infinite, math.inf, size)


abs = declare.unary(
    "abs",
    """The absolute value of `x`; its derivative at a real 0 is 1, at a complex 0 it is 0.

    >>> lax.abs(jnp.array([-2, 3])), lax.abs(jnp.array([3.0 + 4.0j]))
    (Array([2, 3], dtype=int32), Array([5.], dtype=float32))
    """,
    hlo=_abs_lower,
    kinds="ifc",
    result=_magnitude,
    jvp=_abs_tangent,
)


def _sign_lower(b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value) -> list[Value]:
    (out,) = out_avals
    if letter_of(out.dtype) != "u":
        return b.emit(f"stablehlo.sign {x.name} : {mlir_type(out)}", out)
    one = b.constant(1, out)
    return b.emit(f"stablehlo.minimum {x.name}, {one.name} : {mlir_type(out)}", out)


def _sign_tangent(t: Any, out: Any, x: Any) -> Any:
    """Jvp: a complex sign rotates with the perpendicular part of `t`; a real one is constant."""
    if typeof(x).dtype.kind != "c":
        return None
    sideways = imag(conj(out) * t)
    size = abs(x)
    turn = sideways / where(size == 0, 1, size)
    return out * complex(full_like(turn, 0), turn)


sign = declare.unary(
    "sign",
    """The sign of a real `x`, -1, 0 or 1; for a complex one `x / abs(x)`, or 0.

    >>> lax.sign(jnp.array([-3.0, 0.0, 2.0])), lax.sign(jnp.array([3.0j]))
    (Array([-1.,  0.,  1.], dtype=float32), Array([0.+1.j], dtype=complex64))
    """,
    hlo=_sign_lower,
    kinds="iufc",
    jvp=_sign_tangent,
)


# Rounding to integers, and to formats of floats.


class RoundingMethod(enum.IntEnum):
    """Rounding of a number halfway between two integers.

    >>> lax.round(2.5, lax.RoundingMethod.TO_NEAREST_EVEN), lax.round(2.5)
    (Array(2., dtype=float32, weak_type=True), Array(3., dtype=float32, weak_type=True))
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


round_p = Primitive("round")


@operation(static="rounding_method")
def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """The integer nearest to `x`, a real number.

    Arguments:
        x: the array to round.
        rounding_method: how to round halves.

    >>> lax.round(jnp.array([-2.5, 0.5, 2.5]))
    Array([-3.,  1.,  3.], dtype=float32)
    """
    return bind1(round_p, x, rounding_method=RoundingMethod(rounding_method))


def _round_type(x: ShapedArray, *, rounding_method: RoundingMethod) -> list[ShapedArray]:
    require_kind("round", "f", x)
    return [x]


def _round_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    x: Value,
    *,
    rounding_method: RoundingMethod,
) -> list[Value]:
    (out,) = out_avals
    goes_away = rounding_method is RoundingMethod.AWAY_FROM_ZERO
    operation = "round_nearest_afz" if goes_away else "round_nearest_even"
    return b.emit(f"stablehlo.{operation} {x.name} : {mlir_type(out)}", out)


declare.declare(
    round_p,
    abstract_eval=_round_type,
    lower=_round_lower,
    vmap=elementwise(round_p),
    sharding=by_elements(round_p),
    sparsity=sparsity_rules.by_elements,
)


reduce_precision_p = Primitive("reduce_precision")


@operation(static=("exponent_bits", "mantissa_bits"))
def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Array:
    """`operand` rounded to a float with these numbers of bits, in its own dtype.

    Arguments:
        operand: the array.
        exponent_bits: the number of bits of the exponent.
        mantissa_bits: the number of bits of the mantissa.

    Raises:
        TypeError: `operand` is not real.
        ValueError: `exponent_bits` is less than 1, or `mantissa_bits` negative.

    >>> lax.reduce_precision(jnp.float32(1 + 2**-10), exponent_bits=8, mantissa_bits=7)
    Array(1., dtype=float32)
    """
    (exponent_bits,) = ints("reduce_precision: exponent_bits", exponent_bits)
    (mantissa_bits,) = ints("reduce_precision: mantissa_bits", mantissa_bits)
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ValueError(
            "reduce_precision: exponent_bits must be positive and mantissa_bits not negative, "
            f"found {exponent_bits} and {mantissa_bits}"
        )
    params = {"exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits}
    return bind1(reduce_precision_p, operand, **params)


def _reduce_precision_type(
    x: ShapedArray, *, exponent_bits: int, mantissa_bits: int
) -> list[ShapedArray]:
    require_kind("reduce_precision", "f", x)
    return [x]


def _reduce_precision_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    x: Value,
    *,
    exponent_bits: int,
    mantissa_bits: int,
) -> list[Value]:
    (out,) = out_avals
    layout = f"format = e{exponent_bits}m{mantissa_bits}"
    return b.emit(f"stablehlo.reduce_precision {x.name}, {layout} : {mlir_type(out)}", out)


declare.declare(
    reduce_precision_p,
    abstract_eval=_reduce_precision_type,
    lower=_reduce_precision_lower,
    vmap=elementwise(reduce_precision_p),
    sharding=by_elements(reduce_precision_p),
    sparsity=sparsity_rules.by_elements,
    reduction=reduction_rules.linear,
    jvp=(lambda t, out, x, **layout: reduce_precision(t, **layout),),
    transpose=(lambda ct, x, **layout: reduce_precision(ct, **layout),),
)

is_finite = declare.unary(
    "is_finite",
    """Test if a real `x` is neither infinite nor NaN, element by element.

    >>> lax.is_finite(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([ True, False, False], dtype=bool)
    """,
    hlo="is_finite",
    kinds="f",
    result=lambda dtype: np.dtype(np.bool_),
)
_next = declare.binary(
    "nextafter",
    "",
    hlo="chlo.next_after",
    kinds="f",
    jvp=(lambda t, out, x, y: t, None),
)


@operation(kinds="f")
def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The next representable number after `x1` towards `x2`.

    >>> lax.nextafter(jnp.float32(1), jnp.float32(2)) - 1 == jnp.finfo(jnp.float32).eps
    Array(True, dtype=bool)
    """
    return _next(x1, x2)


floor = declare.unary(
    "floor",
    """The largest whole number up to `x`.

    >>> lax.floor(jnp.array([-1.5, 1.5]))
    Array([-2.,  1.], dtype=float32)
    """,
    hlo="floor",
    kinds="f",
)
ceil = declare.unary(
    "ceil",
    """The smallest whole number from `x` on.

    >>> lax.ceil(jnp.array([-1.5, 1.5]))
    Array([-1.,  2.], dtype=float32)
    """,
    hlo="ceil",
    kinds="f",
)

rem = declare.binary(
    "rem",
    """The remainder of `x / y` rounded towards zero; it has the sign of `x`.

    >>> lax.rem(jnp.array([7, -7]), 3)
    Array([ 1, -1], dtype=int32)
    """,
    hlo="remainder",
    kinds="iuf",
    jvp=(
        lambda t, out, x, y: t,
        lambda t, out, x, y: -(t * (sign(x / y) * floor(abs(x / y)))),
    ),
)
