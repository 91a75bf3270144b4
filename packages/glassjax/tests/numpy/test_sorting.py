"""`lexsort`, against numpy."""

import itertools

import numpy as np
import pytest
from beside_numpy import numbers

import glassjax.numpy as jnp
from glassjax import jit


def test_lexsort_is_numpys_however_many_keys_are_compared_at_once():
    keys = [numbers((3, 20), "int32", seed) // 3 for seed in range(7)]
    mixed = [*keys[1:], keys[0].astype("float32")]
    cases = list(itertools.product([0, 1], [1, 2, 3, 7, 16]))

    @jit
    def found(*both):
        return [[jnp.lexsort(keys, axis, batch_size=size) for keys in both] for axis, size in cases]

    for (axis, size), results in zip(cases, found(keys, mixed), strict=True):
        for result, expected in zip(results, (keys, mixed), strict=True):
            np.testing.assert_array_equal(
                result, np.lexsort(expected, axis), err_msg=f"axis {axis}, {size} at once"
            )


def test_lexsort_refuses_batches_of_no_keys():
    with pytest.raises(ValueError, match="lexsort: batch_size must be positive, found 0"):
        jnp.lexsort([np.arange(3)], batch_size=0)
