"""`minijax.experimental.sparse` beside JAX's."""

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
    return ours.BCOO.fromdense(array, **layout), theirs.BCOO.fromdense(array, **layout)


def same(mine, other, rtol=1e-5):
    """The dense values agree, and so do class, shape, dtype and layout."""
    assert type(mine).__name__ == type(other).__name__
    assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
    for name in ("n_batch", "n_dense", "n_sparse"):
        assert getattr(mine, name, 0) == getattr(other, name, 0)
    np.testing.assert_allclose(mine.todense(), other.todense(), rtol=rtol, atol=1e-6)


LAYOUTS = [{}, {"n_batch": 1}, {"n_dense": 1}, {"n_batch": 1, "n_dense": 1}, {"nse": 9}]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_from_dense_and_back(layout):
    array = dense(2, 3, 4)
    mine, other = pair(array, **layout)
    same(mine, other)
    assert_close((mine.data, mine.indices), (other.data, other.indices), 1e-6)
    assert (mine.nse, mine.indices_sorted) == (other.nse, other.indices_sorted)
    nse = mine.nse
    jitted = minijax.jit(lambda x: ours.BCOO.fromdense(x, **{**layout, "nse": nse}).todense())
    np.testing.assert_array_equal(jitted(array), mine.todense())
    for each in (mine, minijax.jit(lambda m: m)(mine)):
        assert repr(each) == repr(other)
    assert_close(ours.bcoo_extract(mine, array).data, mine.data, 0, weak_types=False)


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
    same(mine, other)
    for change in (
        lambda m: m.sum_duplicates(),
        lambda m: m.sum_duplicates(remove_zeros=False),
        lambda m: m.sum_duplicates(nse=5),
        lambda m: m.sort_indices(),
        lambda m: m.T,
    ):
        found, expected = change(mine), change(other)
        same(found, expected)
        assert found.nse == expected.nse
        assert_close(found.sort_indices().indices, expected.sort_indices().indices)


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
    mine, other = pair(dense(2, 3, 4))
    same(CHANGES[name](mine, ours), CHANGES[name](other, theirs), 1e-3)


BATCHED = ["reduce 0", "reduce 1, 2", "slices", "scaled", "times dense", "plus itself", "sparse"]


@pytest.mark.parametrize("name", BATCHED)
@pytest.mark.parametrize("layout", [{"n_batch": 1}, {"n_batch": 2}, {"n_dense": 1}], ids=str)
def test_changes_of_batches(name, layout):
    array = dense(2, 3, 4)
    mine, other = pair(array, **layout)
    found = CHANGES[name](mine, ours)
    np.testing.assert_allclose(found.todense(), CHANGES[name](other, theirs).todense(), rtol=1e-5)


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
    dot = ours.bcoo_dot_general
    assert_close(dot(m, y, dimension_numbers=numbers), exact, 1e-5, 1e-6)
    assert_close(dot(x, n, dimension_numbers=numbers), exact, 1e-5, 1e-6)
    product = dot(m, n, dimension_numbers=numbers)
    assert_close(product.todense(), exact, 1e-5, 1e-6)
    assert_close(
        minijax.jit(lambda m, n: dot(m, n, dimension_numbers=numbers).todense())(m, n), exact,
        1e-5, 1e-6,
    )  # fmt: skip
    if numbers[1][0]:
        batched = ours.BCOO.fromdense(x, n_batch=1)
        assert_close(dot(batched, y, dimension_numbers=numbers), exact, 1e-5, 1e-6)
    tangents = minijax.grad(
        lambda d: mnp.sum(mnp.sin(dot(m._with_data(d), y, dimension_numbers=numbers)))
    )(m.data)
    expected = jax.grad(lambda a: jnp.sum(jnp.sin(jax.lax.dot_general(a, y, numbers))))(x)
    assert_close(tangents, expected[np.nonzero(x)], 1e-4, 1e-5)


def test_matmul():
    array = dense(3, 4)
    mine, other = pair(array)
    for x in (np.arange(4, dtype=F32), dense(4, 2, seed=1)):
        assert_close(mine @ x, other @ x, 1e-5, 1e-6)
        assert_close(mine @ mnp.asarray(x), other @ x, 1e-5, 1e-6)
    left = dense(2, 3, seed=1)
    for x in (left, mnp.asarray(left)):
        np.testing.assert_allclose(x @ mine, left @ array, rtol=1e-5, atol=1e-6)
        assert isinstance(x @ mine, minijax.Array)
    same(mine @ mine.T, other @ other.T)
    with pytest.raises(TypeError, match="differ in size"):
        mine @ np.ones(3, F32)


@pytest.mark.parametrize("transform", ["jacfwd", "jacrev"])
def test_derivatives(transform):
    mine, other = pair(dense(3, 4))
    x = np.arange(4, dtype=F32)
    found = ours.grad(lambda m, x: mnp.sum((m @ x) ** 2), (0, 1))(mine, x)
    expected = theirs.grad(lambda m, x: jnp.sum((m @ x) ** 2), (0, 1))(other, x)
    same(found[0], expected[0])
    assert_close(found[1], expected[1], 1e-5)
    _, gradient = ours.value_and_grad(lambda m: mnp.sum(m.todense() ** 2))(mine)
    same(gradient, 2 * mine)
    same(
        getattr(ours, transform)(lambda m: m @ x)(mine),
        getattr(theirs, transform)(lambda m: m @ x)(other),
    )


def test_vmap():
    array = dense(3, 2, 4)
    mine, other = pair(array, n_batch=1)
    x = np.arange(4, dtype=F32)
    for f in (lambda m: m @ x, lambda m: m.todense(), lambda m: 2 * m.data):
        assert_close(minijax.vmap(f)(mine), jax.vmap(f)(other), 1e-5, 1e-6)
    twice = minijax.vmap(lambda m: 2 * m)(mine)
    np.testing.assert_allclose(twice.todense(), 2 * array)
    rows = ours.BCSR.fromdense(array, n_batch=1)
    np.testing.assert_allclose(minijax.vmap(lambda m: m @ x)(rows), array @ x, rtol=1e-5)


CLASSES = ["COO", "CSR", "CSC", "BCSR", "BCOO"]


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name):
    array = dense(3, 4)
    mine, other = (getattr(lib, name).fromdense(array) for lib in (ours, theirs))
    assert repr(mine) == repr(other)
    for buffer in mine.buffers:
        assert_close(getattr(mine, buffer), getattr(other, buffer), 0, weak_types=False)
    np.testing.assert_array_equal(mine.todense(), array)
    for x in (np.arange(4, dtype=F32), dense(4, 2, seed=1)):
        assert_close(mine @ x, other @ x, 1e-5, 1e-6)
        assert_close(minijax.jit(lambda m, x: m @ x)(mine, x), other @ x, 1e-5, 1e-6)
    if name != "BCSR":
        np.testing.assert_array_equal(mine.T.todense(), array.T)
    lower = name.lower()
    for args in ((3,), (3, 4, 1), (4, 3, -1)):
        one = ours.eye(*args, sparse_format=lower)
        assert_close(one.todense(), jnp.eye(*args), 0)
    assert ours.empty((2, 3), sparse_format=lower).nse == 0
    np.testing.assert_array_equal(
        ours.todense(ours.empty((2, 3), sparse_format=lower)), np.zeros((2, 3))
    )
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
