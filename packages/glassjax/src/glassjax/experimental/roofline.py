"""The operations and the bytes of a program, under the names of `jax.experimental.roofline`.

`roofline` counts them for a function, from the types of its arguments alone: nothing is computed.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.lax.gathering import GatherScatterMode
from glassjax.lax.primitive_names import all_primitives
from glassjax.parallel.shard_map import shard_map, shard_map_p
from glassjax.runtime.jax_params import read_jaxpr
from glassjax.runtime.staging import ShapeDtypeStruct, make_jaxpr
from glassjax.settings.names import also_importable_as, list_public_names, wraps
from glassjax.shardings.sharding import NamedSharding
from glassjax.transforms.autodiff import vjp as vjp_of
from glassjax_stage2 import Primitive, ShapedArray, tree_flatten, typeof
from glassjax_stage2.arguments import require_function
from glassjax_stage2.source import name_of
from glassjax_stage2.tree import broadcast_prefix
from glassjax_stage3 import Jaxpr, JaxprEqn, Var
from glassjax_stage3.dce import dce_jaxpr
from glassjax_stage3.jaxpr import Atom

# The interpreter that adds up the costs of a program's equations, by rules.


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineShape:
    """The shape and the dtype of an array."""

    shape: tuple[int, ...]
    dtype: Any

    @classmethod
    def from_aval(cls, aval: Any) -> RooflineShape:
        """The shape and dtype of a type.

        Raises:
            TypeError: it is not the type of an array.
        """
        if not isinstance(aval, ShapedArray):
            raise TypeError(
                f"RooflineShape.from_aval: expected a ShapedArray, found {type(aval).__name__}"
            )
        return cls(shape=tuple(aval.shape), dtype=aval.dtype)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """The number of bytes of all elements."""
        return self.size * int(self.dtype.itemsize)

    @classmethod
    def total_bytes(cls, avals: Sequence[Any]) -> int:
        """The number of bytes of arrays of these types."""
        return sum(cls.from_aval(aval).bytes for aval in avals)


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineResult:
    """The cost of a program, for one device.

    Attributes:
        flops: the operations of matrix products, which are not fused.
        unfused_flops: all operations, if nothing is fused.
        ici_bytes: the bytes sent between devices, by mesh axis.
        ici_latency: the number of hops, by mesh axis.
        hbm_bytes: the bytes that matrix products read and write.
        peak_hbm_bytes: the largest number of bytes of arrays in use between two operations.
        unfused_hbm_bytes: the bytes that are read and written, if nothing is fused.

    Results add up, and can be multiplied by a number; the peak of a sum is the larger one.

    >>> from glassjax.experimental import roofline
    >>> 2 * roofline.RooflineResult(flops=3) + roofline.RooflineResult(flops=1, hbm_bytes=8)
    RooflineResult(flops=7, unfused_flops=0, ici_bytes={}, ici_latency={}, hbm_bytes=8, peak_hbm_bytes=0, unfused_hbm_bytes=0)
    """  # noqa: E501

    flops: int = 0
    unfused_flops: int = 0
    ici_bytes: dict[str, int] = field(default_factory=dict)
    ici_latency: dict[str, int] = field(default_factory=dict)
    hbm_bytes: int = 0
    peak_hbm_bytes: int = 0
    unfused_hbm_bytes: int = 0

    @classmethod
    def zeros(cls) -> RooflineResult:
        """The cost of nothing."""
        return cls()

    def __add__(self, other: RooflineResult) -> RooflineResult:
        return RooflineResult(
            flops=self.flops + other.flops,
            unfused_flops=self.unfused_flops + other.unfused_flops,
            ici_bytes=_sums(self.ici_bytes, other.ici_bytes),
            ici_latency=_sums(self.ici_latency, other.ici_latency),
            hbm_bytes=self.hbm_bytes + other.hbm_bytes,
            peak_hbm_bytes=max(self.peak_hbm_bytes, other.peak_hbm_bytes),
            unfused_hbm_bytes=self.unfused_hbm_bytes + other.unfused_hbm_bytes,
        )

    def __mul__(self, constant: float) -> RooflineResult:
        return RooflineResult(
            flops=int(self.flops * constant),
            unfused_flops=int(self.unfused_flops * constant),
            ici_bytes={k: int(n * constant) for k, n in self.ici_bytes.items()},
            ici_latency={k: int(n * constant) for k, n in self.ici_latency.items()},
            hbm_bytes=int(self.hbm_bytes * constant),
            peak_hbm_bytes=int(self.peak_hbm_bytes * constant),
            unfused_hbm_bytes=int(self.unfused_hbm_bytes * constant),
        )

    __rmul__ = __mul__


def _sums(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineRuleContext:
    """An equation, as its rule sees it.

    Attributes:
        name_stack: the name of the function, and the named scopes around the equation.
        primitive: the primitive.
        avals_in: the types of the operands.
        avals_out: the types of the results.
        jaxpr_eqn_ctx: None.
        mesh: the mesh of the devices, or None.
        pin_lhs_in_vmem: whether first operands of products and their results are not counted.
        pin_rhs_in_vmem: whether second operands of products are not counted.
        axes: the mesh axes of a collective.
    """

    name_stack: str
    primitive: Primitive
    avals_in: Sequence[Any]
    avals_out: Sequence[Any]
    jaxpr_eqn_ctx: None = None
    mesh: Any
    pin_lhs_in_vmem: bool
    pin_rhs_in_vmem: bool
    axes: tuple[str, ...] = ()


Rule = Callable[..., RooflineResult]

_rooflines: dict[Primitive, Rule] = {}


def register_roofline(prim: Primitive) -> Callable[[Rule], Rule]:
    """Decorator: the function is the rule of a primitive.

    It takes a `RooflineRuleContext`, a `RooflineShape` for each operand, and the parameters of the
    primitive by keyword, and returns a `RooflineResult`.

    >>> from glassjax import core
    >>> from glassjax.experimental import roofline
    >>> cube_p, cube = core.Primitive("cube"), lambda x: [x**3]
    >>> core.declare(cube_p, abstract_eval=core.types_by(cube), lower=core.lower_by(cube))
    >>> @roofline.register_roofline(cube_p)
    ... def rule(ctx, x):
    ...     return roofline.RooflineResult(unfused_flops=2 * x.size)
    >>> roofline.roofline(lambda x: core.bind(cube_p, x))(jnp.ones(5))[1].unfused_flops
    10
    """

    def register(rule: Rule) -> Rule:
        _rooflines[prim] = rule
        return rule

    return register


def register_standard_roofline(prim: Primitive) -> None:
    """Let a primitive cost nothing."""
    _rooflines[prim] = lambda ctx, *args, **params: RooflineResult.zeros()


class _Counter:
    """Adds up the cost of programs."""

    def __init__(self, mesh: Any, pins: dict[str, Any]):
        self.mesh = mesh
        self.pins = pins

    def cost(self, jaxpr: Jaxpr, name: str) -> RooflineResult:
        total = RooflineResult.zeros()
        axes: dict[Var, str] = {}  # the mesh axis of each device index
        in_use: dict[Atom, int] = {}
        in_use.update((var, RooflineShape.from_aval(var.aval).bytes) for var in jaxpr.invars)
        peak = sum(in_use.values())
        last_uses = {atom: eqn for eqn in jaxpr.eqns for atom in (*eqn.outvars, *eqn.invars)}
        results = set(jaxpr.outvars)
        for eqn in jaxpr.eqns:
            if eqn.primitive.name == "axis_index":
                axes[eqn.outvars[0]] = eqn.params["axis"].name
            else:
                total += self._cost_of(eqn, axes, name)
                for var in eqn.outvars:
                    in_use[var] = RooflineShape.from_aval(var.aval).bytes
            for atom in (*eqn.invars, *eqn.outvars):
                if last_uses[atom] is eqn and atom not in results:
                    in_use.pop(atom, None)
            peak = max(peak, sum(in_use.values()))
        return total + RooflineResult(peak_hbm_bytes=peak)

    def _cost_of(self, eqn: JaxprEqn, axes: dict[Var, str], name: str) -> RooflineResult:
        primitive = eqn.primitive
        inner = eqn.params.get("jaxpr")
        if isinstance(inner, Jaxpr):
            return self.cost(inner, f"{primitive}({name})")
        rule = _rooflines.get(primitive)
        if rule is None:
            logger.warning(
                "roofline: the primitive %s has no rule, and counts for nothing; "
                "register_roofline adds one",
                primitive,
            )
            return RooflineResult.zeros()
        along = [axes[atom] for atom in eqn.invars if isinstance(atom, Var) and atom in axes]
        operands = [
            atom.aval if isinstance(atom, Var) else typeof(atom.val)
            for atom in eqn.invars
            if not (isinstance(atom, Var) and atom in axes)
        ]
        scope = getattr(eqn.source, "scope", "")
        context = RooflineRuleContext(
            name_stack=f"{name}/{scope}" if scope else name,
            primitive=primitive,
            avals_in=operands,
            avals_out=[var.aval for var in eqn.outvars],
            mesh=self.mesh,
            axes=tuple(along),
            **self.pins,
        )
        return rule(context, *map(RooflineShape.from_aval, operands), **eqn.params)


def roofline(
    f: Callable[..., Any],
    mesh: Any = None,
    in_specs: Any = None,
    out_specs: Any = None,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    vjp: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[Any, RooflineResult]]:
    """Return a function that counts the operations and the bytes of a call of `f`.

    Arguments:
        f: function of arrays and pytrees of arrays.
        mesh: the mesh of the devices that `f` runs on, if it has collectives.
        in_specs: with a mesh, how the arguments are sharded, as for `shard_map`. Without one, an
            `f` with collectives must be a function made by `shard_map`.
        out_specs: with a mesh, how the results are sharded.
        pin_lhs_in_vmem: whether first operands of products and their results are not counted.
        pin_rhs_in_vmem: whether second operands of products are not counted.
        vjp: whether to count the derivative instead: the evaluation and the cotangents.
        print_jaxpr: whether to print the program that is counted.

    Returns:
        A function of the arguments of `f`, or of `ShapeDtypeStruct`s. It returns a pair: the types
        of the results, and a `RooflineResult`. The body of a `scan` counts once; bodies of
        `while_loop` and branches of `cond` do not count.

    Raises:
        TypeError: `f` is not a function.

    >>> from glassjax.experimental import roofline
    >>> out, cost = roofline.roofline(lambda x: jnp.sin(x @ x))(jnp.ones((10, 10)))
    >>> cost.flops, cost.unfused_flops, cost.unfused_hbm_bytes
    (2000, 2100, 2000)
    """
    require_function("roofline", f)
    pins = {"pin_lhs_in_vmem": pin_lhs_in_vmem, "pin_rhs_in_vmem": pin_rhs_in_vmem}
    is_sharded = mesh is not None and in_specs is not None and out_specs is not None

    @wraps(f)
    def counted(*args: Any) -> tuple[Any, RooflineResult]:
        program = f
        if is_sharded:
            program = shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
        if vjp:
            program = _cotangents(program)
        closed, shapes = make_jaxpr(program, return_shape=True)(*args)
        if mesh is not None and out_specs is not None and not vjp:
            shapes = _local_shapes(shapes, mesh, out_specs)
        jaxpr, _ = dce_jaxpr(read_jaxpr(closed))
        inner = [eqn for eqn in jaxpr.eqns if eqn.primitive is shard_map_p]
        if inner:
            jaxpr = inner[-1].params["jaxpr"]
        if print_jaxpr:
            print(jaxpr)
        return shapes, _Counter(mesh, pins).cost(jaxpr, f"roofline({name_of(f)})")

    return counted


def _cotangents(f: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(f)
    def cotangents(*args: Any) -> Any:
        out, transposed = vjp_of(f, *args)
        return transposed(out)

    return cotangents


def _local_shapes(shapes: Any, mesh: Any, out_specs: Any) -> Any:
    leaves, tree = tree_flatten(shapes)
    specs = broadcast_prefix(out_specs, shapes)
    return stage2.tree_unflatten(
        tree,
        [
            leaf.update(sharding=NamedSharding(mesh, spec))
            for leaf, spec in zip(leaves, specs, strict=True)
        ],
    )


def roofline_and_grad(
    f: Callable[..., Any],
    mesh: Any,
    in_specs: Any,
    out_specs: Any,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[Any, RooflineResult, RooflineResult]]:
    """Return a function that counts a call of `f`, and one of its derivative.

    The derivative is counted for arguments of dtype bfloat16, unless they are of dtype int32.

    Arguments:
        f, mesh, in_specs, out_specs: as in `roofline`.
        pin_lhs_in_vmem, pin_rhs_in_vmem, print_jaxpr: as in `roofline`.

    Returns:
        A function of the arguments of `f` that returns the types of its results, the cost of `f`,
        and the cost of its derivative.
    """
    options: dict[str, Any] = {
        "pin_lhs_in_vmem": pin_lhs_in_vmem,
        "pin_rhs_in_vmem": pin_rhs_in_vmem,
        "print_jaxpr": print_jaxpr,
    }

    def in_bfloat16(x: Any) -> Any:
        aval = typeof(x) if not hasattr(x, "dtype") else x
        dtype = np.int32 if aval.dtype == np.int32 else "bfloat16"
        return ShapeDtypeStruct(aval.shape, dtype, sharding=getattr(x, "sharding", None))

    @wraps(f)
    def counted(*args: Any) -> tuple[Any, RooflineResult, RooflineResult]:
        shapes, forward = roofline(f, mesh, in_specs, out_specs, **options)(*args)
        derivative = roofline(f, mesh, in_specs, out_specs, vjp=True, **options)
        _, backward = derivative(*stage2.tree_map(in_bfloat16, args))
        return shapes, forward, backward

    return counted


# The costs of primitives. A product and its sum count as two operations, any other as one.


Context = RooflineRuleContext

_ELEMENTWISE = """
    abs acos asin atan cbrt ceil cos cosh exp exp2 expm1 floor imag integer_pow is_finite log log2
    log1p logistic neg not real round rsqrt sign sin sinh sqrt tan bessel_i0e bessel_i1e digamma
    erf_inv erf erfc lgamma add sub mul div rem and or xor gt lt ge le eq ne min max
"""
_CUMULATIVE = "cummax cummin cumprod cumsum cumlogsumexp"
_SCATTERS = "scatter-add scatter-max scatter-min scatter-mul"
_ALL = all_primitives()

for _primitive in _ALL:
    register_standard_roofline(_primitive)


def _rule(names: str) -> Callable[[Rule], Rule]:
    """Decorator: the function is the rule of these primitives."""

    def register(rule: Rule) -> Rule:
        for primitive in _ALL:  # two are called `select_n`
            if primitive.name in names.split():
                register_roofline(primitive)(rule)
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
def _cumulative_work(ctx: Context, x: RooflineShape, *, axis: int, **params: Any) -> RooflineResult:
    steps = x.shape[axis] * (2 if ctx.primitive.name == "cumlogsumexp" else 1)
    return RooflineResult(unfused_flops=steps, unfused_hbm_bytes=_traffic(ctx))


@_rule("reduce_sum")
def _reduce_sum_work(
    ctx: Context, x: RooflineShape, *, axes: Sequence[int], **params: Any
) -> RooflineResult:
    out = RooflineShape.from_aval(ctx.avals_out[0])
    terms = math.prod(x.shape[axis] for axis in axes)
    return RooflineResult(unfused_flops=(terms - 1) * out.size, unfused_hbm_bytes=_traffic(ctx))


@_rule("select_n")
def _select_n_work(
    ctx: Context, which: RooflineShape, *cases: Any, **params: Any
) -> RooflineResult:
    """`select_n`: its cases are read only in part, and not counted."""
    out = RooflineShape.from_aval(ctx.avals_out[0])
    return RooflineResult(unfused_flops=out.size, unfused_hbm_bytes=which.bytes + out.bytes)


@_rule("dot_general")
def _dot_general_work(
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
def _convolution_work(
    ctx: Context, lhs: RooflineShape, rhs: RooflineShape, *, window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]], lhs_dilation: Sequence[int], rhs_dilation: Sequence[int],
    dimension_numbers: Any, batch_group_count: int, **params: Any,
) -> RooflineResult:  # fmt: skip
    """Convolution: products with padding, or with the gaps of a dilated input, do not count."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    out = RooflineShape.from_aval(ctx.avals_out[0])
    count = rhs.shape[rhs_spec[1]] * out.shape[out_spec[1]]
    count *= lhs.shape[lhs_spec[0]] // batch_group_count
    for n, (stride, (low, _), dilation, step) in enumerate(
        zip(window_strides, padding, lhs_dilation, rhs_dilation, strict=True), 2
    ):
        size = lhs.shape[lhs_spec[n]]
        places = (
            o * stride + k * step - low
            for o in range(out.shape[out_spec[n]])
            for k in range(rhs.shape[rhs_spec[n]])
        )
        count *= sum(at % dilation == 0 and 0 <= at // dilation < size for at in places)
    return RooflineResult(unfused_flops=2 * count, unfused_hbm_bytes=_traffic(ctx))


@_rule("gather")
def _gather_work(
    ctx: Context, operand: RooflineShape, indices: RooflineShape, *, mode: Any, **params: Any
) -> RooflineResult:
    """Gather: four operations for each index checked against the bounds, one for each element."""
    out = RooflineShape.from_aval(ctx.avals_out[0])
    fills = mode is GatherScatterMode.FILL_OR_DROP
    return RooflineResult(
        unfused_flops=4 * indices.size + out.size if fills else 0,
        unfused_hbm_bytes=2 * out.bytes + indices.bytes,
    )


def _scattered(indices: RooflineShape, updates: RooflineShape) -> int:
    return 3 * updates.bytes + indices.bytes


@_rule("scatter")
def _scatter_work(
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


# Collectives between devices in a torus.


def _between_devices(ctx: Context, count: float, steps: float) -> RooflineResult:
    return RooflineResult(
        ici_bytes={axis: int(count) for axis in ctx.axes},
        ici_latency={axis: int(steps) for axis in ctx.axes},
    )


def _operand_sizes(ctx: Context) -> list[int]:
    if ctx.mesh is None:
        raise ValueError(
            f"roofline: the program has a collective, `{ctx.primitive}`, along {ctx.axes}; "
            "give the mesh"
        )
    return [ctx.mesh.shape[axis] for axis in ctx.axes]


def _ring(ctx: Context, part: float) -> RooflineResult:
    """Parts of this size go around a ring along each axis in turn, and become larger."""
    sizes = sorted(_operand_sizes(ctx), reverse=True)
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


@_rule("reduce_scatter")
def _psum_scatter(ctx: Context, x: RooflineShape, **params: Any) -> RooflineResult:
    return _ring(ctx, x.bytes / math.prod(_operand_sizes(ctx)))


@_rule("psum")
def _psum(ctx: Context, x: RooflineShape, **params: Any) -> RooflineResult:
    """The sums of parts, and then all parts to all devices."""
    scatter = _ring(ctx, x.bytes / math.prod(_operand_sizes(ctx)))
    return scatter + scatter


@_rule("pmin pmax")
def _extreme(ctx: Context, x: RooflineShape, **params: Any) -> RooflineResult:
    return _ring(ctx, x.dtype.itemsize)


@_rule("all_to_all")
def _all_to_all(ctx: Context, x: RooflineShape, **params: Any) -> RooflineResult:
    """Half of everything crosses the middle of the smallest axis, in both directions."""
    sizes = _operand_sizes(ctx)
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
    (size,) = _operand_sizes(ctx)
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


__all__ = [
    "RooflineResult",
    "RooflineRuleContext",
    "RooflineShape",
    "register_roofline",
    "register_standard_roofline",
    "roofline",
    "roofline_and_grad",
]
list_public_names(globals())

also_importable_as(
    globals(), "glassjax.experimental.roofline.roofline", "glassjax.experimental.roofline.rooflines"
)
