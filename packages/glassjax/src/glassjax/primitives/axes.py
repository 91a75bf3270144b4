"""Named axes, and the axes along which a value varies."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import repeat
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import glassjax_stage2 as stage2
from glassjax.errors import ShardingTypeError, UnboundAxisError
from glassjax.primitives.declare import declare
from glassjax.runtime.lowering import axis_string, declared_mesh
from glassjax.settings.config import set_in_context
from glassjax.settings.options import UserContext
from glassjax.shardings import types as sharded
from glassjax.shardings.mesh import AbstractMesh
from glassjax.shardings.reduction import COMPLETE, Reduction, label
from glassjax_stage1.interpreter import set_interpreter
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.tangent import zeros
from glassjax_stage2.vmap import BatchAxis, BatchDim, BatchTrace, move_batch_dim, vmap_flat
from glassjax_stage3 import abstract_eval_rules
from glassjax_stage3.abstract_eval import abstract_eval
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type

# Varying values: each device along a mesh axis may hold a different one.
#
# In the body of `shard_map` the type of a value names the axes along which it varies. The result of
# an operation varies along the axes of all operands, so a value that is the same on all devices
# combines with one that varies. The transpose of that implicit conversion is a sum over the
# devices.


AxisNames = frozenset[Hashable]

NONE: AxisNames = frozenset()


@dataclass(frozen=True)
class MeshAxis:
    """A mesh axis along which the program is written for one device.

    Attributes:
        name: the name of the axis.
        mesh: the mesh, in which such axes have the type `Manual`.
        checked: whether types track along which axes values vary.
    """

    name: Hashable
    mesh: AbstractMesh
    checked: bool

    @property
    def size(self) -> int:
        """The number of devices along the axis."""
        return self.mesh.shape[self.name]

    def index(self) -> Any:
        """The index of the device along the axis, a scalar that varies."""
        return bind1(axis_index_p, axis=self)


_mesh_axes: ContextVar[Mapping[Hashable, MeshAxis]] = ContextVar(
    "mesh_axes", default=MappingProxyType({})
)


def mesh_axes(axes: Iterable[MeshAxis]) -> AbstractContextManager[None]:
    """Name mesh axes along which the running code is written for one device.

    The enclosing axes of this kind belong to the same mesh.
    """
    named = {axis.name: axis for axis in axes}
    meshes = [axis.mesh for axis in named.values()]
    around = {
        name: replace(axis, mesh=meshes[0]) if meshes else axis
        for name, axis in _mesh_axes.get().items()
    }
    return set_in_context(_mesh_axes, {**around, **named})


def mesh_axes_of(names: Iterable[Hashable]) -> list[MeshAxis]:
    """The named axes that are mesh axes, in the order of the mesh."""
    chosen = {*names}
    return [axis for axis in _mesh_axes.get().values() if axis.name in chosen]


def names_of_mesh_axes() -> list[Hashable]:
    """The names of the axes along which the running code is written for one device."""
    return list(_mesh_axes.get())


class VaryingArray(ShapedArray):
    """The type of arrays that vary along axes of a mesh.

    There is only one object per type.

    Attributes:
        plain: the type without the axes.
        vma: the names of the axes along which the values vary.
        axis: the axis whose device index the value is, if any.
        reduction: the axes along which the values, or their cotangents, are unreduced.

    >>> VaryingArray(ShapedArray((2,), "float32"), frozenset("x"))
    ShapedArray(f32[2]{V:x})
    """

    __slots__ = ("axis", "plain", "reduction", "vma")

    plain: ShapedArray
    vma: AxisNames
    axis: MeshAxis | None
    reduction: Reduction

    def __new__(  # type: ignore[misc]
        cls,
        plain: ShapedArray,
        vma: AxisNames,
        axis: MeshAxis | None = None,
        reduction: Reduction = COMPLETE,
    ) -> ShapedArray:
        if not vma and axis is None and reduction == COMPLETE:
            return plain
        aval: VaryingArray | None
        key = plain, vma, axis, reduction
        aval = _interned.get(key)
        if aval is None:
            aval = object.__new__(cls)
            aval.shape, aval.dtype, aval.weak_type = plain.shape, plain.dtype, plain.weak_type
            aval.plain, aval.vma, aval.axis, aval.reduction = key
            aval = _interned.setdefault(key, aval)
        return aval

    def __reduce__(self) -> tuple[Any, ...]:
        return VaryingArray, (self.plain, self.vma, self.axis, self.reduction)

    def __str__(self) -> str:
        order = names_of_mesh_axes()
        varying = [label("V", self.vma, order)] if self.vma else []
        labels = ", ".join([*varying, *self.reduction.labels(order)])
        return f"{self.plain}{{{labels}}}" if labels else str(self.plain)

    def _like(self, plain: ShapedArray) -> ShapedArray:
        # without `axis`: a changed value is no longer the index of the device
        return VaryingArray(plain, self.vma, None, self.reduction)

    def update(self, **changes: Any) -> ShapedArray:
        return self._like(self.plain.update(**changes))

    def without_axis(self, axis: int) -> ShapedArray:
        return self._like(self.plain.without_axis(axis))

    def with_axis(self, axis: int, size: int) -> ShapedArray:
        return self._like(self.plain.with_axis(axis, size))

    def with_plain(self, plain: ShapedArray) -> ShapedArray:
        """The type of values of another plain type that vary in the same way."""
        return VaryingArray(plain, self.vma, self.axis, self.reduction)

    def accepts(self, other: ShapedArray) -> bool:
        """Return True if `other` is the same type, or varies along fewer axes."""
        state = reduction_along(other)
        return (
            self.plain.accepts(plain_type(other))
            and vma_of(other) <= self.vma
            and self.axis in (None, axis_of_index(other))
            and Reduction(state.unreduced, state.reduced - self.vma) == self.reduction
        )

    def convert(self, x: Any) -> Any:
        """`x`, a value of a type that this one accepts, converted to this type."""
        return pvary(x, mesh_axes_of(self.vma))

    @staticmethod
    def abstract_eval(
        primitive: Primitive, in_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> list[ShapedArray]:
        """The result types of a primitive with a varying operand."""
        if sharded.calls_programs(primitive, params):
            found = abstract_eval_rules[primitive](*in_avals, **params)
            more = varying_program_rules.get(primitive, _nothing_more)(in_avals, params)
            return list(map(vary, found, more))
        vma = varying_rules.get(primitive, _all_axes)(in_avals, params)
        found = abstract_eval(primitive, tuple(map(plain_type, in_avals)), params)
        if primitive in moves:
            states = [moves[primitive].reduction(in_avals)] * len(found)
        else:
            states = _reductions(primitive, in_avals, params, vma, len(found))
        # types in parameters may already vary
        return [with_reduction(vary(x, vma), state) for x, state in zip(found, states, strict=True)]


@zeros.register(VaryingArray)
def _varying_zeros(aval: VaryingArray) -> Any:
    """Zeros in any state: each device holds the same."""
    x, unreduced = sharded.zeros_of_type(aval), mesh_axes_of(aval.reduction.unreduced)
    if isinstance(x, np.ndarray):
        return x
    x = cast(pvary(x, unreduced), unreduced, "unreduced")
    return cast(x, mesh_axes_of(aval.reduction.reduced), "reduced")


_interned: "dict[Any, VaryingArray]" = {}


def plain_type(aval: ShapedArray) -> ShapedArray:
    """The type without the axes along which values vary."""
    return aval.plain if isinstance(aval, VaryingArray) else aval


def vma_of(aval: ShapedArray) -> AxisNames:
    """The names of the axes along which values of a type vary."""
    return aval.vma if isinstance(aval, VaryingArray) else NONE


_type: Any = ShapedArray
_type.vma = property(lambda aval: NONE)  # varying types define their own
_type.mat = property(
    lambda aval: sharded.ManualAxisType(varying=vma_of(aval), **reduction_along(aval)._asdict())
)
_type.manual_axis_type = _type.mat


def axis_of_index(aval: ShapedArray) -> MeshAxis | None:
    """The axis whose device indices values of a type are, if any."""
    return aval.axis if isinstance(aval, VaryingArray) else None


def vary(aval: ShapedArray, names: AxisNames) -> ShapedArray:
    """The type of values that vary along more axes."""
    return VaryingArray(plain_type(aval), vma_of(aval) | names, None, reduction_along(aval))


def reduction_along(aval: ShapedArray) -> Reduction:
    """The mesh axes along which values of a type, or their cotangents, are unreduced."""
    return aval.reduction if isinstance(aval, VaryingArray) else COMPLETE


def with_reduction(aval: ShapedArray, reduction: Reduction) -> ShapedArray:
    """The type of values in another state of reduction."""
    return VaryingArray(plain_type(aval), vma_of(aval), None, reduction)


def _reductions(
    primitive: Primitive,
    in_avals: Sequence[ShapedArray],
    params: dict[str, Any],
    vma: AxisNames,
    count: int,
) -> list[Reduction]:
    """The states of results that vary along `vma`, along which reduced operands come to vary."""
    states = [reduction_along(aval) for aval in in_avals]
    if all(state == COMPLETE for state in states):
        return states[:1] * count
    states = [Reduction(state.unreduced, state.reduced - vma) for state in states]
    varying = NONE.union(*map(vma_of, in_avals))
    for state in states:
        if mixed := state.unreduced & varying:
            raise ShardingTypeError(
                f"{primitive} of {sharded.listed(in_avals)}: an operand is unreduced along "
                f"{sharded.axes_text(tuple(mixed))}, and another one varies along it. Apply "
                "lax.psum to the unreduced one first"
            )
    return sharded.reduction_of_results(primitive, in_avals, states, params, count)


# `rule(in_avals, params)`: the axes along which the results of a primitive vary, by default all
# axes of the operands.
varying_rules: dict[Primitive, Callable[[Sequence[ShapedArray], dict[str, Any]], AxisNames]] = {}

# For each result of a primitive that calls programs, axes in addition to the programs'.
varying_program_rules: dict[
    Primitive, Callable[[Sequence[ShapedArray], dict[str, Any]], Iterable[AxisNames]]
] = {}


def _all_axes(in_avals: Sequence[ShapedArray], params: dict[str, Any]) -> AxisNames:
    return NONE.union(*map(vma_of, in_avals))


def _nothing_more(in_avals: Sequence[ShapedArray], params: dict[str, Any]) -> Iterable[AxisNames]:
    return repeat(NONE)


# The index of the device

axis_index_p = Primitive("axis_index")


def _axis_index_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], *, axis: MeshAxis
) -> list[Value]:
    """The coordinate along the axis, from the partition number.

    Only a program that is manual along all axes may use the partition number.
    """
    return manual_along_all(
        b, axis.mesh, [], out_avals, lambda inside, _: [index_text(inside, axis, out_avals[0])]
    )


def manual_along_all(
    b: FunctionBuilder,
    mesh: AbstractMesh,
    operands: Sequence[Value],
    out_avals: Sequence[ShapedArray],
    write: Callable[[FunctionBuilder, Sequence[Value]], Sequence[Value]],
) -> list[Value]:
    """Write a program of single devices, also along the axes left to the partitioner.

    Operands and results are replicated along those.
    """
    others = [name for name in mesh.axis_names if name not in mesh.manual_axes]
    if not others:
        return list(write(b, operands))
    inside = b.module.function()
    inside.count, inside.indent = b.count, b.indent + "  "
    params = [Value(inside.fresh_name(), x.aval) for x in operands]
    outs = write(inside, params)
    b.count = inside.count

    def sharding_texts(avals: Sequence[ShapedArray]) -> str:
        name = declared_mesh(b.module, mesh)
        return ", ".join(f"<@{name}, [{', '.join(['{}'] * aval.ndim)}]>" for aval in avals)

    in_types, out_types = (
        ", ".join(mlir_type(x.aval) for x in values) for values in (operands, outs)
    )
    declared = ", ".join(f"{x.name}: {mlir_type(x.aval)}" for x in params)
    returned = f"sdy.return {', '.join(x.name for x in outs)} : {out_types}"
    lines = "\n".join([*inside.lines, inside.indent + returned])
    return b.emit(
        f"sdy.manual_computation({', '.join(x.name for x in operands)}) "
        f"in_shardings=[{sharding_texts([x.aval for x in operands])}] "
        f"out_shardings=[{sharding_texts(out_avals)}] "
        f"manual_axes={{{', '.join(map(axis_string, others))}}} ({declared}) "
        f"{{\n{lines}\n{b.indent}}} : ({in_types}) -> ({out_types})",
        *out_avals,
    )


def index_text(b: FunctionBuilder, axis: MeshAxis, aval: ShapedArray) -> Value:
    """Write the coordinate of a device in a program that is manual along all axes."""
    number_type = ShapedArray((), np.uint32)
    (number,) = b.emit("stablehlo.partition_id : tensor<ui32>", number_type)
    at = axis.mesh.axis_names.index(axis.name)
    below = math.prod(axis.mesh.axis_sizes[at + 1 :])
    for operation, size in (("divide", below), ("remainder", axis.size)):
        count = b.constant(size, number_type)
        operation = f"stablehlo.{operation} {number.name}, {count.name} : tensor<ui32>"
        (number,) = b.emit(operation, number_type)
    (out,) = b.emit(f"stablehlo.convert {number.name} : (tensor<ui32>) -> tensor<i32>", aval)
    return out


def _axis_index_type(*, axis: MeshAxis) -> list[ShapedArray]:
    vma = frozenset([axis.name]) if axis.checked else NONE
    return [VaryingArray(ShapedArray((), np.int32), vma, axis)]


declare(axis_index_p, abstract_eval=_axis_index_type, lower=_axis_index_lower)


def linear_in_first(primitive: Primitive) -> Callable[..., Any]:
    """The jvp rule of a primitive that is linear in its first operand; the others are indices."""

    def first_operand_jvp(
        primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        t, indices = tangents[0], primals[1:]
        out = bind1(primitive, *primals, **params)
        if type(t) is stage2.Zero:
            return [out], [stage2.Zero.like(out)]
        return [out], [bind1(primitive, t, *indices, **params)]

    return first_operand_jvp


# The explicit conversion

pvary_p = Primitive("pvary")


def _cast_vmap(primitive: Primitive) -> Callable[..., Any]:
    def cast_vmap(
        axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim]
    ) -> tuple[list[Any], list[BatchDim]]:
        return [bind1(primitive, *values)], [dims[0]]

    return cast_vmap


declare(
    pvary_p,
    abstract_eval=lambda x, *indices: [x],
    lower=lambda b, out_avals, x, *indices: [x],
    vmap=_cast_vmap(pvary_p),
    jvp=linear_in_first(pvary_p),
    transpose=lambda cts, x, *indices: [cts[0], *[None] * len(indices)],
)


def pvary(x: Any, axes: Sequence[MeshAxis]) -> Any:
    """`x` as a value that varies along more axes, although it is the same on all devices."""
    more = [axis for axis in axes if axis.checked and axis.name not in vma_of(typeof(x))]
    reduced = reduction_along(typeof(x)).reduced
    x = _cast(reduced_vary_cast_p, x, [axis for axis in more if axis.name in reduced])
    return _cast(pvary_p, x, [axis for axis in more if axis.name not in reduced])


def _cast(primitive: Primitive, x: Any, axes: Sequence[MeshAxis]) -> Any:
    return bind1(primitive, x, *[axis.index() for axis in axes]) if axes else x


# Ways in which values relate along an axis, and the operations that lead from one to another.
#
#     invarying   the same value on all devices; so is its cotangent
#     varying     a value on each device; so is its cotangent
#     unreduced   a summand on each device; its cotangent is reduced
#     reduced     the same value on all devices; its cotangent is unreduced
#
# An operation and its transpose lead in opposite directions between duals.


class Move(NamedTuple):
    """The ways in which the operand and the result of a primitive relate along its axes."""

    source: str
    target: str

    def vma(self, in_avals: Sequence[ShapedArray], params: dict[str, Any]) -> AxisNames:
        """The axes along which the result varies."""
        names, vma = names_of_indices(in_avals), vma_of(in_avals[0])
        return vma | names if self.target == "varying" else vma - names

    def reduction(self, in_avals: Sequence[ShapedArray]) -> Reduction:
        """The state of the result.

        Raises:
            ValueError: the operand is in another one than `source`.
        """
        names, (x, *_) = names_of_indices(in_avals), in_avals
        for name in names:
            if (found := relation_along(x, name)) != self.source:
                raise ValueError(
                    f"{x} is {found} along {name!r}, and this leads from {self.source} to "
                    f"{self.target} values"
                )
        new = {self.target: names} if self.target in Reduction._fields else {}
        return reduction_along(x).without(names).union(Reduction(**new))


# Primitives whose operands are an array, and the indices along the axes.
moves: dict[Primitive, Move] = {}


def declare_move(primitive: Primitive, source: str, target: str) -> None:
    """Let a primitive lead from one way in which values relate to another."""
    moves[primitive] = Move(source, target)
    varying_rules[primitive] = moves[primitive].vma


def names_of_indices(in_avals: Sequence[ShapedArray]) -> AxisNames:
    """The axes of the indices among the operands of a collective or a cast."""
    return frozenset([axis.name for axis in map(axis_of_index, in_avals[1:]) if axis])


def relation_along(aval: ShapedArray, name: Hashable) -> str:
    """The relation of the values of a type along an axis, a word for `pcast`."""
    state = reduction_along(aval)
    columns = ("varying", vma_of(aval)), *zip(Reduction._fields, state, strict=True)
    return next((word for word, names in columns if name in names), "invarying")


preduced_p = Primitive("preduced")
vary_unreduced_cast_p = Primitive("vary_unreduced_cast")
reduced_vary_cast_p = Primitive("reduced_vary_cast")


def _by_the_dual(dual: Primitive) -> Callable[..., Any]:
    return lambda cts, x, *indices: [bind1(dual, cts[0], *indices), *[None] * len(indices)]


for cast_p, (source, target), dual_p in (
    (vary_unreduced_cast_p, ("varying", "unreduced"), reduced_vary_cast_p),
    (reduced_vary_cast_p, ("reduced", "varying"), vary_unreduced_cast_p),
    (preduced_p, ("invarying", "reduced"), None),  # its dual is a collective, unreduced_psum
):
    declare(
        cast_p,
        abstract_eval=lambda x, *indices: [x],
        lower=lambda b, out_avals, x, *indices: [x],
        vmap=_cast_vmap(cast_p),
        jvp=linear_in_first(cast_p),
        transpose=_by_the_dual(dual_p) if dual_p else (),
    )
    declare_move(cast_p, source, target)

_CASTS = {
    ("invarying", "varying"): pvary_p,
    ("invarying", "reduced"): preduced_p,
    ("varying", "unreduced"): vary_unreduced_cast_p,
    ("reduced", "varying"): reduced_vary_cast_p,
}


def cast(x: Any, axes: Sequence[MeshAxis], to: str) -> Any:
    """`x` as a value that relates in another way along axes, without communication.

    Raises:
        ValueError: that takes communication, or `x` relates in several ways along the axes.
    """
    aval = typeof(x)
    checked = [a for a in axes if a.checked and relation_along(aval, a.name) != to]
    if not checked:
        return x
    found = [relation_along(aval, axis.name) for axis in checked]
    relations = {*found}
    primitive = _CASTS.get((relations.pop(), to)) if len(relations) == 1 else None
    if primitive is None:
        raise ValueError(
            f"pcast: x of type {aval} is {' and '.join(sorted({*found}))} along "
            f"{', '.join(repr(axis.name) for axis in checked)}, and cannot be cast to {to!r}. From "
            "invarying lead casts to varying and reduced, from varying to unreduced, and from "
            "reduced to varying"
        )
    return _cast(primitive, x, checked)


# Names of the axes that `vmap` and `shard_map` map over, for collectives.
#
# An array represents the axis: the index of each example, or of the device. A collective takes it
# as an operand, so the trace in which that operand is batched is the one whose axis is meant. Names
# matter nowhere else: the operand enters jitted functions, loops and branches like any other
# closed-over value.


@dataclass(frozen=True, init=False)
class AxisData(BatchAxis):
    """A batch axis that may have a name, and may be sharded over axes of a mesh.

    Attributes:
        size: the number of examples.
        name: the name of the axis, for collectives, or None.
        spmd_name: names of mesh axes that shard it, in a program that sees all examples.
        explicit_mesh_axis: names of mesh axes that shard it, in types.
        mesh: their mesh.
        manual: mesh axes that shard it, in a program that sees the examples of one device, within
            `shard_map`.
    """

    name: Hashable
    spmd_name: sharded.Axes
    explicit_mesh_axis: sharded.Axes
    mesh: AbstractMesh | None
    manual: tuple[MeshAxis, ...]

    def __init__(
        self,
        name: Hashable,
        size: int,
        spmd_name: sharded.Axes | None = None,
        explicit_mesh_axis: sharded.Axes | None = None,
        mesh: AbstractMesh | None = None,
        manual: tuple[MeshAxis, ...] = (),
    ):
        vars(self).update(
            name=name,
            size=size,
            spmd_name=spmd_name or (),
            explicit_mesh_axis=explicit_mesh_axis or (),
            mesh=mesh,
            manual=manual,
        )

    def batch(self, example: ShapedArray, dim: BatchDim) -> ShapedArray:
        """The type of a batch, sharded like the axis; examples on several devices vary."""
        batch = super().batch(example, dim)
        if dim is not None and self.mesh is not None:
            spec = [*sharded.spec_of(batch)]
            spec[dim] = self.explicit_mesh_axis
            batch = sharded.with_spec(batch, self.mesh, tuple(spec))
        return batch if dim is None else vary(batch, self._varying())

    def example(self, batch: ShapedArray, dim: BatchDim) -> ShapedArray:
        """The type of one example, which varies only along the mapped function's axes."""
        aval = super().example(batch, dim)
        if dim is None or not self.manual:
            return aval
        vma = vma_of(aval) - self._varying()
        return VaryingArray(plain_type(aval), vma, axis_of_index(aval), reduction_along(aval))

    def broadcast(self, x: Any, dim: int) -> Any:
        """A batch of examples that are all `x`, sharded like the axis."""
        batch = super().broadcast(x, dim)
        if self.mesh is not None:
            batch = sharded.sharded_like(batch, self.batch(typeof(x), dim))
        return pvary(batch, self.manual)

    def _varying(self) -> AxisNames:
        return frozenset([axis.name for axis in self.manual if axis.checked])


def axis_data(axis: BatchAxis) -> AxisData:
    """A batch axis as an `AxisData`."""
    return axis if isinstance(axis, AxisData) else AxisData(None, axis.size)


def axis_of_arrays(
    size: int,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    name: Hashable,
    spmd_name: sharded.Axes,
) -> BatchAxis:
    """The axis along which `vmap` maps arrays; a plain one if it has no name and no sharding."""
    for x, dim in zip(values, dims, strict=True):
        if dim is None:  # need not be an array
            continue
        aval = sharded.sharded_type(typeof(x))
        if aval is not None and aval.spec[dim]:
            return AxisData(name, size, spmd_name, aval.spec[dim], aval.mesh)
    return BatchAxis(size) if name is None and not spmd_name else AxisData(name, size, spmd_name)


# For each name, the batch of indices and the number of examples.
_axes: ContextVar[Mapping[Hashable, tuple[Any, int]]] = ContextVar(
    "named_axes", default=MappingProxyType({})
)


def named_axis(axis: BatchAxis) -> AbstractContextManager[None]:
    """Name the mapped axis of the current trace, a vmap trace, if it has a name."""
    name = axis_data(axis).name
    if name is None:
        return nullcontext()
    trace: Any = stage2.current_trace()
    return bound_axis(name, trace.box(_index_text(axis.size), 0), axis.size)


def bound_axis(name: Hashable, index: Any, size: Any) -> AbstractContextManager[None]:
    """Name an axis that a loop runs over, with the index of its current iteration."""
    return set_in_context(_axes, {**_axes.get(), name: (index, size)})


def _index_text(size: int) -> Any:
    return np.arange(size, dtype=np.int32)


def require_hashable(name: Hashable) -> None:
    """Raise an error if a value cannot be an axis name."""
    try:
        hash(name)
    except TypeError:
        raise TypeError(
            f"axis_name: the name of an axis must be hashable, such as a string, found "
            f"{shown(name)} of type {type(name).__name__}"
        ) from None


def axis_of(name: Hashable) -> tuple[Any, int]:
    """The index of the current example or device along a named axis, and the axis size.

    Raises:
        UnboundAxisError: there is no such axis here.
    """
    require_hashable(name)
    if name in _axes.get():
        return _axes.get()[name]
    for axis in mesh_axes_of([name]):
        return axis.index(), axis.size
    known = ", ".join(map(repr, names_here())) or "none"
    raise UnboundAxisError(
        f"unbound axis name: {name}. The axes that are bound here: {known}. An axis gets its name "
        "by vmap(..., axis_name=...), or from the mesh of shard_map, and has it while the mapped "
        "function runs."
    )


def names_here() -> list[Hashable]:
    """The names of the axes that are bound here."""
    return [*_axes.get(), *names_of_mesh_axes()]


# The mesh axes over which running vmap traces shard their examples.
axes_of_examples = UserContext(NONE)


def map_flat(
    f: Callable[..., Sequence[Any]],
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    axis: BatchAxis,
    trace: BatchTrace | None = None,
) -> tuple[list[Any], list[BatchDim]]:
    """`vmap_flat` of a function that may use the name of the axis.

    `trace` maps over the axis already, and `f` may close over its values.
    """

    def with_name(*args: Any) -> Sequence[Any]:
        with named_axis(axis):
            return f(*args)

    if trace is None or trace.ended:
        return vmap_flat(with_name, values, dims, axis, f)
    return _resume(trace, with_name, values, dims)


def map_first(
    f: Callable[..., Sequence[Any]],
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    axis: BatchAxis,
    trace: BatchTrace | None = None,
) -> list[Any]:
    """`map_flat`, with the batch axis first in all results."""
    outs, out_dims = map_flat(f, values, dims, axis, trace)
    return [move_batch_dim(x, axis, dim, 0) for x, dim in zip(outs, out_dims, strict=True)]


def _resume(
    trace: BatchTrace,
    f: Callable[..., Sequence[Any]],
    values: Sequence[Any],
    dims: Sequence[BatchDim],
) -> tuple[list[Any], list[BatchDim]]:
    """`vmap_flat` in the current trace: `f` may close over that trace's tracers.

    It continues above the current trace, which may be below the one on which it began.
    """
    began_above = trace.parent
    trace.parent = stage2.current_trace()
    try:
        with set_interpreter(trace):
            outs = f(*(trace.box(x, dim) for x, dim in zip(values, dims, strict=True)))
    finally:
        trace.parent = began_above
    return trace.unbox(outs)
