"""`take`, `select` and related functions, beside JAX."""

import numpy as np
import pytest
from libraries import assert_all_same_results, of_size, refused

x = np.arange(4.0, dtype=np.float32)


m = np.arange(12.0, dtype=np.float32).reshape(3, 4)


i = np.array([-1, 5, -9, 2])


z = np.array([0, 3, 0, 2])


b = np.array([True, False, True, True])


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "taking": [
        lambda n, lib: n.take(x, i),
        lambda n, lib: n.take(x, i, mode="clip"),
        lambda n, lib: n.take(x, i, mode="wrap"),
        lambda n, lib: n.take(x, i, fill_value=7),
        lambda n, lib: n.take(m, np.array([[0, 1], [2, 0]]), axis=1),
        lambda n, lib: n.take(m, 1, axis=0),
        lambda n, lib: n.take(m, np.array([0, 11])),
        refused(lambda n, lib: n.take(x, i, mode="raise")),
        lambda n, lib: n.take(z, i),
        lambda n, lib: n.take_along_axis(x, i, 0),
        lambda n, lib: n.take_along_axis(x, i, 0, mode="clip"),
        lambda n, lib: n.take_along_axis(m, np.array([[1], [0], [3]]), 1),
        lambda n, lib: n.take_along_axis(m, np.array([[1, 0, 2, 0]]), 0),
        lambda n, lib: n.take_along_axis(m, np.array([1, 7]), None),
        lambda n, lib: n.take_along_axis(m, np.array([[9]]), 1, fill_value=5),
        lambda n, lib: n.put_along_axis(m, np.array([[1], [0], [3]]), 9, 1, inplace=False),
        lambda n, lib: n.put(x, i, 9, inplace=False),
        lambda n, lib: n.put(x, i, np.array([1, 2]), mode="wrap", inplace=False),
        lambda n, lib: n.put(m, np.array([0, 5]), np.array([7.0, 8.0]), inplace=False),
        lambda n, lib: n.ravel_multi_index(
            (np.array([1, 5]), np.array([2, 0])), (2, 3), mode="clip"
        ),
        lambda n, lib: n.ravel_multi_index(
            (np.array([1, 5]), np.array([2, 0])), (2, 3), mode="wrap"
        ),
        lambda n, lib: n.ravel_multi_index((np.array([1, 0]), np.array([2, 0])), (2, 3)),
        lambda n, lib: n.ravel_multi_index((np.array([1, 0]), np.array([2, 0])), (2, 3), order="F"),
        lambda n, lib: n.unravel_index(np.array([5, -1, 100, -100]), (2, 3)),
        lambda n, lib: n.unravel_index(3, (2, 3)),
        lambda n, lib: n.unravel_index(np.array([5, -1, 100], np.int8), (20, 20)),
        lambda n, lib: n.unravel_index(np.array([5, 1, 200], np.uint8), (2, 3)),
    ],
    "selection": [
        lambda n, lib: n.select([x > 2, x > 0], [x, -x], 9),
        lambda n, lib: n.select([x > 2], [1], 0),
        lambda n, lib: n.choose(
            np.array([0, 1, 5]), [np.array([1, 2, 3]), np.array([4, 5, 6])], mode="clip"
        ),
        lambda n, lib: n.choose(
            np.array([0, 1, -1]), [np.array([1, 2, 3]), np.array([4, 5, 6])], mode="wrap"
        ),
        lambda n, lib: n.choose(np.array([0, 1, 1]), [np.array([1, 2, 3]), np.array([4, 5, 6])]),
        of_size(3, lambda n, **size: n.where(b, **size)),
        lambda n, lib: n.where(b, size=3),
        lambda n, lib: n.where(b, x, 0),
        lambda n, lib: n.where(b, 1, 0),
        lambda n, lib: n.where(b, 1.0, 0),
        of_size(2, lambda n, **size: n.nonzero(z, **size)),
        lambda n, lib: n.nonzero(z, size=3),
        lambda n, lib: n.nonzero(np.array([[0, 3], [0, 2]]), size=3, fill_value=(7, 8)),
        lambda n, lib: n.nonzero(z, size=1),
        lambda n, lib: n.nonzero(z, size=4, fill_value=-1),
        lambda n, lib: n.flatnonzero(m, size=3),
        of_size(6, lambda n, **size: n.flatnonzero(m > 5, **size)),
        lambda n, lib: n.argwhere(np.eye(2), size=3, fill_value=-1),
        of_size(6, lambda n, **size: n.argwhere(m > 5, **size)),
        lambda n, lib: n.compress(np.array([1, 0, 1]), x, size=3, fill_value=9),
        of_size(2, lambda n, **size: n.compress(np.array([1, 0, 1]), m, axis=0, **size)),
        lambda n, lib: n.extract(x > 1, x, size=4),
        of_size(2, lambda n, **size: n.extract(x > 1, x, **size)),
        lambda n, lib: n.trim_zeros(np.array([0, 1, 0, 2, 0])),
        lambda n, lib: n.trim_zeros(np.array([0, 1, 0, 2, 0]), "f"),
        lambda n, lib: n.piecewise(x, [x > 2, x < 1], [lambda v: -v, 3.0, 7.0]),
        lambda n, lib: n.piecewise(x, [x > 2], [1.0]),
        lambda n, lib: n.place(x, x > 1, np.array([7.0, 8]), inplace=False),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])
