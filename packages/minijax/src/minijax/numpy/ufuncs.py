"""The functions of elements that are a `ufunc`: sums, products, extremes, logic and bits."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.elementwise import where as choose
from minijax.numpy.comparisons import logical_and as are_both
from minijax.numpy.comparisons import logical_or as is_either
from minijax.numpy.comparisons import logical_xor as is_one
from minijax.numpy.cumulative import cumprod, cumsum
from minijax.numpy.reductions import max, min, prod, sum
from minijax.numpy.transcendental import logaddexp as log_of_two
from minijax.numpy.transcendental import logaddexp2 as log2_of_two
from minijax.numpy.universal import ufunc
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axes
from minijax_stage2.promotion import to_inexact

OPTIONS = ("axis", "dtype", "keepdims")


def _in_dtype(x: Any, dtype: Any) -> Any:
    return x if dtype is None else lax.convert_element_type(x, dtype)


# --8<-- [start:reduce_bits]
OF_BITS = {
    "and": (lax.bitwise_and, lax.reduce_and, -1),
    "or": (lax.bitwise_or, lax.reduce_or, 0),
    "xor": (lax.bitwise_xor, lax.reduce_xor, 0),
}


def _reduce_of_bits(kind: str) -> Callable[..., Any]:
    """The method `reduce` of a function of bits."""
    combine, reduction, neutral = OF_BITS[kind]

    @operation(static=OPTIONS)
    def reduce(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        of_a = typeof(a).dtype
        if of_a.kind not in "biu":
            raise ValueError(f"bitwise_{kind}.reduce: expected integers, found {typeof(a)}")
        if where is not None:
            a = choose(where, a, np.asarray(neutral).astype(of_a)[()])
        axes = canonical_axes("reduce", axis, typeof(a).ndim)
        total = reduction(a, axes)
        total = lax.expand_dims(total, axes) if keepdims else total
        if initial is not None:
            total = combine(lax.convert_element_type(initial, of_a), total)
        return _in_dtype(total, dtype)

    return reduce


def _reduce_of_truths(kind: str) -> Callable[..., Any]:
    """The method `reduce` of a function of truths; numbers hold unless they are zero."""
    of_booleans = _reduce_of_bits(kind)

    @operation(static=OPTIONS)
    def reduce(a: Any, *, initial: Any, **options: Any) -> Any:
        initial = None if initial is None else lax.ne(initial, 0)
        return of_booleans(lax.ne(a, 0), initial=initial, **options)

    return reduce


# --8<-- [end:reduce_bits]


def _reduce_of_extreme(extreme: Callable[..., Any]) -> Callable[..., Any]:
    @operation(static=OPTIONS)
    def reduce(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        return _in_dtype(extreme(a, axis, None, keepdims, initial, where), dtype)

    return reduce


@operation(static=OPTIONS)
def _log_of_total(
    a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    """`log(sum(exp(a)))`, without overflow."""
    a = to_inexact(a)
    real = lax.real(a) if typeof(a).dtype.kind == "c" else a
    largest = max(real, axis, keepdims=True, initial=-math.inf, where=where)
    largest = lax.stop_gradient(choose(lax.is_finite(largest), largest, 0))
    offset = lax.convert_element_type(largest, typeof(a).dtype)
    total = sum(lax.exp(lax.sub(a, offset)), axis, keepdims=True, where=where)
    out = lax.add(lax.log(total), offset)
    if not keepdims:
        out = lax.squeeze(out, canonical_axes("reduce", axis, typeof(a).ndim))
    out = out if initial is None else log_of_two(initial, out)
    return _in_dtype(out, dtype)


@operation(static=OPTIONS)
def _log2_of_total(a: Any, *, dtype: Any, initial: Any, **options: Any) -> Any:
    initial = None if initial is None else lax.mul(initial, math.log(2))
    scaled = lax.mul(to_inexact(a), math.log(2))
    total = _log_of_total(scaled, dtype=None, initial=initial, **options)
    return _in_dtype(lax.div(total, math.log(2)), dtype)


# --8<-- [start:at]
def _add_at(a: Any, indices: Any, b: Any) -> Any:
    if typeof(a).dtype == np.bool_:
        return logical_or.at(a, indices, b, inplace=False)
    return a.at[indices].add(b)


def _multiply_at(a: Any, indices: Any, b: Any) -> Any:
    if typeof(a).dtype == np.bool_:
        return logical_and.at(a, indices, b, inplace=False)
    return a.at[indices].multiply(b)


def _subtract_at(a: Any, indices: Any, b: Any) -> Any:
    return a.at[indices].subtract(b)


# --8<-- [end:at]


def _of_two(name: str, function: Callable[..., Any], identity: Any = None, **methods: Any) -> ufunc:
    return ufunc(function, 2, 1, name=name, identity=identity, call=function, **methods)


# --8<-- [start:ufuncs]
negative = ufunc(lax.neg, 1, 1, name="negative", call=lax.neg)
add = _of_two("add", lax.add, 0, reduce=sum, accumulate=cumsum, at=_add_at)
subtract = _of_two("subtract", lax.sub, at=_subtract_at)
multiply = _of_two("multiply", lax.mul, 1, reduce=prod, accumulate=cumprod, at=_multiply_at)
maximum = _of_two("maximum", lax.max, reduce=_reduce_of_extreme(max))
minimum = _of_two("minimum", lax.min, reduce=_reduce_of_extreme(min))
logaddexp = _of_two("logaddexp", log_of_two, -math.inf, reduce=_log_of_total)
logaddexp2 = _of_two("logaddexp2", log2_of_two, -math.inf, reduce=_log2_of_total)
bitwise_and = _of_two("bitwise_and", lax.bitwise_and, -1, reduce=_reduce_of_bits("and"))
bitwise_or = _of_two("bitwise_or", lax.bitwise_or, 0, reduce=_reduce_of_bits("or"))
bitwise_xor = _of_two("bitwise_xor", lax.bitwise_xor, 0, reduce=_reduce_of_bits("xor"))
logical_and = _of_two("logical_and", are_both, True, reduce=_reduce_of_truths("and"))
logical_or = _of_two("logical_or", is_either, False, reduce=_reduce_of_truths("or"))
logical_xor = _of_two("logical_xor", is_one, False, reduce=_reduce_of_truths("xor"))
# --8<-- [end:ufuncs]

__all__ = [
    "add",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "subtract",
]
