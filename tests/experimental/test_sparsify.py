"""`sparsify` and the functions that its rules use, beside JAX."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import sparse as theirs
from jax.experimental.sparse import bcoo as their_bcoo
from jax.experimental.sparse import bcsr as their_bcsr
from jax.experimental.sparse import transform as their_transform
from libraries import assert_close, glassjax_of_constants, jax_of_constants, of_constants
from tables import for_each

import glassjax
import glassjax.numpy as gnp
from glassjax.experimental import sparse as ours
from glassjax.experimental.sparse import bcoo, bcsr, transform

F32 = np.float32
ARRAY = np.diag(np.arange(1, 4, dtype=F32), 1)[:3]  # 3 rows, 4 columns, with a zero row and column
ARRAY[2, 0] = -2


def matrices():
    args = ARRAY[np.nonzero(ARRAY)], np.argwhere(ARRAY).astype(np.int32)
    options = {"shape": ARRAY.shape, "indices_sorted": True, "unique_indices": True}
    return ours.BCOO(args, **options), theirs.BCOO(args, **options)


def same(mine, other):
    """The values agree, and for sparse arrays class, layout and the number of elements.

    Each is a result and that as a dense array.
    """
    (mine, values), (other, expected) = mine, other
    assert type(mine).__name__.replace("Array", "ArrayImpl") == type(other).__name__
    for name in ("shape", "dtype", "n_batch", "n_dense", "nse"):
        assert getattr(mine, name, 0) == getattr(other, name, 0), name
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)


def with_dense(out):
    return out, out.todense() if hasattr(out, "todense") else out


def in_one_program(lib, functions, *args):
    """What each of the functions gives, and that as a dense array; they are compiled at once."""

    @of_constants(lib).jit
    def all_of(*args):
        return {name: with_dense(f(*args)) for name, f in functions.items()}

    return all_of(*args)


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


@pytest.fixture(scope="module")
def results_of_programs():
    mine, other = matrices()
    sparsify = {False: ours.sparsify, True: functools.partial(ours.sparsify, use_tracer=True)}
    found = [
        in_one_program(
            glassjax, {n: of(functools.partial(f, np=gnp)) for n, f in PROGRAMS.items()}, mine
        )
        for of in sparsify.values()
    ]
    functions = {n: theirs.sparsify(functools.partial(f, np=jnp)) for n, f in PROGRAMS.items()}
    return found, in_one_program(jax, functions, other)


@for_each("name", PROGRAMS)
def test_programs(name, results_of_programs):
    for found in results_of_programs[0]:
        same(found[name], results_of_programs[1][name])


def test_layouts_stay():
    array = np.stack([ARRAY, 2 * ARRAY])
    functions = lambda m: m[0], lambda m: m[:, None], lambda m: 2 * m
    layouts = {"n_batch": 1, "nse": 4}, {"n_batch": 1, "n_dense": 1, "nse": 3}

    def all_of(lib, array):
        mats = [lib.BCOO.fromdense(array, **layout) for layout in layouts]
        return [with_dense(lib.sparsify(f)(mat)) for mat in mats for f in functions]

    mine = glassjax_of_constants.jit(lambda array: all_of(ours, array))(array)
    other = jax_of_constants.jit(lambda array: all_of(theirs, array))(array)
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


@for_each("name", DENSE)
def test_dense_results(name):
    mine, other = matrices()
    f = DENSE[name]
    with pytest.raises(NotImplementedError, match="todense"):
        ours.sparsify(lambda m: f(m, gnp))(mine)
    with pytest.raises(NotImplementedError):
        theirs.sparsify(lambda m: f(m, jnp))(other)
    dense = glassjax.jit(ours.sparsify(lambda m: f(ours.todense(m), gnp)))(mine)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(dense, f(ARRAY, np), rtol=1e-5)


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


def test_programs_inside():
    mine, other = matrices()
    v = np.ones(4, F32)

    def results(lib, sparse, m):
        def of_all(m, v):
            functions = {n: functools.partial(f, lib) for n, f in OF_PROGRAMS.items()}
            found = {n: sparse.sparsify(f)(m, v) for n, f in functions.items()}
            found["while"], count = found["while"]
            return {n: with_dense(out) for n, out in found.items()}, count

        return lib.jit(of_all)(m, v)

    (found, count), (expected, of_jax) = results(glassjax, ours, mine), results(jax, theirs, other)
    assert int(count) == int(of_jax)
    for name in OF_PROGRAMS:
        same(found[name], expected[name])


def test_scan_over_a_dense_array():
    mine, _ = matrices()
    vectors = np.arange(8, dtype=F32).reshape(2, 4)

    def f(m, vectors):
        return glassjax.lax.scan(lambda m, v: (2 * m, m @ v), m, vectors)

    carry, ys = glassjax.jit(ours.sparsify(f))(mine, vectors)
    np.testing.assert_array_equal(carry.todense(), 4 * ARRAY)
    np.testing.assert_allclose(ys, [ARRAY @ vectors[0], 2 * ARRAY @ vectors[1]])
    with pytest.raises(NotImplementedError, match="scan"):
        ours.sparsify(lambda m: glassjax.lax.scan(lambda c, x: (c, x), 0.0, m))(mine)


def test_rows():
    mine, other = (lib.BCSR.from_bcoo(m) for lib, m in zip((ours, theirs), matrices(), strict=True))
    functions = {"@": lambda m: m @ np.ones(4, F32), "-": lambda m: -m, "abs": lambda m: abs(m)}
    found, expected = (
        in_one_program(lib, {n: sparse.sparsify(f) for n, f in functions.items()}, rows)
        for lib, sparse, rows in ((glassjax, ours, mine), (jax, theirs, other))
    )
    for name in functions:
        same(found[name], expected[name])
    with pytest.raises(NotImplementedError, match="to_bcoo"):
        ours.sparsify(lambda m: m.T)(mine)


def test_transformations():
    mine, _ = matrices()
    v = np.arange(4, dtype=F32)
    f = ours.sparsify(lambda m, v: gnp.sum(gnp.sin(m) @ v))
    expected = (np.sin(ARRAY) @ v).sum()
    np.testing.assert_allclose(f(mine, v), expected, rtol=1e-5)
    found, (by_m, by_v) = glassjax.jit(lambda m, v: (f(m, v), ours.grad(f, (0, 1))(m, v)))(mine, v)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
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


def test_gather():
    mine, other = matrices()

    def functions(lib, sparse):
        of = {}
        for starts, numbers, sizes in GATHERS:
            numbers = lib.lax.GatherDimensionNumbers(*numbers)
            of[str(starts)] = functools.partial(
                sparse.bcoo_gather,
                start_indices=np.array(starts),
                dimension_numbers=numbers,
                slice_sizes=sizes,
            )
        return of

    found = in_one_program(glassjax, functions(glassjax, ours), mine)
    expected = in_one_program(jax, functions(jax, theirs), other)
    for starts, numbers, sizes in GATHERS:
        starts, numbers = np.array(starts), jax.lax.GatherDimensionNumbers(*numbers)
        exact = jax.lax.gather(ARRAY, starts, numbers, sizes)
        name = str(starts.tolist())
        np.testing.assert_array_equal(found[name][1], exact)
        same(found[name], expected[name])
        numbers = glassjax.lax.GatherDimensionNumbers(*numbers[:3])
        with pytest.raises(NotImplementedError, match="mode"):
            ours.bcoo_gather(mine, starts, numbers, sizes, mode="clip")


def test_convolution():
    x = np.array([[[0, 1, 0, 2, 3]]], F32)
    kernel = np.array([[[0, 2, 1]]], F32)
    paddings = ["SAME", "VALID", [(2, 3)], [(-1, 0)]]

    @glassjax_of_constants.jit
    def all_kinds():
        inputs = (x, ours.BCOO.fromdense(x, nse=3), ours.BCOO.fromdense(x, nse=5))
        kernels = (kernel, ours.BCOO.fromdense(kernel, n_batch=2, nse=2))
        pairs = [(lhs, rhs) for lhs in inputs for rhs in kernels]
        return [
            [
                ours.bcoo_conv_general_dilated(*pair, window_strides=(1,), padding=p).todense()
                for pair in pairs
            ]
            for p in paddings
        ]

    for padding, kinds in zip(paddings, all_kinds(), strict=True):
        exact = jax.lax.conv_general_dilated(x, kernel, (1,), padding)
        for found in kinds:
            np.testing.assert_allclose(found, exact, err_msg=str(padding))

    def once(lib):
        options = {"window_strides": (1,), "padding": "SAME"}
        mat = lib.BCOO.fromdense(x, nse=3)
        return with_dense(lib.bcoo_conv_general_dilated(mat, kernel, **options))

    same(glassjax.jit(lambda: once(ours))(), jax.jit(lambda: once(theirs))())


@for_each(
    ("options", "message"),
    [
        ({"window_strides": (2,)}, "window_strides"),
        ({"lhs_dilation": (2,)}, "lhs_dilation"),
        ({"rhs_dilation": (2,)}, "rhs_dilation"),
        ({"dimension_numbers": ("NCH", "IOH", "NCH")}, "dimension_numbers"),
    ],
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
    found, expected = (
        lib.jit(lambda m, f=f: with_dense(f(m, nse=3)))(m)
        for lib, f, m in (
            (glassjax, bcoo.bcoo_eliminate_zeros, mine),
            (jax, their_bcoo.bcoo_eliminate_zeros, other),
        )
    )
    same(found, expected)
    eager = bcoo.bcoo_eliminate_zeros(mine)
    assert eager.nse == 1
    np.testing.assert_array_equal(eager.todense(), expected[1])
    with_zero = np.array([0, 1, 0, 2], F32)
    args = (with_zero, np.arange(4, dtype=np.int32), np.array([0, 2, 4], np.int32))
    mine, other = (lib.BCSR(args, shape=(2, 4)) for lib in (ours, theirs))
    same(
        with_dense(bcsr.bcsr_eliminate_zeros(mine)),
        with_dense(their_bcsr.bcsr_eliminate_zeros(other)),
    )


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
        glassjax.jit(ours.todense)(x),
        glassjax.vmap(ours.todense)(x),
        glassjax.grad(lambda x: gnp.sum(x * ours.todense(x)))(x) / 2,
        glassjax.jvp(ours.todense, (t,), (x,))[1],
    ):
        assert_close(transformed, x, 0, weak_types=False)
