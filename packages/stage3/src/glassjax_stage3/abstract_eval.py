"""Abstract evaluation: result types from operand types, with exact error messages."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from glassjax_stage2 import Primitive, ShapedArray
from glassjax_stage2 import primitives as p
from glassjax_stage2.shaped_array import Shape, dialect, is_inexact
from glassjax_stage2.trace import Rules

abstract_eval_rules = Rules("abstract evaluation", "abstract_eval_rules")

Avals = list[ShapedArray]


def once_for_types(function: Callable[..., Any]) -> Any:
    """Decorator: cache a function of a primitive, types and parameters."""
    known: dict[Any, Any] = {}

    @wraps(function)
    def cached(primitive: Primitive, in_avals: Any, params: dict[str, Any]) -> Any:
        if primitive.higher_order:  # a cache would keep its programs alive
            return function(primitive, in_avals, params)
        key = dialect(), primitive, in_avals, tuple(params.items())
        try:
            result = known.get(key)
        except TypeError:  # a parameter is not hashable
            return function(primitive, in_avals, params)
        if result is None:
            if len(known) >= 16_384:
                known.clear()
            result = known[key] = function(primitive, in_avals, params)
        return result

    cached.cache_clear = known.clear  # type: ignore[attr-defined]
    return cached


@once_for_types
def abstract_eval(
    primitive: Primitive, in_avals: tuple[ShapedArray, ...], params: dict[str, Any]
) -> Sequence[ShapedArray]:
    """The types of the results of a primitive.

    Other classes of types may bring their own `abstract_eval`.
    """
    for aval in in_avals:
        if type(aval) is not ShapedArray:
            return aval.abstract_eval(primitive, in_avals, params)  # type: ignore[attr-defined, no-any-return]
    return abstract_eval_rules[primitive](*in_avals, **params)  # type: ignore[no-any-return]


def require_numbers(primitive: Primitive, *avals: ShapedArray) -> None:
    """Raise an error if the elements of an operand are not numbers."""
    if any(aval.dtype.names for aval in avals):
        found = " and ".join(map(str, avals))
        raise TypeError(f"{primitive}: expected numbers, found {found}")


def unary(primitive: Primitive) -> Callable[..., Avals]:
    def unary_type(x: ShapedArray) -> Avals:
        require_numbers(primitive, x)
        if x.dtype == np.bool_ if primitive is p.neg_p else not is_inexact(x.dtype):
            expected = "a numeric" if primitive is p.neg_p else "a real or complex"
            raise TypeError(f"{primitive}: expected {expected} operand, found {x}")
        return [x]

    return unary_type


def arithmetic(primitive: Primitive) -> Callable[..., Avals]:
    def arithmetic_type(x: ShapedArray, y: ShapedArray) -> Avals:
        require_numbers(primitive, x, y)
        p.require_one_dtype(primitive, x, y)
        if x.dtype == np.bool_ and primitive in (p.sub_p, p.div_p, p.pow_p):
            raise TypeError(f"{primitive}: expected numeric operands, found {x} and {y}")
        shape = p.broadcast_shape(primitive, x, y)
        return [ShapedArray(shape, x.dtype, x.weak_type and y.weak_type)]

    return arithmetic_type


def comparison(primitive: Primitive) -> Callable[..., Avals]:
    def comparison_type(x: ShapedArray, y: ShapedArray) -> Avals:
        p.require_one_dtype(primitive, x, y)
        if primitive not in (p.eq_p, p.ne_p):
            require_numbers(primitive, x, y)
        if x.dtype.kind == "c" and primitive not in (p.eq_p, p.ne_p):
            raise TypeError(f"{primitive}: complex numbers have no order, found {x} and {y}")
        is_weak = x.weak_type and y.weak_type and dialect().compares_weakly
        return [ShapedArray(p.broadcast_shape(primitive, x, y), np.bool_, is_weak)]

    return comparison_type


def _select_n_type(which: ShapedArray, on_false: ShapedArray, on_true: ShapedArray) -> Avals:
    shape = p.check_select_n(which, on_false, on_true)
    chosen = on_true if on_false.weak_type else on_false  # weak if both are
    return [dialect().with_shape(chosen, shape)]


def _convert_element_type(
    x: ShapedArray, *, new_dtype: np.dtype[Any], weak_type: bool = False
) -> Avals:
    out = dialect().with_shape(ShapedArray((), new_dtype, weak_type), x.shape)
    require_numbers(p.convert_element_type_p, x, out)
    return [out]


def _reduce_sum_type(x: ShapedArray, *, axes: Shape) -> Avals:
    require_numbers(p.reduce_sum_p, x)
    if not all(0 <= axis < x.ndim for axis in axes) or len(set(axes)) != len(axes):
        raise TypeError(f"reduce_sum: axes {axes} are not distinct axes of {x}")
    return [dialect().with_shape(x, tuple(n for i, n in enumerate(x.shape) if i not in axes))]


def _transpose_type(x: ShapedArray, *, permutation: Shape) -> Avals:
    if sorted(permutation) != list(range(x.ndim)):
        raise TypeError(f"transpose: {permutation} does not permute the axes of {x}")
    return [dialect().with_shape(x, tuple(x.shape[axis] for axis in permutation))]


def _reshape_type(x: ShapedArray, *, new_sizes: Shape) -> Avals:
    out = dialect().with_shape(x, new_sizes)
    if out.size != x.size:
        raise TypeError(f"reshape: {x} has size {x.size}, {out} has size {out.size}")
    return [out]


def _broadcast_in_dim_type(x: ShapedArray, *, shape: Shape, broadcast_dimensions: Shape) -> Avals:
    p.check_broadcast_in_dim(x, shape, broadcast_dimensions)
    return [dialect().with_shape(x, shape)]


def _dot_general_type(
    x: ShapedArray, y: ShapedArray, *, dimension_numbers: p.DotDimensionNumbers, **params: Any
) -> Avals:
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    require_numbers(p.dot_general_p, x, y)
    p.require_one_dtype(p.dot_general_p, x, y)
    p.check_dot_general(x, y, dimension_numbers)
    batch = tuple(x.shape[axis] for axis in x_batch)
    rows = tuple(x.shape[axis] for axis in p.free_axes(x.ndim, x_contract, x_batch))
    columns = tuple(y.shape[axis] for axis in p.free_axes(y.ndim, y_contract, y_batch))
    return [ShapedArray(batch + rows + columns, params.get("preferred_element_type") or x.dtype)]


for primitive in p.UNARY:
    abstract_eval_rules[primitive] = unary(primitive)
for primitive in p.ARITHMETIC:
    abstract_eval_rules[primitive] = arithmetic(primitive)
for primitive in p.COMPARISONS:
    abstract_eval_rules[primitive] = comparison(primitive)

abstract_eval_rules[p.select_n_p] = _select_n_type
abstract_eval_rules[p.convert_element_type_p] = _convert_element_type

abstract_eval_rules[p.reduce_sum_p] = _reduce_sum_type
abstract_eval_rules[p.transpose_p] = _transpose_type
abstract_eval_rules[p.reshape_p] = _reshape_type
abstract_eval_rules[p.broadcast_in_dim_p] = _broadcast_in_dim_type
abstract_eval_rules[p.dot_general_p] = _dot_general_type
