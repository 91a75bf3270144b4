"""The sharding rules of the primitives that the stages declare."""

from collections.abc import Iterator, Sequence
from typing import Any

from minijax.errors.classes import ShardingTypeError
from minijax.primitives.sharding_rules import agreed, by_elements, by_reduction
from minijax.shardings.types import (
    Axes,
    Division,
    division_of,
    listed,
    said,
    sharding_rules,
)
from minijax_stage2 import ShapedArray
from minijax_stage2 import primitives as p
from minijax_stage2.primitives import free_axes
from minijax_stage2.shaped_array import Shape
from minijax_stage4.stop_gradient import stop_gradient_p

Avals = Sequence[ShapedArray]


def _transposed(in_avals: Avals, out_avals: Avals, params: dict[str, Any]) -> list[Division]:
    return [tuple([division_of(in_avals[0])[axis] for axis in params["permutation"]])]


def _broadcast(in_avals: Avals, out_avals: Avals, params: dict[str, Any]) -> list[Division]:
    (x,), (out,) = in_avals, out_avals
    division: list[Axes] = [()] * out.ndim
    for axis, target in enumerate(params["broadcast_dimensions"]):
        if x.shape[axis] == out.shape[target]:
            division[target] = division_of(x)[axis]
    return [tuple(division)]


def _contracted(in_avals: Avals, out_avals: Avals, params: dict[str, Any]) -> list[Division]:
    """The axes of the batch, those of the rows, those of the columns.

    Raises:
        ShardingTypeError: both operands are divided along an axis that is summed over, so that
            the sum could be left on any of the devices.
    """
    x, y = in_avals
    (x_contract, y_contract), (x_batch, y_batch) = params["dimension_numbers"]
    of_x, of_y = division_of(x), division_of(y)
    for mine, other in zip(x_contract, y_contract, strict=True):
        if of_x[mine] and of_y[other]:
            raise ShardingTypeError(
                f"dot_general of {listed(in_avals)}: both are divided along axes that are summed "
                f"over, by {said(of_x[mine])} and by {said(of_y[other])}, so it is open how the "
                "sum is to be divided. Say it by out_sharding=P(...), or bring one operand "
                "together by sharding.reshard"
            )
    pairs = [(of_x[i], of_y[j]) for i, j in zip(x_batch, y_batch, strict=True)]
    batch = agreed(p.dot_general_p, in_avals, pairs)
    rows = [of_x[axis] for axis in free_axes(x.ndim, x_contract, x_batch)]
    columns = [of_y[axis] for axis in free_axes(y.ndim, y_contract, y_batch)]
    return [(*batch, *rows, *columns)]


def _reshaped(in_avals: Avals, out_avals: Avals, params: dict[str, Any]) -> list[Division]:
    """The axes of an array that are split or merged.

    An axis of the mesh goes on dividing the outermost axis that it divided. A merged axis is
    divided if that is so of the first of those merged, and of no later one alone. Axes of size 1
    that come or go have no division, not even by an axis of the mesh with one device.

    Raises:
        ShardingTypeError: an axis is divided otherwise.
    """
    (x,), (out,) = in_avals, out_avals
    larger = [axis for axis in range(x.ndim) if x.shape[axis] != 1]
    if [x.shape[axis] for axis in larger] == [size for size in out.shape if size != 1]:
        kept = iter([division_of(x)[axis] for axis in larger])
        return [tuple([() if size == 1 else next(kept) for size in out.shape])]
    division: list[Axes] = []
    for olds, news in _groups(x.shape, out.shape):
        names = [division_of(x)[axis] for axis in olds if x.shape[axis] > 1]
        sizes = [out.shape[axis] for axis in news]
        if len(olds) == len(news) == 1:
            division.append(division_of(x)[olds[0]])
        elif not any(names):
            division += [()] * len(news)
        elif len(names) == 1:
            division += _split(x, names[0], sizes)
        elif sum(size > 1 for size in sizes) == 1 and all(names[: sum(map(bool, names))]):
            merged = tuple([name for axes in names for name in axes])
            division += [merged if size > 1 else () for size in sizes]
        else:
            raise ShardingTypeError(
                f"reshape of {x} to {out.shape}: it is open how the result is to be divided. Say "
                "it by out_sharding=P(...), where the function has it, or bring the operand "
                "together by sharding.reshard"
            )
    return [tuple(division)]


def _split(x: ShapedArray, names: Axes, sizes: Sequence[int]) -> Iterator[Axes]:
    """For each of the sizes into which an axis is split, the axes of the mesh that divide it."""
    shape = x.sharding.mesh.shape  # type: ignore[attr-defined]
    left = list(names)
    for size in sizes:
        taken = []
        while left and size > 1 and size % shape[left[0]] == 0:
            size //= shape[left[0]]
            taken.append(left.pop(0))
        if left and size > 1:
            raise ShardingTypeError(
                f"reshape of {x}: {said(names)} cannot divide axes of sizes {tuple(sizes)} as they "
                "divide the one that these are made of. Say by out_sharding=P(...) how the result "
                "is to be divided, or bring the operand together by sharding.reshard"
            )
        yield tuple(taken)


def _groups(old: Shape, new: Shape) -> list[tuple[list[int], list[int]]]:
    """The axes of two shapes of one size in groups, as few as can be of which sizes agree."""
    if 0 in old:
        return (
            [([*range(len(old))], [*range(len(new))])]
            if old != new
            else [([axis], [axis]) for axis in range(len(old))]
        )
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        olds: list[int] = []
        news: list[int] = []
        left = right = 1
        if i < len(old) and j < len(new) and old[i] == new[j]:  # of size 1, too
            groups.append(([i], [j]))
            i, j = i + 1, j + 1
            continue
        while left != right or not (olds or news):
            if j >= len(new) or (i < len(old) and left <= right):
                olds.append(i)
                left *= old[i]
                i += 1
            else:
                news.append(j)
                right *= new[j]
                j += 1
        groups.append((olds, news))
    return groups


for primitive in (*p.UNARY, *p.ARITHMETIC, *p.COMPARISONS):
    sharding_rules[primitive] = by_elements(primitive)
for primitive in (p.select_n_p, p.convert_element_type_p, stop_gradient_p):
    sharding_rules[primitive] = by_elements(primitive)

sharding_rules[p.reduce_sum_p] = by_reduction(p.reduce_sum_p, "axes")
sharding_rules[p.transpose_p] = _transposed
sharding_rules[p.broadcast_in_dim_p] = _broadcast
sharding_rules[p.dot_general_p] = _contracted
sharding_rules[p.reshape_p] = _reshaped
