"""`ops`: segment sums, products and extremes, beside JAX."""

import numpy as np
import pytest
from libraries import assert_all_same_results, refused

x = np.arange(4.0, dtype=np.float32)


m = np.arange(12.0, dtype=np.float32).reshape(3, 4)


z = np.array([0, 3, 0, 2])


b = np.array([True, False, True, True])


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "segments": [
        lambda n, lib: lib.ops.segment_sum(m, np.array([0, 1, 0]), 2),
        lambda n, lib: lib.ops.segment_sum(m, np.array([0, 1, 0])),
        lambda n, lib: lib.ops.segment_max(x, np.array([0, 0, 2, 2]), num_segments=4),
        lambda n, lib: lib.ops.segment_min(z, np.array([0, 0, 2, 2]), num_segments=4),
        lambda n, lib: lib.ops.segment_prod(x, np.array([0, 0, 2, -1]), 3),
        lambda n, lib: lib.ops.segment_sum(x, np.array([0, 0, 2, 7]), 3, bucket_size=2),
        lambda n, lib: lib.ops.segment_max(x, np.array([0, 0, 2, 7]), 3, bucket_size=3),
        lambda n, lib: lib.ops.segment_sum(
            x, np.array([0, 0, 2, 7]), 3, mode="clip", indices_are_sorted=True, unique_indices=False
        ),
        *(
            lambda n, lib, name=name, data=data: getattr(lib.ops, name)(
                data, np.array([2, 0, 2]), num_segments=4
            )
            for name in ("segment_sum", "segment_prod", "segment_max", "segment_min")
            for data in (z[:3], b[:3], m.astype(np.uint8), m * 1j, m.astype(np.float16))
            # Booleans have no sum, complex numbers no order.
            if data.dtype.kind not in ("b" if name in ("segment_sum", "segment_prod") else "c")
        ),
        refused(lambda n, lib: lib.ops.segment_sum(x, np.array([0, 0, 2]))),
        refused(lambda n, lib: lib.ops.segment_sum(x, np.array([0.0, 0, 2, 2]))),
        refused(lambda n, lib: lib.ops.segment_sum(x, np.array([0, 0, 2, 2]), -1)),
        lambda n, lib: lib.ops.segment_sum(x[:0], np.zeros(0, int), 2),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])
