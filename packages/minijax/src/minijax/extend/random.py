"""Implementations of random keys, under the names of `jax.extend.random`."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from minijax.errors.tracebacks import hiding_frames
from minijax.random.keys import seeded
from minijax.random.prng import rbg as rbg_prng_impl
from minijax.random.prng import threefry as threefry_prng_impl
from minijax.random.prng import threefry2x32_p, threefry_2x32
from minijax.random.prng import unsafe_rbg as unsafe_rbg_prng_impl
from minijax.runtime.array import Array, ArrayLike, to_array
from minijax.settings.number_types import Implementation

Shape = tuple[int, ...]


def define_prng_impl(
    *,
    key_shape: Shape,
    seed: Callable[[Array], Array],
    split: Callable[[Array, Shape], Array],
    random_bits: Callable[[Array, int, Shape], Array],
    fold_in: Callable[[Array, Array], Array],
    name: str = "<unnamed>",
    tag: str = "?",
) -> Hashable:
    """An implementation of random keys, for the argument `impl` of `random.key`.

    Its functions work on the words of one key, an array of uint32.

    Arguments:
        key_shape: the shape of the words, four at most.
        seed: function from an integer to a key.
        split: function from a key and a shape to new keys, of shape `(*shape, *key_shape)`.
        random_bits: function from a key, a width of 8, 16, 32 or 64, and a shape to an array of
            unsigned integers of that width.
        fold_in: function from a key and an integer of uint32 to a key.
        name: what `repr` shows of it.
        tag: what the dtype of keys shows of it.

    Raises:
        NotImplementedError: a key has more than four words.

    >>> from minijax import random
    >>> squares = define_prng_impl(
    ...     key_shape=(1,),
    ...     seed=lambda seed: jnp.uint32(seed).reshape(1),
    ...     split=lambda key, shape: key + jnp.arange(np.prod(shape), dtype="uint32").reshape(
    ...         *shape, 1
    ...     ),
    ...     random_bits=lambda key, width, shape: jnp.full(shape, key[0] ** 2, f"uint{width}"),
    ...     fold_in=lambda key, data: key + data,
    ... )
    >>> random.bits(random.key(3, impl=squares), (2,))
    Array([9, 9], dtype=uint32)
    """
    made = Implementation(tuple(key_shape), seed, split, random_bits, fold_in, name, tag)
    _ = made.dtype
    return made


@hiding_frames
def random_seed(seeds: ArrayLike, impl: Implementation) -> Array:
    """Keys made from integers, one for each.

    Arguments:
        seeds: an array of integers.
        impl: the implementation: one of this module, or what `define_prng_impl` returns.

    >>> random_seed(np.arange(3), rbg_prng_impl).shape
    (3,)
    """
    return seeded(to_array(np.int64(seeds) if isinstance(seeds, int) else seeds), impl=impl)


def seed_with_impl(impl: Implementation, seed: ArrayLike) -> Array:
    """`random_seed` with its arguments in the other order.

    >>> seed_with_impl(threefry_prng_impl, 42)
    Array((), dtype=key<fry>) overlaying:
    [ 0 42]
    """
    return random_seed(seed, impl)


__all__ = [
    "define_prng_impl", "random_seed", "rbg_prng_impl", "seed_with_impl", "threefry2x32_p",
    "threefry_2x32", "threefry_prng_impl", "unsafe_rbg_prng_impl",
]  # fmt: skip
