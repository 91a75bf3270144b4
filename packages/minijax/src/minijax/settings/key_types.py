"""The dtypes of random keys, one for each implementation of random numbers.

The elements are not numbers. XLA stores a key as a single one: of 32 or 64 bits, or, for want of
wider integers, as a complex number of 128. So operations that only move elements (reshape,
indexing, select, loops that carry keys) treat keys like any other array, and operations that
compute with numbers reject them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minijax_stage2 import ShapedArray
from minijax_stage2.shaped_array import float0

_ELEMENTS = {1: np.uint32, 2: np.uint64, 3: np.complex128, 4: np.complex128}  # by words

# The dtypes of arrays whose elements are not numbers: structured, with one field of that name.
no_numbers: set[np.dtype[Any]] = {float0}


class Implementation(NamedTuple):
    """Functions that make random keys and bits: keys are arrays of uint32, their words, here.

    Attributes:
        key_shape: the shape of the words of a key.
        seed: function from an integer to a key.
        split: function from a key and a shape to that many keys.
        random_bits: function from a key, 8, 16, 32 or 64, and a shape to integers of that width.
        fold_in: function from a key and an integer to another key.
        name: for `key(seed, impl=name)`.
        tag: for the name of the dtype, `key<tag>`.
    """

    key_shape: tuple[int, ...]
    seed: Callable[[Any], Any]
    split: Callable[[Any, tuple[int, ...]], Any]
    random_bits: Callable[[Any, int, tuple[int, ...]], Any]
    fold_in: Callable[[Any, Any], Any]
    name: str = "<unnamed>"
    tag: str = "?"

    def __str__(self) -> str:
        return self.tag

    def __repr__(self) -> str:
        return f"Implementation({self.name!r})"

    def __reduce__(self) -> Any:
        if named.get(self.name) is self:
            return implementation_named, (self.name,)
        return Implementation, tuple(self)

    @property
    def words(self) -> int:
        """The number of words of a key."""
        return math.prod(self.key_shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of these keys.

        Raises:
            NotImplementedError: a key has more than four words, or none.
        """
        found = _dtypes.get(self)
        return _new_dtype(self) if found is None else found


named: dict[str, Implementation] = {}  # those that have a name for users
_dtypes: dict[Implementation, np.dtype[Any]] = {}
_implementations: dict[np.dtype[Any], Implementation] = {}


def _new_dtype(implementation: Implementation) -> np.dtype[Any]:
    element = _ELEMENTS.get(implementation.words)
    if element is None:
        raise NotImplementedError(
            f"a random key has 1 to 4 words here, found key_shape {implementation.key_shape}"
        )
    name = f"key<{implementation.tag}>"
    dtype = np.dtype([(name, element)])
    if dtype in _implementations:  # of the same tag; numpy compares titles, too
        dtype = np.dtype([((str(len(_implementations)), name), element)])
    no_numbers.add(dtype)
    _implementations[dtype] = implementation
    _dtypes[implementation] = dtype
    return dtype


def register(implementation: Implementation) -> Implementation:
    """Let users choose the implementation by its name."""
    named[implementation.name] = implementation
    _ = implementation.dtype
    return implementation


def implementation_named(name: str) -> Implementation:
    return named[name]


def is_key_type(dtype: np.dtype[Any]) -> bool:
    return dtype.names is not None and dtype in _implementations


def implementation_of(dtype: np.dtype[Any]) -> Implementation:
    """The implementation of keys of a dtype."""
    return _implementations[dtype]


def host_words(numbers: np.ndarray[Any, Any], aval: ShapedArray) -> np.ndarray[Any, Any]:
    """The words of keys that the device stores as `numbers`: the last word comes first."""
    implementation = implementation_of(aval.dtype)
    words = np.ascontiguousarray(numbers).view(np.uint32)
    words = words.reshape(*aval.shape, -1)[..., : implementation.words][..., ::-1]
    return words.reshape(*aval.shape, *implementation.key_shape)


class extended(np.generic):
    """The scalar type of all dtypes that numpy lacks: for `issubdtype`, not to be called.

    >>> minijax.dtypes.issubdtype(random.key(0).dtype, minijax.dtypes.extended)
    True
    """


class prng_key(extended):
    """The scalar type of random keys: for `issubdtype`, not to be called.

    >>> import minijax
    >>> minijax.dtypes.issubdtype(minijax.random.key(0).dtype, prng_key)
    True
    """
