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
from typing import Any, NamedTuple

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
    vary,
    vma_of,
)
from minijax.settings.user_context import UserContext
from minijax_stage1.interpreter import set_interpreter
from minijax_stage2 import ShapedArray, current_trace
from minijax_stage2.shown import shown
from minijax_stage2.vmap import BatchDim, BatchTrace, move_batch_dim, of_mapped_axis, vmap_flat


@dataclass(frozen=True)
class MappedAxis:
    """A mapped axis, for functions that are mapped later, when a rule needs them.

    Attributes:
        names: the names of the axis, each with its size.
        trace: the trace that maps over it, if functions may have closed over its values.
        divided: how axes of a mesh divide it, if they do.
    """

    names: Mapping[Hashable, int]
    trace: BatchTrace | None
    divided: "DividedBatch | None" = None


# For each name the indices, one for each example, and the number of examples.
_axes: ContextVar[Mapping[Hashable, tuple[Any, int]]] = ContextVar(
    "named_axes", default=MappingProxyType({})
)


# --8<-- [start:named_axes]
@contextmanager
def named_axes(names: Mapping[Hashable, int]) -> Any:
    """Name the mapped axis of the current trace, a trace of vmap.

    Arguments:
        names: the names, each with the size of the axis.
    """
    trace: Any = current_trace()
    given = {name: (trace.box(_indices(size), 0), size) for name, size in names.items()}
    token = _axes.set({**_axes.get(), **given})
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


class DividedBatch(NamedTuple):
    """The axes of a mesh that divide the examples of `vmap`.

    Attributes:
        names: the names of those along which the program sees all examples.
        manual: those along which it sees the examples of one device: within `shard_map`.
    """

    names: tuple[Hashable, ...]
    manual: tuple[MeshAxis, ...] = ()

    @property
    def of_trace(self) -> "DividedBatch":
        """The statement for traces that map over the axis: types alone do not make it."""
        return self

    def of(self, batch: ShapedArray, axis: int) -> ShapedArray:
        """The type of a batch: devices have different examples."""
        return vary(batch, self._varying())

    def of_example(self, aval: ShapedArray) -> ShapedArray:
        """The type of one example, which varies only as the mapped function says."""
        return VaryingArray(plain_type(aval), vma_of(aval) - self._varying(), axis_of_index(aval))

    def _varying(self) -> AxisNames:
        return frozenset([axis.name for axis in self.manual if axis.checked])


_WHOLE = DividedBatch(())


def divided_batch() -> DividedBatch:
    """The division of the mapped axis of the trace whose rule is running."""
    return of_mapped_axis() or _WHOLE


# The axes of a mesh that divide the examples of all running traces of vmap.
axes_of_examples = UserContext(NONE)


@contextmanager
def dividing_batch(names: tuple[Hashable, ...]) -> Any:
    """Divide the examples of the current trace, a trace of vmap, by axes of a mesh."""
    trace: Any = current_trace()
    trace.of_axis = DividedBatch(names)
    with axes_of_examples(axes_of_examples.value | {*names}):
        yield


def axis_of_mapped(trace: BatchTrace | None) -> MappedAxis:
    """The mapped axis of the trace whose rule is running.

    A rule runs outside of that trace, so the trace's own axis is the one not in scope.
    """
    here = current_trace()
    names = {
        name: size
        for name, (index, size) in _axes.get().items()
        if index.interpreter not in here.stack()
    }
    return MappedAxis(names, trace, of_mapped_axis())


def map_flat(
    f: Callable[..., list[Any]],
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    axis_size: int,
    axis: MappedAxis,
    out_dims: list[BatchDim] | None = None,
) -> list[Any]:
    """`vmap_flat` of a function that may use the names of the axis.

    The results have the batch axis first. If a list `out_dims` is given, they are left as they are,
    and their batch axes are appended to it.
    """

    def with_names(*args: Any) -> list[Any]:
        with named_axes(axis.names):
            return f(*args)

    if axis.trace is None or axis.trace.ended:
        outs, found = vmap_flat(with_names, values, dims, axis_size, f, axis.divided)
    else:
        outs, found = _resume(axis.trace, with_names, values, dims)
    if out_dims is not None:
        out_dims[:] = found
        return outs
    return [move_batch_dim(x, axis_size, dim, 0) for x, dim in zip(outs, found, strict=True)]


def _resume(
    trace: BatchTrace, f: Callable[..., list[Any]], values: Sequence[Any], dims: Sequence[BatchDim]
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


class AxisData(NamedTuple):
    """A mapped axis, as rules by JAX's convention are told of it.

    Attributes:
        name: its name; None, if rules that need it take it as an operand.
        size: the number of examples.
        spmd_name: the axes of a mesh along which they are divided.
        explicit_mesh_axis: of no use here.
    """

    name: Any
    size: int
    spmd_name: Any = None
    explicit_mesh_axis: Any = None


def map_over(
    axis: AxisData, f: Callable[..., Sequence[Any]], values: Sequence[Any], dims: Sequence[BatchDim]
) -> tuple[list[Any], list[BatchDim]]:
    """The results of `f` for batches, and their batch axes as they come."""
    names = {} if axis.name is None else {axis.name: axis.size}
    mapped = MappedAxis(names, None, of_mapped_axis())
    out_dims: list[BatchDim] = []
    outs = map_flat(lambda *args: list(f(*args)), values, dims, axis.size, mapped, out_dims)
    return outs, out_dims
