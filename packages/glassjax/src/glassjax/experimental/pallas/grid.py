"""The running program's place in the grid: `program_id` and `num_programs`.

The indices are references, held for the time of a program. So a jitted function, a loop or a branch
that asks for one gets it as it gets any reference of the surrounding code.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from glassjax import lax
from glassjax.primitives.axes import bound_axis
from glassjax.runtime.refs import Ref, holding
from glassjax.settings.names import set_all
from glassjax.settings.options import make_user_context
from glassjax_stage2.functions import one_int

Sizes = tuple[int | None, ...]

# The sizes of the grid in which a kernel runs, None for those that are traced; None outside of
# kernels. Jitted functions depend on it.
_sizes = make_user_context(None)


class _Held(threading.local):
    """For each axis of a grid, the references to the index and to the traced size, by thread."""

    def __init__(self) -> None:
        self.by_axis: dict[tuple[str, int], Ref] = {}

    def of(self, role: str, count: int) -> list[Ref]:
        keys = [(role, axis) for axis in range(count)]
        for key in keys:
            if key not in self.by_axis:
                self.by_axis[key] = Ref(0)
        return [self.by_axis[key] for key in keys]


_held = _Held()


@contextmanager
def program(
    indices: Sequence[Any], sizes: Sequence[Any], names: Sequence[Any] | None
) -> Iterator[None]:
    """The context in which a program of the grid runs, and its index maps.

    Arguments:
        indices: the position of the program along each axis of the grid.
        sizes: the sizes of the grid.
        names: the names of its axes, for collectives; None: they have none.
    """
    known = tuple(size if isinstance(size, int) else None for size in sizes)
    with ExitStack() as stack:
        stack.enter_context(_sizes(known))
        stack.enter_context(holding(_held.of("index", len(sizes)), list(indices)))
        stack.enter_context(holding(_held.of("size", len(sizes)), list(sizes)))
        for name, index, size in zip(names or (), indices, sizes, strict=False):
            stack.enter_context(bound_axis(name, index, size))
        yield


def program_id(axis: int) -> Any:
    """The index of the running program along an axis of the grid.

    Arguments:
        axis: an axis of the grid.

    Returns:
        An int32 scalar.

    Raises:
        ValueError: this is not in a kernel, or its grid has no such axis.
    """
    return _held.of("index", _axis("program_id", axis) + 1)[axis].read()


def num_programs(axis: int) -> Any:
    """The size of an axis of the grid.

    Arguments:
        axis: an axis of the grid.

    Returns:
        An int; an int32 scalar if the size is traced.

    Raises:
        ValueError: this is not in a kernel, or its grid has no such axis.
    """
    axis = _axis("num_programs", axis)
    size = _sizes.value[axis]
    return _held.of("size", axis + 1)[axis].read() if size is None else size


def _axis(caller: str, axis: Any) -> int:
    axis, sizes = one_int(f"{caller}: axis", axis), _sizes.value
    if sizes is None:
        raise ValueError(
            f"{caller} is for kernels: call it in the function that pallas_call is given"
        )
    if not 0 <= axis < len(sizes):
        raise ValueError(f"{caller}: axis {axis} is out of bounds for the grid {sizes}")
    return axis


def indices_of(number: Any, sizes: Sequence[Any]) -> list[Any]:
    """The indices of the program with this number, in row-major order."""
    number = lax.convert_element_type(number, "int32")
    indices = []
    for size in reversed(sizes[1:]):
        size = lax.convert_element_type(size, "int32")
        indices.append(lax.rem(number, size))
        number = lax.div(number, size)
    return [*([number] if sizes else []), *reversed(indices)]


set_all(globals())
