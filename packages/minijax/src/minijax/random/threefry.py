"""Threefry-2x32: a cipher whose key and block are 64 bits each, as two 32-bit words.

Encrypting 0, 1, 2, ... under a key gives random bits, or new keys, each independently: there is no
state. (J. Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011; 20 rounds.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.shapes import creation
from minijax.primitives.declare import declare
from minijax.primitives.sharding_rules import by_elements
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.key_types import Implementation
from minijax.settings.prng import partitionable
from minijax_stage2 import Primitive, ShapedArray, bind, bind1, typeof
from minijax_stage2.primitives import convert_element_type_p, spread_shape
from minijax_stage2.vmap_rules import elementwise
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature

Avals = Sequence[ShapedArray]

UINT32 = np.dtype(np.uint32)
UINT64 = np.dtype(np.uint64)

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA

threefry2x32_p = Primitive("threefry2x32")


def _types_of_hash(*operands: ShapedArray) -> Avals:
    if len(operands) != 4 or any(operand.dtype != UINT32 for operand in operands):
        found = ", ".join(map(str, operands))
        raise TypeError(f"threefry2x32: expected four operands of uint32, found {found}")
    return [ShapedArray(spread_shape(threefry2x32_p, *operands), UINT32)] * 2


class _Words:
    """Writes arithmetic on arrays of 32-bit words, all of one shape."""

    def __init__(self, b: FunctionBuilder, shape: tuple[int, ...]):
        self.b = b
        self.words = ShapedArray(shape, UINT32)

    def apply(self, operation: str, *operands: Value) -> Value:
        names = ", ".join(x.name for x in operands)
        (out,) = self.b.emit(f"stablehlo.{operation} {names} : {mlir_type(self.words)}", self.words)
        return out

    def constant(self, value: int) -> Value:
        return self.b.constant(value, self.words)

    def rotate_left(self, x: Value, bits: int) -> Value:
        left = self.apply("shift_left", x, self.constant(bits))
        right = self.apply("shift_right_logical", x, self.constant(32 - bits))
        return self.apply("or", left, right)

    def rounds(self, *operands: Value) -> list[Value]:
        *key, x, y = operands
        last = self.apply("xor", self.apply("xor", *key), self.constant(PARITY))
        schedule = [*key, last]
        x, y = (self.apply("add", word, k) for word, k in zip((x, y), key, strict=True))
        for i in range(5):
            for rotation in ROTATIONS[i % 2]:
                x = self.apply("add", x, y)
                y = self.apply("xor", x, self.rotate_left(y, rotation))
            x = self.apply("add", x, schedule[(i + 1) % 3])
            y = self.apply("add", y, schedule[(i + 2) % 3])
            y = self.apply("add", y, self.constant(i + 1))
        return [x, y]


def _lower_hash(b: FunctionBuilder, out_avals: Avals, *operands: Value) -> list[Value]:
    """A call of the function with the rounds, which each module contains once."""
    shape = out_avals[0].shape

    def write(b: FunctionBuilder, *operands: Value) -> list[Value]:
        return _Words(b, shape).rounds(*(b.spread(x, shape) for x in operands))

    avals = tuple(x.aval for x in operands)
    module, key = b.module, (threefry2x32_p, avals)
    if key not in module.names:
        module.names[key] = f"threefry2x32_{len(module.names)}"
        function = module.function()
        params = [Value(f"%arg{number}", aval) for number, aval in enumerate(avals)]
        function.finish(module.names[key], "private", params, write(function, *params))
    name = module.names[key]
    names = ", ".join(x.name for x in operands)
    return b.emit(
        f"func.call @{name}({names}) : {signature(list(operands), out_avals)}", *out_avals
    )


declare(
    threefry2x32_p,
    abstract_eval=_types_of_hash,
    lower=_lower_hash,
    vmap=elementwise(threefry2x32_p),
    sharding=by_elements(threefry2x32_p),
)


def _words_of(key: Any) -> list[Any]:
    return [lax.index_in_dim(key, at, keepdims=False) for at in range(2)]


def _encrypted_counts(key: Any, shape: Sequence[int]) -> list[Any]:
    """Both words of the encrypted numbers 0, 1, 2, ..., in an array of that shape."""
    size = math.prod(shape)
    if size < 2**32:
        numbers = bind1(creation.iota_p, dtype=UINT32, shape=(size,), dimension=0)
        high_low = [np.uint32(0), numbers]
    else:
        numbers = bind1(creation.iota_p, dtype=UINT64, shape=(size,), dimension=0)
        words = lax.bitcast_convert_type(numbers, UINT32)
        high_low = [lax.index_in_dim(words, at, 1, keepdims=False) for at in (1, 0)]
    encrypted = bind(threefry2x32_p, *_words_of(key), *high_low)
    return [word if len(shape) == 1 else lax.reshape(word, tuple(shape)) for word in encrypted]


@operation
def threefry_2x32(keypair: ArrayLike, count: ArrayLike) -> Array:
    """Numbers encrypted by Threefry-2x32, two at a time.

    Arguments:
        keypair: the two words of the key, uint32.
        count: an array of uint32. Its first half goes with its second; if the size is odd, a zero
            is put at the end.

    Returns:
        An array of the shape of `count`, of uint32.

    Raises:
        TypeError: an argument is not of uint32.

    >>> from minijax.extend.random import threefry_2x32
    >>> threefry_2x32(jnp.uint32([0, 0]), jnp.uint32([0, 0]))
    Array([1797259609, 2579123966], dtype=uint32)
    """
    key, other = keypair if isinstance(keypair, list | tuple) else _words_of(keypair)
    shape, size = typeof(count).shape, typeof(count).size
    flat = lax.reshape(count, (size,))
    if size % 2:
        flat = lax.concatenate([flat, lax.full((1,), 0, UINT32)], 0)
    half = (size + 1) // 2
    halves = (lax.slice_in_dim(flat, at, at + half) for at in (0, half))
    out = lax.concatenate(bind(threefry2x32_p, key, other, *halves), 0)
    return lax.reshape(lax.slice_in_dim(out, 0, size), shape)


def seed_words(seed: Any) -> Any:
    """The key of a seed: its high and its low word."""
    low = lax.convert_element_type(seed, UINT32)
    if typeof(seed).dtype.itemsize == 8:
        high = lax.convert_element_type(lax.shift_right_logical(seed, 32), UINT32)
    else:
        high = lax.full((), 0, UINT32)
    return _pair(high, low)


def split_words(key: Any, shape: Sequence[int]) -> Any:
    """New keys, the words of which are the last axis."""
    if not partitionable.value:
        counts = lax.iota(UINT32, 2 * math.prod(shape))
        return lax.reshape(_computed_once(threefry_2x32(key, counts)), (*shape, 2))
    return _computed_once(_pair(*_encrypted_counts(key, shape)))


def fold_words(key: Any, data: Any) -> Any:
    """The key of a key and a number."""
    high, low = _words_of(seed_words(data))
    return _computed_once(_pair(*bind(threefry2x32_p, *_words_of(key), high, low)))


def _bits(key: Any, width: int, shape: Sequence[int]) -> Any:
    if not partitionable.value:
        return _computed_once(_bits_of_one_stream(key, width, shape))
    high, low = _encrypted_counts(key, shape)
    if width == 64:
        return _computed_once(_of_64_bits(high, low))
    bits = lax.convert_element_type(lax.bitwise_xor(high, low), np.dtype(f"uint{width}"))
    return _computed_once(bits)


def _bits_of_one_stream(key: Any, width: int, shape: Sequence[int]) -> Any:
    """Bits cut from one stream of words, so that each depends on the size of the whole."""
    size = math.prod(shape)
    count = -(-width * size // 32)
    if count >= 2**32 - 1:
        raise NotImplementedError(
            f"random bits without threefry_partitionable: at most 2**32 - 2 words, found {count}"
        )
    words = threefry_2x32(key, lax.iota(UINT32, count))
    if width == 64:
        words = _of_64_bits(*(lax.slice_in_dim(words, at, at + size) for at in (0, size)))
    elif width < 32:
        shifts = np.arange(0, 32, width, dtype=np.uint32)
        parts = lax.shift_right_logical(lax.expand_dims(words, (1,)), shifts[None])
        parts = lax.convert_element_type(lax.reshape(parts, (-1,)), np.dtype(f"uint{width}"))
        words = lax.slice_in_dim(parts, 0, size)
    return lax.reshape(words, tuple(shape))


def _pair(first: Any, second: Any) -> Any:
    axis = typeof(first).ndim
    return lax.concatenate([lax.expand_dims(x, (axis,)) for x in (first, second)], axis)


def _of_64_bits(high: Any, low: Any) -> Any:
    high, low = (bind1(convert_element_type_p, x, new_dtype=UINT64) for x in (high, low))
    return lax.bitwise_or(lax.shift_left(high, 32), low)


def _computed_once(x: Any) -> Any:
    """`x` behind a barrier, so that XLA computes the rounds once, in a separate loop.

    Their operations are so cheap that XLA would fuse a copy of them into each use of the result; if
    that is the next hash, which uses its key in every fifth operation, the copies of copies are too
    many to compile. Writing the rounds as a loop prevents that too, but moves each round's words
    through memory.
    """
    return lax.optimization_barrier(x)


threefry = Implementation((2,), seed_words, split_words, _bits, fold_words, "threefry2x32", "fry")
