"""Names of the axes that `vmap` and `shard_map` map over, for collectives.

An array represents the axis: the index of each example, or of the device. A collective takes it as
an operand, so the trace in which that operand is batched is the one whose axis is meant. Nothing
else has to know about names: the operand enters jitted functions, loops and branches like any other
closed-over value.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from minijax.errors.classes import UnboundAxisError
from minijax.primitives.varying import (
    NONE,
    AxisNames,
    MeshAxis,
    VaryingArray,
    axis_of_index,
    mesh_axes_of,
    names_of_mesh_axes,
    plain_type,
    pvary,
    vary,
    vma_of,
)
from minijax.settings.user_context import UserContext
from minijax.shardings.mesh import AbstractMesh
from minijax.shardings.resharding import divided_like
from minijax.shardings.types import Axes, division_of, sharded_type, with_division
from minijax_stage1.interpreter import set_interpreter
from minijax_stage2 import ShapedArray, current_trace, typeof
from minijax_stage2.errors import shown
from minijax_stage2.vmap import BatchAxis, BatchDim, BatchTrace, move_batch_dim, vmap_flat


@dataclass(frozen=True, init=False)
class AxisData(BatchAxis):
    """A batch axis that may have a name, and may be sharded over axes of a mesh.

    Attributes:
        size: the number of examples.
        name: the name of the axis, for collectives, or None.
        spmd_name: names of mesh axes that shard it, in a program that sees all examples.
        explicit_mesh_axis: names of mesh axes that shard it, as types say.
        mesh: the mesh of these.
        manual: mesh axes that shard it, in a program that sees the examples of one device: within
            `shard_map`.
    """

    name: Hashable
    spmd_name: Axes
    explicit_mesh_axis: Axes
    mesh: AbstractMesh | None
    manual: tuple[MeshAxis, ...]

    def __init__(
        self,
        name: Hashable,
        size: int,
        spmd_name: Axes | None = None,
        explicit_mesh_axis: Axes | None = None,
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
        """The type of a batch, sharded like the axis; examples of several devices vary."""
        batch = super().batch(example, dim)
        if dim is not None and self.mesh is not None:
            division = [*division_of(batch)]
            division[dim] = self.explicit_mesh_axis
            batch = with_division(batch, self.mesh, tuple(division))
        return batch if dim is None else vary(batch, self._varying())

    def example(self, batch: ShapedArray, dim: BatchDim) -> ShapedArray:
        """The type of one example, which varies only as the mapped function says."""
        aval = super().example(batch, dim)
        if dim is None or not self.manual:
            return aval
        return VaryingArray(plain_type(aval), vma_of(aval) - self._varying(), axis_of_index(aval))

    def broadcast(self, x: Any, dim: int) -> Any:
        """A batch of examples that are all `x`, sharded like the axis."""
        batch = super().broadcast(x, dim)
        if self.mesh is not None:
            batch = divided_like(batch, self.batch(typeof(x), dim))
        return pvary(batch, self.manual)

    def _varying(self) -> AxisNames:
        return frozenset([axis.name for axis in self.manual if axis.checked])


def axis_data(axis: BatchAxis) -> AxisData:
    """A batch axis as one of this library."""
    return axis if isinstance(axis, AxisData) else AxisData(None, axis.size)


def axis_of_arrays(
    size: int, values: Sequence[Any], dims: Sequence[BatchDim], name: Hashable, spmd_name: Axes
) -> BatchAxis:
    """The axis along which `vmap` maps arrays; a plain one if there is nothing to say of it."""
    for x, dim in zip(values, dims, strict=True):
        if dim is None:  # so it need not be an array
            continue
        aval = sharded_type(typeof(x))
        if aval is not None and aval.division[dim]:
            return AxisData(name, size, spmd_name, aval.division[dim], aval.mesh)
    return BatchAxis(size) if name is None and not spmd_name else AxisData(name, size, spmd_name)


# For each name the indices, one for each example, and the number of examples.
_axes: ContextVar[Mapping[Hashable, tuple[Any, int]]] = ContextVar(
    "named_axes", default=MappingProxyType({})
)


# --8<-- [start:named_axes]
@contextmanager
def named_axis(axis: BatchAxis) -> Any:
    """Name the mapped axis of the current trace, a trace of vmap, if it has a name."""
    name = axis_data(axis).name
    if name is None:
        yield
        return
    trace: Any = current_trace()
    token = _axes.set({**_axes.get(), name: (trace.box(_indices(axis.size), 0), axis.size)})
    try:
        yield
    finally:
        _axes.reset(token)


def _indices(size: int) -> Any:
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
    """The index of the current example or device along the axis of that name, and its size.

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


# --8<-- [end:named_axes]


# The axes of a mesh that divide the examples of all running traces of vmap.
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
    trace.parent = current_trace()
    try:
        with set_interpreter(trace):
            outs = f(*(trace.box(x, dim) for x, dim in zip(values, dims, strict=True)))
    finally:
        trace.parent = began_above
    return trace.unbox(outs)
