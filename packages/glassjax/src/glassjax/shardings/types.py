"""Types that carry a sharding."""

import functools
import inspect
import math
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

import glassjax_stage2 as stage2
from glassjax.errors import ShardingTypeError
from glassjax.memory import Space
from glassjax.settings.names import later
from glassjax.shardings import memories
from glassjax.shardings.mesh import (
    AbstractMesh,
    AxisType,
    Mesh,
    mesh_in_context,
    require_in_place,
    require_kept,
)
from glassjax.shardings.partition_spec import PartitionSpec, UnreducedKind
from glassjax.shardings.reduction import COMPLETE, Reduction, reduction_in, with_reduction
from glassjax.shardings.sharding import NamedSharding, Sharding, explicit_sharding
from glassjax_stage2 import Primitive, bind1, tree_flatten, typeof
from glassjax_stage2.shaped_array import short_dtype, typeof_named
from glassjax_stage2.source import name_of
from glassjax_stage2.tangent import zeros
from glassjax_stage3 import Jaxpr, abstract_eval_rules

# Types with shardings.
#
# On mesh axes of type `Explicit`, the sharding of an array is part of its type, like its shape. So
# it is known while a program is traced: each primitive has a rule for the shardings of its results,
# and operands that conflict are an error at the user's line. The compiler chooses the sharding of
# an array whose type has none.


# The mesh axes that one array axis is sharded over, and a tuple of these for each array axis.
Axes = tuple[Hashable, ...]
Spec = tuple[Axes, ...]

reshard_p = Primitive("reshard")
to_auto_p = Primitive("to_auto")


class ShardedArray(stage2.ShapedArray):
    """The type of arrays with a given sharding over axes of type `Explicit`.

    There is only one object per type.

    Attributes:
        plain: the type without the sharding.
        mesh: the mesh.
        spec: for each array axis, the mesh axes that it is sharded over.
        reduction: the mesh axes over which it, or its cotangent, is unreduced.

    >>> from glassjax.sharding import AbstractMesh, AxisType
    >>> mesh = AbstractMesh((4, 2), ("x", "y"), (AxisType.Explicit,) * 2)
    >>> ShardedArray(ShapedArray((8, 8), "float32"), mesh, (("x", "y"), ()))
    ShapedArray(f32[8@(x,y),8])
    """

    __slots__ = ("mesh", "plain", "reduction", "spec")

    plain: stage2.ShapedArray
    mesh: AbstractMesh
    spec: Spec
    reduction: Reduction

    def __new__(  # type: ignore[misc]
        cls,
        plain: stage2.ShapedArray,
        mesh: AbstractMesh,
        spec: Spec,
        reduction: Reduction = COMPLETE,
    ) -> stage2.ShapedArray:
        if not any(spec) and reduction == COMPLETE:
            return plain
        key = plain, mesh, spec, reduction
        aval = _interned.get(key)
        if aval is None:
            for module in _RULES:
                import_module(module)
            aval = object.__new__(cls)
            aval.shape, aval.dtype, aval.weak_type = plain.shape, plain.dtype, plain.weak_type
            aval.plain, aval.mesh, aval.spec, aval.reduction = key
            aval = _interned.setdefault(key, aval)
        return aval

    def __reduce__(self) -> tuple[Any, ...]:
        return ShardedArray, (self.plain, self.mesh, self.spec, self.reduction)

    def __str__(self) -> str:
        sizes = [f"{n}{_suffix(axes)}" for n, axes in zip(self.shape, self.spec, strict=True)]
        state = ", ".join(self.reduction.labels(self.mesh.axis_names))
        return f"{short_dtype(self.dtype)}[{','.join(sizes)}]{f'{{{state}}}' if state else ''}"

    def _like(self, plain: stage2.ShapedArray, spec: Spec) -> stage2.ShapedArray:
        return ShardedArray(plain, self.mesh, spec, self.reduction)

    def update(self, **changes: Any) -> stage2.ShapedArray:
        plain = self.plain.update(**changes)
        keeps = plain.ndim == self.ndim
        return self._like(plain, self.spec) if keeps else plain

    def without_axis(self, axis: int) -> stage2.ShapedArray:
        spec = self.spec[:axis] + self.spec[axis + 1 :]
        return self._like(self.plain.without_axis(axis), spec)

    def with_axis(self, axis: int, size: int) -> stage2.ShapedArray:
        spec = (*self.spec[:axis], (), *self.spec[axis:])
        return self._like(self.plain.with_axis(axis, size), spec)

    def accepts(self, other: stage2.ShapedArray) -> bool:
        """Return True if `other` is the same type, or the type without a sharding."""
        if not self.plain.accepts(other.plain if isinstance(other, ShardedArray) else other):
            return False
        return not isinstance(other, ShardedArray) or (
            self.mesh == other.mesh
            and self.spec == other.spec
            and self.reduction == other.reduction
        )

    def convert(self, x: Any) -> Any:
        """`x`, a value of a type that this one accepts, with this type's sharding."""
        if isinstance(typeof(x), ShardedArray):
            return x
        return bind1(reshard_p, x, sharding=sharding_of_type(self))

    @staticmethod
    def abstract_eval(
        primitive: Primitive, in_avals: Sequence[stage2.ShapedArray], params: dict[str, Any]
    ) -> list[stage2.ShapedArray]:
        """The result types of a primitive with a sharded or varying operand."""
        for aval in in_avals:
            # a varying type, which may contain a sharded one
            if type(aval) not in (stage2.ShapedArray, ShardedArray):
                return aval.abstract_eval(primitive, in_avals, params)  # type: ignore[attr-defined]
        if calls_programs(primitive, params):
            return abstract_eval_rules[primitive](*in_avals, **params)
        mesh = _common_mesh(primitive, in_avals)
        found = abstract_eval_rules[primitive](*map(unsharded, in_avals), **params)
        rule = sharding_rules.get(primitive)
        if rule is None:
            raise ShardingTypeError(
                f"{primitive} of {listed(in_avals)}: it has no sharding rule. "
                "Leave the choice to the compiler by sharding.auto_axes; or replicate an operand "
                "by sharding.reshard(x, P()); or pass the rule to `declare`, as `sharding`"
            )
        specs = rule(in_avals, found, params)
        found_states = reduction_of_results(
            primitive, in_avals, [*map(reduction_of, in_avals)], params, len(specs)
        )
        require_kept(
            str(primitive),
            [*map(_kept_axes, in_avals)],
            [
                (*spec, tuple(state.unreduced))
                for spec, state in zip(specs, found_states, strict=True)
            ],
        )
        return [
            _checked_type(primitive, in_avals, aval, mesh, spec, state)
            for aval, spec, state in zip(found, specs, found_states, strict=True)
        ]


_interned: "dict[Any, ShardedArray]" = {}
# Modules with rules for such types, imported when the first of these is used.
_RULES = (
    "glassjax.primitives.sharding_rules",
    "glassjax.primitives.reduction_rules",
    "glassjax.lax.resharding",
)


def convert(x: Any, aval: stage2.ShapedArray) -> Any:
    """`x`, a value of a type that `aval` accepts, as one of type `aval`."""
    return aval.convert(x) if hasattr(aval, "convert") else x


def zeros_of_type(aval: Any) -> Any:
    """Zeros of a sharded or varying type; outside of programs, of the plain type."""
    x = zeros(aval.plain)
    return x if isinstance(x, np.ndarray) else aval.convert(x)


zeros.register(ShardedArray, zeros_of_type)

# `rule(in_avals, out_avals, params)`: the division of each result. The types of results are plain.
ShardingRule = Callable[
    [Sequence[stage2.ShapedArray], Sequence[stage2.ShapedArray], dict[str, Any]], Sequence[Spec]
]
sharding_rules: dict[Primitive, ShardingRule] = {}

# `rule(primitive, in_avals, states, params)`: the state of all results, or of each, from the
# operands' states, over axes of type `Explicit`, or over the axes of a `shard_map`.
ReductionRule = Callable[
    [Primitive, Sequence[stage2.ShapedArray], Sequence[Reduction], dict[str, Any]],
    Reduction | list[Reduction],
]
reduction_rules: dict[Primitive, ReductionRule] = {}


_nonlinear = later("glassjax.primitives.reduction_rules", "nonlinear")


def reduction_of_results(
    primitive: Primitive,
    in_avals: Sequence[stage2.ShapedArray],
    states: Sequence[Reduction],
    params: dict[str, Any],
    count: int,
) -> list[Reduction]:
    """The states of reduction of a primitive's results.

    Raises:
        ShardingTypeError: it cannot be applied to parts; or two operands conflict.
    """
    if all(state == COMPLETE for state in states):
        return [COMPLETE] * count
    rule: ReductionRule = reduction_rules.get(primitive) or _nonlinear
    found = rule(primitive, in_avals, states, params)
    return found if isinstance(found, list) else [found] * count


def _suffix(axes: Axes) -> str:
    if len(axes) < 2:
        return "".join(f"@{name}" for name in axes)
    return f"@({','.join(map(str, axes))})"


def listed(avals: Iterable[stage2.ShapedArray]) -> str:
    """Types as words: `f32[2@x] and f32[2]`."""
    return " and ".join(map(str, avals))


def unsharded(aval: stage2.ShapedArray) -> stage2.ShapedArray:
    """The type without its sharding and memory."""
    while isinstance(aval, ShardedArray | memories.HostArray):
        aval = aval.plain
    return aval


def sharded_type(aval: stage2.ShapedArray) -> "ShardedArray | None":
    """The sharded type, possibly inside a varying type; None if there is none."""
    while not isinstance(aval, ShardedArray):
        if type(aval) is stage2.ShapedArray:
            return None
        aval = aval.plain  # type: ignore[attr-defined]
    return aval


def reduction_of(aval: stage2.ShapedArray) -> Reduction:
    """The mesh axes of type `Explicit` over which arrays of a type are unreduced or reduced."""
    sharded = sharded_type(aval)
    return sharded.reduction if sharded else COMPLETE


def _kept_axes(aval: stage2.ShapedArray) -> Spec:
    return (*spec_of(aval), tuple(reduction_of(aval).unreduced))


def with_spec(aval: stage2.ShapedArray, mesh: AbstractMesh, spec: Spec) -> stage2.ShapedArray:
    """The type with another sharding, also inside a varying type."""
    if type(aval) in (stage2.ShapedArray, ShardedArray):
        return ShardedArray(unsharded(aval), mesh, spec, reduction_of(aval))
    return aval.with_plain(with_spec(aval.plain, mesh, spec))  # type: ignore[attr-defined]


def spec_of(aval: stage2.ShapedArray) -> Spec:
    """For each axis of arrays of a type, the mesh axes that it is sharded over."""
    sharded = sharded_type(aval)
    return sharded.spec if sharded else ((),) * aval.ndim


def sharding_of_type(aval: stage2.ShapedArray) -> NamedSharding:
    """The sharding in a type, on an abstract mesh."""
    entries = [axes[0] if len(axes) == 1 else axes or None for axes in spec_of(aval)]
    sharded = sharded_type(aval)
    kind = memories.kind_of_type(aval)
    if sharded is None:
        return NamedSharding(AbstractMesh((), ()), PartitionSpec(*entries), memory_kind=kind)
    spec = with_reduction(PartitionSpec(*entries), sharded.reduction)
    return NamedSharding(sharded.mesh, spec, memory_kind=kind)


_type: Any = stage2.ShapedArray
_type.sharding = property(lambda aval: sharding_of_type(aval))  # without a docstring


# The concrete meshes of arrays, by the abstract meshes in their types.
_meshes_of_types: dict[AbstractMesh, set[Mesh]] = {}


def on_known_devices(sharding: Sharding) -> Sharding:
    """An abstract sharding on the devices of the mesh in context, if its axes are the same.

    Otherwise on the devices of arrays of such types, if these are unique.
    """
    if not isinstance(sharding, NamedSharding) or isinstance(sharding.mesh, Mesh):
        return sharding
    here = mesh_in_context.get()
    if isinstance(here, Mesh) and here.abstract_mesh == sharding.mesh:
        return sharding.update(mesh=here)
    known = _meshes_of_types.get(sharding.mesh, set())
    return sharding.update(mesh=next(iter(known))) if len(known) == 1 else sharding


def type_at(aval: stage2.ShapedArray, sharding: Sharding | None) -> stage2.ShapedArray:
    """The type of arrays with a plain type and a sharding."""
    if sharding is None:
        return aval
    return memories.in_space(
        _sharded_at(aval, sharding), memories.space_of_kind(sharding.memory_kind)
    )


def _sharded_at(aval: stage2.ShapedArray, sharding: Sharding) -> stage2.ShapedArray:
    if not isinstance(sharding, NamedSharding) or not sharding.mesh.explicit_axes:
        return aval
    if isinstance(sharding.mesh, Mesh):
        _meshes_of_types.setdefault(sharding.mesh.abstract_mesh, set()).add(sharding.mesh)
    explicit = {*sharding.mesh.explicit_axes}
    spec = [tuple([name for name in axes if name in explicit]) for axes in sharding.axes(aval.ndim)]
    state = reduction_in(sharding.spec).along(explicit)
    return ShardedArray(aval, sharding.mesh.abstract_mesh, tuple(spec), state)


def calls_programs(primitive: Primitive, params: dict[str, Any]) -> bool:
    """Return True if a primitive calls programs on its operands, whose types are complete."""
    if primitive in typed_primitives:
        return True
    if not primitive.higher_order or primitive in combining_elements:
        return False
    items = [value if isinstance(value, tuple | list) else (value,) for value in params.values()]
    return any(isinstance(x, Jaxpr) for each in items for x in each)


# Primitives whose programs combine elements of the operands, not whole operands.
combining_elements: set[Primitive] = set()

# Primitives whose parameters determine the sharding of their results.
typed_primitives: set[Primitive] = set()


def _common_mesh(primitive: Primitive, in_avals: Sequence[stage2.ShapedArray]) -> AbstractMesh:
    meshes = [aval.mesh for aval in in_avals if isinstance(aval, ShardedArray)]
    if any(mesh != meshes[0] for mesh in meshes):
        raise ShardingTypeError(
            f"{primitive} of {listed(in_avals)}: the operands are on different meshes, "
            f"{' and '.join(map(str, dict.fromkeys(meshes)))}. Move them to one by device_put"
        )
    return meshes[0]


def _checked_type(
    primitive: Primitive,
    in_avals: Sequence[stage2.ShapedArray],
    aval: stage2.ShapedArray,
    mesh: AbstractMesh,
    spec: Spec,
    state: Reduction,
) -> stage2.ShapedArray:
    """The type of a result, after checking its sharding."""
    found = ShardedArray(aval, mesh, spec, state)
    names = [name for axes in spec for name in axes]
    role = f"{primitive} of {listed(in_avals)}: the result would be {found}"
    if len({*names}) < len(names):
        raise ShardingTypeError(
            f"{role}, and a mesh axis can shard only one axis of an array. "
            "Change the sharding of an operand by sharding.reshard, or pass out_sharding if the "
            "function has it"
        )
    for size, axes in zip(aval.shape, spec, strict=True):
        parts = math.prod([mesh.shape[name] for name in axes])
        if size % parts:
            raise ShardingTypeError(
                f"{role}, but {size} is not a multiple of the {parts} devices along "
                f"{axes_text(axes)}. "
                "Change the sharding of the operand by sharding.reshard"
            )
    return found


def axes_text(axes: Axes) -> str:
    """Names of axes as words."""
    return ", ".join(map(repr, axes))


# Changing the sharding in an array's type.


Function = TypeVar("Function", bound=Callable[..., Any])


def resharded(name: str, x: Any, sharding: Any, role: str = "out_sharding") -> Any:
    """`x`, called `name` in errors, resharded over axes of type `Explicit`.

    Errors call the sharding by the name of its argument, `role`.
    """
    typeof_named(name, x)
    sharding = explicit_sharding(name, sharding, role)
    if sharding is None:
        raise ValueError(f"{name}: {role} must be given, found None")
    try:
        sharding.shard_shape(typeof(x).shape)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    before = typeof(x)
    sharding = sharding.with_memory_kind(memories.kind_of_type(before))
    after = type_at(unsharded(before), sharding)
    require_in_place(name, _kept_axes(before), _kept_axes(after))
    return bind1(reshard_p, x, sharding=sharding)


def leave_to_compiler(x: Any, mesh: AbstractMesh | None = None) -> Any:
    """`x` with a type without its sharding over axes of type `Auto` of `mesh`.

    Without a mesh, the type has no sharding at all.
    """
    aval = getattr(x, "aval", None)
    if isinstance(aval, memories.HostArray):
        aval = aval.plain
    if not isinstance(aval, ShardedArray):
        return x
    mesh = mesh or aval.mesh.update_axis_types(dict.fromkeys(aval.mesh.axis_names, AxisType.Auto))
    if mesh == aval.mesh:
        return x
    return bind1(to_auto_p, x, mesh=mesh)


def sharded_like(x: Any, aval: stage2.ShapedArray) -> Any:
    """`x`, of the shape of a type, with the type's sharding."""
    sharded = sharded_type(aval)
    return x if sharded is None else bind1(reshard_p, x, sharding=sharding_of_type(sharded))


def cast_cotangent(ct: Any, aval: stage2.ShapedArray) -> Any:
    """A cotangent of a value of type `aval`: sharded as that, in the dual state of reduction."""
    return _cast(ct, aval, reduction_of(aval).dual)


def _cast(x: Any, aval: stage2.ShapedArray, state: Reduction) -> Any:
    wanted, found = spec_of(aval), typeof(x)
    same = wanted == spec_of(found) and state == reduction_of(found)
    if same or found.dtype == stage2.float0:
        return x
    sharded = sharded_type(aval) or sharded_type(found)
    assert sharded is not None  # the types differ, so one has a sharding
    spec = with_reduction(PartitionSpec(*wanted), state)
    kind = memories.kind_of_type(found)
    return bind1(reshard_p, x, sharding=NamedSharding(sharded.mesh, spec, memory_kind=kind))


def sharded_as(tangents: Any, primals: Any) -> Any:
    """Tangents with the shardings of their primals, if these have any."""
    leaves, treedef = tree_flatten(tangents)
    values, tree_of_values = tree_flatten(primals)
    if treedef != tree_of_values or not any(
        isinstance(getattr(x, "aval", None), ShardedArray) for x in (*leaves, *values)
    ):
        return tangents  # no shardings; a mismatch is an error elsewhere
    pairs = zip(leaves, map(typeof, values), strict=True)
    return stage2.tree_unflatten(treedef, [_cast(t, aval, reduction_of(aval)) for t, aval in pairs])


def takes_out_sharding(function: Function) -> Function:
    """Decorator: apply the argument `out_sharding` to the results of a function of arrays.

    If it is given, the shardings of the arguments need not agree, and do not determine the
    result's: the compiler inserts communication.
    """

    caller = name_of(function)
    parameters = inspect.signature(function).parameters
    position = sys.maxsize  # where `out_sharding` stands among positional arguments
    if "out_sharding" in parameters:
        parameter = parameters["out_sharding"]
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            position = [*parameters].index("out_sharding")

    @functools.wraps(function)
    def sharded_function(*args: Any, out_sharding: Any = None, **kwargs: Any) -> Any:
        if len(args) > position:
            out_sharding = args[position]
            args = (*args[:position], None, *args[position + 1 :])
        sharding = explicit_sharding(caller, out_sharding)
        if sharding is None:
            return function(*args, **kwargs)
        sharded = [
            sharded_type(x.aval) for x in stage2.tree_leaves((args, kwargs)) if hasattr(x, "aval")
        ]
        _require_summed(caller, sharding, sharded)
        args, kwargs = stage2.tree_map(leave_to_compiler, (args, kwargs))
        outs = stage2.tree_map(lambda x: resharded(caller, x, sharding), function(*args, **kwargs))
        before = [_kept_axes(aval) for aval in sharded if aval is not None]
        require_kept(caller, before, [_kept_axes(typeof(x)) for x in stage2.tree_leaves(outs)])
        return outs

    return sharded_function  # type: ignore[return-value]


def _require_summed(
    caller: str, sharding: NamedSharding, operands: Sequence[ShardedArray | None]
) -> None:
    """Raise an error if a result is to be unreduced over an axis that shards no operand."""
    names = {name for aval in operands if aval for axes in _kept_axes(aval) for name in axes}
    for name in sharding.spec.unreduced - names:
        given = listed([aval for aval in operands if aval]) or "operands without shardings"
        raise ShardingTypeError(
            f"{caller} of {given}: out_sharding={sharding.spec} leaves the result unreduced over "
            f"{name!r}, which shards no operand, so nothing is summed along it. Leave it out"
        )


# `ShapedArray` for users, with a sharding.


class _AnyType(type):
    """A class whose instances are all types, including the stages'."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, stage2.ShapedArray)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, stage2.ShapedArray)


class ShapedArray(metaclass=_AnyType):
    """The set of all arrays of one shape and dtype, one sharding along `Explicit` axes, one memory.

    `weak_type` marks a Python number, which takes the dtype of the operands that it is combined
    with. There is only one object per type, so types compare by identity.

    Raises:
        TypeError: `shape` is not a tuple, `dtype` not a dtype of numbers, or a field is given that
            only primitives set.

    >>> from glassjax import core
    >>> aval = core.ShapedArray((2, 3), "float32")
    >>> aval, aval.update(shape=(3,)), isinstance(aval, core.ShapedArray)
    (ShapedArray(f32[2,3]), ShapedArray(f32[3]), True)
    """

    def __new__(  # type: ignore[misc]
        cls,
        shape: tuple[int, ...],
        dtype: Any,
        weak_type: bool = False,
        *,
        sharding: Sharding | None = None,
        memory_space: Space | None = None,
        **others: Any,
    ) -> stage2.ShapedArray:
        given = [name for name, value in others.items() if value]
        if given:
            raise TypeError(f"ShapedArray: only primitives set {given[0]}: leave it out")
        aval = type_at(stage2.ShapedArray(shape, dtype, weak_type), sharding)
        return aval if memory_space is None else memories.in_space(aval, memory_space)


# `ManualAxisType`: how values vary along mesh axes in the body of `shard_map`.


@dataclass(frozen=True, kw_only=True)
class ManualAxisType:
    """The variation of a value over devices, part of its type in the body of `shard_map`.

    Attributes:
        varying: the mesh axes along which each device may hold a different value.
        unreduced: the mesh axes along which each device holds a part of the value.
        reduced: the mesh axes along which each device holds a part of its cotangent.
        unreduced_kind: the operation that combines the parts.

    >>> glassjax.typeof(jnp.ones(2)).manual_axis_type.varying
    frozenset()
    """

    varying: Iterable[Hashable] = frozenset()
    unreduced: Iterable[Hashable] = frozenset()
    reduced: Iterable[Hashable] = frozenset()
    unreduced_kind: UnreducedKind | None = None

    def __post_init__(self) -> None:
        for name in ("varying", "unreduced", "reduced"):
            object.__setattr__(self, name, frozenset(getattr(self, name)))
        if self.unreduced and self.unreduced_kind is None:
            object.__setattr__(self, "unreduced_kind", UnreducedKind.sum)

    @property
    def empty(self) -> bool:
        """True if all devices hold the same value."""
        return not (self.varying or self.unreduced or self.reduced)

    def update(self, **changes: Any) -> "ManualAxisType":
        """The same with other attributes."""
        return replace(self, **changes)
