"""The dtype of random keys, whose elements are not numbers.

XLA holds a key as a number of 64 bits. So whatever moves elements about without computing with
them (reshape, indexing, select, loops that carry keys) treats keys like any other array, and what
computes with numbers refuses them.
"""

import numpy as np

from minijax_stage2.shaped_array import no_numbers

key_dtype = np.dtype([("key<fry>", np.uint64)])
no_numbers.add(key_dtype)


class extended(np.generic):
    """The scalar type of all dtypes that numpy has not: for `issubdtype`, not to be called.

    >>> minijax.dtypes.issubdtype(random.key(0).dtype, minijax.dtypes.extended)
    True
    """


class prng_key(extended):
    """The scalar type of random keys: for `issubdtype`, not to be called.

    >>> import minijax
    >>> minijax.dtypes.issubdtype(minijax.random.key(0).dtype, prng_key)
    True
    """
