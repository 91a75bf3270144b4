"""Views of the bytes of arrays, as another dtype or in another byte order."""

from __future__ import annotations

import numpy as np

from glassjax import lax
from glassjax.dtypes import DTypeLike
from glassjax.numpy.shapes import expand_dims, reshape, squeeze, stack
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import bits_of
from glassjax_stage2 import typeof
from glassjax_stage2.shaped_array import dialect


@operation(static=("dtype", "type"))
def view(x: ArrayLike, dtype: DTypeLike | None = None, type: None = None) -> Array:
    """The bytes of the array, read as another dtype; the last axis grows or shrinks as needed.

    Raises:
        ValueError: the last axis does not hold a whole number of elements of that dtype, or there
            is none.
    """
    if type is not None:
        raise NotImplementedError(f"view: type must be None, found {type!r}")
    old = typeof(x).dtype
    new = old if dtype is None else dialect().dtype_of("view", dtype)
    if old == new:
        return x  # type: ignore[return-value]
    if not typeof(x).ndim:
        if bits_of(old) != bits_of(new):
            raise ValueError(f"view: the scalar {typeof(x)} has no axis to grow or shrink")
        return squeeze(view(expand_dims(x, 0), new), 0)
    *lead, size = typeof(x).shape
    if size * bits_of(old) % bits_of(new):
        raise ValueError(f"view: the last axis of {typeof(x)} is not a whole number of {new}")
    # XLA's bitcast supports neither booleans nor complex numbers.
    if old == np.bool_:
        return view(lax.convert_element_type(x, np.uint8), new)
    if old.kind == "c":
        parts = stack([lax.real(x), lax.imag(x)], -1)
        return view(reshape(parts, (*lead, 2 * size)), new)
    if new == np.bool_:
        return lax.convert_element_type(view(x, np.uint8), np.bool_)
    if new.kind == "c":
        parts = view(x, np.dtype(f"f{new.itemsize // 2}"))
        count = typeof(parts).shape[-1]
        real, imag = (lax.slice_in_dim(parts, i, count, 2, axis=-1) for i in range(2))
        return lax.complex(real, imag)
    count = size * bits_of(old) // bits_of(new)
    if bits_of(old) < bits_of(new):
        x = reshape(x, (*lead, count, bits_of(new) // bits_of(old)))
    return reshape(lax.bitcast_convert_type(x, new), (*lead, count))


@operation
def byteswap(x: ArrayLike) -> Array:
    """The array with the bytes of each element in reverse order."""
    dtype = typeof(x).dtype
    if dtype.itemsize == 1:
        return x  # type: ignore[return-value]
    octets = view(expand_dims(x, -1), np.uint8)
    return squeeze(view(lax.rev(octets, (typeof(octets).ndim - 1,)), dtype), -1)


__all__: list[str] = []
