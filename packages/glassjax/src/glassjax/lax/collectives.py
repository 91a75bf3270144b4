"""Collectives, over axes of `vmap` and axes of a mesh."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.conversion import convert_element_type
from glassjax.lax.dynamic_slicing import dynamic_slice
from glassjax.lax.elementwise import div, select
from glassjax.lax.gathering import GatherDimensionNumbers, gather
from glassjax.lax.reductions import argmax, reduce_max, reduce_min, reduce_sum
from glassjax.lax.shapes import broadcast_in_dim, expand_dims, iota
from glassjax.lax.slicing import concatenate, slice
from glassjax.primitives import axes as mesh_axes
from glassjax.primitives import loops
from glassjax.primitives.reduction_rules import linear_in_first
from glassjax.runtime import array
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.number_types import as_weak_as, letter_of
from glassjax.shardings.mesh import require_allowed
from glassjax.shardings.reduction import Reduction
from glassjax.shardings.types import reduction_rules
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import canonical_axis, ints
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3 import abstract_eval_rules, lowering_rules
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature
from glassjax_stage4.transpose import transpose_rules

# The lowering rules of collectives among the devices of a mesh.
#
# The types of the indices name the mesh axes. XLA identifies a device by its number in the mesh.


Groups = Sequence[Sequence[int]] | None  # groups of indices along an axis
Avals = Sequence[ShapedArray]

_CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"


def _index_axes(indices: Sequence[Value]) -> list[mesh_axes.MeshAxis]:
    found = [mesh_axes.axis_of_index(index.aval) for index in indices]
    return [axis for axis in found if axis is not None]


def _device_groups(axes: Sequence[mesh_axes.MeshAxis]) -> np.ndarray[Any, Any]:
    """The numbers of devices that differ only in their indices along `axes`, in rows."""
    mesh = axes[0].mesh
    positions = [mesh.axis_names.index(axis.name) for axis in axes]
    numbers = np.arange(mesh.size).reshape(mesh.axis_sizes)
    last = range(-len(positions), 0)
    size = int(np.prod([axis.size for axis in axes], dtype=np.int64))
    return np.moveaxis(numbers, positions, last).reshape(-1, size)


def _groups(axes: Sequence[mesh_axes.MeshAxis], groups: Groups) -> str:
    """The groups of devices that communicate, as MLIR has them."""
    rows = _device_groups(axes)
    if groups is not None:
        longest = max(map(len, groups))
        group_rows = [rows[:, list(group)] for group in groups]
        fill = [((0, 0), (0, longest - len(group))) for group in groups]
        pairs = zip(group_rows, fill, strict=True)
        rows = np.concatenate([np.pad(x, by, constant_values=-1) for x, by in pairs])
    return f"replica_groups = {_dense(rows)}"


def _dense(rows: np.ndarray[Any, Any]) -> str:
    if not rows.size:
        return f"dense<> : tensor<{rows.shape[0]}x{rows.shape[1]}xi64>"
    return f"dense<{rows.tolist()}> : tensor<{rows.shape[0]}x{rows.shape[1]}xi64>"


def _combining(b: FunctionBuilder, operation: str, aval: ShapedArray) -> str:
    """The region that combines two elements."""
    kind = mlir_type(ShapedArray((), aval.dtype))
    x, y, out = b.fresh_name(), b.fresh_name(), b.fresh_name()
    return (
        f"({{\n    ^bb0({x}: {kind}, {y}: {kind}):\n"
        f"      {out} = stablehlo.{operation} {x}, {y} : {kind}\n"
        f"      stablehlo.return {out} : {kind}\n    }})"
    )


def lower_reduction(operation: str) -> Callable[..., list[Value]]:
    """The rule of a reduction: `add`, `maximum` or `minimum` over all devices of a group."""

    def collective_reduction_lower(
        b: FunctionBuilder, out_avals: Avals, x: Value, *indices: Value, groups: Groups = None
    ) -> list[Value]:
        among = _groups(_index_axes(indices), groups)
        region = _combining(b, operation, x.aval)
        return b.emit(
            f'"stablehlo.all_reduce"({x.name}) <{{{_CHANNEL}, {among}, use_global_device_ids}}> '
            f"{region} : {signature([x], out_avals)}",
            *out_avals,
        )

    return collective_reduction_lower


def lower_all_gather(
    b: FunctionBuilder,
    out_avals: Avals,
    x: Value,
    index: Value,
    *,
    axis: int,
    size: int,
    groups: Groups = None,
) -> list[Value]:
    shape = x.aval.shape
    part = b.reshape(x, (*shape[:axis], 1, *shape[axis:]))
    among = _groups(_index_axes([index]), groups)
    return b.emit(
        f'"stablehlo.all_gather"({part.name}) <{{all_gather_dim = {axis} : i64, {_CHANNEL}, '
        f"{among}, use_global_device_ids}}> : {signature([part], out_avals)}",
        *out_avals,
    )


def lower_psum_scatter(
    b: FunctionBuilder,
    out_avals: Avals,
    x: Value,
    index: Value,
    *,
    axis: int,
    size: int,
    groups: Groups = None,
) -> list[Value]:
    shape = x.aval.shape
    part = ShapedArray((*shape[:axis], 1, *shape[axis + 1 :]), x.aval.dtype)
    among = _groups(_index_axes([index]), groups)
    region = _combining(b, "add", x.aval)
    (out,) = b.emit(
        f'"stablehlo.reduce_scatter"({x.name}) <{{{_CHANNEL}, {among}, scatter_dimension = {axis} '
        f": i64, use_global_device_ids}}> {region} : {signature([x], [part])}",
        part,
    )
    return [b.reshape(out, out_avals[0].shape)]


def lower_all_to_all(
    b: FunctionBuilder,
    out_avals: Avals,
    x: Value,
    index: Value,
    *,
    split: int,
    concat: int,
    size: int,
    groups: Groups = None,
) -> list[Value]:
    """Swap parts between devices: the first axis holds one part for each device."""
    among = _groups(_index_axes([index]), groups)
    x = _moved(b, x, split, 0)
    (out,) = b.emit(
        f'"stablehlo.all_to_all"({x.name}) <{{{_CHANNEL}, concat_dimension = 0 : i64, {among}, '
        f"split_count = {size} : i64, split_dimension = 0 : i64}}> : {signature([x], [x.aval])}",
        x.aval,
    )
    return [_moved(b, out, 0, concat)]


def _moved(b: FunctionBuilder, x: Value, source: int, destination: int) -> Value:
    if source == destination:
        return x
    order = [axis for axis in range(x.aval.ndim) if axis != source]
    order.insert(destination, source)
    aval = ShapedArray(tuple([x.aval.shape[axis] for axis in order]), x.aval.dtype)
    dims = ", ".join(map(str, order))
    (out,) = b.emit(
        f"stablehlo.transpose {x.name}, dims = [{dims}] : {signature([x], [aval])}", aval
    )
    return out


def lower_ppermute(
    b: FunctionBuilder,
    out_avals: Avals,
    x: Value,
    *indices: Value,
    perm: tuple[tuple[int, int], ...],
) -> list[Value]:
    rows = _device_groups(_index_axes(indices))
    pairs = np.array(
        [[row[origin], row[to]] for row in rows for origin, to in perm], np.int64
    ).reshape(-1, 2)
    return b.emit(
        f'"stablehlo.collective_permute"({x.name}) <{{{_CHANNEL}, source_target_pairs = '
        f"{_dense(pairs)}}}> : {signature([x], out_avals)}",
        *out_avals,
    )


# Collectives: operations among the examples, or the devices, of a named axis.
#
# Each takes, besides its operand, the index of the example along the axis. The trace in which the
# index is batched is the one whose axis is meant; to every other trace it is a constant. The
# index of a device is batched in none: its type has the axis of the mesh.


# What a collective makes of a batch whose first axis holds the examples: a value, and the axis
# that holds the examples of it, or None where they all share it.
Combine = Callable[..., tuple[Any, BatchDim]]


def collective(
    name: str,
    type_of_result: Callable[..., ShapedArray],
    combine: Combine,
    lower: Callable[..., list[Value]],
    shift: Callable[[dict[str, Any], int], dict[str, Any]] = lambda params, axis: params,
    reduces: bool = False,
) -> Primitive:
    """Declare the primitive of a collective.

    Its operands are an array and the index of an example, or of a device; a reduction may have
    several indices, and is over all of their axes.

    Arguments:
        name: of the primitive.
        type_of_result: function from the type of one operand, and the parameters, to the type of
            the result.
        combine: the function that computes the result from a batch.
        lower: the lowering rule, for the axes of a mesh.
        shift: function that adapts the parameters to an operand with an additional leading axis.
        reduces: whether it is a reduction, which may be done in steps.
    """
    primitive = Primitive(name)

    def collective_type(x: ShapedArray, *indices: ShapedArray, **params: Any) -> loops.Avals:
        return [type_of_result(x, **params)]

    def collective_vmap(
        axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], /, **params: Any
    ) -> tuple[list[Any], list[BatchDim]]:
        (x, *indices), (dim, *index_dims) = values, dims
        others = [i for i, index_dim in zip(indices, index_dims, strict=True) if index_dim is None]
        manual = mesh_axes.axis_data(axis).manual
        if dim is not None:
            _require_same_example(name, others, manual)
        for _ in range(len(indices) - len(others)):
            x, dim = combine(move_batch_dim(x, axis, dim, 0), **params)
            others += _rest_of_examples(name, reduces, manual)
        if others:
            if dim is not None:
                x, dim, params = move_batch_dim(x, axis, dim, 0), 0, shift(params, 1)
            x = bind1(primitive, x, *others, **params)
        return [x], [dim]

    abstract_eval_rules[primitive] = collective_type
    stage2.vmap_rules[primitive] = collective_vmap
    lowering_rules[primitive] = lower
    return primitive


def _require_same_example(
    name: str, indices: Sequence[Any], axes: Sequence[mesh_axes.MeshAxis]
) -> None:
    """Raise an error if the devices of a collective have different examples of a batch."""
    sharding_axes = {axis.name for axis in axes if axis.checked}
    for axis in map(mesh_axes.axis_of_index, map(typeof, indices)):
        if axis is not None and axis.name in sharding_axes:
            raise ValueError(
                f"{name}: it combines values along {axis.name!r}, and vmap with this as its "
                "spmd_axis_name gives the devices along it different examples. Combine along "
                "another axis of the mesh, or shard the examples over another one"
            )


def _rest_of_examples(name: str, reduces: bool, axes: Sequence[mesh_axes.MeshAxis]) -> list[Any]:
    """The indices of the devices that the examples of a batch are sharded over."""
    if axes and not reduces:
        raise NotImplementedError(
            f"{name}: it combines examples of vmap, which its spmd_axis_name shards over devices "
            "within shard_map. Leave out spmd_axis_name; or reduce the examples, by psum, pmax or "
            "pmin; or call it outside of shard_map"
        )
    return [axis.index() for axis in axes]


def same_type(x: ShapedArray, **params: Any) -> ShapedArray:
    return x.strip_weak_type()


def define_linear(primitive: Primitive, transpose: Callable[..., Any]) -> None:
    """A collective that is linear: its derivative is itself, its transpose `transpose`."""

    def collective_transpose(cts: Sequence[Any], x: Any, *indices: Any, **params: Any) -> list[Any]:
        return [transpose(cts[0], *indices, **params), *[None] * len(indices)]

    stage2.jvp_rules[primitive] = mesh_axes.linear_in_first(primitive)
    transpose_rules[primitive] = collective_transpose


Axis = Hashable | tuple[Hashable, ...]


def _over_examples(reduction: Callable[..., Any]) -> Combine:
    def combine_examples(x: Any) -> tuple[Any, None]:
        aval = typeof(x)
        return as_weak_as(aval, convert_element_type(reduction(x, (0,)), aval.dtype)), None

    return combine_examples


def _reduction(name: str, reduce: Callable[..., Any], operation: str) -> Primitive:
    combine, lower = _over_examples(reduce), lower_reduction(operation)
    return collective(name, same_type, combine, lower, reduces=True)


psum_p = _reduction("psum", reduce_sum, "add")
pmax_p = _reduction("pmax", reduce_max, "maximum")
pmin_p = _reduction("pmin", reduce_min, "minimum")


def _psum_transpose(ct: Any, *indices: Any, **params: Any) -> Any:
    """Give each device all of the cotangent where types record variation: the sum does not vary.

    Elsewhere each example has a cotangent of its own, and their sum goes to all.
    """
    if params:  # each group has its own sum, so the sums vary
        return bind1(psum_p, ct, *indices, **params)
    checked = [index for index in indices if mesh_axes.vma_of(typeof(index))]
    others = [index for index in indices if not mesh_axes.vma_of(typeof(index))]
    if others:
        ct = bind1(psum_p, ct, *others)
    return bind1(mesh_axes.pvary_p, ct, *checked) if checked else ct


define_linear(psum_p, _psum_transpose)


def _axes_left(in_avals: Sequence[ShapedArray], params: dict[str, Any]) -> frozenset[Hashable]:
    """The axes along which the result of a reduction varies: it is the same within a group."""
    x, *indices = map(mesh_axes.vma_of, in_avals)
    return x.union(*indices) if params else x.difference(*indices)


# The sum of an unreduced value's parts is the same on all devices.
unreduced_psum_p = _reduction("unreduced_psum", reduce_sum, "add")
mesh_axes.declare_move(unreduced_psum_p, "unreduced", "invarying")
define_linear(unreduced_psum_p, lambda ct, *indices: bind1(mesh_axes.preduced_p, ct, *indices))
transpose_rules[mesh_axes.preduced_p] = lambda cts, x, *indices: [
    bind1(unreduced_psum_p, cts[0], *indices),
    *[None] * len(indices),
]

reduction_rules[psum_p] = linear_in_first
for reduction_p in (psum_p, pmax_p, pmin_p):
    mesh_axes.varying_rules[reduction_p] = _axes_left


def cast_cotangent(ct: Any, aval: ShapedArray) -> Any:
    """A cotangent of a value of type `aval`, varying along the same axes as the value.

    The cotangent of a value that is the same on all devices is summed over them; of a reduced value
    it is left unreduced, and the other way round.
    """
    ct = _cast_reduction(ct, mesh_axes.reduction_along(aval).dual)
    missing = mesh_axes.mesh_axes_of(mesh_axes.vma_of(aval) - mesh_axes.vma_of(typeof(ct)))
    ct = mesh_axes.pvary(ct, missing)
    indices = [
        axis.index()
        for axis in mesh_axes.mesh_axes_of(mesh_axes.vma_of(typeof(ct)) - mesh_axes.vma_of(aval))
    ]
    return bind1(psum_p, ct, *indices) if indices else ct


def _cast_reduction(ct: Any, wanted: Reduction) -> Any:
    """A cotangent in a state of reduction; sums that it does not leave open are made."""
    found = mesh_axes.reduction_along(typeof(ct))
    if found == wanted:
        return ct
    if made := [x.index() for x in mesh_axes.mesh_axes_of(found.unreduced - wanted.unreduced)]:
        ct = bind1(unreduced_psum_p, ct, *made)
    for axis in mesh_axes.mesh_axes_of(wanted.unreduced - found.unreduced):
        if axis.name not in mesh_axes.vma_of(typeof(ct)):  # all of it is on the first device
            ct = select(axis.index() == np.int32(0), ct, stage2.full_like(ct, 0))
        ct = mesh_axes.cast(ct, [axis], "unreduced")
    return mesh_axes.cast(ct, mesh_axes.mesh_axes_of(wanted.reduced - found.reduced), "reduced")


def names_of(axis_name: Axis) -> tuple[Hashable, ...]:
    """One name or several as a tuple of distinct ones."""
    names = tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)
    for name in names:
        mesh_axes.require_hashable(name)
    if len(set(names)) < len(names):
        raise ValueError(f"axis_name: expected distinct names, found {names}")
    return names


def _axes_and_groups(
    caller: str, axis_name: Axis, groups: Any, reduces: bool = False
) -> tuple[list[tuple[Any, int]], dict[str, Any]]:
    """The index and size of each axis, and the parameters for groups of indices, if there are any.

    With groups, the size is that of the first group.

    Raises:
        NotImplementedError: there are groups under vmap, or along several axes.
        ValueError: the groups do not cover the axis, or differ in size outside of a reduction.
    """
    require_allowed(caller, names_of(axis_name))
    axes = list(map(mesh_axes.axis_of, names_of(axis_name)))
    if groups is None:
        return axes, {}
    if len(axes) != 1 or mesh_axes.axis_of_index(typeof(axes[0][0])) is None:
        raise NotImplementedError(
            f"{caller}: axis_index_groups must be None under vmap, and for several axes, as in "
            "JAX; to combine within groups, map twice and name the axes"
        )
    ((index, size),) = axes
    found = tuple([ints(f"{caller}: axis_index_groups", group) for group in groups])
    if sorted(number for group in found for number in group) != list(range(size)):
        raise ValueError(
            f"{caller}: axis_index_groups must hold each index below {size} once, found {groups}"
        )
    if len({*map(len, found)}) > 1 and not reduces:
        raise ValueError(f"{caller}: axis_index_groups must be of one size, found {groups}")
    return [(index, len(found[0]))], {"groups": found}


def _reduce_over(caller: str, primitive: Primitive, x: Any, axis_name: Axis, groups: Any) -> Any:
    axes, params = _axes_and_groups(caller, axis_name, groups, reduces=True)
    indices = [index for index, _ in axes]
    if not indices:
        return array.tree_to_arrays(x)
    return stage2.tree_map(
        lambda leaf: bind1(primitive, leaf, *indices, **params), array.tree_to_arrays(x)
    )


@evaluated_by_library
def psum(x: Any, axis_name: Axis, *, axis_index_groups: Any = None) -> Any:
    """The sum over all examples.

    Arguments:
        x: an array or a pytree of arrays. Of a number, the sum is known at once: `psum(1, name)` is
            the size of the axis, an int.
        axis_name: the name of the axis, or a tuple of names of axes treated as one.
        axis_index_groups: lists of indices along one mesh axis; examples communicate only within
            their list. None: all communicate.

    Raises:
        NameError: there is no axis of that name.

    >>> import glassjax
    >>> import glassjax.numpy as jnp
    >>> glassjax.vmap(lambda x: x / psum(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    if isinstance(x, int | float | complex) and not isinstance(x, bool):
        axes, params = _axes_and_groups("psum", axis_name, axis_index_groups, reduces=True)
        if len({*map(len, params.get("groups", ()))}) <= 1:
            return x * math.prod([size for _, size in axes])
    as_numbers = stage2.tree_map(
        lambda leaf: leaf.astype(np.int32) if typeof(leaf).dtype == np.bool_ else leaf,
        array.tree_to_arrays(x),
    )
    return stage2.tree_map(
        lambda leaf: _reduce_over(
            "psum", _psum_of(leaf, axis_name), leaf, axis_name, axis_index_groups
        ),
        as_numbers,
    )


def _psum_of(x: Any, axis_name: Axis) -> Primitive:
    """The primitive that sums `x`, whether or not its type says that devices hold summands."""
    names = frozenset(names_of(axis_name))
    unreduced = mesh_axes.reduction_along(typeof(x)).unreduced & names
    if unreduced and unreduced != names:
        raise ValueError(
            f"psum: x of type {typeof(x)} is unreduced along some of the axes {axis_name}, and not "
            "along others. Sum along these in turn"
        )
    return unreduced_psum_p if unreduced else psum_p


@evaluated_by_library
def pmean(x: Any, axis_name: Axis, *, axis_index_groups: Any = None) -> Any:
    """The mean over all examples.

    Arguments:
        x: an array or a pytree of arrays.
        axis_name, axis_index_groups: as in `psum`.

    Raises:
        NameError: as in `psum`.

    >>> glassjax.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(jnp.array([1.0, 2.0, 6.0]))
    Array([-2., -1.,  3.], dtype=float32)
    """
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    size = psum(1, axis_name, axis_index_groups=axis_index_groups)
    return stage2.tree_map(lambda leaf: div(*stage2.promote(leaf, size)), total)


@evaluated_by_library
def pmax(x: Any, axis_name: Axis, *, axis_index_groups: Any = None) -> Any:
    """The elementwise maximum over all examples.

    Arguments:
        x: an array or a pytree of arrays.
        axis_name, axis_index_groups: as in `psum`.

    Raises:
        NameError: as in `psum`.

    >>> glassjax.vmap(lambda x: x / lax.pmax(x, "i"), axis_name="i")(jnp.array([1.0, 2.0, 4.0]))
    Array([0.25, 0.5 , 1.  ], dtype=float32)
    """
    return _reduce_over("pmax", pmax_p, x, axis_name, axis_index_groups)


@evaluated_by_library
def pmin(x: Any, axis_name: Axis, *, axis_index_groups: Any = None) -> Any:
    """The elementwise minimum over all examples.

    Arguments:
        x: an array or a pytree of arrays.
        axis_name, axis_index_groups: as in `psum`.

    Raises:
        NameError: as in `psum`.

    >>> glassjax.vmap(lambda x: x - lax.pmin(x, "i"), axis_name="i")(jnp.array([3.0, 2.0, 4.0]))
    Array([1., 0., 2.], dtype=float32)
    """
    return _reduce_over("pmin", pmin_p, x, axis_name, axis_index_groups)


def _bound_by_names(primitive: Any, function: Callable[..., Any]) -> None:
    """Let `primitive.bind` take names of axes, as JAX's does, and not only the indices along them.

    Equations have the indices among their operands.
    """

    def by_names(x: Any, *indices: Any, axes: Any = None, **params: Any) -> Any:
        if axes is not None:
            return function(x, tuple(axes), **params)
        if not indices:
            raise TypeError(f"{primitive}: bind must be given axes, the names of the axes")
        return type(primitive).bind(primitive, x, *indices, **params)

    primitive.bind = by_names


for _primitive, _function in ((psum_p, psum), (pmax_p, pmax), (pmin_p, pmin)):
    _bound_by_names(_primitive, _function)


@evaluated_by_library
def pbroadcast(x: Any, axis_name: Axis, source: int) -> Any:
    """The values of one example, or device, copied to all.

    Arguments:
        x: a pytree of arrays.
        axis_name: the name of the axis, or a tuple of names.
        source: the index along the axis of the example whose values they get.

    Raises:
        NameError: there is no axis of that name.
        TypeError: `source` is not an int.
        ValueError: the axis has no such index.

    >>> glassjax.vmap(lambda x: lax.pbroadcast(x, "i", 1), axis_name="i")(jnp.array([1, 2, 3]))
    Array([2, 2, 2], dtype=int32)
    """
    (at,) = ints("pbroadcast: source", source)
    size = axis_size(axis_name)
    if not 0 <= at < size:
        raise ValueError(
            f"pbroadcast: source must be an index along {axis_name!r}, of {size} examples, found "
            f"{at}"
        )
    is_source = axis_index(axis_name) == np.int32(at)

    def broadcast_leaf(leaf: Any) -> Any:
        dtype = typeof(leaf).dtype
        numbers = convert_element_type(leaf, np.uint8) if dtype == np.bool_ else leaf
        total = psum(select(is_source, numbers, stage2.full_like(numbers, 0)), axis_name)
        return convert_element_type(total, dtype) if dtype == np.bool_ else total

    return stage2.tree_map(broadcast_leaf, array.tree_to_arrays(x))


@evaluated_by_library
def axis_index(axis_name: Axis) -> array.Array:
    """The index of the example along the axis; for several axes, along the axis that joins them.

    Returns:
        An integer scalar; one number for each example.

    Raises:
        NameError: there is no axis of that name.

    >>> glassjax.vmap(lambda x: x + 10 * lax.axis_index("i"), axis_name="i")(jnp.array([1, 1, 1]))
    Array([ 1, 11, 21], dtype=int32)
    """
    total: Any = None
    for name in names_of(axis_name):
        index, size = mesh_axes.axis_of(name)
        total = index if total is None else total * np.int32(size) + index
    return array.array(np.int32(0)) if total is None else total


def axis_size(axis_name: Axis) -> int:
    """The number of examples along the axis; for several axes, the product.

    Returns:
        An int, known during tracing.

    Raises:
        NameError: there is no axis of that name.

    >>> glassjax.vmap(lambda x: x / lax.axis_size("i"), axis_name="i")(jnp.array([2.0, 4.0]))
    Array([1., 2.], dtype=float32)
    """
    size = 1
    for name in names_of(axis_name):
        size *= mesh_axes.axis_of(name)[1]
    return size


def _inserted(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis:])


def _scaled_shape(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], shape[axis] * size, *shape[axis + 1 :])


def _shift_axis(*names: str) -> Callable[[dict[str, Any], int], dict[str, Any]]:
    return lambda params, by: {
        key: value + by if key in names else value for key, value in params.items()
    }


all_gather_p = collective(
    "all_gather",
    lambda x, *, axis, size, **groups: ShapedArray(_inserted(x.shape, axis, size), x.dtype),
    lambda x, *, axis, size: (stage2.moveaxis(x, 0, axis), None),
    lower_all_gather,
    _shift_axis("axis"),
)
psum_scatter_p = collective(
    "reduce_scatter",
    lambda x, *, axis, size, **groups: ShapedArray(
        (*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype
    ),
    lambda x, *, axis, size: (reduce_sum(x, (0,)), axis),
    lower_psum_scatter,
    _shift_axis("axis"),
)
define_linear(all_gather_p, lambda ct, index, **params: bind1(psum_scatter_p, ct, index, **params))
define_linear(psum_scatter_p, lambda ct, index, **params: bind1(all_gather_p, ct, index, **params))


# Gathering whose result is typed as the same on all devices along the axis (invariant).
all_gather_invariant_p = collective(
    "all_gather_invariant",
    lambda x, *, axis, size: ShapedArray(_inserted(x.shape, axis, size), x.dtype),
    lambda x, *, axis, size: (stage2.moveaxis(x, 0, axis), None),
    lower_all_gather,
    _shift_axis("axis"),
)
mesh_axes.varying_rules[all_gather_invariant_p] = lambda in_avals, params: _axes_left(in_avals, {})


def _own_part(ct: Any, index: Any, *, axis: int, size: int) -> Any:
    """The part of a cotangent, the same on all devices, that belongs to this device."""
    starts = [np.int32(0)] * typeof(ct).ndim
    starts[axis] = index
    shape = typeof(ct).shape
    part = dynamic_slice(ct, starts, (*shape[:axis], 1, *shape[axis + 1 :]))
    return stage2.reshape(part, (*shape[:axis], *shape[axis + 1 :]))


define_linear(all_gather_invariant_p, _own_part)

# Gathering whose result is typed as reduced; and its transpose, whose operand is unreduced.
all_gather_reduced_p = collective(
    "all_gather_reduced",
    lambda x, *, axis, size: ShapedArray(_inserted(x.shape, axis, size), x.dtype),
    lambda x, *, axis, size: (stage2.moveaxis(x, 0, axis), None),
    lower_all_gather,
    _shift_axis("axis"),
)
unreduced_reduce_scatter_p = collective(
    "unreduced_reduce_scatter",
    lambda x, *, axis, size: ShapedArray((*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype),
    lambda x, *, axis, size: (reduce_sum(x, (0,)), axis),
    lower_psum_scatter,
    _shift_axis("axis"),
)
mesh_axes.declare_move(all_gather_reduced_p, "varying", "reduced")
mesh_axes.declare_move(unreduced_reduce_scatter_p, "unreduced", "varying")
define_linear(
    all_gather_reduced_p,
    lambda ct, index, **params: bind1(unreduced_reduce_scatter_p, ct, index, **params),
)
define_linear(
    unreduced_reduce_scatter_p,
    lambda ct, index, **params: bind1(all_gather_reduced_p, ct, index, **params),
)
for primitive_p in (all_gather_p, all_gather_invariant_p, psum_scatter_p):
    reduction_rules[primitive_p] = linear_in_first

_GATHERED = ("varying", "invarying", "reduced")


@evaluated_by_library
def all_gather(
    x: Any,
    axis_name: Axis,
    *,
    axis_index_groups: Any = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """The values of all examples.

    Arguments:
        x: an array or a pytree of arrays.
        axis_name: the name of the axis.
        axis_index_groups: lists of indices of one size along one mesh axis; examples communicate
            only within their list. None: all communicate.
        axis: the position of the batch axis in the result.
        tiled: whether to concatenate the values along an existing axis instead of stacking them
            along a new one.
        to: the result's type within `shard_map`: "varying"; or "invarying", that it is the same on
            all devices along the axis, so that its cotangent is, too; or "reduced", the same with a
            cotangent that is left unreduced, so that `psum_scatter` sums and scatters it at once.

    Raises:
        NameError: there is no axis of that name.
        NotImplementedError: `axis_index_groups` is given under vmap, or with another `to`.
        ValueError: `to` is something else.

    >>> glassjax.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(jnp.array([1, 2]))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    if to not in _GATHERED:
        raise ValueError(f"all_gather: to must be one of {_GATHERED}, found {shown(to)}")
    axes, groups = _axes_and_groups("all_gather", axis_name, axis_index_groups)
    primitives = [_gathering(to, index, groups) for index, _ in axes]

    def gather(leaf: Any) -> Any:
        shape = typeof(leaf).shape
        at = canonical_axis("all_gather", axis, len(shape) + (not tiled))
        size = 1
        for (index, n), primitive in zip(reversed(axes), reversed(primitives), strict=True):
            leaf = bind1(primitive, leaf, index, axis=at, size=n, **groups)
            if size > 1:  # merge several named axes into one array axis
                leaf = stage2.reshape(leaf, _inserted(shape, at, n * size))
            size *= n
        return stage2.reshape(leaf, _scaled_shape(shape, at, size)) if tiled else leaf

    return stage2.tree_map(gather, array.tree_to_arrays(x))


def _gathering(to: str, index: Any, groups: dict[str, Any]) -> Primitive:
    """The primitive that gathers along an axis, whether or not types record variation."""
    if to == "varying":
        return all_gather_p
    if groups:
        raise NotImplementedError(
            f"all_gather: axis_index_groups must be None with to={to!r}, as in JAX: what devices "
            "gather within groups varies from group to group"
        )
    if not mesh_axes.vma_of(typeof(index)):
        return all_gather_p
    return all_gather_reduced_p if to == "reduced" else all_gather_invariant_p


@evaluated_by_library
def psum_scatter(
    x: Any,
    axis_name: Axis,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """The sum over all examples, scattered so that each gets a part.

    Arguments:
        x: an array or a pytree of arrays.
        axis_name: the name of the axis, or a tuple of names of axes treated as one.
        scatter_dimension: the axis of `x` to scatter over the examples.
        axis_index_groups: as in `all_gather`.
        tiled: whether to keep that axis, shorter; otherwise it must have one element per example,
            and is removed.

    Raises:
        NameError: there is no axis of that name.
        ValueError: the size of the axis is not a multiple of the number of examples.
        NotImplementedError: `axis_index_groups` is given under vmap.

    >>> x = jnp.array([[1, 2], [10, 20]])
    >>> glassjax.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(x)
    Array([11, 22], dtype=int32)
    """
    axes, groups = _axes_and_groups("psum_scatter", axis_name, axis_index_groups)
    sizes = [size for _, size in axes]

    def scatter(leaf: Any) -> Any:
        shape = typeof(leaf).shape
        at = canonical_axis("psum_scatter: scatter_dimension", scatter_dimension, len(shape))
        _require_divisible("psum_scatter", shape, at, math.prod(sizes), tiled)
        rest = (shape[at] // math.prod(sizes),) if tiled else ()
        leaf = stage2.reshape(leaf, (*shape[:at], *sizes, *rest, *shape[at + 1 :]))
        for index, size in axes:
            unreduced = mesh_axes.reduction_along(typeof(leaf)).unreduced
            is_open = unreduced & mesh_axes.vma_of(typeof(index))
            primitive = unreduced_reduce_scatter_p if is_open else psum_scatter_p
            leaf = bind1(primitive, leaf, index, axis=at, size=size, **groups)
        return leaf

    return stage2.tree_map(scatter, array.tree_to_arrays(x))


def _require_divisible(
    caller: str, shape: tuple[int, ...], axis: int, size: int, tiled: bool
) -> None:
    if shape[axis] % size if tiled else shape[axis] != size:
        requirement = "be divisible by" if tiled else "equal"
        raise ValueError(
            f"{caller}: axis {axis} of shape {shape} must {requirement} the number of examples, "
            f"{size}"
        )


all_to_all_p = collective(
    "all_to_all",
    lambda x, *, split, concat, size, **groups: ShapedArray(
        _inserted((*x.shape[:split], *x.shape[split + 1 :]), concat, size), x.dtype
    ),
    # The split axis becomes the batch axis; the batch axis remains as an axis of the result.
    lambda x, *, split, concat, size: (
        stage2.moveaxis(stage2.moveaxis(x, split + 1, 0), 1, concat + 1),
        0,
    ),
    lower_all_to_all,
    _shift_axis("split", "concat"),
)
define_linear(
    all_to_all_p,
    lambda ct, index, *, split, concat, size, **groups: bind1(
        all_to_all_p, ct, index, split=concat, concat=split, size=size, **groups
    ),
)


@evaluated_by_library
def all_to_all(
    x: Any,
    axis_name: Axis,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Each example sends a part to every example, and receives one from each.

    Arguments:
        x: an array or a pytree of arrays.
        axis_name: the name of the axis, or a tuple of names of axes treated as one.
        split_axis: the axis of `x` to split over the examples.
        concat_axis: the axis of the result along which the parts are joined, in order of the
            examples.
        axis_index_groups: as in `all_gather`.
        tiled: whether to keep the axes, `split_axis` shorter and `concat_axis` longer; otherwise
            `split_axis` must have one element per example, and is removed, and `concat_axis` is
            new.

    Raises:
        NameError: there is no axis of that name.
        ValueError: the size of the axis is not a multiple of the number of examples.
        NotImplementedError: `axis_index_groups` is given under vmap.

    >>> exchange = lambda x: lax.all_to_all(x, "i", split_axis=0, concat_axis=0)
    >>> glassjax.vmap(exchange, axis_name="i")(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    axes, groups = _axes_and_groups("all_to_all", axis_name, axis_index_groups)
    size = math.prod([size for _, size in axes])

    def transpose_leaf(leaf: Any) -> Any:
        shape = typeof(leaf).shape
        split = canonical_axis("all_to_all: split_axis", split_axis, len(shape))
        concat = canonical_axis("all_to_all: concat_axis", concat_axis, len(shape))
        _require_divisible("all_to_all", shape, split, size, tiled)
        if not tiled:
            return _all_to_all_axes(leaf, axes, split, concat, groups)
        part = (*shape[:split], shape[split] // size, *shape[split + 1 :])
        leaf = _all_to_all_axes(
            stage2.reshape(leaf, _inserted(part, split, size)), axes, split, concat, groups
        )
        return stage2.reshape(leaf, _scaled_shape(part, concat, size))

    return stage2.tree_map(transpose_leaf, array.tree_to_arrays(x))


def _all_to_all_axes(
    x: Any, axes: Sequence[tuple[Any, int]], split: int, concat: int, groups: dict[str, Any]
) -> Any:
    """Scatter along the axis `split`, which is removed; gather along a new axis `concat`.

    With several named axes, each in turn scatters along its own component of the example's index.
    """
    if len(axes) == 1:
        ((index, size),) = axes
        return bind1(all_to_all_p, x, index, split=split, concat=concat, size=size, **groups)
    x = stage2.moveaxis(x, split, 0)
    count, *rest = typeof(x).shape
    x = stage2.reshape(x, (*[size for _, size in axes], *rest))
    for i, (index, size) in enumerate(axes):
        x = bind1(all_to_all_p, x, index, split=i, concat=i, size=size)
    return stage2.moveaxis(stage2.reshape(x, (count, *rest)), 0, concat)


@hiding_frames
def pswapaxes(x: Any, axis_name: Axis, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Swap the batch axis with an axis of `x` of the same size.

    Arguments:
        x: an array or a pytree of arrays.
        axis_name: the name of the axis.
        axis: the axis of `x`, with one element for each example.
        axis_index_groups: as in `all_gather`.

    Raises:
        NameError: there is no axis of that name.
        ValueError: the sizes differ.

    >>> x = jnp.array([[1, 2], [3, 4]])
    >>> glassjax.vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(x)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def _permute(x: Any, *, perm: tuple[tuple[int, int], ...]) -> tuple[Any, BatchDim]:
    """Take the source of each example; contiguous runs move as one."""
    size, *rest = typeof(x).shape
    source = {to: origin for origin, to in perm}
    parts = []
    begin = 0
    while begin < size:
        first = source.get(begin)
        end = begin + 1
        while end < size and source.get(end) == (None if first is None else first + end - begin):
            end += 1
        at = begin if first is None else first
        part = slice(x, (at, *[0] * len(rest)), (at + end - begin, *rest))
        parts.append(stage2.full_like(part, 0) if first is None else part)
        begin = end
    return concatenate(parts, 0), 0


ppermute_p = collective("ppermute", same_type, _permute, lower_ppermute)
reduction_rules[ppermute_p] = reduction_rules[all_to_all_p] = linear_in_first
define_linear(
    ppermute_p,
    lambda ct, *indices, perm: bind1(
        ppermute_p, ct, *indices, perm=tuple((to, origin) for origin, to in perm)
    ),
)


@evaluated_by_library
def ppermute(x: Any, axis_name: Axis, perm: Sequence[tuple[int, int]]) -> Any:
    """Pass values from example to example.

    Arguments:
        x: an array or a pytree of arrays.
        axis_name: the name of the axis, or a tuple of names of axes of a mesh treated as one, the
            major one first.
        perm: pairs of the indices of the source and destination examples.

    Returns:
        The value received; zeros for an example that is not a destination.

    Raises:
        ValueError: an example is the source, or the destination, more than once.
        NotImplementedError: there are several names, and one is of vmap.

    >>> pass_on = lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)])
    >>> glassjax.vmap(pass_on, axis_name="i")(jnp.array([10, 20, 30]))
    Array([ 0, 10, 20], dtype=int32)
    """
    require_allowed("ppermute", names_of(axis_name))
    axes = list(map(mesh_axes.axis_of, names_of(axis_name)))
    indices, size = [index for index, _ in axes], math.prod([size for _, size in axes])
    if len(axes) != 1 and None in [mesh_axes.axis_of_index(typeof(index)) for index in indices]:
        raise NotImplementedError(
            f"ppermute: axis_name must be one name under vmap, found {shown(axis_name)}; several "
            "are for axes of a mesh"
        )
    pairs = tuple((int(origin), int(to)) for origin, to in perm)
    for role, numbers in zip(("sources", "destinations"), zip(*pairs, strict=True), strict=False):
        if len(set(numbers)) < len(numbers) or not all(0 <= n < size for n in numbers):
            raise ValueError(
                f"ppermute: {role} must be distinct indices below {size}, found {numbers}"
            )
    if not indices:
        return array.tree_to_arrays(x)
    return stage2.tree_map(
        lambda leaf: bind1(ppermute_p, leaf, *indices, perm=pairs), array.tree_to_arrays(x)
    )


@hiding_frames
def pshuffle(x: Any, axis_name: Axis, perm: Sequence[int]) -> Any:
    """Give each example the value of the example at its index in `perm`.

    Arguments:
        x: an array or a pytree of arrays.
        axis_name: the name of the axis, or a tuple of names of axes of a mesh treated as one.
        perm: the index of the source of each example, a permutation.

    Raises:
        NameError: there is no axis of that name.
        ValueError: `perm` is not a permutation.

    >>> turn = lambda x: lax.pshuffle(x, "i", [2, 0, 1])
    >>> glassjax.vmap(turn, axis_name="i")(jnp.array([10, 20, 30]))
    Array([30, 10, 20], dtype=int32)
    """
    perm = ints("pshuffle: perm", perm)
    if sorted(perm) != list(range(axis_size(axis_name))):
        raise ValueError(f"pshuffle: {tuple(perm)} does not permute the examples")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)), strict=True)))


# `ragged_all_to_all`: examples of a named axis send one another slices of unequal sizes.


@hiding_frames
@evaluated_by_library
def ragged_all_to_all(
    operand: array.ArrayLike,
    output: array.ArrayLike,
    input_offsets: array.ArrayLike,
    send_sizes: array.ArrayLike,
    output_offsets: array.ArrayLike,
    recv_sizes: array.ArrayLike,
    *,
    axis_name: Axis,
    axis_index_groups: Any = None,
) -> array.Array:
    """Each example sends slices of rows to every example, and receives some from each.

    With n slices and s examples, the first n / s slices go to the first example, and so on. The
    operands are gathered first: every example holds the operands of all the others.

    Arguments:
        operand: the rows to send, along the first axis.
        output: the array that received rows replace; its rows have the shape of `operand`'s.
        input_offsets: for each slice the row of `operand` at which it begins; n integers.
        send_sizes: the number of rows of each slice.
        output_offsets: for each slice the row of the receiver's `output` at which to put it.
        recv_sizes: the number of rows of each slice that arrives, in order of the senders.
        axis_name: the name of the axis, or a tuple of names of axes treated as one.
        axis_index_groups: as in `all_gather`.

    Returns:
        An array of the shape of `output`.

    Raises:
        NameError: there is no axis of that name.
        TypeError: the dtypes or the shapes of rows differ, or the offsets and sizes of slices are
            not vectors of integers of one length.
        ValueError: the number of slices is not a multiple of the number of examples.
        NotImplementedError: `axis_index_groups` is given under vmap.

    >>> send = lambda x, to: lax.ragged_all_to_all(
    ...     x, jnp.zeros(4, int), jnp.array([0, 1]), jnp.array([1, 2]), to,
    ...     jnp.where(lax.axis_index("i") == 0, 1, jnp.array([2, 2])), axis_name="i")
    >>> places = jnp.array([[0, 0], [1, 2]])
    >>> print(glassjax.vmap(send, axis_name="i")(jnp.array([[1, 2, 3], [4, 5, 6]]), places))
    [[1 4 0 0]
     [2 3 5 6]]
    """
    caller = "ragged_all_to_all"
    rows_sent, unchanged = array.to_array(operand), array.to_array(output)
    x, out = typeof(rows_sent), typeof(unchanged)
    if x.dtype != out.dtype or not x.ndim or x.ndim != out.ndim or x.shape[1:] != out.shape[1:]:
        raise TypeError(
            f"{caller}: operand and output must have one dtype and rows of one shape, found {x} "
            f"and {out}"
        )
    slices = [array.to_array(v) for v in (input_offsets, send_sizes, output_offsets, recv_sizes)]
    types = [typeof(v) for v in slices]
    if len({t.shape for t in types}) > 1 or any(
        t.ndim != 1 or letter_of(t.dtype) not in "iu" for t in types
    ):
        raise TypeError(
            f"{caller}: offsets and sizes must be vectors of integers of one length, found "
            f"{', '.join(map(str, types))}"
        )

    def all_to_all_rows(v: Any) -> Any:
        groups = {"axis_index_groups": axis_index_groups}
        return all_to_all(v, axis_name, 0, 0, tiled=True, **groups)

    sources, starts = all_to_all_rows(slices[0]), all_to_all_rows(slices[2])
    everyone = all_gather(rows_sent, axis_name, axis_index_groups=axis_index_groups, tiled=True)
    count, rows = types[0].shape[0], out.shape[0]
    if not count or not rows or not x.shape[0]:
        return unchanged
    senders = typeof(everyone).shape[0] // x.shape[0]
    sender = iota("int32", count) // (count // senders)
    first = sender * x.shape[0] + sources - starts  # where row 0 of `output` would come from
    row = expand_dims(iota("int32", rows), [0])
    starts, ends = expand_dims(starts, [1]), expand_dims(starts + slices[3], [1])
    arrives = (row >= starts) & (row < ends)  # slices along the first axis, rows along the second
    which = argmax(arrives, 0, "int32")
    index = _take_rows(expand_dims(first, [1]), which)[:, 0] + iota("int32", rows)
    received = _take_rows(everyone, index)
    replaced = broadcast_in_dim(reduce_max(arrives, (0,)), out.shape, (0,))
    return select(replaced, received, unchanged)


def _take_rows(x: Any, indices: Any) -> Any:
    """The rows of `x` at `indices`, a vector."""
    shape = typeof(x).shape
    numbers = GatherDimensionNumbers(tuple(range(1, len(shape))), (0,), (0,))
    return gather(x, expand_dims(indices, [1]), numbers, (1, *shape[1:]), mode="clip")
