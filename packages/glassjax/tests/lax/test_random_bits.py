"""Random bits by XLA's own generators."""

import numpy as np
import pytest

from glassjax import grad, lax


def test_the_generators_of_xla():
    for low, limit in [(2, 5), (np.float32(0), np.float32(1))]:
        first, second = (np.asarray(lax.rng_uniform(low, limit, (40,))) for _ in range(2))
        assert ((first >= low) & (first < limit)).all()
        assert (first != second).any()
    with pytest.raises(ValueError, match="two scalars of one dtype"):
        lax.rng_uniform(0.0, 1, (3,))
    with pytest.raises(NotImplementedError, match="rng_uniform: there is no formula"):
        grad(lambda low: lax.rng_uniform(low, 1.0, ()))(0.0)
    with pytest.raises(TypeError, match=r"four numbers of uint32.*found u32\[3\]"):
        lax.rng_bit_generator(np.zeros(3, np.uint32), (2,))
    with pytest.raises(TypeError, match="unsigned"):
        lax.rng_bit_generator(np.zeros(4, np.uint32), (2,), np.int32)
