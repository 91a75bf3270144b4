"""Index grids, triangles, diagonals and traces, beside JAX."""

import numpy as np
import pytest
from libraries import assert_all_same_results, of_size, refused

import glassjax.numpy as gnp

x = np.array([0.5, 1.0, 2.5, -3.0, 9.0], np.float32)


m = np.arange(12, dtype=np.int32).reshape(3, 4)


c = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


row = np.arange(4.0, dtype=np.float32)


matrix = np.arange(12.0, dtype=np.float32).reshape(3, 4)


cube = m.reshape(2, 3, 2)


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "trace": [
        lambda n, lib: n.trace(m),
        lambda n, lib: n.trace(m, 1),
        lambda n, lib: n.trace(m, offset=-5),
        lambda n, lib: n.trace(c, 0, 2, 1),
        lambda n, lib: n.trace(c, axis1=0, axis2=-1, dtype=np.float16),
        lambda n, lib: n.trace(m > 3),
        lambda n, lib: n.trace(n.asarray(m), np.array(1)),
        lambda n, lib: n.asarray(m).trace(),
        refused(lambda n, lib: n.trace(m, 0, 0, 0)),
        refused(lambda n, lib: n.trace(m, out=m)),
        lambda n, lib: lib.jit(n.trace)(m, 1),
        lambda n, lib: lib.jit(n.trace)(c, -1),
        lambda n, lib: lib.grad(lambda a: n.trace(a, -1) ** 2)(c[0]),
        lambda n, lib: lib.vmap(n.trace)(c),
    ],
    "constants and questions": [
        lambda n, lib: n.euler_gamma,
        lambda n, lib: (n.iterable(x), n.iterable(3), n.iterable([]), n.iterable(n.ones(()))),
        lambda n, lib: issubclass(n.ComplexWarning, RuntimeWarning),
    ],
    "triangles": [
        lambda n, lib: n.diag(row),
        lambda n, lib: n.diag(row, 2),
        lambda n, lib: n.diag(row, -1),
        lambda n, lib: n.diag(matrix),
        lambda n, lib: n.diag(matrix, 1),
        lambda n, lib: n.diag(matrix, -2),
        lambda n, lib: n.diagonal(cube, 1, 0, 2),
        lambda n, lib: n.diagonal(cube, -1, axis1=2, axis2=1),
        lambda n, lib: n.diagonal(matrix, 9),
        lambda n, lib: n.diagflat(matrix, 1),
        lambda n, lib: n.diag_indices(3, 3),
        lambda n, lib: n.diag_indices_from(np.eye(3)),
        lambda n, lib: n.tril(matrix),
        lambda n, lib: n.triu(matrix, 1),
        lambda n, lib: n.tril(cube, -1),
        lambda n, lib: n.tri(2, 3, 1),
        lambda n, lib: n.tri(3, dtype=int),
        lambda n, lib: n.tril_indices(3, 1, 2),
        lambda n, lib: n.triu_indices(3, -1),
        lambda n, lib: n.triu_indices_from(np.eye(2)),
        of_size(6, lambda n, **size: n.mask_indices(3, n.triu, **size)),
        lambda n, lib: n.mask_indices(3, n.tril, 1, size=9),
        lambda n, lib: n.fill_diagonal(matrix, np.array([1, 2]), inplace=False),
        lambda n, lib: n.fill_diagonal(matrix, 7, inplace=False),
        lambda n, lib: n.fill_diagonal(np.zeros((3, 3, 3)), 7, inplace=False),
        refused(lambda n, lib: n.fill_diagonal(matrix, 7)),
    ],
    "grids": [
        lambda n, lib: n.meshgrid(row, row[:2]),
        lambda n, lib: n.meshgrid(row, row[:2], indexing="ij", sparse=True),
        lambda n, lib: n.mgrid[0:3, 0:2],
        lambda n, lib: n.mgrid[0:1:3j],
        lambda n, lib: n.mgrid[0:1:3j, 0:2],
        lambda n, lib: n.ogrid[0:3, 0:2],
        lambda n, lib: n.r_[0:3, 5, row],
        lambda n, lib: n.r_[0:1:3j],
        lambda n, lib: n.c_[row, row],
        lambda n, lib: n.c_[matrix, row[:3]],
        lambda n, lib: n.r_["0,2", [1, 2], [3, 4]],
        lambda n, lib: n.r_["r", [1, 2], [3, 4]],
        lambda n, lib: n.r_["c", [1, 2]],
        lambda n, lib: n.r_["1,2,0", [1, 2], [3, 4]],
        lambda n, lib: n.indices((2, 3)),
        lambda n, lib: n.indices((2, 2), sparse=True),
        lambda n, lib: n.indices((2,), dtype=np.float32),
        lambda n, lib: n.fromfunction(lambda i, j: i + j, (2, 2)),
        lambda n, lib: n.fromfunction(lambda i, j: i + j, (2, 3), dtype=int),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])


@pytest.mark.parametrize(("name", "expected"), [("shape", ()), ("ndim", 0), ("size", 1)])
def test_none_counts_as_a_scalar_with_a_warning(name, expected):
    with pytest.warns(DeprecationWarning, match=f"{name}: None is not an array"):
        assert getattr(gnp, name)(None) == expected
