"""`x.at[...]`: arrays updated at an index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import glassjax.numpy as jnp
from glassjax import lax
from glassjax.errors.tracebacks import hide_frames, hiding_frames
from glassjax.lax.gathering import GatherScatterMode
from glassjax.numpy import indexing
from glassjax.numpy.dtypes import warn_if_lossy
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.nesting import nests_calls
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import as_weak_as, result_type
from glassjax.shardings import memories
from glassjax.shardings.types import takes_out_sharding
from glassjax_stage2 import ShapedArray, typeof
from glassjax_stage2.promotion import broadcast_to, cast
from glassjax_stage2.shaped_array import Shape, dialect, python_scalars

CLIP, DROP = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP
Combine = Callable[[Any, Any], Any]


class _IndexUpdateHelper:
    """The value of `x.at`, to be indexed."""

    __slots__ = ("array",)

    def __init__(self, array: Any):
        self.array = array

    def __getitem__(self, index: Any) -> _IndexUpdateRef:
        return _IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.array!r})"


class _IndexUpdateRef:
    """The value of `x.at[index]`. Each method returns an array like `x`, with some elements
    changed.

    Their options are:

    - indices_are_sorted: a promise that the indices are in order.
    - unique_indices: a promise that no index occurs twice.
    - mode: the treatment of indices out of bounds. Updates are dropped ("drop", the default) or
      go to the nearest element ("clip"); "promise_in_bounds" says there are none.
    - out_sharding: the sharding of the result over mesh axes of type `Explicit`, where it is open.
    - wrap_negative_indices: whether negative indices count from the end.

    They raise TypeError or IndexError if the index is invalid, ValueError if values do not
    broadcast to the shape of `x[index]`. Values that the dtype of `x` cannot hold are converted,
    with a FutureWarning.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any):
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.array!r}, {self.index!r})"

    @hiding_frames
    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
        fill_value: ArrayLike | None = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """`x[index]`, with `mode` for indices out of bounds.

        Such an index reads the nearest element by default and in mode "clip", and in mode "fill"
        `fill_value`: by default NaN, for integers the smallest or, if unsigned, the largest.

        >>> import glassjax.numpy as jnp
        >>> jnp.arange(3.0).at[jnp.array([2, 3])].get(mode="fill", fill_value=-1)
        Array([ 2., -1.], dtype=float32)
        """
        promised = GatherScatterMode.PROMISE_IN_BOUNDS
        return takes_out_sharding(indexing.get)(
            self.array,
            self.index,
            mode=promised if mode is None else GatherScatterMode.from_any(mode),
            fill_value=np.asarray(fill_value)[()] if hasattr(fill_value, "aval") else fill_value,
            wraps=wrap_negative_indices,
            unique_indices=unique_indices,
            indices_are_sorted=indices_are_sorted,
            out_sharding=out_sharding,
        )

    def set(self, values: ArrayLike, **options: Any) -> Array:
        """With `values` in the place of `x[index]`.

        >>> import glassjax.numpy as jnp
        >>> jnp.zeros(4).at[1:3].set(jnp.array([5.0, 6.0]))
        Array([0., 5., 6., 0.], dtype=float32)
        """
        return _update("set", self.array, self.index, values, **options)

    def add(self, values: ArrayLike, **options: Any) -> Array:
        """`x` with `values` added to `x[index]`, once for each occurrence of an index."""
        return _update("add", self.array, self.index, values, **options)

    def subtract(self, values: ArrayLike, **options: Any) -> Array:
        """`x` with `values` subtracted from `x[index]`, once for each occurrence of an index."""
        return _update("subtract", self.array, self.index, values, **options)

    def multiply(self, values: ArrayLike, **options: Any) -> Array:
        """`x` with `x[index]` multiplied by `values`, once for each occurrence of an index."""
        return _update("multiply", self.array, self.index, values, **options)

    mul = multiply

    def divide(self, values: ArrayLike, **options: Any) -> Array:
        """`x` with `x[index]` divided by `values`, real numbers, once for each occurrence."""
        ones = jnp.ones_like(self.array)
        return jnp.divide(self.array, _update("multiply", ones, self.index, values, **options))

    def power(self, values: ArrayLike, **options: Any) -> Array:
        """`x` with `x[index]` to the power `values`, once for each occurrence of an index."""
        ones = jnp.ones_like(self.array)
        return jnp.power(self.array, _update("multiply", ones, self.index, values, **options))

    def min(self, values: ArrayLike, **options: Any) -> Array:
        """With the smaller of `x[index]` and `values`."""
        return _update("min", self.array, self.index, values, **options)

    def max(self, values: ArrayLike, **options: Any) -> Array:
        """With the larger of `x[index]` and `values`."""
        return _update("max", self.array, self.index, values, **options)

    @hiding_frames
    def apply(self, func: Callable[[Any], Any], **options: Any) -> Array:
        """`x` with `func`, an elementwise function, applied once for each occurrence of an index.

        It is differentiable if each index certainly occurs once: if the index holds no arrays, or
        with `unique_indices=True`.
        """
        return _update(func, self.array, self.index, 0, **options)


SCATTERS: dict[Any, tuple[Combine, Callable[..., Any]]] = {
    "set": (lambda old, new: new, lax.scatter),
    "add": (jnp.add, lax.scatter_add),
    "subtract": (jnp.subtract, lax.scatter_sub),
    "multiply": (jnp.multiply, lax.scatter_mul),
    "min": (jnp.minimum, lax.scatter_min),
    "max": (jnp.maximum, lax.scatter_max),
}
Kind = str | Callable[[Any], Any]  # the update: a key of SCATTERS, or a function to apply


def _update(
    kind: Kind,
    x: Any,
    index: Any,
    values: Any,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
    out_sharding: Any = None,
    wrap_negative_indices: bool = True,
) -> Any:
    if out_sharding is not None:
        options: dict[str, Any] = {
            "indices_are_sorted": indices_are_sorted,
            "unique_indices": unique_indices,
            "mode": mode,
            "wrap_negative_indices": wrap_negative_indices,
        }
        return takes_out_sharding(_update)(
            kind, x, index, values, out_sharding=out_sharding, **options
        )
    scatter_mode = GatherScatterMode.from_any(mode)
    try:
        if not callable(kind):
            warn_if_lossy(x, values)
        shape = typeof(x).shape
        x, entries, operands = indexing.parse_index(x, index)
        with_axes = typeof(x).shape  # a boolean scalar in the index adds an axis
        if not operands:
            indexing.require_elements(entries, with_axes)
        has_steps = any(
            isinstance(entry, indexing.StaticSlice) and abs(entry.step) > 1 for entry in entries
        )
        is_bounded = indexing.is_inside(entries, with_axes, wrap_negative_indices) and not operands
        is_window = wrap_negative_indices and not has_steps and not nests_calls()
        if is_window and (is_bounded or scatter_mode is not DROP):
            moved, known = indexing.starts_as_operands(entries, operands, with_axes)
            pattern = indexing.pattern_of(tuple(moved))
            if pattern.is_basic:
                return _update_window(x, values, *known, pattern=pattern, kind=kind)
        moved, known = indexing.ints_as_operands(entries, operands)
        out = _scattered(
            x,
            values,
            *known,
            pattern=indexing.pattern_of(tuple(moved)),
            kind=kind,
            mode=scatter_mode,
            wraps=wrap_negative_indices,
            unique_indices=unique_indices,
            indices_are_sorted=indices_are_sorted,
        )
        return out if with_axes == shape else lax.reshape(out, shape)
    except indexing.StartIsUnknown as found:
        window, left, starts = found.window(x, indexing.axes_of)
        updated = _update(
            kind,
            window,
            left,
            values,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            wrap_negative_indices=wrap_negative_indices,
        )
        put = lax.dynamic_update_slice(x, updated, starts)
        return (
            jnp.where(found.is_inside(x, indexing.axes_of), put, x) if scatter_mode is DROP else put
        )
    except Exception as error:
        hide_frames(error)
        raise


@operation(static=("pattern", "kind"))
def _update_window(
    x: Any, values: Any, *operands: Any, pattern: indexing.Pattern, kind: Kind
) -> Any:
    """Update the elements that `cut_out` with this pattern would cut out."""
    aval = typeof(x)
    (starts, sizes), steps = indexing.window_of(aval.shape, operands, pattern)
    if 0 in sizes:  # an empty update accepts values of any shape
        return x
    new = _broadcast_values(kind, aval, values, indexing.shape_of_cut(pattern), sizes)
    new = indexing.reverse(new, [axis for axis, step in enumerate(steps) if step < 0])
    if kind != "set":
        old = indexing.take_window(x, starts, sizes)
        new = kind(old) if callable(kind) else SCATTERS[kind][0](old, new)
    new = broadcast_to(cast(new, aval), tuple(sizes))
    if tuple(sizes) == aval.shape:  # the update replaces all of x
        return as_weak_as(aval, lax.convert_element_type(new, aval.dtype))
    out = lax.dynamic_update_slice(x, new, starts, allow_negative_indices=False)
    return as_weak_as(aval, out)


@operation(
    static=(
        "pattern",
        "kind",
        "mode",
        "wraps",
        "unique_indices",
        "indices_are_sorted",
    )
)
def _scattered(
    x: Any,
    values: Any,
    *operands: Any,
    pattern: indexing.Pattern,
    kind: Kind,
    mode: GatherScatterMode,
    wraps: bool,
    unique_indices: bool,
    indices_are_sorted: bool,
) -> Any:
    """Update the elements that `gather` with this pattern would gather."""
    aval = typeof(x)
    plan = indexing.plan_index(
        pattern, aval.shape, *[typeof(operand).shape for operand in operands]
    )
    if 0 in plan.shape:
        return x
    indices = indexing.indices_of(plan, aval.shape, operands, wraps)
    updates = _broadcast_values(kind, aval, values, plan.shape, plan.gathered_shape)
    updates = indexing.reverse(updates, plan.reversed_axes)
    numbers = lax.ScatterDimensionNumbers(*plan.numbers)
    options: Any = {
        "unique_indices": unique_indices or plan.is_unique,
        "indices_are_sorted": indices_are_sorted or plan.is_sorted,
        "mode": mode,
    }
    if callable(kind):
        if not options["unique_indices"]:
            return lax.scatter_apply(
                x, indices, kind, numbers, update_shape=plan.gathered_shape, **options
            )
        old = lax.gather(x, indices, plan.numbers, plan.slice_sizes, **options | {"mode": CLIP})
        updates = broadcast_to(kind(old), plan.gathered_shape)
        return lax.scatter(x, indices, cast(updates, aval), numbers, **options)
    out = SCATTERS[kind][1](cast(x, typeof(updates)), indices, updates, numbers, **options)
    return cast(out, aval)


def _broadcast_values(
    kind: Kind, x: ShapedArray, values: Any, shape: Shape, sizes: Sequence[int]
) -> Any:
    """Values in the memory of `x`, broadcast to `sizes`, the elements of `shape` without new axes.

    They are promoted with `x`, as in `x + y`; the result is converted back to the dtype of x.
    """
    if type(values) is complex and kind == "set" and x.dtype.kind not in "cV":
        values = values.real  # the imaginary part is dropped, with a warning
    aval = typeof(values)
    target = x if kind == "set" else result_type(x, aval)
    is_number = type(values) in python_scalars and not target.weak_type
    values = dialect().scalar(values, target.dtype) if is_number else cast(values, target)
    values = broadcast_to(values, shape if aval.shape else tuple(sizes))
    return memories.moved(lax.reshape(values, sizes), memories.space_of(x))


at = property(_IndexUpdateHelper, doc="Functional updates: `x.at[index].set(values)` and others.")
