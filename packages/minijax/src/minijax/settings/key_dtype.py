"""The dtype of random keys, whose elements are not numbers.

XLA stores a key as a 64-bit integer. So operations that only move elements (reshape, indexing,
select, loops that carry keys) treat keys like any other array, and operations that compute with
numbers reject them.
"""

import numpy as np

from minijax_stage2.shaped_array import no_numbers

key_dtype = np.dtype([("key<fry>", np.uint64)])
no_numbers.add(key_dtype)


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
