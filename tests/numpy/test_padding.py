"""`pad`, beside JAX."""

import numpy as np
import pytest
from libraries import assert_all_same_results, refused

x = np.arange(4.0, dtype=np.float32)


m = np.arange(12.0, dtype=np.float32).reshape(3, 4)


z = np.array([0, 3, 0, 2])


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "padding": [
        lambda n, lib: n.pad(x, 2),
        lambda n, lib: n.pad(m, ((1, 2), (0, 1))),
        lambda n, lib: n.pad(m, (1, 2), constant_values=3),
        lambda n, lib: n.pad(x, (1, 2), constant_values=(3, 4)),
        lambda n, lib: n.pad(m, 1, constant_values=((1, 2), (3, 4))),
        lambda n, lib: n.pad(x, 2, mode="constant", constant_values=n.asarray(5.0)),
        lambda n, lib: n.pad(m, 2, mode="edge"),
        lambda n, lib: n.pad(m, ((1, 2), (3, 4)), mode="reflect"),
        lambda n, lib: n.pad(m, ((1, 2), (7, 9)), mode="reflect"),
        lambda n, lib: n.pad(m, ((1, 2), (3, 4)), mode="symmetric"),
        lambda n, lib: n.pad(m, ((1, 2), (7, 9)), mode="symmetric"),
        lambda n, lib: n.pad(m, ((1, 2), (7, 9)), mode="wrap"),
        lambda n, lib: n.pad(m, ((1, 2), (3, 4)), mode="reflect", reflect_type="odd"),
        lambda n, lib: n.pad(m, ((1, 2), (7, 9)), mode="reflect", reflect_type="odd"),
        lambda n, lib: n.pad(m, ((1, 2), (7, 9)), mode="symmetric", reflect_type="odd"),
        lambda n, lib: n.pad(m, 2, mode="linear_ramp"),
        lambda n, lib: n.pad(m, 2, mode="linear_ramp", end_values=5),
        lambda n, lib: n.pad(z, (2, 3), mode="linear_ramp", end_values=(7, -4)),
        lambda n, lib: n.pad(m, 2, mode="maximum"),
        lambda n, lib: n.pad(m, 2, mode="minimum", stat_length=2),
        lambda n, lib: n.pad(m, 2, mode="mean"),
        lambda n, lib: n.pad(m, 2, mode="mean", stat_length=((1, 2), (2, 1))),
        lambda n, lib: n.pad(m, 0),
        lambda n, lib: n.pad(
            x, 2, mode=lambda v, w, a, k: v.at[: w[0]].set(9.0).at[-w[1] :].set(8.0)
        ),
        refused(lambda n, lib: n.pad(x, 2, mode="nope")),
        refused(lambda n, lib: n.pad(x, -1)),
        refused(lambda n, lib: n.pad(x, 1, mode="edge", constant_values=3)),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])
