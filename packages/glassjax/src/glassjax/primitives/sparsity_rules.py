"""Sparsity rules: which elements of the inputs each element of a result depends on.

In place of an element, such a rule has the number of a set of inputs. A primitive that moves
elements moves these numbers, and one that combines elements takes unions. Without a rule, every
element of the results depends on whatever any element of the operands depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassjax.primitives import sparsity_analysis
from glassjax.primitives.index_sets import Ids, IndexSets
from glassjax.primitives.loops import stage_to_jaxpr
from glassjax.runtime.evaluation import eval_context
from glassjax_stage2 import Primitive, ShapedArray, bind1
from glassjax_stage2 import primitives as p
from glassjax_stage2.shaped_array import Shape
from glassjax_stage4.stop_gradient import stop_gradient_p

Analysis = sparsity_analysis.Analysis
Operand = sparsity_analysis.Operand
SparsityRule = sparsity_analysis.SparsityRule
sparsity_rules = sparsity_analysis.sparsity_rules
dense = sparsity_analysis.dense


def by_elements(
    analysis: Analysis, operands: Sequence[Operand], out_avals: Sequence[ShapedArray], params: Any
) -> list[Ids]:
    """The rule of a primitive with operands and results of one shape, and scalars."""
    ids = analysis.sets.union(*(x.ids for x in operands))
    return [np.broadcast_to(ids, aval.shape) for aval in out_avals]


def as_operands(
    analysis: Analysis, operands: Sequence[Operand], out_avals: Sequence[ShapedArray], params: Any
) -> list[Ids]:
    """The rule of a primitive that returns each operand."""
    return [x.ids for x in operands]


def by_moving(move: Callable[..., Any]) -> SparsityRule:
    """The rule of a primitive that moves elements.

    Arguments:
        move: function of numpy arrays and the parameters, which moves elements in the same way,
            and returns an array or a list of arrays.
    """

    def moved_ids(
        analysis: Analysis, operands: Sequence[Operand], out_avals: Any, params: Any
    ) -> list[Ids]:
        out = move(*(x.ids for x in operands), **params)
        return out if isinstance(out, list) else [out]

    return moved_ids


def by_reduction(role: str) -> SparsityRule:
    """The rule of a primitive that combines elements along the axes that a parameter names."""

    def reduced_ids(
        analysis: Analysis, operands: Sequence[Operand], out_avals: Any, params: Any
    ) -> list[Ids]:
        outs = zip(operands, out_avals, strict=True)
        return [
            analysis.sets.union_along(x.ids, params[role]).reshape(out.shape) for x, out in outs
        ]

    return reduced_ids


def by_mixing(axes_of: Callable[..., Sequence[int]]) -> SparsityRule:
    """The rule of a primitive of one operand that mixes all elements along axes.

    Arguments:
        axes_of: function of the parameters that returns these axes, counted from the end.
    """

    def mixed_ids(
        analysis: Analysis, operands: Sequence[Operand], out_avals: Any, params: Any
    ) -> list[Ids]:
        (x,) = operands
        axes = tuple([axis % x.aval.ndim for axis in axes_of(**params)])
        ids = analysis.sets.union_along(x.ids, axes)
        return [np.broadcast_to(ids, out.shape) for out in out_avals]

    return mixed_ids


def by_decomposition(name: str, function: Callable[..., Sequence[Any]]) -> SparsityRule:
    """The rule of a primitive that decomposes into others.

    Arguments:
        name: the name of the primitive.
        function: takes the operands and parameters, and returns a list of results.
    """

    def decomposed_ids(
        analysis: Analysis, operands: Sequence[Operand], out_avals: Any, params: Any
    ) -> list[Ids]:
        avals = [x.aval for x in operands]
        jaxpr, consts = stage_to_jaxpr(lambda *xs: function(*xs, **params), avals, name)
        return analysis.ids(jaxpr, [*map(Operand.constant, consts), *operands])

    return decomposed_ids


def union_everywhere(sets: IndexSets, ids: Ids, axes: Sequence[int]) -> Ids:
    """Unions along axes, at every place: for elements chosen by an index that is not known."""
    return np.broadcast_to(sets.union_along(ids, tuple(axes)), ids.shape)


def evaluated(primitive: Primitive, *operands: Any, **params: Any) -> Any:
    """The value of a primitive of numpy arrays."""
    with eval_context():
        return np.asarray(bind1(primitive, *operands, **params))


def windows(
    ids: Ids,
    *,
    window_dimensions: Shape,
    window_strides: Shape,
    padding: Sequence[tuple[int, int]],
    base_dilation: Shape,
    window_dilation: Shape,
) -> Ids:
    """The elements of each window, along as many new axes at the end; padding is empty."""
    if not ids.ndim:
        return ids
    spaced = [
        (size - 1) * gap + 1 if size else 0
        for size, gap in zip(ids.shape, base_dilation, strict=True)
    ]
    whole = np.zeros(spaced, np.int64)
    whole[tuple([slice(None, None, gap) for gap in base_dilation])] = ids
    whole = np.pad(whole, [(max(low, 0), max(high, 0)) for low, high in padding])
    cut = [
        slice(max(-low, 0), n - max(-high, 0))
        for n, (low, high) in zip(whole.shape, padding, strict=True)
    ]
    whole = whole[tuple(cut)]
    sizes = [
        (size - 1) * gap + 1 for size, gap in zip(window_dimensions, window_dilation, strict=True)
    ]
    if any(size > n for size, n in zip(sizes, whole.shape, strict=True)):
        counts = [
            max((n - size) // gap + 1, 0)
            for n, size, gap in zip(whole.shape, sizes, window_strides, strict=True)
        ]
        return np.zeros((*counts, *window_dimensions), np.int64)
    views = np.lib.stride_tricks.sliding_window_view(whole, sizes)
    steps = [slice(None, None, step) for step in (*window_strides, *window_dilation)]
    return views[tuple(steps)]


def by_windows(
    analysis: Analysis, operands: Sequence[Operand], out_avals: Any, params: Any
) -> list[Ids]:
    """The rule of a primitive that combines the elements of windows."""
    (out,) = out_avals
    ids = windows(operands[0].ids, **params)
    axes = tuple(range(out.ndim, 2 * out.ndim))
    return [analysis.sets.union_along(ids, axes).reshape(out.shape)]


# The primitives of the stages.


def _nonzero(x: Operand) -> Any:
    """A mask of the elements that may not be 0, which is all of them if they are not known."""
    value = x.value()
    return True if value is None else value != 0


def _product(
    analysis: Analysis, operands: Sequence[Operand], out_avals: Any, params: Any
) -> list[Ids]:
    x, y = operands
    (out,) = out_avals
    ids = analysis.sets.union(np.where(_nonzero(y), x.ids, 0), np.where(_nonzero(x), y.ids, 0))
    return [np.broadcast_to(ids, out.shape)]


def _select_n(
    analysis: Analysis, operands: Sequence[Operand], out_avals: Any, params: Any
) -> list[Ids]:
    (out,) = out_avals
    which, *cases = operands
    choices = [np.broadcast_to(x.ids, out.shape) for x in cases]
    value = which.value()
    if value is None:
        return [analysis.sets.union(np.broadcast_to(which.ids, out.shape), *choices)]
    return [np.choose(np.broadcast_to(value, out.shape).astype(np.int64), choices, mode="clip")]


def _broadcast(x: Ids, *, shape: Shape, broadcast_dimensions: Shape, **options: Any) -> Ids:
    kept = [1] * len(shape)
    for size, axis in zip(x.shape, broadcast_dimensions, strict=True):
        kept[axis] = size
    return np.broadcast_to(x.reshape(kept), shape)


def _dot_general(
    analysis: Analysis, operands: Sequence[Operand], out_avals: Any, params: Any
) -> list[Ids]:
    """Each row of an operand is united with each column of the other, or where it is not 0."""
    (out,) = out_avals
    contracting, batch = params["dimension_numbers"]
    found = np.zeros(out.shape, np.int64)
    for number, (x, other) in enumerate((operands, operands[::-1])):
        if not x.ids.any():
            continue
        mine, theirs = [(contracting[i], batch[i]) for i in (number, 1 - number)]
        ids, rows = _matrices(x.ids, *mine)
        value = other.value()
        if value is None:
            ids = np.broadcast_to(
                analysis.sets.union_along(ids, (2,)), (*ids.shape[:2], 1)
            ).transpose(0, 2, 1)
            shape = _matrices(np.broadcast_to(0, other.aval.shape), *theirs)
            ids = np.broadcast_to(ids, (ids.shape[0], shape[0].shape[1], ids.shape[2]))
            columns = shape[1]
        else:
            factors, columns = _matrices(value, *theirs)
            ids = _combined(analysis.sets, factors, ids)
        # batch axes, free axes of the other operand, free axes of this one
        ids = ids.reshape(*[x.aval.shape[axis] for axis in mine[1]], *columns, *rows)
        count, last = len(mine[1]), ids.ndim - len(rows)
        if number == 0:
            ids = ids.transpose(*range(count), *range(last, ids.ndim), *range(count, last))
        found = analysis.sets.union(found, ids)
    return [found]


def _matrices(x: Any, contracting: Sequence[int], batch: Sequence[int]) -> tuple[Any, Shape]:
    """`x` as a batch of matrices whose columns are contracted, and the sizes of its free axes."""
    free = [axis for axis in range(x.ndim) if axis not in (*contracting, *batch)]
    sizes = [[x.shape[axis] for axis in axes] for axes in (batch, free, contracting)]
    moved = x.transpose(*batch, *free, *contracting)
    return moved.reshape([int(np.prod(part)) for part in sizes]), tuple(sizes[1])


def _combined(sets: IndexSets, factors: Any, ids: Ids) -> Ids:
    """For each row of `factors` and each row of `ids` the union of those at nonzero factors."""
    batches, rows, _ = factors.shape
    columns = ids.shape[1]
    batch, row, inner = np.nonzero(factors)
    groups = ((batch * rows + row) * columns)[:, None] + np.arange(columns)
    found = ids[batch, :, inner]
    return sets.united(groups.ravel(), found.ravel(), batches * rows * columns).reshape(
        batches, rows, columns
    )


for _primitive in (*p.UNARY, *p.ARITHMETIC, *p.COMPARISONS, p.convert_element_type_p):
    sparsity_rules[_primitive] = by_elements
sparsity_rules[p.mul_p] = _product
sparsity_rules[p.select_n_p] = _select_n
sparsity_rules[p.reduce_sum_p] = by_reduction("axes")
sparsity_rules[p.transpose_p] = by_moving(lambda x, *, permutation: x.transpose(permutation))
sparsity_rules[p.reshape_p] = by_moving(lambda x, *, new_sizes: x.reshape(new_sizes))
sparsity_rules[p.broadcast_in_dim_p] = by_moving(_broadcast)
sparsity_rules[p.dot_general_p] = _dot_general
sparsity_rules[stop_gradient_p] = lambda analysis, operands, out_avals, params: [
    np.broadcast_to(IndexSets.EMPTY, out_avals[0].shape)
]
