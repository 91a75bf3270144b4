"""Functions of the bits of integers, under numpy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax import promoting as lax
from minijax.numpy.math.arithmetic import abs, numeric
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import promote
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axis, moveaxis

bitwise_not = bitwise_invert = invert = lax.bitwise_not


@operation
def left_shift(x: ArrayLike, y: ArrayLike) -> Array:
    """The bits of `x` moved up by `y` places.

    >>> jnp.left_shift(jnp.array([1, 3]), 4)
    Array([16, 48], dtype=int32)
    """
    return lax.shift_left(*map(numeric, promote(x, y)))


@operation
def right_shift(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The bits of `x1` shifted right by `x2` places, preserving the sign.

    >>> jnp.right_shift(jnp.array([16, -16]), 2)
    Array([ 4, -4], dtype=int32)
    """
    x1, x2 = map(numeric, promote(x1, x2))
    is_unsigned = typeof(x1).dtype.kind == "u"
    return (lax.shift_right_logical if is_unsigned else lax.shift_right_arithmetic)(x1, x2)


bitwise_left_shift = left_shift
bitwise_right_shift = right_shift


@operation
def bitwise_count(x: ArrayLike) -> Array:
    """The number of bits set in the absolute value of `x`, as uint8.

    >>> jnp.bitwise_count(jnp.array([0b1011, -1]))
    Array([3, 1], dtype=uint8)
    """
    return stage2.astype(lax.population_count(abs(numeric(x))), np.uint8)


@operation(static=("axis", "bitorder"))
def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Bytes, each packed from eight elements of `a` along an axis; nonzero elements become 1.

    Arguments:
        a: booleans or integers, padded with zeros.
        axis: the axis; None: all elements, flattened.
        bitorder: whether the first of eight is the "big" or the "little" bit.

    Raises:
        TypeError: `a` is not an array of booleans or integers.
        ValueError: `bitorder` is another string.

    >>> jnp.packbits(jnp.array([1, 0, 1, 0, 0, 0, 0, 1]))
    Array([161], dtype=uint8)
    """
    if typeof(a).dtype.kind not in "biu":
        raise TypeError(f"packbits: expected booleans or integers, found {typeof(a)}")
    values = _values_of_bits("packbits", bitorder)
    bits, along = _last_axis("packbits", lax.ne(a, 0), axis)
    *lead, count = typeof(bits).shape
    size = -(-count // 8)
    filled = lax.pad(bits, np.False_, [(0, 0, 0)] * len(lead) + [(0, 8 * size - count, 0)])
    filled = lax.reshape(filled, (*lead, size, 8))
    terms = lax.mul(stage2.astype(filled, np.uint8), values)
    return moveaxis(lax.reduce_sum(terms, (len(lead) + 1,)), -1, along)


@operation(static=("axis", "count", "bitorder"))
def unpackbits(
    a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """The bits of bytes along an axis, which grows eightfold.

    Arguments:
        a: an array of uint8.
        axis: the axis; None: all elements, flattened.
        count: the number of bits in the result: it is truncated, or padded with zeros. A negative
            number is the number of bits to cut off.
        bitorder: whether the "big" or the "little" bit comes first.

    Raises:
        TypeError: `a` is not an array of uint8.
        ValueError: `bitorder` is another string.

    >>> jnp.unpackbits(jnp.array([0b10100001], jnp.uint8))
    Array([1, 0, 1, 0, 0, 0, 0, 1], dtype=uint8)
    """
    if typeof(a).dtype != np.uint8:
        raise TypeError(f"unpackbits: expected an array of uint8, found {typeof(a)}")
    values = _values_of_bits("unpackbits", bitorder)
    rows, along = _last_axis("unpackbits", a, axis)
    *lead, size = typeof(rows).shape
    bits = lax.bitwise_and(lax.expand_dims(rows, (len(lead) + 1,)), values)
    bits = lax.reshape(stage2.astype(lax.ne(bits, 0), np.uint8), (*lead, 8 * size))
    if count is not None:
        kept = len(range(8 * size)[:count])
        bits = lax.slice_in_dim(bits, 0, kept, axis=-1)
        bits = lax.pad(bits, np.uint8(0), [(0, 0, 0)] * len(lead) + [(0, max(count - kept, 0), 0)])
    return moveaxis(bits, -1, along)


def _values_of_bits(caller: str, bitorder: str) -> np.ndarray[Any, Any]:
    """The values of the eight bits of a byte."""
    if bitorder not in ("big", "little"):
        raise ValueError(f"{caller}: bitorder must be 'big' or 'little', found {bitorder!r}")
    values = np.left_shift(np.uint8(1), np.arange(8, dtype=np.uint8))
    return values[::-1].copy() if bitorder == "big" else values


def _last_axis(caller: str, a: Any, axis: int | None) -> tuple[Any, int]:
    """The array with the axis last, and the axis's old position."""
    if axis is None:
        return lax.reshape(a, (-1,)), 0
    along = canonical_axis(caller, axis, typeof(a).ndim)
    return moveaxis(a, along, -1), along


__all__ = [
    "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_right_shift",
    "invert", "left_shift", "packbits", "right_shift", "unpackbits",
]  # fmt: skip
