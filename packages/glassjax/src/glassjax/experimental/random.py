"""Random numbers from a generator with a state, under the names of `jax.experimental.random`.

The generator counts its uses in a reference, and folds the count into one key.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassjax import numpy as jnp
from glassjax import random
from glassjax.dtypes import DTypeLike, issubdtype, prng_key
from glassjax.errors.tracebacks import hiding_frames
from glassjax.ref import addupdate, get, new_ref
from glassjax.runtime.array import Array, ArrayLike, is_evaluating
from glassjax.tree_util import register_dataclass
from glassjax_stage2 import typeof

Size = int | Sequence[int] | None


def _sizes_of(size: Size, *parameters: ArrayLike) -> tuple[int, ...]:
    """A size as a tuple; if it is None, the broadcast shape of the parameters."""
    if size is None:
        return np.broadcast_shapes(*map(np.shape, parameters))
    if isinstance(size, int | np.integer):
        return (operator.index(size),)
    return tuple(map(operator.index, size))


@register_dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class StatefulPRNG:
    """A generator of random numbers; each use changes its state.

    `stateful_rng` makes one. It is a pytree of a key and a reference, so it is an argument of
    jitted and mapped functions, but not a result.

    >>> rng = stateful_rng(42)
    >>> rng.integers(10, size=4), rng.integers(10, size=4)
    (Array([4, 1, 9, 1], dtype=int32), Array([5, 2, 4, 2], dtype=int32))
    """

    _base_key: Any
    _counter: Any

    def __post_init__(self) -> None:
        key = self._base_key  # a leaf of a tree may be anything
        if isinstance(key, Array) and not issubdtype(key.dtype, prng_key):
            raise ValueError(f"StatefulPRNG: expected a key of random.key, found {typeof(key)}")

    @hiding_frames
    def key(self, shape: int | Sequence[int] = ()) -> Array:
        """A new key, or an array of them.

        Raises:
            ValueError: the generator is one of many, which `split` made, outside of `vmap`.
        """
        if typeof(self._base_key).shape:
            raise ValueError(
                f"StatefulPRNG: expected one generator, found {typeof(self._base_key)}; map the "
                "function over them by vmap"
            )
        key = random.fold_in(self._base_key, get(self._counter))
        addupdate(self._counter, ..., 1)
        sizes = _sizes_of(shape)
        return random.split(key, sizes) if sizes else key

    @hiding_frames
    def random(self, size: Size = None, dtype: DTypeLike = float) -> Array:
        """Real numbers from 0 up to 1, exclusive."""
        return random.uniform(self.key(), _sizes_of(size), dtype)

    @hiding_frames
    def uniform(
        self,
        low: ArrayLike = 0,
        high: ArrayLike = 1,
        size: Size = None,
        *,
        dtype: DTypeLike = float,
    ) -> Array:
        """Real numbers from `low` up to `high`, exclusive."""
        sizes = _sizes_of(size, low, high)
        return random.uniform(self.key(), sizes, dtype, minval=low, maxval=high)

    @hiding_frames
    def normal(
        self,
        loc: ArrayLike = 0,
        scale: ArrayLike = 1,
        size: Size = None,
        *,
        dtype: DTypeLike = float,
    ) -> Array:
        """Numbers of the normal distribution with mean `loc` and deviation `scale`."""
        numbers = random.normal(self.key(), _sizes_of(size, loc, scale), dtype)
        return jnp.asarray(jnp.asarray(loc) + jnp.asarray(scale) * numbers, dtype)

    @hiding_frames
    def integers(
        self,
        low: ArrayLike,
        high: ArrayLike | None = None,
        size: Size = None,
        *,
        dtype: DTypeLike = int,
    ) -> Array:
        """Integers from `low` up to `high`, exclusive; from 0 up to `low`, without `high`."""
        if high is None:
            low, high = 0, low
        sizes = _sizes_of(size, low, high)
        return random.randint(self.key(), sizes, low, high, dtype)

    @hiding_frames
    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """Independent generators in one, over which `vmap` maps.

        >>> rngs = stateful_rng(0).split(3)
        >>> glassjax.vmap(lambda rng: rng.random(2))(rngs).shape
        (3, 2)
        """
        return StatefulPRNG(self.key(num), new_ref(jnp.zeros(num, int)))

    @hiding_frames
    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """Independent generators, in a list."""
        return [StatefulPRNG(key, new_ref(0)) for key in self.key(n_children)]


@hiding_frames
def stateful_rng(seed: ArrayLike | None = None, *, impl: Any = None) -> StatefulPRNG:
    """A generator of random numbers with a state.

    Arguments:
        seed: an integer, as for `random.key`; by default one that the operating system draws.
        impl: how bits are made, as for `random.key`.

    Raises:
        TypeError: it is called without a seed in a function that is transformed.

    >>> rng = stateful_rng(42)
    >>> rng.uniform(), rng.uniform()
    (Array(0.5302608, dtype=float32), Array(0.72766423, dtype=float32))
    """
    if seed is None:
        if not is_evaluating():
            raise TypeError("stateful_rng: in a function that is transformed, give it a seed")
        entropy = np.random.SeedSequence().entropy
        assert isinstance(entropy, int)
        seed = np.int64(entropy & (2**63 - 1))
    return StatefulPRNG(random.key(seed, impl=impl), new_ref(0))


__all__ = ["StatefulPRNG", "stateful_rng"]
