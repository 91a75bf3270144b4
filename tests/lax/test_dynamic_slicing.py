"""Dynamic slices and updates, also transformed, beside JAX."""

import numpy as np
import pytest
from libraries import assert_all_same_results, refused

pytestmark = pytest.mark.bits(32)


x = np.arange(12.0, dtype=np.float32).reshape(3, 4) + 1


k = np.arange(24, dtype=np.int32).reshape(2, 3, 4)


u = np.arange(6, dtype=np.uint8)


SLICES = [
    lambda n, lib: lib.lax.dynamic_slice(x, [1, 1], [2, 2]),
    lambda n, lib: lib.lax.dynamic_slice(x, (-1, -2), (2, 2)),
    lambda n, lib: lib.lax.dynamic_slice(x, (-9, 9), (2, 2)),
    lambda n, lib: lib.lax.dynamic_slice(x, n.array([1, 2]), (0, 1)),
    lambda n, lib: lib.lax.dynamic_slice(x, n.array([-1, 1]), (1, 1), allow_negative_indices=False),
    lambda n, lib: lib.lax.dynamic_slice(
        x, (-1, n.array(-1)), (1, 1), allow_negative_indices=(True, False)
    ),
    lambda n, lib: lib.lax.dynamic_slice(n.full((3,), 2.0), (1,), (2,)),
    lambda n, lib: lib.lax.dynamic_slice(n.float32(3), (), ()),
    refused(lambda n, lib: lib.lax.dynamic_slice(x, (0, 0), (4, 1))),
    refused(lambda n, lib: lib.lax.dynamic_slice(x, (0,), (1, 1))),
    refused(lambda n, lib: lib.lax.dynamic_slice(x, (0.0, 1.0), (1, 1))),
    refused(lambda n, lib: lib.lax.dynamic_slice(x, (0, 0), (-1, 1))),
    refused(lambda n, lib: lib.lax.dynamic_slice(x, (n.arange(2), 0), (1, 1))),
    lambda n, lib: lib.lax.dynamic_update_slice(x, x[:2, :2] * 0, (2, -1)),
    lambda n, lib: lib.lax.dynamic_update_slice(x, x[:1], n.array([1, 7])),
    lambda n, lib: lib.lax.dynamic_update_slice(
        x, x[:1], n.array([-1, 0]), allow_negative_indices=False
    ),
    lambda n, lib: lib.lax.dynamic_update_slice(u, u[:2], (5,)),
    refused(lambda n, lib: lib.lax.dynamic_update_slice(x, x[0], (0, 0))),
    refused(lambda n, lib: lib.lax.dynamic_update_slice(k, x[None], (0, 0, 0))),
    refused(lambda n, lib: lib.lax.dynamic_update_slice(x, np.zeros((4, 1), np.float32), (0, 0))),
    refused(lambda n, lib: lib.lax.dynamic_update_slice(x, x[:1], (0, 1.5))),
    lambda n, lib: lib.lax.dynamic_slice_in_dim(x, -2, 2, axis=-1),
    lambda n, lib: lib.lax.dynamic_index_in_dim(x, -1, axis=1),
    lambda n, lib: lib.lax.dynamic_index_in_dim(x, 7, keepdims=False),
    lambda n, lib: lib.lax.dynamic_update_slice_in_dim(x, x[:, :2], -1, axis=-1),
    lambda n, lib: lib.lax.dynamic_update_index_in_dim(x, x[0], -1, 0),
    lambda n, lib: lib.lax.index_take(x, (np.array([0, 5]),), (1,)),
    lambda n, lib: lib.lax.index_take(k, (np.array([0, 1]), np.array([3, 0])), (0, 2)),
]


def test_slices_that_begin_somewhere():
    assert_all_same_results(SLICES)


def test_slices_that_begin_somewhere_are_transformed():
    starts = np.array([[0, 1], [2, -1], [9, -9]])

    def program(n, lib):
        def f(x, y, start):
            cut = lib.lax.dynamic_slice(x * x, start, (2, 2))
            return cut, lib.lax.dynamic_update_slice(x * 2, y * y, start)

        def total(x, y, start):
            return sum((leaf**2).sum() for leaf in f(x, y, start))

        y = x[:2, 1:]
        loops = [lib.vmap(f, axes)(xs, y, starts) for axes, xs in BATCHES]
        slopes = lib.vmap(lib.grad(total, (0, 1)), (None, None, 0))(x, y, starts)
        second = lib.hessian(total)(x, y, starts[1])
        return [*lib.tree.leaves((loops, slopes)), second]

    assert_all_same_results([program])


BATCHES = [((None, None, 0), x), ((0, None, 0), np.stack([x, x + 1, -x]))]


m = np.arange(12.0, dtype=np.float32).reshape(3, 4)


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "slices": [
        lambda n, lib: lib.lax.index_take(m, (np.array([0, 1]), np.array([2, 3])), (0, 1)),
        lambda n, lib: lib.lax.dynamic_slice(m, (1, 1), (2, 2)),
        lambda n, lib: lib.lax.dynamic_slice(m, np.array([9, 1]), (2, 2)),
        lambda n, lib: lib.lax.dynamic_slice_in_dim(m, 1, 2, axis=1),
        lambda n, lib: lib.lax.dynamic_update_slice_in_dim(m, m[:, :1], 2, axis=1),
        lambda n, lib: lib.lax.dynamic_index_in_dim(m, 1, 0, keepdims=False),
        lambda n, lib: lib.lax.dynamic_update_index_in_dim(m, m[0] * 0, 1, axis=0),
        lambda n, lib: lib.lax.slice_in_dim(m, 0, 3, 2, axis=1),
        lambda n, lib: lib.lax.index_in_dim(m, -1, 0),
        lambda n, lib: lib.lax.rev(m, (0,)),
    ],
}


@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])
