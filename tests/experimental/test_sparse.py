"""`experimental.sparse`, beside JAX."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from jax.experimental import sparse as theirs
from libraries import assert_close, glassjax_of_constants, jax_of_constants
from shares import a_few
from tables import for_each

import glassjax
import glassjax.numpy as gnp
from glassjax.experimental import sparse as ours
from glassjax.experimental.sparse import api as linalg

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

    found = glassjax_of_constants.jit(with_dense(ours))(mine)
    expected = jax_of_constants.jit(with_dense(theirs))(other)
    return [*zip(found, expected, strict=True)]


LAYOUTS = [{}, {"nse": 9}, {"n_batch": 1}, {"n_dense": 1}, {"n_batch": 1, "n_dense": 1}]


def test_from_dense_and_back():
    array, layouts = dense(2, 3, 4), a_few(LAYOUTS)
    made = [ours.BCOO.fromdense(array, **layout) for layout in layouts]

    def jitted(x, lib):
        out = []
        for layout, mine in zip(layouts, made, strict=True):
            mat = lib.BCOO.fromdense(x, **{**layout, "nse": mine.nse})
            out.append((mat, lib.bcoo_extract(mat, x).data, mat.todense()))
        return out

    (found, of_jax), _ = both(jitted, array, array)
    for mine, again, other in zip(made, found, of_jax, strict=True):
        for mat, extracted, values in (again, (mine, mine.data, array)):
            same(mat, other[0], dense=(values, other[2]))
            assert_close((mat.data, mat.indices), (other[0].data, other[0].indices), 1e-6)
            assert (mat.nse, mat.indices_sorted) == (mine.nse, other[0].indices_sorted)
            assert repr(mat) == repr(other[0])
            assert_close(extracted, mat.data, 0, weak_types=False)
        np.testing.assert_array_equal(again[2], array)
    np.testing.assert_array_equal(made[0].todense(), array)


def test_nse_must_be_known():
    with pytest.raises(ValueError, match="nse must be given"):
        glassjax.jit(lambda x: ours.BCOO.fromdense(x).todense())(dense(2, 3))
    with pytest.raises(ValueError, match="nse must be given"):
        glassjax.jit(lambda m: m.sum_duplicates())(ours.eye(3))


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


@pytest.fixture(scope="module")
def changed():
    """What each change makes, and that dense, from one program of all of them."""

    def changes(m, lib):
        outs = {name: change(m, lib) for name, change in CHANGES.items()}
        return {name: (out, out.todense()) for name, out in outs.items()}

    return both(changes, *pair(dense(2, 3, 4)))[0]


@for_each("name", CHANGES)
def test_changes(name, changed):
    (found, values), (expected, of_jax) = (of_all[name] for of_all in changed)
    same(found, expected, 1e-3, (values, of_jax))


BATCHED = ["reduce 0", "reduce 1, 2", "slices", "scaled", "times dense", "plus itself", "sparse"]


def test_changes_of_batches():
    def changes(array, lib):
        layouts = {"n_batch": 1}, {"n_batch": 2}, {"n_dense": 1}
        mats = [lib.BCOO.fromdense(array, nse=6, **layout) for layout in layouts]
        pairs = [(name, mat) for name in BATCHED for mat in mats]
        return [CHANGES[name](mat, lib).todense() for name, mat in a_few(pairs)]

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


@pytest.fixture(scope="module")
def products():
    """Products of both libraries, and slopes of their sines, from one program of each."""
    arrays = [(dense(*lhs), dense(*rhs, seed=1)) for lhs, rhs, _ in PRODUCTS]
    sparse = [(pair(x)[0], pair(y)[0]) for x, y in arrays]

    @glassjax_of_constants.jit
    def of_ours(arrays, sparse):
        out = []
        for (x, y), (m, n), (*_, numbers) in zip(arrays, sparse, PRODUCTS, strict=True):
            dot = partial(ours.bcoo_dot_general, dimension_numbers=numbers)
            found = [dot(m, y), dot(x, n), dot(m, n).todense()]
            if numbers[1][0]:
                found.append(dot(ours.BCOO.fromdense(x, n_batch=1, nse=6), y))
            sines = lambda d, m=m, y=y, dot=dot: gnp.sum(gnp.sin(dot(m._with_data(d), y)))  # noqa: E731
            out.append((found, glassjax.grad(sines)(m.data)))
        return out

    @jax_of_constants.jit
    def of_jax(arrays):
        out = []
        for (x, y), (*_, numbers) in zip(arrays, PRODUCTS, strict=True):
            dot = partial(jax.lax.dot_general, rhs=y, dimension_numbers=numbers)
            out.append((dot(x), jax.grad(lambda a, dot=dot: jnp.sum(jnp.sin(dot(a))))(x)))
        return out

    return {
        str(key): (found, expected, x)
        for key, found, expected, (x, _) in zip(
            PRODUCTS, of_ours(arrays, sparse), of_jax(arrays), arrays, strict=True
        )
    }


@for_each("key", map(str, PRODUCTS))
def test_products(key, products):
    (found, tangents), (exact, slopes), x = products[key]
    for product in found:
        assert_close(product, exact, 1e-5, 1e-6)
    assert_close(tangents, slopes[np.nonzero(x)], 1e-4, 1e-5)


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
    for x in (left, gnp.asarray(left)):
        assert isinstance(x @ mine, glassjax.Array)
        np.testing.assert_allclose(x @ mine, left @ array, rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match="differ in size"):
        mine @ np.ones(3, F32)


def test_derivatives():
    x = np.arange(4, dtype=F32)

    def derivatives(m, lib):
        by_m, by_x = lib.grad(lambda m, x: ((m @ x) ** 2).sum(), (0, 1))(m, x)
        squares = lib.value_and_grad(lambda m: (m.todense() ** 2).sum())(m)[1]
        jacobians = [getattr(lib, name)(lambda m: m @ x)(m) for name in ("jacfwd", "jacrev")]
        return by_x, [(out, out.todense()) for out in (by_m, squares, *jacobians)]

    (found, expected), _ = both(derivatives, *pair(dense(3, 4)))
    assert_close(found[0], expected[0], 1e-5)
    for (mine, values), (other, of_jax) in zip(found[1], expected[1], strict=True):
        same(mine, other, dense=(values, of_jax))
    np.testing.assert_allclose(found[1][1][1], 2 * dense(3, 4))


def test_vmap():
    array = dense(3, 2, 4)
    x = np.arange(4, dtype=F32)

    @glassjax.jit
    def mapped(array):
        mine = ours.BCOO.fromdense(array, n_batch=1, nse=8)
        rows = ours.BCSR.fromdense(array, n_batch=1, nse=8)
        functions = (lambda m: m @ x), (lambda m: m.todense()), (lambda m: 2 * m)
        return [*(glassjax.vmap(f)(mine) for f in functions), glassjax.vmap(functions[0])(rows)]

    product, again, twice, of_rows = mapped(array)
    for found in (product, of_rows):
        np.testing.assert_allclose(found, array @ x, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(again, array)
    np.testing.assert_array_equal(twice.todense(), 2 * array)


CLASSES = ["COO", "CSR", "CSC", "BCSR", "BCOO"]


DIAGONALS = (3,), (3, 4, 1), (4, 3, -1)


@pytest.fixture(scope="module")
def of_classes():
    vector, matrix = np.arange(4, dtype=F32), dense(4, 2, seed=1)

    def products(array, lib):
        out = {}
        for name in CLASSES:
            mat = getattr(lib, name).fromdense(array, nse=np.count_nonzero(dense(3, 4)))
            turned = mat if name == "BCSR" else mat.T
            out[name] = mat, [mat.todense(), mat @ vector, mat @ matrix, turned.todense()]
        return out

    @glassjax.jit
    def diagonals():
        return {
            n: [ours.eye(*args, sparse_format=n.lower()).todense() for args in DIAGONALS]
            for n in CLASSES
        }

    array = dense(3, 4)
    return *both(products, array, array)[0], diagonals()


@for_each("name", CLASSES)
def test_classes(name, of_classes):
    (mine, results), (other, of_theirs), made = (of_all[name] for of_all in of_classes)
    assert repr(mine) == repr(other)
    for buffer in mine.buffers:
        assert_close(getattr(mine, buffer), getattr(other, buffer), 0, weak_types=False)
    np.testing.assert_array_equal(results[0], dense(3, 4))
    for one, another in zip(results, of_theirs, strict=True):
        assert_close(one, another, 1e-5, 1e-6, weak_types=False)
    for args, one in zip(DIAGONALS, made, strict=True):
        np.testing.assert_array_equal(one, np.eye(*args))
    nothing = ours.empty((2, 3), sparse_format=name.lower())
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

    @glassjax.jit
    def results(mine):
        array = mine.todense()
        return (
            array,
            ours.BCSR.from_bcoo(mine.to_bcoo()).todense(),
            ours.bcsr_concatenate([mine, mine], dimension=1).todense(),
            ours.bcsr_extract(mine.indices, mine.indptr, array),
        )

    array, again, twice, extracted = results(mine)
    np.testing.assert_array_equal(array, dense(2, 3, 4))
    np.testing.assert_array_equal(again, array)
    np.testing.assert_array_equal(twice, np.concatenate([array] * 2, 1))
    np.testing.assert_array_equal(extracted, mine.data)


def test_from_scipy():
    array = dense(3, 4)
    for cls in (ours.BCOO, ours.BCSR):
        mat = cls.from_scipy_sparse(scipy.sparse.csr_matrix(array))
        np.testing.assert_array_equal(mat.todense(), array)


OF_RANDOM_ARRAYS = [
    {},
    {"nse": 5, "sorted_indices": True},
    {"n_batch": 1, "nse": 2},
    {"n_dense": 1, "nse": 0.5},
]


def test_random_arrays_are_jaxs():
    def drawn(key, lib):
        make = partial(lib.random_bcoo, key, (3, 4), dtype="float32")
        mats = [make(**options) for options in a_few(OF_RANDOM_ARRAYS)]
        return [(mat, mat.todense()) for mat in mats]

    (found, expected), _ = both(drawn, glassjax.random.key(0), jax.random.key(0))
    for (mine, values), (other, of_jax) in zip(found, expected, strict=True):
        same(mine, other, dense=(values, of_jax))
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

    @glassjax.jit
    def with_slopes(data, b):
        slopes = glassjax.grad(lambda d, b: gnp.sum(solve(d, b) ** 2), (0, 1))(data, b)
        return solve(data, b), slopes

    solved, (by_data, by_b) = with_slopes(mat.data, b)
    np.testing.assert_allclose(solved, np.linalg.solve(array, b), rtol=1e-4)
    of_b = np.linalg.solve(array.T, 2 * np.linalg.solve(array, b))
    of_array = -np.outer(of_b, np.linalg.solve(array, b))
    np.testing.assert_allclose(by_data, of_array[np.nonzero(array)], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(by_b, of_b, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="spsolve"):
        solve(mat.data, b[:3])


def test_eigenvalues():
    array = np.diag(np.arange(1.0, 41)).astype(F32)
    start = np.eye(40, 2, dtype=F32) + 0.1
    matrices = ours.BCOO.fromdense(array), array, lambda x: gnp.asarray(array) @ x
    for matrix in a_few(matrices, 3):
        values, vectors, steps = linalg.lobpcg_standard(matrix, start)
        np.testing.assert_allclose(values, [40, 39], rtol=1e-4)
        np.testing.assert_allclose(array @ vectors, vectors * values, atol=0.05)
        assert 0 < steps <= 100
    with pytest.raises(ValueError, match="lobpcg_standard"):
        linalg.lobpcg_standard(array, np.ones((40, 20), F32))
