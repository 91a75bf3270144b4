"""Sharding rules: how the results of primitives are divided, by the types of their operands."""

from collections.abc import Iterable, Sequence
from typing import Any

from minijax.errors.classes import ShardingTypeError
from minijax.shardings.types import Axes, Division, ShardingRule, division_of, listed, said
from minijax_stage2 import Primitive, ShapedArray


def agreed(
    caller: Any, in_avals: Sequence[ShapedArray], columns: Iterable[Iterable[Axes]]
) -> Division:
    """The division on which operands agree, of which some may say nothing about an axis.

    Raises:
        ShardingTypeError: two say different things.
    """
    division = []
    for number, column in enumerate(columns):
        found = [*dict.fromkeys(axes for axes in column if axes)]
        if len(found) > 1:
            raise ShardingTypeError(
                f"{caller} of {listed(in_avals)}: the operands are divided differently along axis "
                f"{number}, by {said(found[0])} and by {said(found[1])}. Bring one into the "
                "division of the other by sharding.reshard"
            )
        division.append(found[0] if found else ())
    return tuple(division)


def require_whole(
    caller: Any, aval: ShapedArray, axes: Iterable[int], why: str, remedy: str = ""
) -> None:
    """Raise an error if one of these axes is divided.

    Raises:
        ShardingTypeError: it is.
    """
    for axis in axes:
        if names := division_of(aval)[axis]:
            raise ShardingTypeError(
                f"{caller} of {aval}: axis {axis} is divided by {said(names)}, and {why}. "
                + (remedy or "Bring it together first by sharding.reshard")
            )


def by_elements(primitive: Primitive) -> ShardingRule:
    """The rule of a primitive of operands of one shape, or scalars, and results of that shape.

    >>> from minijax import core, sharding
    >>> mesh = sharding.AbstractMesh((4,), ("x",), (sharding.AxisType.Explicit,))
    >>> rows = sharding.NamedSharding(mesh, minijax.P("x"))
    >>> x = minijax.ShapeDtypeStruct((8, 2), "float32", sharding=rows).to_aval()
    >>> core.by_elements(core.Primitive("halve"))([x], [x], {})
    [(('x',), ())]
    """

    def rule(
        in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> list[Division]:
        of_shape = [aval for aval in in_avals if aval.ndim]
        division = agreed(primitive, in_avals, zip(*map(division_of, of_shape), strict=True))
        return [division] * len(out_avals)

    return rule


def by_reduction(primitive: Primitive, *roles: str) -> ShardingRule:
    """The rule of a primitive that removes axes of its operands, which these parameters name.

    >>> from minijax import core, sharding
    >>> mesh = sharding.AbstractMesh((4,), ("x",), (sharding.AxisType.Explicit,))
    >>> rows = sharding.NamedSharding(mesh, minijax.P("x"))
    >>> x = minijax.ShapeDtypeStruct((8, 2), "float32", sharding=rows).to_aval()
    >>> rule = core.by_reduction(core.Primitive("longest"), "axes")
    >>> rule([x], [core.ShapedArray((2,), x.dtype)], {"axes": (0,)})
    [((),)]
    """

    def rule(
        in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> list[Division]:
        dropped = _axes_named(params, roles)
        merged = agreed(primitive, in_avals, zip(*map(division_of, in_avals), strict=True))
        division = tuple(axes for axis, axes in enumerate(merged) if axis not in dropped)
        return [division] * len(out_avals)

    return rule


def by_lines(primitive: Primitive, *roles: str) -> ShardingRule:
    """The rule of a primitive that works along axes, which these parameters name.

    These must not be divided; along all others operands and results are divided alike.

    >>> from minijax import core, sharding
    >>> mesh = sharding.AbstractMesh((4,), ("x",), (sharding.AxisType.Explicit,))
    >>> rows = sharding.NamedSharding(mesh, minijax.P("x"))
    >>> x = minijax.ShapeDtypeStruct((8, 2), "float32", sharding=rows).to_aval()
    >>> core.by_lines(core.Primitive("integral"), "axis")([x], [x], {"axis": 1})
    [(('x',), ())]
    """

    def rule(
        in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> list[Division]:
        for aval in in_avals:
            require_whole(primitive, aval, _axes_named(params, roles), "it works along that axis")
        division = agreed(primitive, in_avals, zip(*map(division_of, in_avals), strict=True))
        return [division] * len(out_avals)

    return rule


def _axes_named(params: dict[str, Any], roles: Iterable[str]) -> set[int]:
    named = [params[role] for role in roles]
    return {axis for each in named for axis in (each if isinstance(each, Sequence) else (each,))}


def by_batch(primitive: Primitive, *counts: int) -> ShardingRule:
    """The rule of a primitive that works on the last axes of its operands.

    Along the others, which come first, operands and results are divided alike.

    Arguments:
        counts: the number of last axes for each operand; the last number is that of all others.

    >>> from minijax import core, sharding
    >>> mesh = sharding.AbstractMesh((4,), ("x",), (sharding.AxisType.Explicit,))
    >>> rows = sharding.NamedSharding(mesh, minijax.P("x"))
    >>> x = minijax.ShapeDtypeStruct((8, 2), "float32", sharding=rows).to_aval()
    >>> core.by_batch(core.Primitive("length"), 1)([x], [core.ShapedArray((8,), x.dtype)], {})
    [(('x',),)]
    """

    def rule(
        in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> list[Division]:
        leading = []
        for number, aval in enumerate(in_avals):
            first = aval.ndim - counts[min(number, len(counts) - 1)]
            require_whole(primitive, aval, range(first, aval.ndim), "it works on all of that axis")
            leading.append(division_of(aval)[:first])
        division = agreed(primitive, in_avals, zip(*leading, strict=True))
        return [division + ((),) * (out.ndim - len(division)) for out in out_avals]

    return rule


def as_operands(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[Division]:
    """The rule of a primitive that returns each operand."""
    return [division_of(aval) for aval in in_avals]


def as_first(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[Division]:
    """The rule of a primitive whose results are divided along each axis as its first operand is.

    The sizes of axes may differ, so the results may not fit, which is an error.
    """
    return [division_of(in_avals[0])] * len(out_avals)


def as_any(primitive: Primitive) -> ShardingRule:
    """As `as_first`, for operands of as many axes as the results, which have to agree."""

    def rule(
        in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> list[Division]:
        alike = [division_of(aval) for aval in in_avals if aval.ndim == out_avals[0].ndim]
        return [agreed(primitive, in_avals, zip(*alike, strict=True))] * len(out_avals)

    return rule


def whole(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[Division]:
    """The rule of a primitive whose results are not divided, whatever its operands."""
    return [((),) * out.ndim for out in out_avals]
