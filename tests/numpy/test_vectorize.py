"""`apply_along_axis` and `apply_over_axes`, beside JAX."""

import numpy as np
import pytest
from libraries import assert_all_same_results

x = np.arange(4.0, dtype=np.float32)


m = np.arange(12.0, dtype=np.float32).reshape(3, 4)


c = m.reshape(2, 3, 2)


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "applying": [
        lambda n, lib: n.apply_along_axis(n.sum, 1, m),
        lambda n, lib: n.apply_along_axis(lambda v: v * 2, 0, c),
        lambda n, lib: n.apply_along_axis(lambda v: v[:2], 1, c),
        lambda n, lib: n.apply_over_axes(n.sum, c, [0, 2]),
        lambda n, lib: n.vectorize(lambda a, b: a * b)(x, m[:, :1]),
        lambda n, lib: n.vectorize(n.dot, signature="(n),(n)->()")(m, x),
        lambda n, lib: n.vectorize(n.dot, signature="(n,m),(m)->(n)")(
            m, np.ones((2, 4), np.float32)
        ),
        lambda n, lib: n.vectorize(lambda a, b, c: a * b + c, excluded=(1,))(x, 2.0, m),
        lambda n, lib: n.vectorize(lambda a: (a, a * 2))(x),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])
