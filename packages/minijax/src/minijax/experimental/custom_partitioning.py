"""Functions that say themselves how they are divided among devices."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from minijax import xla
from minijax.parallel.manual import Manual
from minijax.primitives.calls import (
    dependence_of_program,
    evaluate_program,
    keys_of_program,
    run_program,
    type_of_program,
)
from minijax.primitives.declare_program import declare_program
from minijax.primitives.decomposition import calls
from minijax.primitives.loops import call_text, stage_body
from minijax.runtime.conversion import to_array
from minijax.runtime.evaluation import evaluated_by_library, library_evaluation
from minijax.runtime.inspection import PartitionedModule
from minijax.runtime.lowering import lower
from minijax.runtime.sharding_text import on_each_device
from minijax.runtime.staging import ShapeDtypeStruct
from minijax.runtime.wrapping import wraps
from minijax.shardings.division import sharding_of_division
from minijax.shardings.mesh import Mesh
from minijax.shardings.partition_spec import PartitionSpec
from minijax.shardings.sharding import NamedSharding, Sharding
from minijax.shardings.sharding_rule import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
    as_rule,
    rule_of_text,
)
from minijax_stage2 import Primitive, ShapedArray, Tracer, bind, tree_leaves
from minijax_stage2.arguments import FlatFunction
from minijax_stage2.errors import shown
from minijax_stage2.tree import PyTreeDef, tree_flatten
from minijax_stage3 import Jaxpr
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature
from minijax_stage3.staging import abstractify

custom_partitioning_p = Primitive("custom_partitioning", higher_order=True)
calls.add(custom_partitioning_p)


class custom_partitioning:
    """A function with a rule of its own for how it is divided among devices.

    In a program for several devices, XLA's partitioner takes the function as one operation. A
    sharding rule says how operands and results are divided, given how some of them are, and
    `partition` what each device computes. On one device, and outside of jitted functions, it is
    the function itself.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        static_argnums: positions of arguments that are Python values. They are passed on, first, to
            `partition` and to a `sharding_rule` that is a function.

    >>> from minijax.experimental.custom_partitioning import custom_partitioning
    >>> @custom_partitioning
    ... def total(x):
    ...     return jnp.cumsum(x, axis=-1)
    >>> def partition(mesh, arg_shapes, result_shape):
    ...     return mesh, total.fun, result_shape.sharding, (arg_shapes[0].sharding,)
    >>> _ = total.def_partition(
    ...     partition, sharding_rule="... i -> ... i", need_replication_factors=("i",)
    ... )
    >>> minijax.jit(total)(jnp.ones((2, 3)))
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
        """Say how the function is divided.

        Arguments:
            partition: function of a mesh, and of trees with a `ShapeDtypeStruct` for each array of
                the arguments and of the result, which have the shardings that the partitioner
                suggests. It returns the mesh; a function of a device's parts of the arguments,
                which may use collectives along the axes of the mesh; the sharding of each array of
                the result, and those of the arguments.
            infer_sharding_from_operands: of no effect beside a `sharding_rule`.
            propagate_user_sharding: of no effect beside a `sharding_rule`.
            decode_shardings: must be True: shardings are those of a mesh.
            sharding_rule: an `SdyShardingRule`; a text with the factors of each axis such as
                `"i j, j k -> i k"`, in which `...` stands for leading axes and `(i j)` for an axis
                of two factors; or a function of the mesh and of the MLIR types of operands and
                results that returns one, or a text and a dict of the following arguments.
            reduction_factors, need_replication_factors, permutation_factors, factor_sizes: those of
                the `SdyShardingRule`, for a text.

        Returns:
            `partition`.

        Raises:
            ValueError: the rule is malformed, or is no text and has such arguments.
            NotImplementedError: `decode_shardings` is False.
        """
        if not decode_shardings:
            raise NotImplementedError(
                "def_partition: shardings are those of a mesh, so decode_shardings must be True"
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
        if any(isinstance(leaf, Tracer) for leaf in tree_leaves([*static.values()])):
            raise ValueError(f"{caller}: a static argument is traced")
        dynamic = tuple([x for i, x in enumerate(bound.args) if i not in static])

        def of_dynamic(*dynamic: Any) -> Any:
            rest = iter(dynamic)
            return self.fun(
                *[static[i] if i in static else next(rest) for i in range(len(bound.args))]
            )

        leaves, in_tree = tree_flatten(dynamic)
        flat = FlatFunction(wraps(self.fun)(of_dynamic), in_tree)
        closed = stage_body(flat, abstractify(caller, lambda: [], leaves), caller, self.fun)
        if closed.consts:
            raise ValueError(
                f"{caller}: it closes over arrays, of which nobody says how they are divided; pass "
                "them as arguments"
            )
        division = _Division(
            caller,
            self.partition,
            self.sharding_rule,
            in_tree,
            flat.out_tree,
            tuple(static.values()),
        )
        outs = bind(custom_partitioning_p, *leaves, jaxpr=closed.jaxpr, division=division)
        return flat.out_tree.unflatten(map(to_array, outs))


class _Division:
    """The user's functions that divide a call, and the structures of what they see."""

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
            ir = xla.mlir.ir()
            with xla.mlir.mlir_context():
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
        """The module of a device's part of the call; how operands and results are divided."""
        in_avals, out_avals = jaxpr.in_avals, jaxpr.out_avals
        mesh, lower_fn, result, arguments = self.partition(
            *self.static,
            mesh,
            self.in_tree.unflatten(_types(mesh, in_avals, ins)),
            self.out_tree.unflatten(_types(mesh, out_avals, outs)),
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
        token = on_each_device.set(True)
        try:
            text = lower(closed.jaxpr, "part", inside)
        finally:
            on_each_device.reset(token)
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


def _types(
    mesh: Mesh, avals: Sequence[ShapedArray], given: Sequence[Any]
) -> list[ShapeDtypeStruct]:
    """Types with the shardings that the partitioner suggests."""
    found = []
    for aval, each in zip(avals, given, strict=True):
        division = xla.division_of(each)
        sharding = NamedSharding(mesh, PartitionSpec(*[None] * aval.ndim))
        if division is not None:
            sharding = sharding_of_division(division, [mesh], mesh.device_tuple, aval.ndim)
            entries = [*sharding.spec, *[None] * (aval.ndim - len(sharding.spec))]
            sharding = NamedSharding(sharding.mesh, PartitionSpec(*entries))
        found.append(ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding))
    return found


def _lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *args: Value,
    jaxpr: Jaxpr,
    division: _Division,
) -> list[Value]:
    module = b.module
    if not isinstance(module, PartitionedModule) or module.mesh is None or on_each_device.get():
        return call_text(b, jaxpr, "custom_partitioning", args)
    mesh = module.mesh

    def partition(ins: Sequence[Any], outs: Sequence[Any]) -> Any:
        with library_evaluation():
            return division.partitioned(module, mesh, jaxpr, ins, outs)

    partitioner = xla.Partitioner(partition)
    module.kept.append(partitioner)
    xla.register_partitioners(module.platform)
    rule = (
        "" if division.rule is None else f", sdy.sharding_rule = {division.rule_text(mesh, jaxpr)}"
    )
    attributes = f'{{backend_config = "{partitioner.key}", api_version = 2 : i32{rule}}}'
    names = ", ".join(x.name for x in args)
    return b.emit(
        f"stablehlo.custom_call @{xla.TARGET}({names}) {attributes} : {signature(args, out_avals)}",
        *out_avals,
    )


def _refuse(*args: Any, jaxpr: Jaxpr, division: _Division) -> NoReturn:
    raise NotImplementedError(
        f"{division}: there is no rule for its derivative, nor for vmap; give them by custom_jvp, "
        "custom_vjp or custom_vmap"
    )


declare_program(
    custom_partitioning_p,
    evaluate=lambda *args, jaxpr, division: evaluate_program(*args, jaxpr=jaxpr),
    abstract_eval=type_of_program,
    lower=_lower,
    vmap=_refuse,
    jvp=_refuse,
    transpose=None,
    partial_eval=None,
    dce=None,
    dependence=dependence_of_program,
    order=None,
    keys=keys_of_program,
    steps=run_program,
)

__all__ = [
    "BATCHING", "ArrayMapping", "CompoundFactor", "SdyShardingRule", "custom_partitioning",
    "custom_partitioning_p",
]  # fmt: skip
