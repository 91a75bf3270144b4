"""The costs of primitives. A product and its sum count as two operations, any other as one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from minijax.experimental.roofline.roofline import (
    RooflineResult,
    RooflineRuleContext,
    RooflineShape,
    Rule,
    register_roofline,
    register_standard_roofline,
)
from minijax.lax.indexing.dimension_numbers import GatherScatterMode
from minijax.lax.primitive_names import all_primitives

Context = RooflineRuleContext

_ELEMENTWISE = """
    abs acos asin atan cbrt ceil cos cosh exp exp2 expm1 floor imag integer_pow is_finite log log2
    log1p logistic neg not real round rsqrt sign sin sinh sqrt tan bessel_i0e bessel_i1e digamma
    erf_inv erf erfc lgamma add sub mul div rem and or xor gt lt ge le eq ne min max
"""
_CUMULATIVE = "cummax cummin cumprod cumsum cumlogsumexp"
_SCATTERS = "scatter_add scatter_max scatter_min scatter_mul"
_BY_NAME = {primitive.name: primitive for primitive in all_primitives()}

for _primitive in all_primitives():
    register_standard_roofline(_primitive)


def _rule(names: str) -> Callable[[Rule], Rule]:
    """Decorator: the function is the rule of these primitives."""

    def register(rule: Rule) -> Rule:
        for name in names.split():
            register_roofline(_BY_NAME[name])(rule)
        return rule

    return register


def _traffic(ctx: Context) -> int:
    """The bytes of the operands and of the results."""
    return RooflineShape.total_bytes(ctx.avals_in) + RooflineShape.total_bytes(ctx.avals_out)


@_rule(_ELEMENTWISE)
def _elementwise(ctx: Context, *operands: RooflineShape, **params: Any) -> RooflineResult:
    size = RooflineShape.from_aval(ctx.avals_out[0]).size
    return RooflineResult(unfused_flops=size, unfused_hbm_bytes=_traffic(ctx))


@_rule(_CUMULATIVE)
def _cumulative(ctx: Context, x: RooflineShape, *, axis: int, **params: Any) -> RooflineResult:
    steps = x.shape[axis] * (2 if ctx.primitive.name == "cumlogsumexp" else 1)
    return RooflineResult(unfused_flops=steps, unfused_hbm_bytes=_traffic(ctx))


@_rule("reduce_sum")
def _reduce_sum(
    ctx: Context, x: RooflineShape, *, axes: Sequence[int], **params: Any
) -> RooflineResult:
    out = RooflineShape.from_aval(ctx.avals_out[0])
    terms = math.prod(x.shape[axis] for axis in axes)
    return RooflineResult(unfused_flops=(terms - 1) * out.size, unfused_hbm_bytes=_traffic(ctx))


@_rule("select_n")
def _select_n(ctx: Context, which: RooflineShape, *cases: Any, **params: Any) -> RooflineResult:
    """A choice; the operands that it is made from are read in part only, and not counted."""
    out = RooflineShape.from_aval(ctx.avals_out[0])
    return RooflineResult(unfused_flops=out.size, unfused_hbm_bytes=which.bytes + out.bytes)


@_rule("dot_general")
def _dot_general(
    ctx: Context, lhs: RooflineShape, rhs: RooflineShape, *, dimension_numbers: Any, **params: Any
) -> RooflineResult:
    (contract, _), _ = dimension_numbers
    out = RooflineShape.from_aval(ctx.avals_out[0])
    flops = 2 * out.size * math.prod(lhs.shape[axis] for axis in contract)
    count = 0 if ctx.pin_lhs_in_vmem else lhs.bytes + out.bytes
    count += 0 if ctx.pin_rhs_in_vmem else rhs.bytes
    return RooflineResult(
        flops=flops, unfused_flops=flops, hbm_bytes=count, unfused_hbm_bytes=count
    )


@_rule("conv_general_dilated")
def _convolution(
    ctx: Context, lhs: RooflineShape, rhs: RooflineShape, *, window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]], lhs_dilation: Sequence[int], rhs_dilation: Sequence[int],
    dimension_numbers: Any, batch_group_count: int, **params: Any,
) -> RooflineResult:  # fmt: skip
    """Products with what is padded, or between the elements of a dilated input, do not count."""
    of_lhs, of_rhs, of_out = dimension_numbers
    out = RooflineShape.from_aval(ctx.avals_out[0])
    count = rhs.shape[of_rhs[1]] * out.shape[of_out[1]]
    count *= lhs.shape[of_lhs[0]] // batch_group_count
    for n, (stride, (low, _), spread, step) in enumerate(
        zip(window_strides, padding, lhs_dilation, rhs_dilation, strict=True), 2
    ):
        size = lhs.shape[of_lhs[n]]
        places = (
            o * stride + k * step - low
            for o in range(out.shape[of_out[n]])
            for k in range(rhs.shape[of_rhs[n]])
        )
        count *= sum(at % spread == 0 and 0 <= at // spread < size for at in places)
    return RooflineResult(unfused_flops=2 * count, unfused_hbm_bytes=_traffic(ctx))


@_rule("gather")
def _gather(
    ctx: Context, operand: RooflineShape, indices: RooflineShape, *, mode: Any, **params: Any
) -> RooflineResult:
    """Four operations for an index that is compared with the bounds, and one for each element."""
    out = RooflineShape.from_aval(ctx.avals_out[0])
    fills = mode is GatherScatterMode.FILL_OR_DROP
    return RooflineResult(
        unfused_flops=4 * indices.size + out.size if fills else 0,
        unfused_hbm_bytes=2 * out.bytes + indices.bytes,
    )


def _scattered(indices: RooflineShape, updates: RooflineShape) -> int:
    return 3 * updates.bytes + indices.bytes


@_rule("scatter")
def _scatter(
    ctx: Context, operand: RooflineShape, indices: RooflineShape, updates: RooflineShape,
    **params: Any,
) -> RooflineResult:  # fmt: skip
    return RooflineResult(unfused_hbm_bytes=_scattered(indices, updates))


@_rule(_SCATTERS)
def _scatter_by_operation(
    ctx: Context, operand: RooflineShape, indices: RooflineShape, updates: RooflineShape,
    **params: Any,
) -> RooflineResult:  # fmt: skip
    return RooflineResult(
        unfused_flops=updates.size, unfused_hbm_bytes=_scattered(indices, updates)
    )


@_rule("pure_callback io_callback debug_callback")
def _callback(ctx: Context, *operands: RooflineShape, **params: Any) -> RooflineResult:
    return RooflineResult(unfused_hbm_bytes=_traffic(ctx))


# Collectives, of devices in a torus.


def _between_devices(ctx: Context, count: float, steps: float) -> RooflineResult:
    return RooflineResult(
        ici_bytes={axis: int(count) for axis in ctx.axes},
        ici_latency={axis: int(steps) for axis in ctx.axes},
    )


def _sizes(ctx: Context) -> list[int]:
    if ctx.mesh is None:
        raise ValueError(
            f"roofline: the program has a collective, `{ctx.primitive}`, along {ctx.axes}; "
            "give the mesh"
        )
    return [ctx.mesh.shape[axis] for axis in ctx.axes]


def _ring(ctx: Context, part: float) -> RooflineResult:
    """Parts of this size go around a ring along each axis in turn, and become larger."""
    sizes = sorted(_sizes(ctx), reverse=True)
    if math.prod(sizes) <= 1:
        return _between_devices(ctx, 0, 0)
    part, count = part // len(sizes), 0.0
    for size in sizes:
        count += part * (size - 1)
        part *= size
    return _between_devices(ctx, count, sizes[0] * len(sizes))


@_rule("all_gather all_gather_invariant")
def _all_gather(ctx: Context, x: RooflineShape, **params: Any) -> RooflineResult:
    return _ring(ctx, x.bytes)


@_rule("psum_scatter")
def _psum_scatter(ctx: Context, x: RooflineShape, **params: Any) -> RooflineResult:
    return _ring(ctx, x.bytes / math.prod(_sizes(ctx)))


@_rule("psum")
def _psum(ctx: Context, x: RooflineShape, **params: Any) -> RooflineResult:
    """The sums of parts, and then all parts to all devices."""
    scatter = _ring(ctx, x.bytes / math.prod(_sizes(ctx)))
    return scatter + scatter


@_rule("pmin pmax")
def _extreme(ctx: Context, x: RooflineShape, **params: Any) -> RooflineResult:
    return _ring(ctx, x.dtype.itemsize)


@_rule("all_to_all")
def _all_to_all(ctx: Context, x: RooflineShape, **params: Any) -> RooflineResult:
    """Half of everything crosses the middle of the smallest axis, in both directions."""
    sizes = _sizes(ctx)
    if math.prod(sizes) <= 1:
        return _between_devices(ctx, 0, 0)
    smallest = min(sizes)
    width = smallest ** (len(sizes) - 1) * (2 if smallest > 2 else 1)
    return _between_devices(
        ctx, x.bytes * math.prod(sizes) / 2 / width, sum(size / 2 for size in sizes)
    )


@_rule("ppermute")
def _ppermute(
    ctx: Context, x: RooflineShape, *, perm: Sequence[tuple[int, int]], **params: Any
) -> RooflineResult:
    """Each goes the shorter way around; the link that most of them take decides."""
    (size,) = _sizes(ctx)
    links: dict[tuple[int, ...], int] = {}
    farthest = 0
    for source, target in perm:
        distance = (target - source) % size
        step = 1 if distance <= size - distance else -1
        distance = min(distance, size - distance)
        farthest = max(farthest, distance)
        way = [(source + step * n) % size for n in range(distance + 1)]
        for link in map(sorted, pairwise(way)):
            links[*link] = links.get((*link,), 0) + 1
    return _between_devices(ctx, x.bytes * max(links.values(), default=0), farthest)


__all__: list[str] = []
