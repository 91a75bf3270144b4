"""Sorting arrays, and the largest elements in order.

Floats are in total order, with all zeros alike and NaN last; complex numbers are ordered by their
real parts, then by their imaginary parts. Derivatives are permuted like the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.errors.arguments import require_fit
from glassjax.lax.elementwise import neg
from glassjax.lax.gathering import GatherDimensionNumbers, GatherScatterMode, gather
from glassjax.lax.shapes import broadcasted_iota, expand_dims, reshape
from glassjax.primitives.declare import declare
from glassjax.primitives.narrow_numbers import in_wide_numbers
from glassjax.primitives.sharding_rules import by_batch, by_lines
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax_stage2 import ShapedArray, Zero, bind, typeof
from glassjax_stage2.functions import canonical_axis, ints, moveaxis
from glassjax_stage2.shaped_array import NO_NUMBER, is_inexact, kind_of
from glassjax_stage2.tangent import tangent_type
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature

sort_p = stage2.Primitive("sort")
top_k_p = stage2.Primitive("top_k")

Avals = Sequence[ShapedArray]
Values = Sequence[Any]
Dims = Sequence[BatchDim]
BOOL = ShapedArray((), np.bool_)


def take_along(x: Any, indices: Any, axis: int) -> Any:
    """The elements of `x` along one axis at `indices`, an array of the same rank."""
    return _at(x, expand_dims(indices, typeof(indices).ndim), axis)


def _at(x: Any, indices: Any, axis: int) -> Any:
    """`take_along` at indices that have one more axis, of size 1."""
    others = tuple(i for i in range(typeof(x).ndim) if i != axis)
    numbers = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    return gather(
        x,
        indices,
        numbers,
        [min(1, size) for size in typeof(x).shape],
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
    )


@operation(static=("dimension", "is_stable", "num_keys"))
def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sort an array, or several together, along an axis.

    Arguments:
        operand: the array, or a sequence of arrays of one shape.
        dimension: the axis to sort along.
        is_stable: whether elements with equal keys keep their order.
        num_keys: the number of arrays, from the first on, to compare, in order.

    Returns:
        An array, or a tuple of them if a sequence was given.

    Raises:
        TypeError: shapes differ, or there are no arrays.
        ValueError: there are not as many arrays as `num_keys`, or there is no such axis.

    >>> keys, values = jnp.array([3, 1, 2]), jnp.array([30, 10, 20])
    >>> lax.sort(keys)
    Array([1, 2, 3], dtype=int32)
    >>> lax.sort((keys, values), num_keys=1)
    (Array([1, 2, 3], dtype=int32), Array([10, 20, 30], dtype=int32))
    """
    several = isinstance(operand, Sequence)
    operands = operand if several else [operand]
    if not operands:
        raise TypeError("sort: there must be an array to sort")
    (num_keys,) = ints("sort: num_keys", num_keys)
    if not 1 <= num_keys <= len(operands):
        raise ValueError(f"sort: num_keys {num_keys} of {len(operands)} arrays")
    axis = canonical_axis("sort", dimension, typeof(operands[0]).ndim)
    outs = bind(sort_p, *operands, dimension=axis, is_stable=bool(is_stable), num_keys=num_keys)
    return tuple(outs) if several else outs[0]


@operation(static=("dimension", "is_stable"))
def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """The pair of sorted `keys`, and `values` in the same order.

    Arguments:
        keys: the array to sort.
        values: an array of the same shape.
        dimension, is_stable: as in `sort`.

    Raises:
        TypeError: shapes differ.

    >>> lax.sort_key_val(jnp.array([3, 1, 2]), jnp.array([30, 10, 20]))
    (Array([1, 2, 3], dtype=int32), Array([10, 20, 30], dtype=int32))
    """
    return sort((keys, values), dimension, is_stable, 1)


def _sort_type(
    *operands: ShapedArray, dimension: int, is_stable: bool, num_keys: int
) -> list[ShapedArray]:
    if len({x.shape for x in operands}) > 1 or not 0 <= dimension < operands[0].ndim:
        found = ", ".join(map(str, operands))
        raise TypeError(
            f"sort: operands must have one shape with an axis {dimension}, found {found}"
        )
    for x in operands[:num_keys]:
        if kind_of(x.dtype) == NO_NUMBER:
            raise TypeError(f"sort: expected numbers, which have an order, found {x}")
    return list(operands)


def _sort_lower(
    b: FunctionBuilder,
    out_avals: Avals,
    *operands: Value,
    dimension: int,
    is_stable: bool,
    num_keys: int,
) -> list[Value]:
    inside = b.module.function()
    inside.count, inside.indent, inside.location = b.count, b.indent + "  ", b.location
    scalars = [ShapedArray((), x.aval.dtype) for x in operands for _ in range(2)]
    params = [Value(inside.fresh_name(), aval) for aval in scalars]
    is_less = _is_less(inside, params[: 2 * num_keys])
    b.count = inside.count
    declared = ", ".join(f"{x.name}: {mlir_type(x.aval)}" for x in params)
    region = "\n".join(
        [
            f"^bb0({declared}):",
            *inside.lines,
            f"{inside.indent}stablehlo.return {is_less.name} : tensor<i1>",
        ]
    )
    names = ", ".join(x.name for x in operands)
    return b.emit(
        f'"stablehlo.sort"({names}) <{{dimension = {dimension} : i64, '
        f"is_stable = {str(is_stable).lower()}}}> ({{\n{region}\n{b.indent}}}) "
        f": {signature(operands, out_avals)}",
        *out_avals,
    )


def _is_less(b: FunctionBuilder, params: Sequence[Value]) -> Value:
    """Return True if the first of each pair is before the second, with later pairs for ties."""
    pairs = list(zip(params[::2], params[1::2], strict=True))
    keys = [tuple(zip(*(_real_keys(b, x) for x in pair), strict=True)) for pair in pairs]
    *earlier, last = [pair for key_pairs in keys for pair in key_pairs]
    is_less = _compare(b, "LT", *last)
    for x, y in reversed(earlier):
        less, tie = _compare(b, "LT", x, y), _compare(b, "EQ", x, y)
        (later,) = b.emit(f"stablehlo.and {tie.name}, {is_less.name} : tensor<i1>", BOOL)
        (is_less,) = b.emit(f"stablehlo.or {less.name}, {later.name} : tensor<i1>", BOOL)
    return is_less


def _real_keys(b: FunctionBuilder, x: Value) -> list[Value]:
    """Return the sort keys of one operand: one key, or two for a complex number."""
    if x.aval.dtype.kind == "c":
        part = ShapedArray((), np.finfo(x.aval.dtype).dtype)
        return [
            key
            for name in ("real", "imag")
            for y in b.emit(f"stablehlo.{name} {x.name} : {signature([x], [part])}", part)
            for key in _real_keys(b, y)
        ]
    if not is_inexact(x.aval.dtype):
        return [x]
    zero, nan = b.constant(0, x.aval), b.constant(np.nan, x.aval)
    for which, number in (
        (_compare(b, "EQ", x, zero, "FLOAT"), zero),
        (_compare(b, "NE", x, x, "FLOAT"), nan),
    ):
        (x,) = b.emit(
            f"stablehlo.select {which.name}, {number.name}, {x.name} "
            f": tensor<i1>, {mlir_type(x.aval)}",
            x.aval,
        )
    return [x]


def _compare(b: FunctionBuilder, direction: str, x: Value, y: Value, kind: str = "") -> Value:
    kind = kind or {"b": "UNSIGNED", "u": "UNSIGNED", "i": "SIGNED"}.get(
        x.aval.dtype.kind, "TOTALORDER" if is_inexact(x.aval.dtype) else "SIGNED"
    )
    types = signature([x, y], [BOOL])
    (out,) = b.emit(f"stablehlo.compare {direction}, {x.name}, {y.name}, {kind} : {types}", BOOL)
    return out


def _sort_vmap(
    axis: BatchAxis, values: Values, dims: Dims, *, dimension: int, **params: Any
) -> tuple[list[Any], list[BatchDim]]:
    xs = [move_batch_dim(x, axis, dim, 0) for x, dim in zip(values, dims, strict=True)]
    return bind(sort_p, *xs, dimension=dimension + 1, **params), [0] * len(xs)


def _sort_jvp(
    primals: Values, tangents: Values, *, dimension: int, **params: Any
) -> tuple[list[Any], list[Any]]:
    """The tangents are permuted like the elements, whose indices are sorted with them."""
    shape = typeof(primals[0]).shape
    if all(type(t) is Zero for t in tangents):
        outs = bind(sort_p, *primals, dimension=dimension, **params)
        return outs, list(tangents)
    indices = broadcasted_iota(np.uint32, shape, dimension)
    *outs, order = bind(sort_p, *primals, indices, dimension=dimension, **params)
    return outs, [t if type(t) is Zero else take_along(t, order, dimension) for t in tangents]


declare(
    sort_p,
    abstract_eval=_sort_type,
    lower=in_wide_numbers(_sort_lower),
    vmap=_sort_vmap,
    sharding=by_lines(sort_p, "dimension"),
    jvp=_sort_jvp,
)


@operation(static=("k", "axis", "is_stable"))
def top_k(operand: ArrayLike, k: int, *, axis: int = -1, is_stable: bool = True) -> list[Array]:
    """The `k` largest elements along an axis, the largest first, and their indices.

    Arguments:
        operand: the array, not complex.
        k: the number of elements.
        axis: the axis.
        is_stable: ignored: equal elements keep their order.

    Raises:
        ValueError: there are not `k` elements, or there is no such axis; or `operand` is complex.

    >>> lax.top_k(jnp.array([3.0, 1.0, 4.0, 1.0, 5.0]), 2)
    [Array([5., 4.], dtype=float32), Array([4, 2], dtype=int32)]
    """
    aval = typeof(operand)
    if not aval.ndim:
        raise ValueError(f"top_k: expected an array with an axis, found {aval}")
    axis = canonical_axis("top_k", axis, aval.ndim)
    (k,) = ints("top_k: k", k)
    if not 0 <= k <= aval.shape[axis]:
        raise ValueError(f"top_k: k must be from 0 to {aval.shape[axis]}, found {k}")
    values, indices = bind(top_k_p, moveaxis(operand, axis, -1), k=k)
    return [moveaxis(values, -1, axis), moveaxis(indices, -1, axis)]


def _top_k_type(x: ShapedArray, *, k: int) -> list[ShapedArray]:
    if x.dtype.kind == "c" or x.dtype.names or not x.ndim or k > x.shape[-1]:
        raise ValueError(f"top_k: {x} has no {k} elements in order along its last axis")
    shape = (*x.shape[:-1], k)
    return [ShapedArray(shape, dtype, x.weak_type) for dtype in (x.dtype, np.dtype(np.int32))]


def _top_k_lower(b: FunctionBuilder, out_avals: Avals, x: Value, *, k: int) -> list[Value]:
    types = ", ".join(map(mlir_type, out_avals))
    return b.emit(f"chlo.top_k({x.name}, k = {k}) : {mlir_type(x.aval)} -> ({types})", *out_avals)


def _top_k_vmap(
    axis: BatchAxis, values: Values, dims: Dims, *, k: int
) -> tuple[list[Any], list[BatchDim]]:
    return bind(top_k_p, move_batch_dim(values[0], axis, dims[0], 0), k=k), [0, 0]


def _top_k_jvp(primals: Values, tangents: Values, *, k: int) -> tuple[list[Any], list[Any]]:
    (t,) = tangents
    values, indices = bind(top_k_p, *primals, k=k)
    if type(t) is Zero:
        out_tangent: Any = Zero(tangent_type(typeof(values)))
    else:
        out_tangent = _at(t, reshape(indices, (*typeof(indices).shape, 1)), typeof(t).ndim - 1)
    return [values, indices], [out_tangent, Zero(tangent_type(typeof(indices)))]


declare(
    top_k_p,
    abstract_eval=_top_k_type,
    lower=in_wide_numbers(_top_k_lower),
    vmap=_top_k_vmap,
    sharding=by_batch(top_k_p, 1),
    jvp=_top_k_jvp,
)


_APPROXIMATION_PARAMS = (
    "k",
    "reduction_dimension",
    "recall_target",
    "reduction_input_size_override",
    "aggregate_to_topk",
)


@operation(static=_APPROXIMATION_PARAMS)
def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """The `k` largest elements along an axis, and their indices.

    Approximations are allowed; here they are exact.

    Arguments:
        operand: floats.
        k: the number of elements.
        reduction_dimension: the axis.
        recall_target: the wanted share of true results; the results are exact for every target.
        reduction_input_size_override: ignored.
        aggregate_to_topk: must be True.

    Raises:
        NotImplementedError: more than `k` are requested, by `aggregate_to_topk=False`.
        ValueError: `k` is not positive, or the elements are not floats.

    >>> lax.approx_max_k(jnp.array([3.0, 1.0, 4.0, 1.0, 5.0]), 2)
    [Array([5., 4.], dtype=float32), Array([4, 2], dtype=int32)]
    """
    _require_floats("approx_max_k", operand, aggregate_to_topk, recall_target)
    return top_k(operand, _positive("approx_max_k", k), axis=reduction_dimension)


@operation(static=_APPROXIMATION_PARAMS)
def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """The `k` smallest elements along an axis, and their indices.

    Approximations are allowed; here they are exact.

    Arguments:
        operand, k, reduction_dimension, recall_target: as in `approx_max_k`.
        reduction_input_size_override, aggregate_to_topk: as in `approx_max_k`.

    Raises:
        NotImplementedError, ValueError: as in `approx_max_k`.

    >>> lax.approx_min_k(jnp.array([3.0, 1.0, 4.0, 2.0, 5.0]), 2)
    [Array([1., 2.], dtype=float32), Array([1, 3], dtype=int32)]
    """
    _require_floats("approx_min_k", operand, aggregate_to_topk, recall_target)
    k = _positive("approx_min_k", k)
    values, indices = top_k(neg(operand), k, axis=reduction_dimension)
    return [-values, indices]


def _require_floats(caller: str, operand: Any, aggregate_to_topk: bool, recall: float) -> None:
    require_fit(caller, "recall_target", recall, float)
    if not 0 < recall <= 1:
        raise ValueError(f"{caller}: recall_target must be above 0 and 1 at most, found {recall}")
    if not aggregate_to_topk:
        raise NotImplementedError(f"{caller}: aggregate_to_topk must be True")
    if not is_inexact(typeof(operand).dtype):
        raise ValueError(f"{caller}: operand must be of floats, found {typeof(operand)}")


def _positive(caller: str, k: int) -> int:
    (k,) = ints(f"{caller}: k", k)
    if k < 1:
        raise ValueError(f"{caller}: k must be positive, found {k}")
    return k
