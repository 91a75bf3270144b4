"""Sharding rules: the shardings of results, from the types of operands."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from glassjax.errors import ShardingTypeError
from glassjax.shardings import types as sharded
from glassjax_stage2 import Primitive, ShapedArray
from glassjax_stage2 import primitives as p
from glassjax_stage2.primitives import free_axes
from glassjax_stage2.shaped_array import Shape
from glassjax_stage4.stop_gradient import stop_gradient_p


def agreed(
    caller: Any, in_avals: Sequence[ShapedArray], columns: Iterable[Iterable[sharded.Axes]]
) -> sharded.Spec:
    """The common sharding of operands; some may be unsharded along an axis.

    Raises:
        ShardingTypeError: two operands conflict.
    """
    spec = []
    for number, column in enumerate(columns):
        found = [*dict.fromkeys(axes for axes in column if axes)]
        if len(found) > 1:
            raise ShardingTypeError(
                f"{caller} of {sharded.listed(in_avals)}: the operands are sharded differently "
                "along axis "
                f"{number}, over {sharded.axes_text(found[0])} and over "
                f"{sharded.axes_text(found[1])}. Give both "
                "the same "
                "sharding by sharding.reshard"
            )
        spec.append(found[0] if found else ())
    return tuple(spec)


def require_whole(
    caller: Any, aval: ShapedArray, axes: Iterable[int], why: str, remedy: str = ""
) -> None:
    """Raise an error if one of these axes is sharded.

    Raises:
        ShardingTypeError: it is.
    """
    for axis in axes:
        if names := sharded.spec_of(aval)[axis]:
            raise ShardingTypeError(
                f"{caller} of {aval}: axis {axis} is sharded over {sharded.axes_text(names)}, and "
                f"{why}. " + (remedy or "Replicate it first by sharding.reshard")
            )


def by_elements(primitive: Primitive) -> sharded.ShardingRule:
    """The rule of a primitive with operands and results of one shape, and scalars.

    >>> from glassjax import core, sharding
    >>> mesh = sharding.AbstractMesh((4,), ("x",), (sharding.AxisType.Explicit,))
    >>> rows = sharding.NamedSharding(mesh, glassjax.P("x"))
    >>> x = glassjax.ShapeDtypeStruct((8, 2), "float32", sharding=rows).to_aval()
    >>> core.by_elements(core.Primitive("halve"))([x], [x], {})
    [(('x',), ())]
    """

    def elementwise_sharding(
        in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> list[sharded.Spec]:
        full_avals = [aval for aval in in_avals if aval.ndim]
        spec = agreed(primitive, in_avals, zip(*map(sharded.spec_of, full_avals), strict=True))
        return [spec] * len(out_avals)

    return elementwise_sharding


def by_reduction(primitive: Primitive, *roles: str) -> sharded.ShardingRule:
    """The rule of a primitive that removes axes of its operands, named by parameters.

    >>> from glassjax import core, sharding
    >>> mesh = sharding.AbstractMesh((4,), ("x",), (sharding.AxisType.Explicit,))
    >>> rows = sharding.NamedSharding(mesh, glassjax.P("x"))
    >>> x = glassjax.ShapeDtypeStruct((8, 2), "float32", sharding=rows).to_aval()
    >>> rule = core.by_reduction(core.Primitive("longest"), "axes")
    >>> rule([x], [core.ShapedArray((2,), x.dtype)], {"axes": (0,)})
    [((),)]
    """

    def reduction_sharding(
        in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> list[sharded.Spec]:
        dropped = _axes_named(params, roles)
        merged = agreed(primitive, in_avals, zip(*map(sharded.spec_of, in_avals), strict=True))
        spec = tuple(axes for axis, axes in enumerate(merged) if axis not in dropped)
        return [spec] * len(out_avals)

    return reduction_sharding


def by_lines(primitive: Primitive, *roles: str) -> sharded.ShardingRule:
    """The rule of a primitive that works along axes, named by parameters.

    These must not be sharded; along all others operands and results have the same sharding.

    >>> from glassjax import core, sharding
    >>> mesh = sharding.AbstractMesh((4,), ("x",), (sharding.AxisType.Explicit,))
    >>> rows = sharding.NamedSharding(mesh, glassjax.P("x"))
    >>> x = glassjax.ShapeDtypeStruct((8, 2), "float32", sharding=rows).to_aval()
    >>> core.by_lines(core.Primitive("integral"), "axis")([x], [x], {"axis": 1})
    [(('x',), ())]
    """

    def lines_sharding(
        in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> list[sharded.Spec]:
        for aval in in_avals:
            require_whole(primitive, aval, _axes_named(params, roles), "it works along that axis")
        spec = agreed(primitive, in_avals, zip(*map(sharded.spec_of, in_avals), strict=True))
        return [spec] * len(out_avals)

    return lines_sharding


def _axes_named(params: dict[str, Any], roles: Iterable[str]) -> set[int]:
    named = [params[role] for role in roles]
    return {axis for each in named for axis in (each if isinstance(each, Sequence) else (each,))}


def by_batch(primitive: Primitive, *counts: int) -> sharded.ShardingRule:
    """The rule of a primitive that works on the last axes of its operands.

    Along the others, which come first, operands and results have the same sharding.

    Arguments:
        primitive: the primitive.
        counts: the number of last axes for each operand; the last number applies to all others.

    >>> from glassjax import core, sharding
    >>> mesh = sharding.AbstractMesh((4,), ("x",), (sharding.AxisType.Explicit,))
    >>> rows = sharding.NamedSharding(mesh, glassjax.P("x"))
    >>> x = glassjax.ShapeDtypeStruct((8, 2), "float32", sharding=rows).to_aval()
    >>> core.by_batch(core.Primitive("length"), 1)([x], [core.ShapedArray((8,), x.dtype)], {})
    [(('x',),)]
    """

    def batch_sharding(
        in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> list[sharded.Spec]:
        leading = []
        for number, aval in enumerate(in_avals):
            first = aval.ndim - counts[min(number, len(counts) - 1)]
            require_whole(primitive, aval, range(first, aval.ndim), "it works on all of that axis")
            leading.append(sharded.spec_of(aval)[:first])
        spec = agreed(primitive, in_avals, zip(*leading, strict=True))
        return [spec + ((),) * (out.ndim - len(spec)) for out in out_avals]

    return batch_sharding


def as_operands(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[sharded.Spec]:
    """The rule of a primitive that returns each operand."""
    return [sharded.spec_of(aval) for aval in in_avals]


def as_first(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[sharded.Spec]:
    """The rule of a primitive whose results are sharded like its first operand, axis by axis.

    The sizes of axes may differ, so the results may not fit, which is an error.
    """
    return [sharded.spec_of(in_avals[0])] * len(out_avals)


def as_any(primitive: Primitive) -> sharded.ShardingRule:
    """As `as_first`, for operands with as many axes as the results; they must agree."""

    def shared_sharding(
        in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> list[sharded.Spec]:
        alike = [sharded.spec_of(aval) for aval in in_avals if aval.ndim == out_avals[0].ndim]
        return [agreed(primitive, in_avals, zip(*alike, strict=True))] * len(out_avals)

    return shared_sharding


def by_types(types: Callable[..., Sequence[ShapedArray]]) -> sharded.ShardingRule:
    """The rule of a primitive that computes a function, whose `types_by` rule infers the types."""

    def inferred_sharding(
        in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> list[sharded.Spec]:
        return [sharded.spec_of(out) for out in types(*in_avals, **params)]

    return inferred_sharding


def whole(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[sharded.Spec]:
    """The rule of a primitive whose results are not sharded, whatever its operands."""
    return [((),) * out.ndim for out in out_avals]


# The sharding rules of the primitives that the stages declare.


Avals = Sequence[ShapedArray]


def _transpose_sharding(
    in_avals: Avals, out_avals: Avals, params: dict[str, Any]
) -> list[sharded.Spec]:
    return [tuple([sharded.spec_of(in_avals[0])[axis] for axis in params["permutation"]])]


def _broadcast_sharding(
    in_avals: Avals, out_avals: Avals, params: dict[str, Any]
) -> list[sharded.Spec]:
    (x,), (out,) = in_avals, out_avals
    spec: list[sharded.Axes] = [()] * out.ndim
    for axis, target in enumerate(params["broadcast_dimensions"]):
        # An axis of size 1 that is broadcast has the same element on all devices.
        if x.shape[axis] == out.shape[target]:
            spec[target] = sharded.spec_of(x)[axis]
    return [tuple(spec)]


def _dot_general_sharding(
    in_avals: Avals, out_avals: Avals, params: dict[str, Any]
) -> list[sharded.Spec]:
    """The shardings of the batch axes, then of the rows, then of the columns.

    Raises:
        ShardingTypeError: both operands are sharded along an axis that is summed over, so that
            the sharding of the sum is ambiguous.
    """
    x, y = in_avals
    (x_contract, y_contract), (x_batch, y_batch) = params["dimension_numbers"]
    x_spec, y_spec = sharded.spec_of(x), sharded.spec_of(y)
    for mine, other in zip(x_contract, y_contract, strict=True):
        if x_spec[mine] and y_spec[other]:
            raise ShardingTypeError(
                f"dot_general of {sharded.listed(in_avals)}: both are sharded along axes that are "
                "summed "
                f"over, over {sharded.axes_text(x_spec[mine])} and "
                f"{sharded.axes_text(y_spec[other])}, so the "
                "sharding of the "
                "sum is ambiguous. Pass out_sharding=P(...), or replicate one operand by "
                "sharding.reshard"
            )
    pairs = [(x_spec[i], y_spec[j]) for i, j in zip(x_batch, y_batch, strict=True)]
    batch = agreed(p.dot_general_p, in_avals, pairs)
    rows = [x_spec[axis] for axis in free_axes(x.ndim, x_contract, x_batch)]
    columns = [y_spec[axis] for axis in free_axes(y.ndim, y_contract, y_batch)]
    return [(*batch, *rows, *columns)]


def _reshape_sharding(
    in_avals: Avals, out_avals: Avals, params: dict[str, Any]
) -> list[sharded.Spec]:
    """The shardings of axes that are split or merged.

    When an axis is split, its outermost parts keep its mesh axes. A merged axis is sharded if the
    first of the merged axes is, and not only a later one. Axes of size 1 that are added or removed
    are not sharded, not even over a mesh axis with one device.

    Raises:
        ShardingTypeError: an axis has another sharding.
    """
    (x,), (out,) = in_avals, out_avals
    larger = [axis for axis in range(x.ndim) if x.shape[axis] != 1]
    if [x.shape[axis] for axis in larger] == [size for size in out.shape if size != 1]:
        kept = iter([sharded.spec_of(x)[axis] for axis in larger])
        return [tuple([() if size == 1 else next(kept) for size in out.shape])]
    spec: list[sharded.Axes] = []
    for olds, news in _groups(x.shape, out.shape):
        names = [sharded.spec_of(x)[axis] for axis in olds if x.shape[axis] > 1]
        sizes = [out.shape[axis] for axis in news]
        if len(olds) == len(news) == 1:
            spec.append(sharded.spec_of(x)[olds[0]])
        elif not any(names):
            spec += [()] * len(news)
        elif len(names) == 1:
            spec += _split_axes(x, names[0], sizes)
        elif sum(size > 1 for size in sizes) == 1 and all(names[: sum(map(bool, names))]):
            merged = tuple([name for axes in names for name in axes])
            spec += [merged if size > 1 else () for size in sizes]
        else:
            raise ShardingTypeError(
                f"reshape of {x} to {out.shape}: the sharding of the result is ambiguous. "
                "Pass out_sharding=P(...), if the function has it, or replicate the operand by "
                "sharding.reshard"
            )
    return [tuple(spec)]


def _split_axes(
    x: ShapedArray, names: sharded.Axes, sizes: Sequence[int]
) -> Iterator[sharded.Axes]:
    """For each of the sizes into which an axis is split, its mesh axes."""
    shape = x.sharding.mesh.shape  # type: ignore[attr-defined]
    left = list(names)
    for size in sizes:
        taken = []
        while left and size > 1 and size % shape[left[0]] == 0:
            size //= shape[left[0]]
            taken.append(left.pop(0))
        if left and size > 1:
            raise ShardingTypeError(
                f"reshape of {x}: {sharded.axes_text(names)} cannot shard axes of sizes "
                f"{tuple(sizes)} as "
                "they "
                "shard the axis that is split. Pass out_sharding=P(...), or replicate the operand "
                "by sharding.reshard"
            )
        yield tuple(taken)


def _groups(old: Shape, new: Shape) -> list[tuple[list[int], list[int]]]:
    """The axes of two shapes of one size, in minimal groups of equal sizes."""
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
        if i < len(old) and j < len(new) and old[i] == new[j]:  # axes of size 1, too
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
    sharded.sharding_rules[primitive] = by_elements(primitive)
for primitive in (p.select_n_p, p.convert_element_type_p, stop_gradient_p):
    sharded.sharding_rules[primitive] = by_elements(primitive)

sharded.sharding_rules[p.reduce_sum_p] = by_reduction(p.reduce_sum_p, "axes")
sharded.sharding_rules[p.transpose_p] = _transpose_sharding
sharded.sharding_rules[p.broadcast_in_dim_p] = _broadcast_sharding
sharded.sharding_rules[p.dot_general_p] = _dot_general_sharding
sharded.sharding_rules[p.reshape_p] = _reshape_sharding
