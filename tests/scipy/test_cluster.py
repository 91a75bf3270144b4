"""Vector quantization, against scipy."""

from functools import partial

import numpy as np
import pytest
from libraries import assert_all_same_results

from glassjax.scipy.cluster.vq import vq


def rng():
    return np.random.default_rng(0)


def test_the_nearest_code():
    def nearest(n, lib, shapes, dtype):
        return lib.scipy.cluster.vq.vq(
            *(np.asarray(10 * rng().normal(size=shape), dtype) for shape in shapes)
        )

    programs = {
        f"{shapes} {dtype}": partial(nearest, shapes=shapes, dtype=dtype)
        for shapes in [((5, 3), (4, 3)), ((6,), (2,)), ((0, 3), (4, 3))]
        for dtype in ("float32", "int32")
    }
    assert_all_same_results(programs, 1e-5, 1e-5)
    with pytest.raises(ValueError, match="vq: obs and code_book"):
        vq(np.ones((2, 3)), np.ones((2, 2)))
