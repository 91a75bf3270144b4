"""Random bits, from which everything else is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minijax.lax.shapes.creation import sizes_of
from minijax.random.keys import single_key
from minijax.random.primitives import random_bits_p
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import bind1
from minijax_stage2.shaped_array import dialect

Shape = int | Sequence[int]


@operation(static=("shape", "dtype", "out_sharding"))
def bits(
    key: ArrayLike, shape: Shape = (), dtype: Any = None, *, out_sharding: Any = None
) -> Array:
    """Random bits.

    Arguments:
        key: the key.
        shape: the shape of the result.
        dtype: an unsigned integer; of 32 bits by default, or 64 with `enable_x64`.

    Raises:
        ValueError: `dtype` is not unsigned, or `key` more than one key.

    >>> random.bits(random.key(0), (2,)), random.bits(random.key(0), (2,), "uint8")
    (Array([4070199207, 4202968722], dtype=uint32), Array([167, 146], dtype=uint8))
    """
    dtype = dialect().dtype_of("bits", f"uint{dialect().bits}" if dtype is None else dtype)
    if dtype.kind != "u":
        raise ValueError(f"bits: expected a dtype of unsigned integers, found {dtype}")
    return random_bits(single_key("bits", key), dtype.itemsize * 8, sizes_of("bits", shape))


def random_bits(key: Any, width: int, shape: Sequence[int]) -> Any:
    """Unsigned integers of `width` random bits from a single typed key."""
    return bind1(random_bits_p, key, bit_width=width, shape=tuple(shape))


__all__ = ["bits"]
