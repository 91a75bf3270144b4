"""Functions that define how they are partitioned."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NoReturn

import glassjax_stage2 as stage2
from glassjax import xla
from glassjax.parallel.shard_map import Manual
from glassjax.primitives import higher_order
from glassjax.primitives.declare import calls
from glassjax.primitives.loops import call_text, stage_body
from glassjax.runtime.array import to_array
from glassjax.runtime.evaluation import evaluated_by_library, library_evaluation
from glassjax.runtime.inspection import PartitionedModule
from glassjax.runtime.lowering import lower, on_each_device
from glassjax.runtime.staging import ShapeDtypeStruct
from glassjax.settings.config import set_in_context
from glassjax.settings.names import list_public_names, wraps
from glassjax.shardings.mesh import Mesh
from glassjax.shardings.partition_spec import PartitionSpec
from glassjax.shardings.sharding import NamedSharding, Sharding, sharding_from_tiles
from glassjax.xla import executables
from glassjax_stage2 import Primitive, ShapedArray, Tracer, bind
from glassjax_stage2.arguments import FlatFunction
from glassjax_stage2.errors import shown
from glassjax_stage2.tree import PyTreeDef, tree_flatten
from glassjax_stage3 import Jaxpr
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature
from glassjax_stage3.staging import abstractify

# Sharding rules of operations, as in Shardy: the correspondence of axes.
#
# A rule names the factors of each axis of the operands and results. The axes of a factor that is
# both in an operand and in a result are sharded alike; other factors have a kind.


BATCHING = "…"  # the leading axes of an array; digits after it distinguish groups of them


def _is_batching(factor: str) -> bool:
    return factor[:1] == BATCHING and (len(factor) == 1 or factor[1:].isdigit())


def _require_factor(factor: Any) -> None:
    if not isinstance(factor, str) or not re.fullmatch(r"[^\W\d_]\w*", factor):
        raise ValueError(
            f"a factor is named by letters, digits and underscores, a letter first, found "
            f"{shown(factor)}"
        )


class CompoundFactor(tuple[str, ...]):
    """The factors of one axis, the major one first; at least two.

    >>> from glassjax.experimental.custom_partitioning import CompoundFactor
    >>> CompoundFactor("heads", "width")
    ('heads', 'width')
    """

    def __new__(cls, *factors: str) -> CompoundFactor:
        if len(factors) < 2:
            raise ValueError(f"CompoundFactor: expected two factors or more, found {factors}")
        for factor in factors:
            _require_factor(factor)
        return super().__new__(cls, factors)


class ArrayMapping(tuple[Any, ...]):
    """The factors of the axes of an array: a name or a `CompoundFactor` for each.

    `BATCHING`, first, stands for any number of leading axes.

    >>> from glassjax.experimental.custom_partitioning import BATCHING, ArrayMapping
    >>> ArrayMapping(BATCHING, "rows")[1]
    'rows'
    """

    def __new__(cls, *dim_mappings: Any) -> ArrayMapping:
        for i, factor in enumerate(dim_mappings):
            is_first = i == 0 and isinstance(factor, str) and _is_batching(factor)
            if not is_first and not isinstance(factor, CompoundFactor):
                _require_factor(factor)
        return super().__new__(cls, dim_mappings)


class SdyShardingRule:
    """A sharding rule.

    Arguments:
        operand_mappings: an `ArrayMapping` for each operand.
        result_mappings: one for each result.
        reduction_factors: the summed factors; where they are sharded, results are partial sums.
        need_replication_factors: the factors that must not be sharded.
        permutation_factors: the factors that need a collective permute where they are sharded.
        factor_sizes: the sizes of factors that occur only in compound ones.

    Raises:
        ValueError: a factor is unused or has two kinds, or its size is missing or redundant.

    >>> from glassjax.experimental.custom_partitioning import ArrayMapping, SdyShardingRule
    >>> mapping = ArrayMapping("rows", "columns")
    >>> print(SdyShardingRule((mapping,), (mapping,), need_replication_factors=("columns",)))
    (rows columns) -> (rows columns), need_replication_factors=('columns',)
    """

    def __init__(
        self,
        operand_mappings: tuple[ArrayMapping, ...],
        result_mappings: tuple[ArrayMapping, ...],
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ):
        self.operand_mappings, self.result_mappings = operand_mappings, result_mappings
        self.factor_sizes = factor_sizes
        self.reduction_factors = reduction_factors
        self.need_replication_factors = need_replication_factors
        self.permutation_factors = permutation_factors
        dims = [dim for mapping in (*operand_mappings, *result_mappings) for dim in mapping]
        whole = {dim for dim in dims if isinstance(dim, str)}
        parts = {factor for dim in dims if not isinstance(dim, str) for factor in dim} - whole
        for factor in factor_sizes:
            if factor not in parts:
                where = "is a whole axis" if factor in whole else "is not in the rule"
                raise ValueError(f"SdyShardingRule: {factor} {where}; do not give its size")
        for factor in parts:
            if factor not in factor_sizes:
                raise ValueError(
                    f"SdyShardingRule: {factor} is only in compound factors; give its size"
                )
        seen: set[str] = set()
        for kind, factors in self._kinds().items():
            if not isinstance(factors, tuple):
                raise ValueError(f"SdyShardingRule: {kind} must be a tuple, found {shown(factors)}")
            for factor in factors:
                if factor not in whole | parts:
                    raise ValueError(f"SdyShardingRule: {factor} of {kind} is not in the rule")
                if factor in seen:
                    raise ValueError(f"SdyShardingRule: {factor} of {kind} is named twice")
                seen.add(factor)

    def _kinds(self) -> dict[str, tuple[str, ...]]:
        names = ("reduction_factors", "need_replication_factors", "permutation_factors")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        sides = [
            ", ".join("(" + " ".join(map(str, mapping)) + ")" for mapping in mappings)
            for mappings in (self.operand_mappings, self.result_mappings)
        ]
        rest = [f"{name}={value}" for name, value in {**self._kinds(), **self.factor_sizes}.items()]
        return ", ".join([" -> ".join(sides), *[each for each in rest if not each.endswith("=()")]])

    def as_text(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> str:
        """The rule in Shardy's notation, for operands and results of these types.

        Raises:
            ValueError: it does not fit the types.
        """
        sides = {"operand": in_avals, "result": out_avals}
        given = {"operand": self.operand_mappings, "result": self.result_mappings}
        sizes: dict[str, int | None] = {}
        groups: dict[str, int] = {}
        expanded: dict[str, list[list[tuple[str, ...]]]] = {"operand": [], "result": []}
        for side, avals in sides.items():
            if len(given[side]) != len(avals):
                raise ValueError(
                    f"sharding_rule: it has {len(given[side])} {side}s, the function {len(avals)}"
                )
            for number, (mapping, aval) in enumerate(zip(given[side], avals, strict=True)):
                role = f"sharding_rule: {side} {number}"
                axes = _axes(role, mapping, aval, groups)
                expanded[side].append(axes)
                for factors, size in zip(axes, aval.shape, strict=True):
                    if len(factors) == 1:
                        self._add(role, sizes, factors[0], size)
                    else:
                        for factor in factors:
                            if sizes.get(factor) is None:
                                sizes[factor] = self.factor_sizes.get(factor)
        for side, avals in sides.items():
            for number, (axes, aval) in enumerate(zip(expanded[side], avals, strict=True)):
                for factors, size in zip(axes, aval.shape, strict=True):
                    found = prod([sizes[factor] or 0 for factor in factors])
                    if len(factors) > 1 and found != size:
                        raise ValueError(
                            f"sharding_rule: {side} {number} has an axis of {size}, and its "
                            f"factors {factors} make {found}"
                        )
        symbols = {factor: _symbol(index) for index, factor in enumerate(sizes)}

        def operands_text(arrays: Sequence[Sequence[tuple[str, ...]]]) -> str:
            each = [["".join(symbols[x] for x in factors) for factors in axes] for axes in arrays]
            return "(" + ", ".join("[" + ", ".join(axes) + "]" for axes in each) + ")"

        parts = [f"{operands_text(expanded['operand'])}->{operands_text(expanded['result'])}"]
        parts.append("{" + ", ".join(f"{symbols[x]}={size}" for x, size in sizes.items()) + "}")
        for kind, factors in self._kinds().items():
            if factors:
                names = ", ".join(symbols[x] for x in sorted(factors, key=[*sizes].index))
                parts.append(f"{kind.removesuffix('_factors')}={{{names}}}")
        return f"#sdy.op_sharding_rule<{' '.join(parts)}, custom>"

    @staticmethod
    def _add(role: str, sizes: dict[str, int | None], factor: str, size: int) -> None:
        """Add the size of a factor; the smallest of several counts."""
        before = sizes.get(factor)
        if before is not None and before != size and factor.startswith(BATCHING):
            raise ValueError(f"{role}: {BATCHING} stands for axes of {before} and of {size}")
        sizes[factor] = size if before is None else min(before, size)


def _axes(
    role: str, mapping: Sequence[Any], aval: ShapedArray, groups: dict[str, int]
) -> list[tuple[str, ...]]:
    """The factors of each axis of an array."""
    rest, batch = [*mapping], []
    if rest and isinstance(rest[0], str) and _is_batching(rest[0]):
        group = rest.pop(0)[1:] or "0"
        count = groups.setdefault(group, max(aval.ndim - len(rest), 0))
        batch = [f"{BATCHING}{group} {number}" for number in range(count)]
    if len(batch) + len(rest) != aval.ndim:
        raise ValueError(f"{role} has {len(batch) + len(rest)} axes, the array is {aval}")
    return [(dim,) if isinstance(dim, str) else tuple(dim) for dim in (*batch, *rest)]


def _symbol(index: int) -> str:
    """Shardy's name of a factor: i to z, and z_1, z_2 and so on."""
    last = ord("z") - ord("i")
    return chr(ord("i") + index) if index <= last else f"z_{index - last}"


def rule_of_text(rule: str, **options: Any) -> SdyShardingRule:
    """Parse a rule such as `"... i, i j -> ... j"`; the options are passed to the rule.

    Raises:
        ValueError: it is not of that form.
        TypeError: it is not a string, or a size is not an int.
    """
    if not isinstance(rule, str):
        raise TypeError(f"sharding_rule: expected a string, found {shown(rule)}")
    for name, size in options.items():
        if not name.endswith("_factors") and not isinstance(size, int):
            raise TypeError(f"sharding_rule: the size of {name} must be an int, found {size!r}")
    sides = rule.replace("...", BATCHING).split("->")
    if len(sides) != 2 or BATCHING in rule:
        raise ValueError(f"sharding_rule: expected 'operands -> results', found {rule!r}")
    return SdyShardingRule(*[_mappings(rule, side) for side in sides], **options)


def _mappings(rule: str, side: str) -> tuple[ArrayMapping, ...]:
    found: list[ArrayMapping] = []
    dims: list[Any] = []
    compound: list[str] | None = None

    def require(fits: Any) -> None:
        if not fits:
            raise ValueError(f"sharding_rule: expected 'operands -> results', found {rule!r}")

    for token in re.findall(rf"{BATCHING}\d*|\w+|\S", side):
        if token == "(":
            require(compound is None)
            compound = []
        elif token == ")":
            require(compound and len(compound) > 1)
            dims.append(CompoundFactor(*(compound or ())))
            compound = None
        elif token == ",":
            require(compound is None)
            found.append(ArrayMapping(*dims))
            dims = []
        elif token[0] == BATCHING:
            require(compound is None and not dims)
            dims.append(f"{BATCHING}{int(token[1:] or 0)}")
        else:
            (dims if compound is None else compound).append(token)
    require(compound is None)
    return (*found, ArrayMapping(*dims))


def as_rule(rule: Any) -> SdyShardingRule:
    """A rule, given as a rule, a text, or a pair of a text and the options of the rule."""
    if isinstance(rule, list | tuple) and len(rule) == 2:
        return rule_of_text(rule[0], **rule[1])
    if isinstance(rule, SdyShardingRule):
        return rule
    if isinstance(rule, str):
        return rule_of_text(rule)
    raise ValueError(f"sharding_rule: expected an SdyShardingRule or a string, found {shown(rule)}")


# Functions that define their own partitioning.


custom_partitioning_p = Primitive("custom_partitioning", higher_order=True)
calls.add(custom_partitioning_p)


class custom_partitioning:
    """A function with its own rule for sharding over devices.

    In a program for several devices, XLA's partitioner takes the function as one operation. A
    sharding rule propagates shardings between operands and results, and `partition` gives the
    computation of each device. On one device, and outside of jitted functions, it is the function
    itself.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        static_argnums: positions of arguments that are Python values. They are passed on, first, to
            `partition` and to a `sharding_rule` that is a function.

    >>> from glassjax.experimental.custom_partitioning import custom_partitioning
    >>> @custom_partitioning
    ... def total(x):
    ...     return jnp.cumsum(x, axis=-1)
    >>> def partition(mesh, arg_shapes, result_shape):
    ...     return mesh, total.fun, result_shape.sharding, (arg_shapes[0].sharding,)
    >>> _ = total.def_partition(
    ...     partition, sharding_rule="... i -> ... i", need_replication_factors=("i",)
    ... )
    >>> glassjax.jit(total)(jnp.ones((2, 3)))
    Array([[1., 2., 3.],
           [1., 2., 3.]], dtype=float32)
    """

    def __init__(self, fun: Callable[..., Any], static_argnums: Sequence[int] = ()):
        self.fun = fun
        self.static_argnums = tuple(static_argnums)
        self.partition: Callable[..., Any] | None = None
        self.propagate_user_sharding: Callable[..., Any] | None = None
        self.infer_sharding_from_operands: Callable[..., Any] | None = None
        self.sharding_rule: Any = None
        wraps(fun)(self)

    def def_partition(
        self,
        partition: Callable[..., Any],
        infer_sharding_from_operands: Callable[..., Any] | None = None,
        propagate_user_sharding: Callable[..., Any] | None = None,
        decode_shardings: bool = True,
        sharding_rule: Any = None,
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> Callable[..., Any]:
        """Define how the function is sharded.

        Arguments:
            partition: function of a mesh, and of trees with a `ShapeDtypeStruct` for each array of
                the arguments and of the result, which have the shardings that the partitioner
                suggests. It returns the mesh; a function of a device's parts of the arguments,
                which may use collectives along the axes of the mesh; and the shardings of the
                result and of the arguments, array by array.
            infer_sharding_from_operands: ignored beside a `sharding_rule`.
            propagate_user_sharding: ignored beside a `sharding_rule`.
            decode_shardings: must be True: shardings refer to a mesh.
            sharding_rule: an `SdyShardingRule`; a text with the factors of each axis such as
                `"i j, j k -> i k"`, in which `...` stands for leading axes and `(i j)` for an axis
                of two factors; or a function of the mesh and of the MLIR types of operands and
                results that returns one, or a text and a dict of the following arguments.
            reduction_factors, need_replication_factors, permutation_factors, factor_sizes: as in
                `SdyShardingRule`, for a text.

        Returns:
            `partition`.

        Raises:
            ValueError: the rule is malformed, or such arguments are given and the rule is not a
                text.
            NotImplementedError: `decode_shardings` is False.
        """
        if not decode_shardings:
            raise NotImplementedError(
                "def_partition: shardings always belong to a mesh, so decode_shardings must be True"
            )
        options: dict[str, Any] = {
            "reduction_factors": reduction_factors,
            "need_replication_factors": need_replication_factors,
            "permutation_factors": permutation_factors,
            **factor_sizes,
        }
        if (
            sharding_rule is None
            or callable(sharding_rule)
            or isinstance(sharding_rule, SdyShardingRule)
        ):
            given = [name for name, value in options.items() if value != ()]
            if given:
                raise ValueError(f"def_partition: {', '.join(given)} are for a rule that is a text")
        else:
            sharding_rule = rule_of_text(sharding_rule, **options)
        self.partition, self.sharding_rule = partition, sharding_rule
        self.propagate_user_sharding = propagate_user_sharding
        self.infer_sharding_from_operands = infer_sharding_from_operands
        return partition

    @evaluated_by_library
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the function.

        Raises:
            TypeError: a keyword argument has no position.
            ValueError: `def_partition` has not been called, or a static argument is traced.
            NotImplementedError: there are rules for propagation, and no `sharding_rule`.
        """
        caller = f"custom_partitioning of `{getattr(self.fun, '__name__', self.fun)}`"
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(f"{caller}: the arguments {[*bound.kwargs]} have no positions")
        if self.partition is None:
            raise ValueError(f"{caller}: call def_partition first")
        if self.sharding_rule is None and (
            self.propagate_user_sharding or self.infer_sharding_from_operands
        ):
            raise NotImplementedError(
                f"{caller}: shardings are propagated by a rule: pass a sharding_rule to "
                "def_partition"
            )
        static = {i: bound.args[i] for i in self.static_argnums}
        if any(isinstance(leaf, Tracer) for leaf in stage2.tree_leaves([*static.values()])):
            raise ValueError(f"{caller}: a static argument is traced")
        dynamic = tuple([x for i, x in enumerate(bound.args) if i not in static])

        def dynamic_fun(*dynamic: Any) -> Any:
            rest = iter(dynamic)
            return self.fun(
                *[static[i] if i in static else next(rest) for i in range(len(bound.args))]
            )

        leaves, in_tree = tree_flatten(dynamic)
        flat = FlatFunction(wraps(self.fun)(dynamic_fun), in_tree)
        closed = stage_body(flat, abstractify(caller, lambda: [], leaves), caller, self.fun)
        if closed.consts:
            raise ValueError(
                f"{caller}: the function closes over arrays, and sharding rules cover arguments "
                "only; pass them as arguments"
            )
        partitioning = _Partitioning(
            caller,
            self.partition,
            self.sharding_rule,
            in_tree,
            flat.out_tree,
            tuple(static.values()),
        )
        outs = bind(custom_partitioning_p, *leaves, jaxpr=closed, partitioning=partitioning)
        return flat.out_tree.unflatten(map(to_array, outs))


class _Partitioning:
    """The user's partitioning functions for a call, and the structures of their arguments."""

    def __init__(
        self,
        caller: str,
        partition: Callable[..., Any],
        rule: Any,
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
        static: Sequence[Any],
    ):
        self.caller, self.partition, self.rule = caller, partition, rule
        self.in_tree, self.out_tree, self.static = in_tree, out_tree, static

    def __repr__(self) -> str:
        return self.caller

    def rule_text(self, mesh: Mesh, jaxpr: Jaxpr) -> str:
        """The rule in Shardy's notation."""
        rule = self.rule
        if callable(rule):
            ir = executables.ir()
            with executables.mlir_context():
                ins, outs = (
                    [ir.Type.parse(mlir_type(aval)) for aval in avals]
                    for avals in (jaxpr.in_avals, jaxpr.out_avals)
                )
                rule = rule(*self.static, mesh, ins, outs)
        return as_rule(rule).as_text(jaxpr.in_avals, jaxpr.out_avals)

    def partitioned(
        self,
        module: PartitionedModule,
        mesh: Mesh,
        jaxpr: Jaxpr,
        ins: Sequence[Any],
        outs: Sequence[Any],
    ) -> tuple[str, list[Any], list[Any]]:
        """The module of a device's part of the call, and the shardings of operands and results."""
        in_avals, out_avals = jaxpr.in_avals, jaxpr.out_avals
        mesh, lower_fn, result, arguments = self.partition(
            *self.static,
            mesh,
            self.in_tree.unflatten(_suggested_types(mesh, in_avals, ins)),
            self.out_tree.unflatten(_suggested_types(mesh, out_avals, outs)),
        )
        in_shardings = self._shardings(self.in_tree, arguments)
        out_shardings = self._shardings(self.out_tree, result)
        in_parts, out_parts = (
            [
                ShapedArray(each.shard_shape(x.shape), x.dtype, x.weak_type)
                for each, x in zip(found, avals, strict=True)
            ]
            for found, avals in ((in_shardings, in_avals), (out_shardings, out_avals))
        )
        flat = FlatFunction(lower_fn, self.in_tree)
        with Manual(mesh, mesh.axis_names, False).running():
            closed = stage_body(flat, in_parts, self.caller, lower_fn)
        found = [(aval.shape, aval.dtype) for aval in closed.out_avals]
        if closed.consts or found != [(aval.shape, aval.dtype) for aval in out_parts]:
            raise ValueError(
                f"{self.caller}: by its shardings the function that partition returns must return "
                f"{', '.join(map(str, out_parts))}, without closing over arrays; found "
                f"{', '.join(map(str, closed.out_avals))}"
            )
        inside = PartitionedModule(module.platform, module.num_devices, mesh)
        with set_in_context(on_each_device, True):
            text = lower(closed, "part", inside)
        return (
            text,
            [
                xla.hlo_sharding(each.tiling(x.ndim))
                for each, x in zip(in_shardings, in_avals, strict=True)
            ],
            [
                xla.hlo_sharding(each.tiling(x.ndim))
                for each, x in zip(out_shardings, out_avals, strict=True)
            ],
        )

    def _shardings(self, tree: PyTreeDef, given: Any) -> list[Sharding]:
        leaves = tree.flatten_up_to(given)
        for leaf in leaves:
            if not isinstance(leaf, Sharding):
                raise ValueError(
                    f"{self.caller}: partition must return shardings, found {shown(leaf)}"
                )
        return leaves


def _suggested_types(
    mesh: Mesh, avals: Sequence[ShapedArray], given: Sequence[Any]
) -> list[ShapeDtypeStruct]:
    """Types with the shardings that the partitioner suggests."""
    found = []
    for aval, each in zip(avals, given, strict=True):
        tiles = xla.tiles_of(each)
        sharding = NamedSharding(mesh, PartitionSpec(*[None] * aval.ndim))
        if tiles is not None:
            sharding = sharding_from_tiles(tiles, [mesh], mesh.device_tuple, aval.ndim)
            entries = [*sharding.spec, *[None] * (aval.ndim - len(sharding.spec))]
            sharding = sharding.update(spec=PartitionSpec(*entries))
        found.append(ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding))
    return found


def _partitioned_call_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *args: Value,
    jaxpr: Jaxpr,
    partitioning: _Partitioning,
) -> list[Value]:
    module = b.module
    if not isinstance(module, PartitionedModule) or module.mesh is None or on_each_device.get():
        return call_text(b, jaxpr, "custom_partitioning", args)
    mesh = module.mesh

    def partition_call(ins: Sequence[Any], outs: Sequence[Any]) -> Any:
        with library_evaluation():
            return partitioning.partitioned(module, mesh, jaxpr, ins, outs)

    partitioner = xla.Partitioner(partition_call)
    module.kept.append(partitioner)
    xla.register_partitioners(module.platform)
    rule = (
        ""
        if partitioning.rule is None
        else f", sdy.sharding_rule = {partitioning.rule_text(mesh, jaxpr)}"
    )
    attributes = f'{{backend_config = "{partitioner.key}", api_version = 2 : i32{rule}}}'
    names = ", ".join(x.name for x in args)
    return b.emit(
        f"stablehlo.custom_call @{xla.TARGET}({names}) {attributes} : {signature(args, out_avals)}",
        *out_avals,
    )


def _partitioned_call_unsupported(
    *args: Any, jaxpr: Jaxpr, partitioning: _Partitioning
) -> NoReturn:
    raise NotImplementedError(
        f"{partitioning}: there is no rule for its derivative, nor for vmap; give them by "
        "custom_jvp, "
        "custom_vjp or custom_vmap"
    )


higher_order.declare_program(
    custom_partitioning_p,
    evaluate=lambda *args, jaxpr, partitioning: higher_order.program_impl(*args, jaxpr=jaxpr),
    abstract_eval=higher_order.program_type,
    lower=_partitioned_call_lower,
    vmap=_partitioned_call_unsupported,
    jvp=_partitioned_call_unsupported,
    transpose=None,
    partial_eval=None,
    dce=None,
    dependence=higher_order.program_dependence,
    order=None,
    keys=higher_order.program_keys,
    steps=higher_order.run_program,
)


__all__ = [
    "BATCHING",
    "ArrayMapping",
    "CompoundFactor",
    "SdyShardingRule",
    "custom_partitioning",
    "custom_partitioning_p",
]
list_public_names(globals())
