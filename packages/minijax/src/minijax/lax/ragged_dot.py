"""Products of arrays, one axis of which is divided into groups of unequal sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minijax.lax.dot import DotDimensionNumbers, dot_general
from minijax.lax.elementwise.selection import select
from minijax.lax.precision import PrecisionLike
from minijax.lax.reductions.cumulative import cumsum
from minijax.lax.shapes.broadcasting import broadcast_in_dim
from minijax.lax.shapes.creation import broadcasted_iota, full_like
from minijax.lax.shapes.reshaping import transpose
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof


@dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """Axes of the operands of `ragged_dot_general`.

    Attributes:
        dot_dimension_numbers: the contracting and the batch axes, as for `dot_general`.
        lhs_ragged_dimensions: the axis of `lhs` that is divided into groups, in a sequence of one.
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
    order = sorted(range(len(axes)), key=lambda i: axes[i])
    into = (0, *sorted(axes))

    def spread(limits: Any) -> Any:
        return broadcast_in_dim(transpose(limits, [len(axes), *order]), shape, into)

    ends = cumsum(group_sizes, typeof(group_sizes).ndim - 1)
    position = broadcasted_iota(typeof(group_sizes).dtype, shape, axis + 1)
    copies = broadcast_in_dim(x, shape, range(1, len(shape)))
    inside = (position >= spread(ends - group_sizes)) & (position < spread(ends))
    return select(inside, copies, full_like(copies, 0))


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
    """`dot_general`, where one axis of `lhs` is divided into groups that lie behind one another.

    The kind of the ragged axis says what it computes:

    - neither contracting nor batch: each group meets its own part of `rhs`;
    - contracting: the product of each group, along a new first axis of the result;
    - batch: `dot_general`, for which the groups make no difference.

    It is one product, in which the numbers of other groups are zeros: time and memory grow with the
    number of groups.

    Arguments:
        lhs: an array.
        rhs: an array.
        group_sizes: g integers, one for each group; or an array of them along the last axis, whose
            other axes are the batch axes, and the axes of the ragged one's kind before it.
        ragged_dot_dimension_numbers: which axes of `lhs` and `rhs` meet, are batch axes, are
            ragged, and count groups.
        precision: as for `dot`.
        preferred_element_type: the dtype of the result.
        group_offset: must be None.
        out_sharding: the division of the result along axes of type `Explicit`.

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
    if sizes.ndim == 0 or sizes.dtype.kind not in "iu" or sizes.shape not in allowed:
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
    how = (precision, preferred_element_type)
    if kind is lhs_batch:
        return dot_general(lhs, rhs, numbers.dot_dimension_numbers, *how, out_sharding=out_sharding)
    parts = _groups_apart(lhs, group_sizes, ragged, outer)
    if kind is lhs_kept:
        (group,) = numbers.rhs_group_dimensions
        if not 0 <= group < b.ndim or b.shape[group] != sizes.shape[-1]:
            raise TypeError(
                f"{caller}: group_sizes must be as many integers as rhs has groups along axis "
                f"{group}, found {sizes} and {b}"
            )
        contracting: Any = ((*_one_more(lhs_contract), 0), (*rhs_contract, group))
        batch: Any = (_one_more(lhs_batch), rhs_batch)
        return dot_general(parts, rhs, (contracting, batch), *how, out_sharding=out_sharding)
    place = lhs_contract.index(ragged)
    rhs_outer = [*rhs_batch, *rhs_contract[:place]]
    others = _groups_apart(rhs, group_sizes, rhs_contract[place], rhs_outer)
    contracting = (_one_more(lhs_contract), _one_more(rhs_contract))
    batch = ((0, *_one_more(lhs_batch)), (0, *_one_more(rhs_batch)))
    return dot_general(parts, others, (contracting, batch), *how, out_sharding=out_sharding)


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
        lhs: the rows, of shape (m, k): first those of the first group.
        rhs: a matrix for each group, of shape (g, k, n).
        group_sizes: the number of rows of each group, g integers. Rows after these give zeros.
        precision: as for `dot`.
        preferred_element_type: the dtype of the result.
        group_offset: must be None.
        out_sharding: the division of the result along axes of type `Explicit`.

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
    if sizes.shape != b.shape[:1] or sizes.dtype.kind not in "iu":
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


__all__ = ["RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general"]
