"""Keys for XLA's own generator of random bits, which is faster than Threefry-2x32 on some devices.

A key is four words, the state of `lax.rng_bit_generator`. "rbg" splits it as two keys of
Threefry-2x32; "unsafe_rbg" has the generator make new keys, too, which nothing shows to be
independent. Under `vmap` over keys, the bits of all of them come from the first.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.rng_bit_generator import rng_bit_generator
from minijax.random.threefry import fold_words, seed_words, split_words
from minijax.settings.key_types import Implementation
from minijax.transforms.transformations import vmap
from minijax_stage2 import typeof


def _seed(seed: Any) -> Any:
    half = seed_words(seed)
    return lax.concatenate([half, half], 0)


def _split(key: Any, shape: Sequence[int]) -> Any:
    halves = lax.reshape(key, (2, 2))
    keys = vmap(lambda half: split_words(half, shape), out_axes=len(shape))(halves)
    return lax.reshape(keys, (*shape, 4))


def _fold_in(key: Any, data: Any) -> Any:
    halves = lax.reshape(key, (2, 2))
    return lax.reshape(vmap(lambda half: fold_words(half, data))(halves), (4,))


def _bits(key: Any, width: int, shape: Sequence[int]) -> Any:
    return rng_bit_generator(key, tuple(shape), np.dtype(f"uint{width}"))[1]


# Only each tenth of what the generator makes is a key, for what is in a row may be related.
_DISTANCE = 10


def _split_by_generator(key: Any, shape: Sequence[int]) -> Any:
    _, words = rng_bit_generator(key, (_DISTANCE * math.prod(shape), 4), np.uint32)
    keys = lax.slice_in_dim(words, 0, typeof(words).shape[0], _DISTANCE)
    return lax.reshape(keys, (*shape, 4))


def _fold_in_by_generator(key: Any, data: Any) -> Any:
    _, words = rng_bit_generator(_seed(data), (_DISTANCE, 4), np.uint32)
    return lax.bitwise_xor(key, lax.index_in_dim(words, _DISTANCE - 1, keepdims=False))


rbg = Implementation((4,), _seed, _split, _bits, _fold_in, "rbg", "rbg")
unsafe_rbg = Implementation(
    (4,), _seed, _split_by_generator, _bits, _fold_in_by_generator, "unsafe_rbg", "urbg"
)
