"""Arrays rearranged, joined, split and extended, beside JAX."""

import numpy as np
import pytest
from libraries import assert_all_same_results, refused

x = np.arange(4.0, dtype=np.float32)


m = np.arange(12.0, dtype=np.float32).reshape(3, 4)


c = m.reshape(2, 3, 2)


b = np.array([True, False, True, True])


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "rearranging": [
        lambda n, lib: n.roll(x, 1),
        lambda n, lib: n.roll(m, (1, -2), (0, 1)),
        lambda n, lib: n.roll(m, 3),
        lambda n, lib: n.roll(m, 1, axis=1),
        lambda n, lib: n.roll(x, n.asarray(2)),
        lambda n, lib: n.roll(x, n.array([1, 2]), 0),
        lambda n, lib: n.roll(m, [1, 2], axis=(0, 1)),
        lambda n, lib: n.rollaxis(c, 2),
        lambda n, lib: n.rollaxis(c, 0, 3),
        lambda n, lib: n.flip(m),
        lambda n, lib: n.flip(m, 0),
        lambda n, lib: n.fliplr(m),
        lambda n, lib: n.flipud(m),
        lambda n, lib: n.rot90(m),
        lambda n, lib: n.rot90(m, 2),
        lambda n, lib: n.rot90(m, 3),
        lambda n, lib: n.rot90(c, -1, axes=(1, 2)),
        lambda n, lib: n.repeat(x, 2),
        lambda n, lib: n.repeat(m, 2, axis=1),
        lambda n, lib: n.repeat(m, np.array([1, 0, 2]), axis=0),
        lambda n, lib: n.repeat(x, np.array([1, 2, 0, 1]), total_repeat_length=7),
        lambda n, lib: n.repeat(x, 2, total_repeat_length=5),
        lambda n, lib: n.repeat(x, np.array([3, 3, 0, 1]), total_repeat_length=3),
        lambda n, lib: n.repeat(3.0, 4),
        lambda n, lib: n.tile(x, 2),
        lambda n, lib: n.tile(m, (2, 1, 3)),
        lambda n, lib: n.tile(c, (2,)),
        lambda n, lib: n.resize(x, (2, 3)),
        lambda n, lib: n.resize(x, (0,)),
    ],
    "joining": [
        lambda n, lib: n.append(x, 1),
        lambda n, lib: n.append(m, m, axis=0),
        lambda n, lib: n.hstack([x, 1]),
        lambda n, lib: n.hstack([m, m]),
        lambda n, lib: n.vstack([x, x]),
        lambda n, lib: n.vstack((m, x), dtype=np.int32),
        lambda n, lib: n.dstack([x, x]),
        lambda n, lib: n.column_stack([x, x]),
        lambda n, lib: n.block([[np.eye(2), np.ones((2, 1))], [np.ones((1, 3))]]),
        lambda n, lib: n.block([x, 1.0]),
        lambda n, lib: n.concat([x, x], axis=0),
        lambda n, lib: n.concatenate(n.asarray(c)),
        lambda n, lib: n.stack(n.asarray(m)),
        lambda n, lib: n.vstack(n.asarray(m)),
        lambda n, lib: n.atleast_1d(1),
        lambda n, lib: n.atleast_2d(1, x),
        lambda n, lib: n.atleast_3d(x, m, 1.0),
    ],
    "splitting": [
        lambda n, lib: n.split(x, 2),
        lambda n, lib: n.split(x, [1, 3]),
        lambda n, lib: n.split(m, 3, axis=0),
        refused(lambda n, lib: n.split(x, 3)),
        lambda n, lib: n.array_split(x, 3),
        lambda n, lib: n.hsplit(m, 2),
        lambda n, lib: n.vsplit(m, 3),
        lambda n, lib: n.dsplit(c, 2),
        lambda n, lib: n.unstack(m),
        lambda n, lib: n.unstack(c, axis=1),
        lambda n, lib: n.split(m, np.array([1, 2]), axis=1),
    ],
    "inserting": [
        lambda n, lib: n.delete(x, 1),
        lambda n, lib: n.delete(x, np.array([0, -1])),
        lambda n, lib: n.delete(m, 1, axis=1),
        lambda n, lib: n.delete(x, slice(0, 2)),
        lambda n, lib: n.delete(x, b),
        lambda n, lib: n.insert(x, 1, np.array([7, 8])),
        lambda n, lib: n.insert(x, np.array([1, 2]), 5),
        lambda n, lib: n.insert(x, np.array([1, 3]), np.array([5.0, 6.0])),
        lambda n, lib: n.insert(m, 1, 9, axis=1),
        lambda n, lib: n.insert(m, 1, np.array([7, 8, 9]), axis=1),
        lambda n, lib: n.insert(m, np.array([0, 2]), np.array([7, 8, 9, 1]), axis=0),
        lambda n, lib: n.insert(m, -1, np.array([7, 8])),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])
