"""Slices and ranges whose bounds or axes have symbolic sizes."""

from typing import Any

from glassjax.dimensions.expressions import Size, max_size, min_size, require_size
from glassjax.errors import InconclusiveDimensionOperation


def slice_elements(part: slice, size: Size) -> tuple[Any, Any, Any, Any]:
    """The start, the number of elements and the step of a slice of an axis, and its extent.

    The extent of a forward slice goes on to its stop, as in JAX: the result of `lax.slice` has a
    simpler size than for an extent up to the last element. It is None for a backward slice.

    Raises:
        InconclusiveDimensionOperation: the sign of a bound or of the step is not known.
        TypeError: one of them is not an integer.
        ValueError: the step is zero.
    """
    step = 1 if part.step is None else require_size("a slice: step", part.step)
    if step == 0:
        raise ValueError("the step of a slice must not be zero")
    is_forward = _sign_is_known(step, part)
    first, end = (0, size) if is_forward else (size - 1, -1)
    start = first if part.start is None else _bounded(part.start, size, is_forward, part)
    stop = end if part.stop is None else _bounded(part.stop, size, is_forward, part)
    extent = max_size(0, stop - start) if is_forward else None
    return start, range_length(start, stop, step), step, extent


def range_length(start: Size, stop: Size, step: Size) -> Any:
    """The number of elements of `range(start, stop, step)`; the sign of `step` must be known."""
    if step > 0:
        return max_size(0, (stop - start + step - 1) // step)
    return max_size(0, (start - stop - step - 1) // -step)


def _bounded(bound: Any, size: Size, is_forward: bool, part: slice) -> Size:
    """A bound moved inside the axis, where a negative one counts from the end."""
    bound = require_size("a slice: bound", bound)
    if _sign_is_known(bound, part):
        return min_size(size if is_forward else size - 1, bound)
    return max_size(0 if is_forward else -1, size + bound)


def _sign_is_known(bound: Size, part: slice) -> bool:
    """Return True if a bound is at least 0."""
    try:
        return bound >= 0
    except InconclusiveDimensionOperation as error:
        raise InconclusiveDimensionOperation(
            f"the slice {part.start}:{part.stop}:{part.step} counts '{bound}' from the begin or "
            f"from the end, depending on its sign. Here {error}"
        ) from None
