"""Names of the axes that `vmap` maps over, by which collectives ask for them.

An axis is known by an array: for each example its own index. A collective takes it as an operand,
so that whichever trace finds that operand to be one of a batch is the one whose axis is meant.
Nothing else has to know of names: the operand goes into jitted functions, loops and branches as
anything that is closed over does.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import numpy as np

from minijax_stage2 import current_trace
from minijax_stage2.vmap import BatchDim, BatchTracer, move_batch_dim, vmap_flat

Axes = Mapping[Hashable, int]  # names of an axis that is mapped over, and its size

# For each name the indices, one for each example, and the number of examples.
_axes: ContextVar[Mapping[Hashable, tuple[Any, int]]] = ContextVar(
    "named_axes", default=MappingProxyType({})
)


# --8<-- [start:named_axes]
@contextmanager
def named_axes(names: Mapping[Hashable, int]) -> Any:
    """Gives the axis that the current trace, one of vmap, maps over these names.

    Arguments:
        names: the names, each with the size of the axis.
    """
    trace: Any = current_trace()
    given = {name: (BatchTracer(trace, _indices(size), 0), size) for name, size in names.items()}
    token = _axes.set({**_axes.get(), **given})
    try:
        yield
    finally:
        _axes.reset(token)


def _indices(size: int) -> Any:
    return np.arange(size, dtype=np.int32)


def axis_of(name: Hashable) -> tuple[Any, int]:
    """The index, along the axis of that name, of the example that is computed, and their number.

    Raises:
        NameError: there is no such axis here.
    """
    try:
        return _axes.get()[name]
    except KeyError:
        known = ", ".join(map(repr, _axes.get())) or "none"
        raise NameError(
            f"unbound axis name: {name}. The axes that are bound here: {known}. An axis gets its "
            "name by vmap(..., axis_name=...), and has it while the mapped function runs."
        ) from None


# --8<-- [end:named_axes]


# --8<-- [start:map_flat]
def axes_of_mapped() -> Axes:
    """The names of the axis that is mapped over by the trace whose rule is running.

    A rule runs where that trace does not: its own axis is the one that is out of sight.
    """
    here = current_trace()
    return {
        name: size
        for name, (index, size) in _axes.get().items()
        if index.interpreter is not here and not index.interpreter.encloses(here)
    }


def map_flat(
    f: Callable[..., list[Any]],
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    axis_size: int,
    axes: Axes,
    out_dims: list[BatchDim] | None = None,
) -> list[Any]:
    """`vmap_flat` of a function that may ask for the axis by its names.

    The results have examples along their first axis. Where a list `out_dims` is given they are
    left as they are, and it is filled with where their examples lie.
    """

    def with_axes(*args: Any) -> list[Any]:
        with named_axes(axes):
            return f(*args)

    outs, found = vmap_flat(with_axes, values, dims, axis_size, f)
    if out_dims is not None:
        out_dims[:] = found
        return outs
    return [move_batch_dim(x, axis_size, dim, 0) for x, dim in zip(outs, found, strict=True)]


# --8<-- [end:map_flat]
