"""Collectives among the devices of a mesh, as XLA has them: the lowering rules of collectives.

The types of the indices say which axes of which mesh are meant. Devices are told to XLA by their
number in the mesh.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax.primitives.varying import MeshAxis, axis_of_index
from minijax_stage2 import ShapedArray
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature

Groups = Sequence[Sequence[int]] | None  # of indices along an axis
Avals = Sequence[ShapedArray]

_CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"


def _axes_of(indices: Sequence[Value]) -> list[MeshAxis]:
    found = [axis_of_index(index.aval) for index in indices]
    return [axis for axis in found if axis is not None]


def _device_groups(axes: Sequence[MeshAxis]) -> "np.ndarray[Any, Any]":
    """The numbers of devices that differ only in their indices along `axes`, in rows."""
    mesh = axes[0].mesh
    positions = [mesh.axis_names.index(axis.name) for axis in axes]
    numbers = np.arange(mesh.size).reshape(mesh.axis_sizes)
    last = range(-len(positions), 0)
    size = int(np.prod([axis.size for axis in axes], dtype=np.int64))
    return np.moveaxis(numbers, positions, last).reshape(-1, size)


def _groups(axes: Sequence[MeshAxis], groups: Groups) -> str:
    """The groups of devices that communicate, as MLIR has them."""
    rows = _device_groups(axes)
    if groups is not None:
        longest = max(map(len, groups))
        of_groups = [rows[:, list(group)] for group in groups]
        fill = [((0, 0), (0, longest - len(group))) for group in groups]
        pairs = zip(of_groups, fill, strict=True)
        rows = np.concatenate([np.pad(x, by, constant_values=-1) for x, by in pairs])
    return f"replica_groups = {_dense(rows)}"


def _dense(rows: "np.ndarray[Any, Any]") -> str:
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

    def rule(
        b: FunctionBuilder, out_avals: Avals, x: Value, *indices: Value, groups: Groups = None
    ) -> list[Value]:
        among = _groups(_axes_of(indices), groups)
        region = _combining(b, operation, x.aval)
        return b.emit(
            f'"stablehlo.all_reduce"({x.name}) <{{{_CHANNEL}, {among}, use_global_device_ids}}> '
            f"{region} : {signature([x], out_avals)}",
            *out_avals,
        )

    return rule


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
    among = _groups(_axes_of([index]), groups)
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
    among = _groups(_axes_of([index]), groups)
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
    """Exchange the parts along the first axis, which holds one for each device."""
    among = _groups(_axes_of([index]), groups)
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
    rows = _device_groups(_axes_of(indices))
    pairs = np.array(
        [[row[origin], row[to]] for row in rows for origin, to in perm], np.int64
    ).reshape(-1, 2)
    return b.emit(
        f'"stablehlo.collective_permute"({x.name}) <{{{_CHANNEL}, source_target_pairs = '
        f"{_dense(pairs)}}}> : {signature([x], out_avals)}",
        *out_avals,
    )
