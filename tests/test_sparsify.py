"""`minijax.experimental.sparse.sparsify`, and functions that its rules need, beside JAX's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import sparse as theirs
from jax.experimental.sparse import bcoo as their_bcoo
from jax.experimental.sparse import bcsr as their_bcsr
from jax.experimental.sparse import transform as their_transform
from libraries import assert_close

import minijax
import minijax.numpy as mnp
from minijax.experimental import sparse as ours
from minijax.experimental.sparse import bcoo, bcsr, transform

F32 = np.float32
ARRAY = np.diag(np.arange(1, 4, dtype=F32), 1)[:3]  # 3 rows, 4 columns, with a zero row and column
ARRAY[2, 0] = -2


def matrices():
    args = ARRAY[np.nonzero(ARRAY)], np.argwhere(ARRAY).astype(np.int32)
    options = {"shape": ARRAY.shape, "indices_sorted": True, "unique_indices": True}
    return ours.BCOO(args, **options), theirs.BCOO(args, **options)


def same(mine, other):
    """The values agree, and for sparse arrays class, layout and the number of elements."""
    assert type(mine).__name__.replace("Array", "ArrayImpl") == type(other).__name__
    for name in ("shape", "dtype", "n_batch", "n_dense", "nse"):
        assert getattr(mine, name, 0) == getattr(other, name, 0), name
    if isinstance(mine, ours.JAXSparse):
        mine, other = mine.todense(), other.todense()
    np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


PROGRAMS = {
    "unary": lambda m, np: -np.sqrt(np.sin(m) ** 2),
    "abs, real, sign": lambda m, np: np.abs(np.real(m)) * np.sign(m),
    "astype": lambda m, np: m.astype("float16"),
    "sum of itself": lambda m, np: m + np.tanh(m),
    "sum of others": lambda m, np: m + m[::-1],
    "sum with a dense array": lambda m, np: m + np.ones((3, 4)),
    "difference": lambda m, np: m - m[::-1],
    "product": lambda m, np: m * m,
    "product of others": lambda m, np: m * m[::-1],
    "product with a dense array": lambda m, np: 2 * m * np.arange(4.0) / 3,
    "matmul": lambda m, np: 2 * m.T @ np.arange(3.0),
    "matmul from the left": lambda m, np: np.ones((2, 3)) @ m,
    "matmul of sparse arrays": lambda m, np: m.T @ m,
    "sum": lambda m, np: m.sum(),
    "mean": lambda m, np: m.mean(),
    "sum along an axis": lambda m, np: m.sum(0),
    "reshape": lambda m, np: m.reshape(2, 6),
    "a new axis": lambda m, np: m[:, None],
    "squeeze": lambda m, np: m[1:2].squeeze(),
    "element": lambda m, np: m[1, 2],
    "slices": lambda m, np: m[1:, ::2],
    "rows": lambda m, np: m.at[np.array([2, 0])].get(mode="promise_in_bounds"),
    "concatenate": lambda m, np: np.concatenate([m, m], axis=1),
    "stack": lambda m, np: np.stack([m, m]),
    "abs by its operator": lambda m, np: abs(m),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    mine, other = matrices()
    f = PROGRAMS[name]
    expected = jax.jit(theirs.sparsify(lambda m: f(m, jnp)))(other)
    for use_tracer in (False, True):
        same(minijax.jit(ours.sparsify(lambda m: f(m, mnp), use_tracer))(mine), expected)


def test_layouts_stay():
    array = np.stack([ARRAY, 2 * ARRAY])
    functions = lambda m: m[0], lambda m: m[:, None], lambda m: 2 * m
    for layout in ({"n_batch": 1, "nse": 4}, {"n_batch": 1, "n_dense": 1, "nse": 3}):

        def all_of(lib, array, layout=layout):
            mat = lib.BCOO.fromdense(array, **layout)
            return [lib.sparsify(f)(mat) for f in functions]

        mine = minijax.jit(lambda array: all_of(ours, array))(array)
        other = jax.jit(lambda array: all_of(theirs, array))(array)
        for pair in zip(mine, other, strict=True):
            same(*pair)


DENSE = {
    "cos": lambda m, np: np.cos(m),
    "gt": lambda m, np: m > 0,
    "a number": lambda m, np: m + 1,
    "power": lambda m, np: m**-2,
    "quotient": lambda m, np: 1 / m,
    "max": lambda m, np: np.maximum(m, 1.0),
}


@pytest.mark.parametrize("name", DENSE)
def test_dense_results(name):
    mine, other = matrices()
    f = DENSE[name]
    with pytest.raises(NotImplementedError, match="todense"):
        ours.sparsify(lambda m: f(m, mnp))(mine)
    with pytest.raises(NotImplementedError):
        theirs.sparsify(lambda m: f(m, jnp))(other)
    dense = ours.sparsify(lambda m: f(ours.todense(m), mnp))(mine)
    np.testing.assert_allclose(dense, f(jnp.asarray(ARRAY), jnp), rtol=1e-5)


def twice_in(lib):
    twice = lib.custom_jvp(lambda m: 2 * m)
    twice.defjvps(lambda t, out, m: 2 * t)
    return twice


# Functions of the library, a matrix and a vector.
OF_PROGRAMS = {
    "jit": lambda lib, m, v: lib.jit(lambda m: (m * 2) @ v)(m),
    "custom_jvp": lambda lib, m, v: twice_in(lib)(m) @ v,
    "cond": lambda lib, m, v: lib.lax.cond(v[0] > 0, lambda m: m * 2, lambda m: m, m),
    "while": lambda lib, m, v: lib.lax.while_loop(
        lambda c: (c[0] @ v).sum() < 99, lambda c: (2 * c[0], c[1] + 1), (m, 0)
    ),
    "fori_loop": lambda lib, m, v: lib.lax.fori_loop(0, 3, lambda i, m: m * 2, m),
    "todense": lambda lib, m, v: lib.jit(lib.experimental.sparse.todense)(m) + 1,
}


@pytest.mark.parametrize("name", OF_PROGRAMS)
def test_programs_inside(name):
    mine, other = matrices()
    f, v = OF_PROGRAMS[name], np.ones(4, F32)
    found = ours.sparsify(lambda m, v: f(minijax, m, v))(mine, v)
    expected = theirs.sparsify(lambda m, v: f(jax, m, v))(other, v)
    if name == "while":
        assert int(found[1]) == int(expected[1])
        found, expected = found[0], expected[0]
    same(found, expected)


def test_scan_over_a_dense_array():
    mine, _ = matrices()
    vectors = np.arange(8, dtype=F32).reshape(2, 4)

    def f(m, vectors):
        return minijax.lax.scan(lambda m, v: (2 * m, m @ v), m, vectors)

    carry, ys = ours.sparsify(f)(mine, vectors)
    np.testing.assert_array_equal(carry.todense(), 4 * ARRAY)
    np.testing.assert_allclose(ys, [ARRAY @ vectors[0], 2 * ARRAY @ vectors[1]])
    with pytest.raises(NotImplementedError, match="scan"):
        ours.sparsify(lambda m: minijax.lax.scan(lambda c, x: (c, x), 0.0, m))(mine)


def test_rows():
    mine, other = (lib.BCSR.from_bcoo(m) for lib, m in zip((ours, theirs), matrices(), strict=True))
    for f in (lambda m: m @ np.ones(4, F32), lambda m: -m, lambda m: abs(m)):
        same(ours.sparsify(f)(mine), theirs.sparsify(f)(other))
    with pytest.raises(NotImplementedError, match="to_bcoo"):
        ours.sparsify(lambda m: m.T)(mine)


def test_transformations():
    mine, _ = matrices()
    v = np.arange(4, dtype=F32)
    f = ours.sparsify(lambda m, v: mnp.sum(mnp.sin(m) @ v))
    expected = f(mine, v)
    np.testing.assert_allclose(expected, (np.sin(ARRAY) @ v).sum(), rtol=1e-5)
    np.testing.assert_allclose(minijax.jit(f)(mine, v), expected, rtol=1e-6)
    by_m, by_v = ours.grad(f, (0, 1))(mine, v)
    np.testing.assert_allclose(by_m.todense(), np.where(ARRAY != 0, np.cos(ARRAY) * v, 0), 1e-5)
    np.testing.assert_allclose(by_v, np.sin(ARRAY).sum(0), rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match="sparsify"):
        ours.sparsify(3)


def test_arguments():
    mine, _ = matrices()

    def f(tree, *, scale):
        return {"out": scale * tree["m"] @ tree["v"]}

    out = ours.sparsify(f)({"m": mine, "v": np.ones(4, F32)}, scale=2)
    np.testing.assert_allclose(out["out"], 2 * ARRAY.sum(1))


def test_values_of_an_environment():
    def args(lib):
        return [lib.BCOO.fromdense(ARRAY), np.ones(2, F32), lib.BCSR.fromdense(ARRAY)]

    mine, other = (
        (lib.SparsifyEnv(), lib, args(s))
        for lib, s in ((transform, ours), (their_transform, theirs))
    )
    values = [lib.arrays_to_spvalues(env, arrays) for env, lib, arrays in (mine, other)]
    assert [tuple(v[:4]) for v in values[0]] == [tuple(v[:4]) for v in values[1]]
    for v, w in zip(*values, strict=True):
        for name in ("is_sparse", "is_dense", "is_bcoo", "is_bcsr"):
            assert getattr(v, name)() == getattr(w, name)()
        assert v.ndim == w.ndim
    env, lib, arrays = mine
    for array, again in zip(arrays, lib.spvalues_to_arrays(env, values[0]), strict=True):
        assert getattr(array, "shape", None) == again.shape
        np.testing.assert_array_equal(ours.todense(array), ours.todense(again))
    types = [
        lib.spvalues_to_avals(env, v)
        for (env, lib, _), v in zip((mine, other), values, strict=True)
    ]
    assert [(t.shape, t.dtype) for t in types[0]] == [(t.shape, t.dtype) for t in types[1]]
    twice = env.sparse((3, 4), 2 * env.data(values[0][0]), indices_ref=values[0][0].indices_ref)
    np.testing.assert_array_equal(lib.spvalues_to_arrays(env, twice).todense(), 2 * ARRAY)
    with pytest.raises(ValueError, match="indices"):
        env.sparse((3, 4), np.ones(2))
    with pytest.raises(RuntimeError, match="indptr"):
        env.indptr(values[0][0])


GATHERS = [
    ([[2], [0]], ((1,), (0,), (0,)), (1, 4)),
    ([[1, 1], [0, 2]], ((1, 2), (), (0, 1)), (2, 2)),
    ([[[1], [0], [1]]], ((0,), (1,), (1,)), (3, 1)),
    ([1, 2], ((), (0, 1), (0, 1)), (1, 1)),
]


@pytest.mark.parametrize(("starts", "numbers", "sizes"), GATHERS, ids=str)
def test_gather(starts, numbers, sizes):
    mine, other = matrices()
    starts = np.array(starts)
    of_ours = minijax.lax.GatherDimensionNumbers(*numbers)
    of_theirs = jax.lax.GatherDimensionNumbers(*numbers)
    found = minijax.jit(lambda m: ours.bcoo_gather(m, starts, of_ours, sizes))(mine)
    exact = jax.lax.gather(ARRAY, starts, of_theirs, sizes)
    np.testing.assert_array_equal(found.todense(), exact)
    same(found, jax.jit(lambda m: theirs.bcoo_gather(m, starts, of_theirs, sizes))(other))
    with pytest.raises(NotImplementedError, match="mode"):
        ours.bcoo_gather(mine, starts, of_ours, sizes, mode="clip")


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(2, 3)], [(-1, 0)]], ids=str)
def test_convolution(padding):
    x = np.array([[[0, 1, 0, 2, 3]]], F32)
    kernel = np.array([[[0, 2, 1]]], F32)
    options = {"window_strides": (1,), "padding": padding}

    @minijax.jit
    def all_kinds():
        inputs = (x, ours.BCOO.fromdense(x, nse=3), ours.BCOO.fromdense(x, nse=5))
        kernels = (kernel, ours.BCOO.fromdense(kernel, n_batch=2, nse=2))
        pairs = [(lhs, rhs) for lhs in inputs for rhs in kernels]
        return [ours.bcoo_conv_general_dilated(*pair, **options).todense() for pair in pairs]

    exact = jax.lax.conv_general_dilated(x, kernel, **options)
    for found in all_kinds():
        np.testing.assert_allclose(found, exact)
    if padding == "SAME":
        same(
            ours.bcoo_conv_general_dilated(ours.BCOO.fromdense(x), kernel, **options),
            theirs.bcoo_conv_general_dilated(theirs.BCOO.fromdense(x), kernel, **options),
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window_strides": (2,)}, "window_strides"),
        ({"lhs_dilation": (2,)}, "lhs_dilation"),
        ({"rhs_dilation": (2,)}, "rhs_dilation"),
        ({"dimension_numbers": ("NCH", "IOH", "NCH")}, "dimension_numbers"),
    ],
    ids=str,
)
def test_convolutions_that_are_not_there(options, message):
    x = ours.BCOO.fromdense(np.ones((1, 1, 4), F32))
    options = {"window_strides": (1,), "padding": "SAME", **options}
    with pytest.raises(NotImplementedError, match=message):
        ours.bcoo_conv_general_dilated(x, x, **options)


def test_zeros_are_eliminated():
    indices = np.array([[0], [2], [0], [1]], np.int32)
    args = (np.array([1, 0, 2, 0], F32), indices)
    mine, other = (lib.BCOO(args, shape=(3,)) for lib in (ours, theirs))
    for options in ({}, {"nse": 3}):
        same(
            bcoo.bcoo_eliminate_zeros(mine, **options),
            their_bcoo.bcoo_eliminate_zeros(other, **options),
        )
    with_zero = np.array([0, 1, 0, 2], F32)
    args = (with_zero, np.arange(4, dtype=np.int32), np.array([0, 2, 4], np.int32))
    mine, other = (lib.BCSR(args, shape=(2, 4)) for lib in (ours, theirs))
    same(bcsr.bcsr_eliminate_zeros(mine), their_bcsr.bcsr_eliminate_zeros(other))


def test_names_of_modules():
    for mine, other in ((bcoo, their_bcoo), (bcsr, their_bcsr), (transform, their_transform)):
        names = [
            name for name, value in vars(other).items()
            if getattr(value, "__module__", "") == other.__name__ and not name.startswith("_")
        ]  # fmt: skip
        lacking = {name for name in names if not hasattr(mine, name)}
        assert lacking <= {"Buffer", "SparseTrace", "eval_sparse", "sparsify_fun", "sparsify_raw",
            "sparsify_subtrace", "impl", "bcsr_impl"}  # fmt: skip
    assert bcoo.BCOOProperties._fields == their_bcoo.BCOOProperties._fields
    assert bcsr.BCSRProperties._fields == their_bcsr.BCSRProperties._fields


def test_todense_is_linear():
    x, t = np.arange(3, dtype=F32), np.ones(3, F32)
    for transformed in (
        minijax.jit(ours.todense)(x),
        minijax.vmap(ours.todense)(x),
        minijax.grad(lambda x: mnp.sum(x * ours.todense(x)))(x) / 2,
        minijax.jvp(ours.todense, (t,), (x,))[1],
    ):
        assert_close(transformed, x, 0, weak_types=False)
