"""Rules for unreduced and reduced operands: the state of results, from the types of operands.

Only a linear operation can be applied to the parts of an unreduced array one by one: the sum of
its results is its result of the sum. By default a primitive is taken to be nonlinear. Any operation
can be applied to reduced operands; its result is reduced over the same axes.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from glassjax.errors import ShardingTypeError
from glassjax.shardings import types as sharded
from glassjax.shardings.reduction import Reduction
from glassjax_stage2 import Primitive, ShapedArray
from glassjax_stage2 import primitives as p
from glassjax_stage2.shaped_array import is_inexact
from glassjax_stage4.stop_gradient import stop_gradient_p

Avals = Sequence[ShapedArray]
States = Sequence[Reduction]
Names = frozenset[Hashable]

# The way out of errors.
COMBINE = "Combine the parts first, by sharding.reshard, or lax.psum in a shard_map"


def nonlinear(
    primitive: Primitive, in_avals: Avals, states: States, params: dict[str, Any]
) -> Reduction:
    """The rule of a primitive that is not linear in its operands: these must be complete."""
    if any(state.unreduced for state in states):
        raise ShardingTypeError(
            f"{primitive} of {sharded.listed(in_avals)}: it is not linear, so it cannot be applied "
            f"to the parts of an unreduced array. {COMBINE}"
        )
    return Reduction(reduced=_reduced(primitive, in_avals, states))


def linear(
    primitive: Primitive, in_avals: Avals, states: States, params: dict[str, Any]
) -> Reduction:
    """The rule of a primitive that is linear in its operands together, as a sum."""
    parts = [*dict.fromkeys([state.unreduced for state in states])]
    if len(parts) > 1:
        raise ShardingTypeError(
            f"{primitive} of {sharded.listed(in_avals)}: the operands must be unreduced over the "
            f"same mesh axes, or none, since all parts are combined at once. {COMBINE}"
        )
    return Reduction(parts[0], _reduced(primitive, in_avals, states))


def linear_in_first(
    primitive: Primitive, in_avals: Avals, states: States, params: dict[str, Any]
) -> Reduction:
    """The rule of a primitive that is linear in its first operand; the others are parameters."""
    nonlinear(primitive, in_avals[1:], states[1:], params)
    return linear(primitive, in_avals[:1], states[:1], params)


def as_operands(
    primitive: Primitive, in_avals: Avals, states: States, params: dict[str, Any]
) -> list[Reduction]:
    """The rule of a primitive that returns each operand."""
    return list(states)


def bilinear(
    primitive: Primitive, in_avals: Avals, states: States, params: dict[str, Any]
) -> Reduction:
    """The rule of a product: one operand may be unreduced, if the other is reduced as much."""
    x, y = states
    if not (x.unreduced or y.unreduced):
        return nonlinear(primitive, in_avals, states, params)
    if x.unreduced and y.unreduced:
        raise ShardingTypeError(
            f"{primitive} of {sharded.listed(in_avals)}: a product of sums is not the sum of "
            f"products of parts, so only one operand can be unreduced. {COMBINE}"
        )
    parts, factor, factor_type = (x, y, in_avals[1]) if x.unreduced else (y, x, in_avals[0])
    if parts.unreduced != factor.reduced or parts.reduced:
        raise ShardingTypeError(
            f"{primitive} of {sharded.listed(in_avals)}: {factor_type} must be reduced over "
            f"{_axes_text(parts.unreduced)}, as it multiplies the parts on all devices along it. "
            f"Use sharding.reshard(x, P(..., reduced={{{_axes_text(parts.unreduced)}}})); or "
            f"{COMBINE[0].lower()}{COMBINE[1:]}"
        )
    return parts


def _division(
    primitive: Primitive, in_avals: Avals, states: States, params: dict[str, Any]
) -> Reduction:
    nonlinear(primitive, in_avals[1:], states[1:], params)
    return bilinear(primitive, in_avals, states, params)


def _dot_general(
    primitive: Primitive, in_avals: Avals, states: States, params: dict[str, Any]
) -> Reduction:
    """Complete, unless both operands are reduced: a weight may be, and the examples sharded."""
    x, y = states
    nonlinear(primitive, in_avals[:1], [x], params)
    nonlinear(primitive, in_avals[1:], [y], params)
    return Reduction(reduced=x.reduced & y.reduced)


def _conversion(
    primitive: Primitive, in_avals: Avals, states: States, params: dict[str, Any]
) -> Reduction:
    """Linear, up to rounding, unless it truncates."""
    inexact = [is_inexact(in_avals[0].dtype), is_inexact(params["new_dtype"])]
    rule = nonlinear if inexact == [True, False] or params["new_dtype"] == np.bool_ else linear
    return rule(primitive, in_avals, states, params)


def selection(
    primitive: Primitive, in_avals: Avals, states: States, params: dict[str, Any]
) -> Reduction:
    if states[0].unreduced:
        nonlinear(primitive, in_avals[:1], states[:1], params)
    return linear(primitive, in_avals[1:], states[1:], params)


def _axes_used(aval: ShapedArray) -> Names:
    """The mesh axes along which devices hold different parts of an array."""
    axes = {name for axes in sharded.spec_of(aval) for name in axes}
    return frozenset(axes) | getattr(aval, "vma", frozenset())


def _reduced(primitive: Primitive, in_avals: Avals, states: States) -> Names:
    """The mesh axes over which all operands are reduced.

    Scalars are converted implicitly, as for sharding.

    Raises:
        ShardingTypeError: an operand is reduced, and another one is not.
    """
    found = dict.fromkeys([state.reduced for state in states if state.reduced])
    if not found:
        return frozenset()
    wanted, *others = found
    for aval, state in zip(in_avals, states, strict=True):
        if others or (state.reduced != wanted and (aval.ndim or _axes_used(aval) & wanted)):
            raise ShardingTypeError(
                f"{primitive} of {sharded.listed(in_avals)}: all operands must be reduced over the "
                f"same mesh axes, as one is over {_axes_text(wanted)}. Give all the same state by "
                "sharding.reshard; where another operand is sharded, shard the reduced one, too"
            )
    return wanted


def _axes_text(names: Names) -> str:
    return sharded.axes_text(tuple(sorted(names, key=str)))


for primitive in (p.neg_p, p.add_p, p.sub_p, p.reduce_sum_p, stop_gradient_p):
    sharded.reduction_rules[primitive] = linear
for primitive in (p.transpose_p, p.reshape_p, p.broadcast_in_dim_p):
    sharded.reduction_rules[primitive] = linear
sharded.reduction_rules[p.mul_p] = bilinear
sharded.reduction_rules[p.div_p] = _division
sharded.reduction_rules[p.dot_general_p] = _dot_general
sharded.reduction_rules[p.convert_element_type_p] = _conversion
sharded.reduction_rules[p.select_n_p] = selection
