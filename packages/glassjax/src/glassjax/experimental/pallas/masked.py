"""Reading and writing references under masks, and beyond their ends.

`ref[pl.ds(start, size)]` moves a slice that would end behind the array. `load` and `store` leave it
in its place: what is beyond the end is uninitialized when read, and dropped when written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from glassjax import lax
from glassjax import numpy as jnp
from glassjax import ref as references
from glassjax.experimental.pallas.blocks import uninitialized
from glassjax.numpy.indexing import Slice, axes_of
from glassjax.ref import RefView
from glassjax.runtime.refs import Ref
from glassjax.settings.names import set_all


def load(
    ref: Any,
    *,
    mask: Any = None,
    other: Any = None,
    cache_modifier: str | None = None,
    eviction_policy: str | None = None,
    volatile: bool = False,
) -> Any:
    """The array of a reference, or of a part of it, with some elements replaced.

    Arguments:
        ref: a reference, or a part `ref.at[index]`.
        mask: booleans that broadcast to its shape: which elements to read.
        other: the value of the others; without it, they are not specified.
        cache_modifier, eviction_policy, volatile: ignored.

    >>> from glassjax.experimental.pallas import triton
    >>> ref = glassjax.new_ref(jnp.arange(4.0))
    >>> triton.load(ref.at[1:3], mask=jnp.array([True, False]), other=-1.0)
    Array([ 1., -1.], dtype=float32)
    """
    base, index, beyond = _base(ref)
    value = base[...]
    if any(beyond):
        value = _extended(value, beyond)
    value = value[index]
    if mask is None or other is None:
        return value
    return jnp.where(mask, value, jnp.asarray(other, value.dtype))


def store(ref: Any, val: Any, *, mask: Any = None, eviction_policy: str | None = None) -> None:
    """Write to a reference, or to a part of it.

    Arguments:
        ref: a reference, or a part `ref.at[index]`.
        val: an array of its shape and dtype.
        mask: booleans that broadcast to its shape: which elements to write.
        eviction_policy: ignored.

    Raises:
        ValueError: `val` has another shape or dtype.

    >>> from glassjax.experimental.pallas import triton
    >>> ref = glassjax.new_ref(jnp.zeros(4))
    >>> triton.store(ref.at[1:3], jnp.ones(2), mask=jnp.array([True, False]))
    >>> ref[...]
    Array([0., 1., 0., 0.], dtype=float32)
    """
    base, index, beyond = _base(ref)
    value = base[...]
    inside = tuple(map(slice, value.shape))
    wide: Any = Ref(_extended(value, beyond) if any(beyond) else value)
    if mask is not None:
        val = jnp.where(mask, val, wide[index])
    wide[index] = val
    base[...] = wide[...][inside] if any(beyond) else wide[...]


def _base(ref: Any) -> tuple[Any, Any, list[int]]:
    """A reference and an index of it, for a part, and how far that may reach beyond each axis."""
    if not isinstance(ref, RefView):
        return ref, ..., []
    base, index = ref.of, ref.index
    parts = index if isinstance(index, tuple) else (index,)
    beyond, axis = [0] * base.ndim, 0
    for part in parts:
        if part is Ellipsis:
            axis += base.ndim - sum(map(axes_of, parts))
        elif isinstance(part, Slice) and not isinstance(part.start, int):
            beyond[axis] = (part.size - 1) * part.stride + 1
        axis += axes_of(part)
    return base, references.as_index(index), beyond


def _extended(value: Any, beyond: list[int]) -> Any:
    """An array with uninitialized elements behind the end of each axis."""
    return lax.pad(value, uninitialized((), value.dtype), [(0, size, 0) for size in beyond])


# Updates of one element at a time. The programs of a grid run one after another, so that these
# differ from other updates only where one index occurs twice: then all values count.


Combine = Callable[[Any, Any], Any]


def _atomic(name: str, does: str, combine: Combine, method: str | None = None) -> Any:
    def atomic(x_ref_or_view: Any, idx: Any, val: Any, *, mask: Any = None) -> Any:
        part = x_ref_or_view.at[idx]
        before = part[...]
        base = part.of[...]
        if method is None:
            changed = combine(before, jnp.asarray(val, before.dtype))
            part[...] = changed if mask is None else jnp.where(mask, changed, before)
        else:
            val = jnp.broadcast_to(jnp.asarray(val, before.dtype), before.shape)
            if mask is not None:
                val = jnp.where(mask, val, 0 if method == "add" else before)
            part.of[...] = getattr(base.at[references.as_index(idx)], method)(val)
        return before

    atomic.__name__ = atomic.__qualname__ = name
    atomic.__doc__ = f"""{does}, and return its old value.

    Arguments:
        x_ref_or_view: a reference, or a part `ref.at[index]`.
        idx: an index, as of arrays.
        val: an array of the shape of the part.
        mask: booleans that broadcast to its shape: which elements to change.
    """
    return atomic


atomic_add = _atomic("atomic_add", "Add to a part of a reference", jnp.add, "add")
atomic_max = _atomic("atomic_max", "Raise a part of a reference to `val`", jnp.maximum, "max")
atomic_min = _atomic("atomic_min", "Lower a part of a reference to `val`", jnp.minimum, "min")
atomic_and = _atomic("atomic_and", "Keep the bits of a reference that `val` has", jnp.bitwise_and)
atomic_or = _atomic("atomic_or", "Set the bits of a reference that `val` has", jnp.bitwise_or)
atomic_xor = _atomic("atomic_xor", "Flip the bits of a reference that `val` has", jnp.bitwise_xor)
atomic_xchg = _atomic("atomic_xchg", "Replace a part of a reference", lambda before, val: val)


def atomic_cas(ref: Any, cmp: Any, val: Any) -> Any:
    """Replace the number of a reference if it equals `cmp`, and return the old one.

    Arguments:
        ref: a reference to a scalar, or a part `ref.at[index]`.
        cmp, val: scalars of its dtype.
    """
    before = ref[...]
    ref[...] = jnp.where(before == cmp, val, before).astype(before.dtype)
    return before


set_all(globals())
