"""The transposes of primitives that are linear, or linear in each operand.

In a formula `ct` is the cotangent of the result; only the types of linear operands are known.
"""

# ruff: noqa: F403, F405
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from glassjax_stage2 import *
from glassjax_stage2 import primitives as p
from glassjax_stage2.shaped_array import Shape
from glassjax_stage4.transpose import UndefPrimal, deftranspose, transpose_rules


def _broadcast_back(ct: Any, x: UndefPrimal, *, axes: Shape) -> Any:
    """The transpose of a sum broadcasts the cotangent along the summed axes."""
    kept = [axis for axis in range(x.aval.ndim) if axis not in axes]
    return broadcast_in_dim(ct, x.aval.shape, kept) if axes else ct


def _sum_back(ct: Any, x: UndefPrimal, *, shape: Shape, broadcast_dimensions: Shape) -> Any:
    """The transpose of broadcasting sums over the axes that are broadcast or of size 1."""
    ones = tuple(i for i, n in enumerate(x.aval.shape) if n == 1)
    summed = {*range(len(shape))} - {a for i, a in enumerate(broadcast_dimensions) if i not in ones}
    return _broadcast_back(reduce_sum(ct, sorted(summed)) if summed else ct, x, axes=ones)


def _dot_x(
    ct: Any, x: UndefPrimal, y: Any, *, dimension_numbers: p.DotDimensionNumbers, **params: Any
) -> Any:
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    free_of_y = x.aval.ndim - len(x_contract)  # the first free axis of y in ct
    operand, other = (x.aval.ndim, x_contract, x_batch), (typeof(y).ndim, y_contract, y_batch)
    numbers, permutation = _dot_back(free_of_y, operand, other)
    return astype(transpose(dot_general(ct, y, numbers, **params), permutation), x.aval.dtype)


def _dot_y(
    ct: Any, x: Any, y: UndefPrimal, *, dimension_numbers: p.DotDimensionNumbers, **params: Any
) -> Any:
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    free_of_x = len(x_batch)
    operand, other = (y.aval.ndim, y_contract, y_batch), (typeof(x).ndim, x_contract, x_batch)
    numbers, permutation = _dot_back(free_of_x, operand, other)
    return astype(transpose(dot_general(ct, x, numbers, **params), permutation), y.aval.dtype)


@lru_cache(maxsize=4096)
def _dot_back(
    begin: int, operand: tuple[int, Shape, Shape], other: tuple[int, Shape, Shape]
) -> tuple[p.DotDimensionNumbers, list[int]]:
    """Transpose a product in one operand: from the result's cotangent to the operand's.

    The axes of the cotangent of the result are batch axes, free axes of the first operand, free
    axes of the second. It is multiplied with the other operand, whose free axes, from axis `begin`
    on, are contracted. Then the axes are permuted to the operand's order.

    Arguments:
        begin: the axis of that cotangent at which the free axes of the other operand begin.
        operand: the number of its axes, its contracted axes and its batch axes.
        other: the same for the other operand.

    Returns:
        The dimension numbers of that product, and the permutation of its axes.
    """
    (ndim, contract, batch), (_, other_contract, other_batch) = operand, other
    other_free = p.free_axes(*other)
    contracted = tuple(range(begin, begin + len(other_free)))
    numbers = ((contracted, other_free), (tuple(range(len(batch))), other_batch))
    # The axes of the product: batch, free, and contracted ones in the other operand's order.
    own = [contract[other_contract.index(axis)] for axis in sorted(other_contract)]
    return numbers, _inverse([*batch, *p.free_axes(ndim, contract, batch), *own])


def _inverse(permutation: Sequence[int]) -> list[int]:
    return sorted(range(len(permutation)), key=permutation.__getitem__)


deftranspose(p.neg_p, lambda ct, x: neg(ct))

deftranspose(p.add_p, lambda ct, x, y: ct, lambda ct, x, y: ct, jointly=True)
deftranspose(p.sub_p, lambda ct, x, y: ct, lambda ct, x, y: neg(ct), jointly=True)
deftranspose(p.mul_p, lambda ct, x, y: mul(ct, y), lambda ct, x, y: mul(x, ct))
deftranspose(p.div_p, lambda ct, x, y: div(ct, y), None)

# The formulas of a selection take the cotangent with a zero, which both cases share.
deftranspose(
    p.select_n_p,
    None,
    lambda ct_and_zero, which, x, y: select_n(which, *ct_and_zero),
    lambda ct_and_zero, which, x, y: select_n(which, *reversed(ct_and_zero)),
    jointly=True,
)
_select_back = transpose_rules[p.select_n_p]
transpose_rules[p.select_n_p] = lambda cts, *operands: _select_back(
    [(cts[0], full_like(cts[0], 0))], *operands
)
deftranspose(p.convert_element_type_p, lambda ct, x, **params: astype(ct, x.aval.dtype))

deftranspose(p.reduce_sum_p, _broadcast_back)
deftranspose(p.transpose_p, lambda ct, x, *, permutation: transpose(ct, _inverse(permutation)))
deftranspose(p.reshape_p, lambda ct, x, *, new_sizes: reshape(ct, x.aval.shape))
deftranspose(p.broadcast_in_dim_p, _sum_back)
deftranspose(p.dot_general_p, _dot_x, _dot_y)
