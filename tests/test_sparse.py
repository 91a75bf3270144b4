"""`minijax.experimental.sparse` beside JAX's."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from jax.experimental import sparse as theirs
from libraries import assert_close

import minijax
import minijax.numpy as mnp
from minijax.experimental import sparse as ours
from minijax.experimental.sparse import linalg

F32 = np.float32


def dense(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) * (rng.random(shape) < 0.4)).astype(F32)


def pair(array, **layout):
    """The array in both libraries; without a layout, nothing is compiled for it."""
    if layout:
        return ours.BCOO.fromdense(array, **layout), theirs.BCOO.fromdense(array, **layout)
    args = array[np.nonzero(array)], np.argwhere(array).astype(np.int32)
    options = {"shape": array.shape, "indices_sorted": True, "unique_indices": True}
    return ours.BCOO(args, **options), theirs.BCOO(args, **options)


def same(mine, other, rtol=1e-5, dense=None):
    """The dense values agree, and so do class, shape, dtype and layout."""
    assert type(mine).__name__ == type(other).__name__
    assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
    for name in ("n_batch", "n_dense", "n_sparse"):
        assert getattr(mine, name, 0) == getattr(other, name, 0)
    found, expected = dense or (mine.todense(), other.todense())
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-6)


def both(f, mine, other):
    """What `f`, a function of an array and a library, makes of both arrays, and that dense.

    It is compiled as one program, since that takes less time than each operation by itself.
    """

    def with_dense(lib):
        def g(x):
            out = f(x, lib)
            return out, out.todense() if hasattr(out, "todense") else out

        return g

    found, expected = minijax.jit(with_dense(ours))(mine), jax.jit(with_dense(theirs))(other)
    return [*zip(found, expected, strict=True)]


LAYOUTS = [{}, {"n_batch": 1}, {"n_dense": 1}, {"n_batch": 1, "n_dense": 1}, {"nse": 9}]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_from_dense_and_back(layout):
    array = dense(2, 3, 4)
    mine = ours.BCOO.fromdense(array, **layout)
    nse = mine.nse

    def jitted(x, lib):
        mat = lib.BCOO.fromdense(x, **{**layout, "nse": nse})
        return mat, lib.bcoo_extract(mat, x).data, mat.todense()

    (again, other), _ = both(jitted, array, array)
    for found, extracted, values in (again, (mine, mine.data, array)):
        same(found, other[0], dense=(values, other[2]))
        assert_close((found.data, found.indices), (other[0].data, other[0].indices), 1e-6)
        assert (found.nse, found.indices_sorted) == (nse, other[0].indices_sorted)
        assert repr(found) == repr(other[0])
        assert_close(extracted, found.data, 0, weak_types=False)
    np.testing.assert_array_equal(mine.todense(), array)


def test_nse_must_be_known():
    with pytest.raises(ValueError, match="nse must be given"):
        minijax.jit(lambda x: ours.BCOO.fromdense(x).todense())(dense(2, 3))
    with pytest.raises(ValueError, match="nse must be given"):
        minijax.jit(lambda m: m.sum_duplicates())(ours.eye(3))


def test_shapes_must_fit():
    for args, shape in (
        ((np.ones(2), np.zeros((3, 1), int)), (3,)),
        ((np.ones(2), np.zeros((2, 3), int)), (3,)),
        ((np.ones((2, 3)), np.zeros((2, 1), int)), (3, 4)),
    ):
        with pytest.raises(ValueError, match="BCOO: data"):
            ours.BCOO(args, shape=shape)


def duplicates(lib):
    indices = np.array([[0, 1], [1, 2], [0, 1], [2, 3], [1, 0], [0, 0]], np.int32)
    data = np.array([1, 2, 3, 4, 0, 5], F32)
    return lib.BCOO((data, indices), shape=(2, 3))


def test_duplicates_and_order():
    mine, other = duplicates(ours), duplicates(theirs)

    def changes(m, lib):
        changed = [
            m.sum_duplicates(nse=6),
            m.sum_duplicates(remove_zeros=False, nse=6),
            m.sum_duplicates(nse=5),
            m.sort_indices(),
            m.T,
        ]
        return [(each, each.todense(), each.sort_indices().indices) for each in changed]

    (found, expected), _ = both(changes, mine, other)
    for (one, values, order), (another, of_theirs, their_order) in zip(
        found, expected, strict=True
    ):
        same(one, another, dense=(values, of_theirs))
        assert one.nse == another.nse
        np.testing.assert_array_equal(order, their_order)
    assert mine.sum_duplicates().nse == 3  # without the zero, and what lies outside


CHANGES = {
    "transpose": lambda m, lib: m.transpose((1, 0, 2)),
    "reshape": lambda m, lib: m.reshape(6, 4),
    "reshape -1": lambda m, lib: m.reshape((4, -1)),
    "reduce 0": lambda m, lib: m.sum(0),
    "reduce 1, 2": lambda m, lib: m.sum((1, 2)),
    "element": lambda m, lib: m[1],
    "slices": lambda m, lib: m[:, 1:, ::2],
    "negative": lambda m, lib: m[:, ::-1, -1],
    "scaled": lambda m, lib: 2 * m / 3,
    "negated": lambda m, lib: -m,
    "times dense": lambda m, lib: m * np.arange(4, dtype=F32),
    "times itself": lambda m, lib: m * m,
    "plus itself": lambda m, lib: m + m,
    "minus": lambda m, lib: m - 2 * m,
    "square": lambda m, lib: m**2,
    "abs": lambda m, lib: abs(m),
    "astype": lambda m, lib: m.astype("float16"),
    "concatenate": lambda m, lib: lib.bcoo_concatenate([m, m], dimension=1),
    "rev": lambda m, lib: lib.bcoo_rev(m, (1,)),
    "slice": lambda m, lib: lib.bcoo_slice(m, start_indices=(0, 1, 1), limit_indices=(2, 3, 3)),
    "dynamic_slice": lambda m, lib: lib.bcoo_dynamic_slice(m, (0, 2, 1), (2, 2, 2)),
    "squeeze": lambda m, lib: lib.bcoo_squeeze(m[:, 1:2], dimensions=(1,)),
    "broadcast": lambda m, lib: lib.bcoo_broadcast_in_dim(
        m, shape=(5, 2, 3, 4), broadcast_dimensions=(1, 2, 3)
    ),
    "dense": lambda m, lib: lib.bcoo_update_layout(m, n_dense=1, on_inefficient=None),
    "batch": lambda m, lib: lib.bcoo_update_layout(m, n_batch=1, on_inefficient=None),
    "sparse": lambda m, lib: lib.bcoo_update_layout(m, n_batch=0, n_dense=0),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes(name):
    changed, values = both(CHANGES[name], *pair(dense(2, 3, 4)))
    same(*changed, 1e-3, values)


BATCHED = ["reduce 0", "reduce 1, 2", "slices", "scaled", "times dense", "plus itself", "sparse"]


@pytest.mark.parametrize("layout", [{"n_batch": 1}, {"n_batch": 2}, {"n_dense": 1}], ids=str)
def test_changes_of_batches(layout):
    def changes(array, lib):
        mat = lib.BCOO.fromdense(array, nse=6, **layout)
        return [CHANGES[name](mat, lib).todense() for name in BATCHED]

    (found, expected), _ = both(changes, *[dense(2, 3, 4)] * 2)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_sums_with_dense_arrays():
    mine, other = pair(dense(2, 3))
    array = dense(2, 3, seed=1)
    assert_close(mine + array, other + array, 1e-6)
    assert_close(mine.sum(), other.sum(), 1e-6, weak_types=False)
    with pytest.raises(NotImplementedError, match="would be dense"):
        mine + 1.0
    for refused in (lambda: mine[np.array([0])], lambda: mine / mine):
        with pytest.raises(NotImplementedError, match="BCOO"):
            refused()


PRODUCTS = [
    ((2, 3), (3,), (((1,), (0,)), ((), ()))),
    ((2, 3), (3, 4), (((1,), (0,)), ((), ()))),
    ((2, 3), (2, 4), (((0,), (0,)), ((), ()))),
    ((5, 2, 3), (5, 3, 4), (((2,), (1,)), ((0,), (0,)))),
    ((2, 3, 4), (4, 3, 5), (((1, 2), (1, 0)), ((), ()))),
    ((2, 3), (2, 3), (((0, 1), (0, 1)), ((), ()))),
    ((2, 3), (4,), (((), ()), ((), ()))),
]


@pytest.mark.parametrize(("lhs", "rhs", "numbers"), PRODUCTS, ids=str)
def test_products(lhs, rhs, numbers):
    x, y = dense(*lhs), dense(*rhs, seed=1)
    exact = jax.lax.dot_general(x, y, numbers)
    (m, _), (n, _) = pair(x), pair(y)

    @minijax.jit
    def products(m, n, x, y):
        dot = partial(ours.bcoo_dot_general, dimension_numbers=numbers)
        found = [dot(m, y), dot(x, n), dot(m, n).todense()]
        if numbers[1][0]:
            found.append(dot(ours.BCOO.fromdense(x, n_batch=1, nse=6), y))
        return found, minijax.grad(lambda d: mnp.sum(mnp.sin(dot(m._with_data(d), y))))(m.data)

    found, tangents = products(m, n, x, y)
    for product in found:
        assert_close(product, exact, 1e-5, 1e-6)
    expected = jax.grad(lambda a: jnp.sum(jnp.sin(jax.lax.dot_general(a, y, numbers))))(x)
    assert_close(tangents, expected[np.nonzero(x)], 1e-4, 1e-5)


def test_products_one_by_one():
    (m, _), (n, _) = pair(dense(2, 3)), pair(dense(3, 4, seed=1))
    numbers = (((1,), (0,)), ((), ()))
    product = ours.bcoo_dot_general(m, n, dimension_numbers=numbers)
    exact = dense(2, 3) @ dense(3, 4, seed=1)
    np.testing.assert_allclose(product.todense(), exact, rtol=1e-5, atol=1e-6)


def test_matmul():
    array = dense(3, 4)
    mine, other = pair(array)
    vector, matrix, left = np.arange(4, dtype=F32), dense(4, 2, seed=1), dense(2, 3, seed=1)

    def products(m, lib):
        return m @ vector, m @ matrix, m @ m.T

    (found, expected), _ = both(products, mine, other)
    for one, another in zip(found[:2], expected[:2], strict=True):
        assert_close(one, another, 1e-5, 1e-6, weak_types=False)
    same(found[2], expected[2])
    for x in (left, mnp.asarray(left)):
        assert isinstance(x @ mine, minijax.Array)
        np.testing.assert_allclose(x @ mine, left @ array, rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match="differ in size"):
        mine @ np.ones(3, F32)


@pytest.mark.parametrize("transform", ["jacfwd", "jacrev"])
def test_derivatives(transform):
    x = np.arange(4, dtype=F32)

    def derivatives(m, lib):
        of_both = lib.grad(lambda m, x: ((m @ x) ** 2).sum(), (0, 1))(m, x)
        squares = lib.value_and_grad(lambda m: (m.todense() ** 2).sum())(m)[1]
        return *of_both, squares, getattr(lib, transform)(lambda m: m @ x)(m)

    (found, expected), _ = both(derivatives, *pair(dense(3, 4)))
    assert_close(found[1], expected[1], 1e-5)
    for n in (0, 2, 3):
        same(found[n], expected[n])
    np.testing.assert_allclose(found[2].todense(), 2 * dense(3, 4))


def test_vmap():
    array = dense(3, 2, 4)
    x = np.arange(4, dtype=F32)

    @minijax.jit
    def mapped(array):
        mine = ours.BCOO.fromdense(array, n_batch=1, nse=8)
        rows = ours.BCSR.fromdense(array, n_batch=1, nse=8)
        functions = (lambda m: m @ x), (lambda m: m.todense()), (lambda m: 2 * m)
        return [*(minijax.vmap(f)(mine) for f in functions), minijax.vmap(functions[0])(rows)]

    product, again, twice, of_rows = mapped(array)
    for found in (product, of_rows):
        np.testing.assert_allclose(found, array @ x, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(again, array)
    np.testing.assert_array_equal(twice.todense(), 2 * array)


CLASSES = ["COO", "CSR", "CSC", "BCSR", "BCOO"]


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name):
    array = dense(3, 4)
    vector, matrix = np.arange(4, dtype=F32), dense(4, 2, seed=1)

    def products(array, lib):
        mat = getattr(lib, name).fromdense(array, nse=np.count_nonzero(dense(3, 4)))
        turned = mat if name == "BCSR" else mat.T
        return mat, [mat.todense(), mat @ vector, mat @ matrix, turned.todense()]

    (found, expected), _ = both(products, array, array)
    (mine, results), (other, of_theirs) = found, expected
    assert repr(mine) == repr(other)
    for buffer in mine.buffers:
        assert_close(getattr(mine, buffer), getattr(other, buffer), 0, weak_types=False)
    np.testing.assert_array_equal(results[0], array)
    for one, another in zip(results, of_theirs, strict=True):
        assert_close(one, another, 1e-5, 1e-6, weak_types=False)
    lower = name.lower()
    diagonals = (3,), (3, 4, 1), (4, 3, -1)

    @minijax.jit
    def made():
        return [ours.eye(*args, sparse_format=lower).todense() for args in diagonals]

    for args, one in zip(diagonals, made(), strict=True):
        np.testing.assert_array_equal(one, np.eye(*args))
    nothing = ours.empty((2, 3), sparse_format=lower)
    assert nothing.nse == 0
    np.testing.assert_array_equal(ours.todense(nothing), np.zeros((2, 3)))
    if name in ("COO", "CSR", "CSC", "BCSR"):
        with pytest.raises(NotImplementedError, match=name):
            mine + mine


def test_unknown_format():
    with pytest.raises(ValueError, match="sparse_format"):
        ours.eye(3, sparse_format="x")


def test_rows_and_lists():
    mine = ours.BCSR.fromdense(dense(2, 3, 4), n_batch=1)
    again = ours.BCSR.from_bcoo(mine.to_bcoo())
    np.testing.assert_array_equal(again.todense(), mine.todense())
    np.testing.assert_array_equal(
        ours.bcsr_concatenate([mine, mine], dimension=1).todense(),
        np.concatenate([mine.todense()] * 2, 1),
    )
    extracted = ours.bcsr_extract(mine.indices, mine.indptr, mine.todense())
    np.testing.assert_array_equal(extracted, mine.data)


def test_from_scipy():
    array = dense(3, 4)
    for cls in (ours.BCOO, ours.BCSR):
        mat = cls.from_scipy_sparse(scipy.sparse.csr_matrix(array))
        np.testing.assert_array_equal(mat.todense(), array)


@pytest.mark.parametrize(
    "options",
    [{}, {"nse": 5, "sorted_indices": True}, {"n_batch": 1, "nse": 2}, {"n_dense": 1, "nse": 0.5}],
    ids=str,
)
def test_random_arrays_are_jaxs(options):
    mine = ours.random_bcoo(minijax.random.key(0), (3, 4), dtype="float32", **options)
    other = theirs.random_bcoo(jax.random.key(0), (3, 4), dtype="float32", **options)
    same(mine, other)
    np.testing.assert_array_equal(mine.indices, other.indices)


def test_inefficient_layouts():
    mat = ours.BCOO.fromdense(dense(2, 3))
    with pytest.raises(ours.SparseEfficiencyError, match="would store zeros"):
        mat.update_layout(n_batch=1)
    with pytest.warns(ours.SparseEfficiencyWarning):
        mat.update_layout(n_dense=1, on_inefficient="warn")


def test_solving():
    rng = np.random.default_rng(0)
    array = (dense(6, 6) + 4 * np.eye(6)).astype(F32)
    b = rng.normal(size=6).astype(F32)
    mat = ours.BCSR.fromdense(array)

    def solve(data, b):
        return linalg.spsolve(data, mat.indices, mat.indptr, b)

    np.testing.assert_allclose(solve(mat.data, b), np.linalg.solve(array, b), rtol=1e-4)
    np.testing.assert_allclose(
        minijax.jit(solve)(mat.data, b), np.linalg.solve(array, b), rtol=1e-4
    )
    found = minijax.grad(lambda d, b: mnp.sum(solve(d, b) ** 2), (0, 1))(mat.data, b)
    expected = jax.grad(lambda a, b: jnp.sum(jnp.linalg.solve(a, b) ** 2), (0, 1))(array, b)
    np.testing.assert_allclose(found[0], expected[0][np.nonzero(array)], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="spsolve"):
        solve(mat.data, b[:3])


def test_eigenvalues():
    array = np.diag(np.arange(1.0, 41)).astype(F32)
    start = np.eye(40, 2, dtype=F32) + 0.1
    for matrix in (array, ours.BCOO.fromdense(array), lambda x: mnp.asarray(array) @ x):
        values, vectors, steps = linalg.lobpcg_standard(matrix, start)
        np.testing.assert_allclose(values, [40, 39], rtol=1e-4)
        np.testing.assert_allclose(array @ vectors, vectors * values, atol=0.05)
        assert 0 < steps <= 100
    with pytest.raises(ValueError, match="lobpcg_standard"):
        linalg.lobpcg_standard(array, np.ones((40, 20), F32))
