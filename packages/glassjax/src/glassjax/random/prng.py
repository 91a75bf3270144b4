"""The generators of bits: threefry and XLA's own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.lax import shapes as creation
from glassjax.lax.random_bits import rng_bit_generator
from glassjax.primitives.declare import declare
from glassjax.primitives.sharding_rules import by_elements
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import PRNGImpl
from glassjax.settings.options import partitionable
from glassjax.transforms.vmap import vmap
from glassjax_stage2 import ShapedArray, bind, bind1, typeof
from glassjax_stage2.primitives import broadcast_shape, convert_element_type_p
from glassjax_stage2.promotion import broadcast_shapes
from glassjax_stage2.vmap_rules import elementwise
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature

# Threefry-2x32: a cipher whose key and block are 64 bits each, as two 32-bit words.
#
# Encrypting 0, 1, 2, ... under a key gives random bits, or new keys, each independently: there is
# no state. (J. Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011; 20
# rounds.)


Avals = Sequence[ShapedArray]

UINT32 = np.dtype(np.uint32)
UINT64 = np.dtype(np.uint64)

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA

threefry2x32_p = stage2.Primitive("threefry2x32")


def _hash_type(*operands: ShapedArray) -> Avals:
    if len(operands) != 4 or any(operand.dtype != UINT32 for operand in operands):
        found = ", ".join(map(str, operands))
        raise TypeError(f"threefry2x32: expected four operands of uint32, found {found}")
    return [ShapedArray(broadcast_shape(threefry2x32_p, *operands), UINT32)] * 2


def _apply(b: FunctionBuilder, operation: str, x: Value, y: Value) -> Value:
    """Arithmetic on two arrays of one shape."""
    text = f"stablehlo.{operation} {x.name}, {y.name} : {mlir_type(x.aval)}"
    return b.emit(text, x.aval)[0]


def _called(
    b: FunctionBuilder, write: Any, operands: Sequence[Value], out_avals: Avals
) -> list[Value]:
    """A call of the function that `write` writes, which a module contains once per types."""
    avals = tuple(x.aval for x in operands)
    module, key = b.module, (threefry2x32_p, write, avals)
    if key not in module.names:
        module.names[key] = f"threefry2x32_{len(module.names)}"
        function = module.function()
        params = [Value(f"%arg{number}", aval) for number, aval in enumerate(avals)]
        function.finish(module.names[key], "private", params, write(function, *params))
    names = ", ".join(x.name for x in operands)
    types = signature(operands, out_avals)
    return b.emit(f"func.call @{module.names[key]}({names}) : {types}", *out_avals)


def _write_four_rounds(b: FunctionBuilder, x: Value, y: Value, *others: Value) -> list[Value]:
    """Four rounds, after which two words of the key are added."""
    shape = x.aval.shape
    key_x, key_y, *bits = (b.broadcast(other, shape) for other in others)
    for left, right in zip(bits[:4], bits[4:], strict=True):
        x = _apply(b, "add", x, y)
        parts = _apply(b, "shift_left", y, left), _apply(b, "shift_right_logical", y, right)
        y = _apply(b, "xor", x, _apply(b, "or", *parts))
    return [_apply(b, "add", x, key_x), _apply(b, "add", y, key_y)]


def _write_hash(b: FunctionBuilder, *operands: Value) -> list[Value]:
    *key, x, y = operands
    shape = broadcast_shapes(*(operand.aval.shape for operand in operands))
    if key[0].aval.shape != key[1].aval.shape:
        key = [b.broadcast(word, shape) for word in key]
    key_aval, number = key[0].aval, ShapedArray((), UINT32)
    last = _apply(b, "xor", _apply(b, "xor", *key), b.constant(PARITY, key_aval))
    schedule = [*key, last]
    x, y = (
        _apply(b, "add", b.broadcast(word, shape), b.broadcast(part, shape))
        for word, part in zip((x, y), key, strict=True)
    )
    rotations = [[*left, *(32 - bits for bits in left)] for left in ROTATIONS]
    counts = {bits: b.constant(bits, number) for bits in sorted({*rotations[0], *rotations[1]})}
    for i in range(5):
        key_x, key_y = schedule[(i + 1) % 3], schedule[(i + 2) % 3]
        key_y = _apply(b, "add", key_y, b.constant(i + 1, key_aval))
        bits = [counts[number] for number in rotations[i % 2]]
        x, y = _called(b, _write_four_rounds, [x, y, key_x, key_y, *bits], [x.aval, y.aval])
    return [x, y]


def _hash_lower(b: FunctionBuilder, out_avals: Avals, *operands: Value) -> list[Value]:
    return _called(b, _write_hash, operands, out_avals)


declare(
    threefry2x32_p,
    abstract_eval=_hash_type,
    lower=_hash_lower,
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

    >>> from glassjax.extend.random import threefry_2x32
    >>> threefry_2x32(jnp.uint32([0, 0]), jnp.uint32([0, 0]))
    Array([1797259609, 2579123966], dtype=uint32)
    """
    key, other = keypair if isinstance(keypair, list | tuple) else _words_of(keypair)
    shape, size = typeof(count).shape, typeof(count).size
    flat = lax.reshape(count, (size,))
    if size % 2 != 0:
        flat = lax.pad(flat, np.uint32(0), [(0, size % 2, 0)])
    half = (size + 1) // 2
    halves = (lax.slice_in_dim(flat, at, at + half) for at in (0, half))
    out = lax.concatenate(bind(threefry2x32_p, key, other, *halves), 0)
    return lax.reshape(lax.slice_in_dim(out, 0, size), shape)


def seed_words(seed: Any) -> Any:
    """The key of a seed: its high and its low word."""
    low = lax.convert_element_type(seed, UINT32)
    if typeof(seed).dtype.itemsize == 8:
        high = lax.convert_element_type(lax.shift_right_logical(*stage2.promote(seed, 32)), UINT32)
    else:
        high = lax.full((), 0, UINT32)
    return _pair_words(high, low)


def split_words(key: Any, shape: Sequence[int]) -> Any:
    """New keys, as an array whose last axis holds the words of a key."""
    if not partitionable.value:
        counts = lax.iota(UINT32, 2 * math.prod(shape))
        return lax.reshape(_computed_once(threefry_2x32(key, counts)), (*shape, 2))
    return _computed_once(_pair_words(*_encrypted_counts(key, shape)))


def fold_words(key: Any, data: Any) -> Any:
    """The key of a key and a number."""
    high, low = _words_of(seed_words(data))
    return _computed_once(_pair_words(*bind(threefry2x32_p, *_words_of(key), high, low)))


def _threefry_bits(key: Any, width: int, shape: Sequence[int]) -> Any:
    if not partitionable.value:
        return _computed_once(_bits_of_one_stream(key, width, shape))
    high, low = _encrypted_counts(key, shape)
    if width == 64:
        return _computed_once(_join_words(high, low))
    bits = lax.convert_element_type(high ^ low, np.dtype(f"uint{width}"))
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
        words = _join_words(*(lax.slice_in_dim(words, at, at + size) for at in (0, size)))
    elif width < 32:
        shifts = np.arange(0, 32, width, dtype=np.uint32)
        parts = lax.shift_right_logical(lax.expand_dims(words, (1,)), shifts[None])
        parts = lax.convert_element_type(stage2.reshape(parts, (-1,)), np.dtype(f"uint{width}"))
        words = lax.slice_in_dim(parts, 0, size)
    return lax.reshape(words, tuple(shape))


def _pair_words(first: Any, second: Any) -> Any:
    axis = typeof(first).ndim
    return lax.concatenate([lax.expand_dims(x, (axis,)) for x in (first, second)], axis)


def _join_words(high: Any, low: Any) -> Any:
    high, low = (bind1(convert_element_type_p, x, new_dtype=UINT64) for x in (high, low))
    return lax.shift_left(*stage2.promote(high, 32)) | low


def _computed_once(x: Any) -> Any:
    """`x` behind a barrier, so that XLA computes the rounds once, in a separate loop.

    Their operations are so cheap that XLA would fuse a copy of them into each use of the result; if
    that is the next hash, which uses its key in every fifth operation, the copies of copies are too
    many to compile. A loop over the rounds would prevent that, too, but pass the words through
    memory between rounds.
    """
    return lax.optimization_barrier(x)


threefry = PRNGImpl(
    (2,), seed_words, split_words, _threefry_bits, fold_words, "threefry2x32", "fry"
)


# Keys for XLA's own generator of random bits, which is faster than Threefry-2x32 on some devices.
#
# A key is four words, the state of `lax.rng_bit_generator`. "rbg" splits it as two keys of
# Threefry-2x32; "unsafe_rbg" has the generator make new keys, too, with no evidence that they are
# independent. Under `vmap` over keys, the bits of all of them come from the first.


def _rbg_seed(seed: Any) -> Any:
    half = seed_words(seed)
    return lax.concatenate([half, half], 0)


def _rbg_split(key: Any, shape: Sequence[int]) -> Any:
    halves = lax.reshape(key, (2, 2))
    keys = vmap(lambda half: split_words(half, shape), out_axes=len(shape))(halves)
    return lax.reshape(keys, (*shape, 4))


def _rbg_fold_in(key: Any, data: Any) -> Any:
    halves = lax.reshape(key, (2, 2))
    return lax.reshape(vmap(lambda half: fold_words(half, data))(halves), (4,))


def _rbg_bits(key: Any, width: int, shape: Sequence[int]) -> Any:
    return rng_bit_generator(key, tuple(shape), np.dtype(f"uint{width}"))[1]


# Only every tenth block of the generator becomes a key: successive blocks may be related.
_UNSAFE_DISTANCE = 10


def _unsafe_rbg_split(key: Any, shape: Sequence[int]) -> Any:
    _, words = rng_bit_generator(key, (_UNSAFE_DISTANCE * math.prod(shape), 4), np.uint32)
    keys = lax.slice_in_dim(words, 0, typeof(words).shape[0], _UNSAFE_DISTANCE)
    return lax.reshape(keys, (*shape, 4))


def _unsafe_rbg_fold_in(key: Any, data: Any) -> Any:
    _, words = rng_bit_generator(_rbg_seed(data), (_UNSAFE_DISTANCE, 4), np.uint32)
    return key ^ lax.index_in_dim(words, _UNSAFE_DISTANCE - 1, keepdims=False)


rbg = PRNGImpl((4,), _rbg_seed, _rbg_split, _rbg_bits, _rbg_fold_in, "rbg", "rbg")
unsafe_rbg = PRNGImpl(
    (4,), _rbg_seed, _unsafe_rbg_split, _rbg_bits, _unsafe_rbg_fold_in, "unsafe_rbg", "urbg"
)
