"""The dtype of random keys, whose elements are no numbers.

XLA holds a key as a number of 64 bits. So whatever moves elements about without computing with
them (reshape, indexing, select, loops that carry keys) treats keys like any other array, and what
computes with numbers refuses them.
"""

from typing import Any

import numpy as np

from minijax_stage2.shaped_array import no_numbers

key_dtype = np.dtype([("key<fry>", np.uint64)])
no_numbers.add(key_dtype)


class extended(np.generic):
    """The scalar type of all dtypes that numpy has not: for `issubdtype`, not to be called."""


class prng_key(extended):
    """The scalar type of random keys: for `issubdtype`, not to be called.

    >>> from minijax import random
    >>> is_subdtype(random.key(0).dtype, prng_key)
    True
    """


def is_subdtype(dtype: Any, of: Any) -> bool:
    """Whether `dtype` is `of` or of its kind, where one of them may be the dtype of keys."""
    if isinstance(dtype, np.dtype) and dtype == key_dtype:
        dtype = prng_key
    if isinstance(dtype, type) and issubclass(dtype, extended):
        return isinstance(of, type) and issubclass(dtype, of)
    if isinstance(of, type) and issubclass(of, extended):
        return False
    return bool(np.issubdtype(dtype, of))
