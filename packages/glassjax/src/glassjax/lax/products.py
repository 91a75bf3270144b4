"""Arrays contracted: dot_general, ragged and scaled products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.dtypes import DTypeLike
from glassjax.lax import shapes
from glassjax.lax.conversion import convert_element_type
from glassjax.lax.cumulative import cumsum
from glassjax.lax.elementwise import select
from glassjax.lax.precision import PrecisionLike, attributes_of
from glassjax.primitives.narrow_numbers import in_wide_numbers
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.lowering import own_lowering_rules
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import as_weak_as, bits_of, letter_of
from glassjax_stage2 import typeof
from glassjax_stage2.primitives import DotDimensionNumbers, dot_general_p
from glassjax_stage2.promotion import result_type
from glassjax_stage2.shaped_array import dialect, is_inexact
from glassjax_stage3 import lowering_rules

# Sums of products: of vectors, matrices, and arrays of more axes.


own_lowering_rules[dot_general_p] = in_wide_numbers(lowering_rules[dot_general_p])

PRECISION_PARAMS = ("precision", "preferred_element_type", "out_sharding")


def options(
    caller: str,
    precision: PrecisionLike,
    preferred_element_type: Any,
    *operands: Any,
) -> dict[str, Any]:
    """The parameters of a product of operands, without those that are defaults.

    Raises:
        TypeError: the dtype of the sums is narrower than the dtype of the operands, unless the
            operands are floats.
    """
    params: dict[str, Any] = dict(attributes_of(caller, precision))
    if preferred_element_type is not None:
        wanted = dialect().dtype_of(caller, preferred_element_type)
        found = result_type(*map(typeof, operands)).dtype
        if found.kind in "iuc" and width(wanted) < width(found):
            raise TypeError(
                f"{caller}: preferred_element_type must not be narrower than {found}, the dtype of "
                f"the operands, found {wanted}"
            )
        params["preferred_element_type"] = wanted
    return params


def width(dtype: np.dtype[Any]) -> int:
    """The number of bits of a number of this dtype; for a complex one, of each part."""
    return 1 if dtype.kind == "b" else bits_of(dtype) // (2 if dtype.kind == "c" else 1)


def _strong_if_they_differ(lhs: Any, rhs: Any) -> tuple[Any, Any]:
    """Operands made strong if their dtypes differ, so that they are promoted as arrays."""
    if typeof(lhs).dtype == typeof(rhs).dtype:
        return lhs, rhs
    return convert_element_type(lhs, typeof(lhs).dtype), convert_element_type(
        rhs, typeof(rhs).dtype
    )


def _bytes_widened(lhs: Any, rhs: Any, preferred_element_type: Any) -> tuple[Any, Any]:
    """Convert 8-bit float operands to a dtype that XLA multiplies.

    That is the dtype of the other operand, or of the sums. They are not promoted otherwise, and a
    derivative multiplies them by cotangents of a wider dtype.
    """
    dtypes = [typeof(lhs).dtype, typeof(rhs).dtype]
    wide = [dtype for dtype in dtypes if not _is_float_of_a_byte(dtype)]
    if preferred_element_type is not None:
        wide.append(dialect().dtype_of("dot_general", preferred_element_type))
    if all(dtype in wide for dtype in dtypes) or not wide or not is_inexact(wide[0]):
        return lhs, rhs
    return (
        convert_element_type(lhs, wide[0]) if _is_float_of_a_byte(dtypes[0]) else lhs,
        convert_element_type(rhs, wide[0]) if _is_float_of_a_byte(dtypes[1]) else rhs,
    )


def _is_float_of_a_byte(dtype: np.dtype[Any]) -> bool:
    return dtype.itemsize == 1 and is_inexact(dtype)


def _weak_if_both_are(out: Any, lhs: Any, rhs: Any) -> Any:
    """The product, weak if its operands are, unless another dtype was requested."""
    a, b = typeof(lhs), typeof(rhs)
    is_weak = a.weak_type and b.weak_type and typeof(out).dtype == a.dtype
    return as_weak_as(a, out) if is_weak else out


@operation(static=("dimension_numbers", *PRECISION_PARAMS))
def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """Products of `lhs` and `rhs` summed over the contracted axes, for each batch index.

    Arguments:
        lhs: the left operand.
        rhs: the right operand.
        dimension_numbers: a pair of pairs, `((lhs_contracting, rhs_contracting), (lhs_batch,
            rhs_batch))`.
        precision: a `lax.Precision` or its name, a pair of these, or a `lax.DotAlgorithm`; None:
            the setting `default_matmul_precision`.
        preferred_element_type: the dtype of the sums and of the result; None: the dtype of the
            operands.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Returns:
        An array whose axes are the batch axes, the other axes of `lhs`, the other axes of `rhs`.

    Raises:
        TypeError: axes do not exist, or do not match.

    >>> x, y = jnp.ones((5, 2, 3)), jnp.ones((5, 4, 3))
    >>> contracting, batch = ((2,), (2,)), ((0,), (0,))
    >>> lax.dot_general(x, y, (contracting, batch)).shape
    (5, 2, 4)
    """
    lhs, rhs = _bytes_widened(lhs, rhs, preferred_element_type)
    lhs, rhs = _strong_if_they_differ(lhs, rhs)
    params = {"preferred_element_type": None} | options(
        "dot_general", precision, preferred_element_type, lhs, rhs
    )
    out = stage2.dot_general(lhs, rhs, dimension_numbers, **params)
    return _weak_if_both_are(out, lhs, rhs)


@operation(static=("dimension_numbers", *PRECISION_PARAMS))
def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """The product of vectors or matrices; with `dimension_numbers` it is `dot_general`.

    Arguments:
        lhs: the left operand.
        rhs: the right operand.
        dimension_numbers: as in `dot_general`; None contracts the last axis of `lhs` with the first
            of `rhs`.
        precision, preferred_element_type, out_sharding: as in `dot_general`.

    Raises:
        TypeError: without `dimension_numbers`, an operand has neither one axis nor two, or the
            sizes of the contracted axes differ.

    >>> lax.dot(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
    Array([12, 34], dtype=int32)
    """
    if dimension_numbers is None:
        a, b = typeof(lhs), typeof(rhs)
        if not (1 <= a.ndim <= 2 and 1 <= b.ndim <= 2 and a.shape[-1] == b.shape[0]):
            raise TypeError(f"dot: takes vectors and matrices that fit together, found {a} and {b}")
        dimension_numbers = (((a.ndim - 1,), (0,)), ((), ()))
    lhs, rhs = _bytes_widened(lhs, rhs, preferred_element_type)
    lhs, rhs = _strong_if_they_differ(lhs, rhs)
    params = {"preferred_element_type": None} | options(
        "dot", precision, preferred_element_type, lhs, rhs
    )
    out = stage2.dot_general(lhs, rhs, dimension_numbers, **params)
    return _weak_if_both_are(out, lhs, rhs)


@operation(static="precision")
def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """The matrix products of the last two axes, for each index of the axes before these.

    Arguments:
        lhs, rhs: arrays of matrices, along the last two axes.
        precision: as in `dot_general`.

    Raises:
        TypeError: operands have fewer than two axes, or differ in the sizes of the leading ones.

    >>> lax.batch_matmul(jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    a, b = typeof(lhs), typeof(rhs)
    if a.ndim < 2 or a.ndim != b.ndim:
        raise TypeError(f"batch_matmul: takes as many axes of both, at least two; found {a}, {b}")
    lead = tuple(range(a.ndim - 2))
    return dot_general(lhs, rhs, (((a.ndim - 1,), (a.ndim - 2,)), (lead, lead)), precision)


# Ragged products: an axis consists of groups of unequal sizes.


@dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """Axes of the operands of `ragged_dot_general`.

    Attributes:
        dot_dimension_numbers: the contracting and the batch axes, as for `dot_general`.
        lhs_ragged_dimensions: the axis of `lhs` that consists of groups, in a sequence of one.
        rhs_group_dimensions: the axis of `rhs` that counts the groups, in a sequence of one if the
            ragged axis is neither contracting nor batch; empty otherwise.

    >>> numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])
    >>> numbers.lhs_ragged_dimensions
    (0,)
    """

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]

    def __post_init__(self) -> None:
        (contract, batch) = self.dot_dimension_numbers
        pairs = tuple(tuple(map(tuple, pair)) for pair in (contract, batch))
        object.__setattr__(self, "dot_dimension_numbers", pairs)
        for name in ("lhs_ragged_dimensions", "rhs_group_dimensions"):
            object.__setattr__(self, name, tuple(getattr(self, name)))


def _groups_apart(x: Any, group_sizes: Any, axis: int, outer: Sequence[int]) -> Any:
    """Copies of `x` along a new first axis, each with zeros outside of its group along `axis`.

    Arguments:
        group_sizes: the sizes of the groups along the last axis; those before are the axes `outer`
            of `x`, or are absent.
    """
    count = typeof(group_sizes).shape[-1]
    shape = (count, *typeof(x).shape)
    axes = [i + 1 for i in outer] if typeof(group_sizes).ndim > 1 else []
    # `broadcast_in_dim` takes increasing axes, so the limits are transposed into their order.
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    into = (0, *sorted(axes))

    def broadcast_limits(limits: Any) -> Any:
        return shapes.broadcast_in_dim(shapes.transpose(limits, [len(axes), *order]), shape, into)

    ends = cumsum(group_sizes, typeof(group_sizes).ndim - 1)
    position = shapes.broadcasted_iota(typeof(group_sizes).dtype, shape, axis + 1)
    copies = shapes.broadcast_in_dim(x, shape, range(1, len(shape)))
    inside = (position >= broadcast_limits(ends - group_sizes)) & (
        position < broadcast_limits(ends)
    )
    return select(inside, copies, shapes.full_like(copies, 0))


def _one_more(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(i + 1 for i in axes)


@operation(
    static=(
        "ragged_dot_dimension_numbers",
        "precision",
        "preferred_element_type",
        "group_offset",
        "out_sharding",
    )
)
def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: None = None,
    out_sharding: Any = None,
) -> Array:
    """`dot_general` with one ragged axis of `lhs`, made up of consecutive groups.

    The kind of the ragged axis says what it computes:

    - neither contracting nor batch: each group is multiplied by its own part of `rhs`;
    - contracting: the product of each group, along a new first axis of the result;
    - batch: `dot_general`; the groups are ignored.

    It is one product, in which the numbers of other groups are zeros: time and memory grow with the
    number of groups.

    Arguments:
        lhs: an array.
        rhs: an array.
        group_sizes: g integers, one for each group; or an array of them along the last axis, whose
            other axes are the batch axes, and the axes of the ragged one's kind before it.
        ragged_dot_dimension_numbers: which axes of `lhs` and `rhs` are contracted, are batch axes,
            are ragged, and count groups.
        precision: as in `dot`.
        preferred_element_type: the dtype of the result.
        group_offset: must be None.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Returns:
        An array with the shape of `dot_general`'s result, without the axis of groups of `rhs`, or
        after a first axis of size g.

    Raises:
        NotImplementedError: `group_offset` is given.
        TypeError: axes or shapes do not match, or `group_sizes` are not integers.

    >>> numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    >>> rows = jnp.array([[1.0], [2.0], [4.0]])
    >>> print(lax.ragged_dot_general(rows, rows, jnp.array([1, 2]), numbers).ravel())
    [ 1. 20.]
    """
    caller, numbers = "ragged_dot_general", ragged_dot_dimension_numbers
    if group_offset is not None:
        raise NotImplementedError(f"{caller}: group_offset must be None")
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    a, b, sizes = typeof(lhs), typeof(rhs), typeof(group_sizes)
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError(f"{caller}: lhs must have one ragged axis, found {numbers}")
    (ragged,) = numbers.lhs_ragged_dimensions
    if not 0 <= ragged < a.ndim:
        raise TypeError(f"{caller}: the ragged axis {ragged} is not an axis of lhs, {a}")
    lhs_kept = [i for i in range(a.ndim) if i not in (*lhs_contract, *lhs_batch)]
    kind = next(axes for axes in (lhs_kept, lhs_contract, lhs_batch) if ragged in axes)
    before = list(kind[: kind.index(ragged)])
    outer = before if kind is lhs_batch else [*lhs_batch, *before]
    allowed = [(sizes.shape[-1:]), (*[a.shape[i] for i in outer], *sizes.shape[-1:])]
    if sizes.ndim == 0 or letter_of(sizes.dtype) not in "iu" or sizes.shape not in allowed:
        raise TypeError(
            f"{caller}: group_sizes must be integers, one for each group, found {sizes} for the "
            f"ragged axis {ragged} of lhs, {a}"
        )
    wanted = int(kind is lhs_kept)
    if len(numbers.rhs_group_dimensions) != wanted:
        raise TypeError(
            f"{caller}: rhs must have {wanted} axes of groups where the ragged axis of lhs is "
            f"{'not ' if wanted else ''}contracting or batch, found {numbers}"
        )
    params = (precision, preferred_element_type)
    if kind is lhs_batch:
        return dot_general(
            lhs, rhs, numbers.dot_dimension_numbers, *params, out_sharding=out_sharding
        )
    parts = _groups_apart(lhs, group_sizes, ragged, outer)
    if kind is lhs_kept:
        (group,) = numbers.rhs_group_dimensions
        if not 0 <= group < b.ndim or b.shape[group] != sizes.shape[-1]:
            raise TypeError(
                f"{caller}: group_sizes must be as many integers as rhs has groups along axis "
                f"{group}, found {sizes} and {b}"
            )
        # The sum also runs over the groups: each row is nonzero in the copy of its own group only.
        contracting: Any = ((*_one_more(lhs_contract), 0), (*rhs_contract, group))
        batch: Any = (_one_more(lhs_batch), rhs_batch)
        return dot_general(parts, rhs, (contracting, batch), *params, out_sharding=out_sharding)
    # The groups become a batch axis, so that each has a product of its own.
    place = lhs_contract.index(ragged)
    rhs_outer = [*rhs_batch, *rhs_contract[:place]]
    others = _groups_apart(rhs, group_sizes, rhs_contract[place], rhs_outer)
    # one more: the copies have the axis of groups in front
    contracting = (_one_more(lhs_contract), _one_more(rhs_contract))
    batch = ((0, *_one_more(lhs_batch)), (0, *_one_more(rhs_batch)))
    return dot_general(parts, others, (contracting, batch), *params, out_sharding=out_sharding)


_ROWS_OF_GROUPS = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


@operation(static=("precision", "preferred_element_type", "group_offset", "out_sharding"))
def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: None = None,
    out_sharding: Any = None,
) -> Array:
    """The products of the rows of a matrix, in groups, with one of several matrices for each group.

    Time and memory grow with the number of groups, as for `ragged_dot_general`.

    Arguments:
        lhs: the rows, of shape (m, k), in the order of the groups.
        rhs: a matrix for each group, of shape (g, k, n).
        group_sizes: the number of rows of each group, g integers. Rows after these give zeros.
        precision: as in `dot`.
        preferred_element_type: the dtype of the result.
        group_offset: must be None.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Returns:
        An array of shape (m, n).

    Raises:
        NotImplementedError: `group_offset` is given.
        TypeError: the shapes do not match, or `group_sizes` are not integers.

    >>> scales = jnp.array([[[1.0]], [[10.0]]])
    >>> print(lax.ragged_dot(jnp.ones((4, 1)), scales, jnp.array([1, 2])).ravel())
    [ 1. 10. 10.  0.]
    """
    a, b, sizes = typeof(lhs), typeof(rhs), typeof(group_sizes)
    if a.ndim != 2 or b.ndim != 3 or a.shape[1] != b.shape[1]:
        raise TypeError(
            f"ragged_dot: lhs must have the shape (m, k) and rhs (g, k, n), found {a} and {b}"
        )
    if sizes.shape != b.shape[:1] or letter_of(sizes.dtype) not in "iu":
        raise TypeError(
            f"ragged_dot: group_sizes must be {b.shape[0]} integers, one for each matrix of rhs; "
            f"found {sizes}"
        )
    return ragged_dot_general(
        lhs,
        rhs,
        group_sizes,
        _ROWS_OF_GROUPS,
        precision,
        preferred_element_type,
        group_offset,
        out_sharding,
    )


# Block-scaled products: each operand has a scale for each block of its elements.


def scaled(name: str, operand: Any, scale: Any, dtype: Any) -> Any:
    """`operand` times its scales, each for a block of as many numbers as fit.

    Raises:
        ValueError: the size of an axis of `operand` is not a multiple of the size in `scale`.
    """
    operand = convert_element_type(operand, dtype)
    if scale is None:
        return operand
    shape, sizes = typeof(operand).shape, typeof(scale).shape
    if len(shape) != len(sizes) or any(not s or n % s for n, s in zip(shape, sizes, strict=True)):
        raise ValueError(
            f"{name}: the size of each axis of an operand must be a multiple of its scale's, found "
            f"shapes {shape} and {sizes}"
        )
    blocks = [x for n, s in zip(shape, sizes, strict=True) for x in (s, n // s)]
    axes = tuple(range(0, 2 * len(shape), 2))
    scales = shapes.broadcast_in_dim(convert_element_type(scale, dtype), tuple(blocks), axes)
    return operand * shapes.reshape(scales, shape)


@operation(static=("dimension_numbers", "preferred_element_type"))
def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: DotDimensionNumbers | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """`dot_general` of two arrays, each times the scales of its blocks.

    Arguments:
        lhs: an array.
        rhs: an array.
        lhs_scale: the scales of `lhs`, each for a block of its numbers; None: 1.
        rhs_scale: the scales of `rhs`; None: 1.
        dimension_numbers: as for `dot_general`; None contracts the last axis of `lhs` with the last
            but one of `rhs`, after batch axes.
        preferred_element_type: the dtype of the result; bfloat16 by default.

    Raises:
        ValueError: the size of an axis is not a multiple of the size in its scale.

    >>> x, scale = jnp.ones((1, 2, 4)), jnp.full((1, 2, 2), 3.0)
    >>> print(scaled_dot(x, jnp.ones((1, 4, 1)), lhs_scale=scale).ravel())
    [12 12]
    """
    dtype: Any = "bfloat16" if preferred_element_type is None else preferred_element_type
    if dimension_numbers is None:
        axes = tuple(range(typeof(lhs).ndim - 2))
        ndim = typeof(lhs).ndim
        dimension_numbers = (((ndim - 1,), (ndim - 2,)), (axes, axes))
    wide = [
        scaled("scaled_dot", operand, scale, np.float32)
        for operand, scale in ((lhs, lhs_scale), (rhs, rhs_scale))
    ]
    return convert_element_type(dot_general(wide[0], wide[1], dimension_numbers), dtype)
