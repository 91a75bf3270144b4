"""Newer functions of `lax`, `numpy` and `nn`, beside JAX's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax as jlax
from libraries import assert_close

import minijax
import minijax.numpy as mnp
from minijax import lax, nn

BITS = ["int8", "uint8", "int16", "uint16", "int32", "uint32"]


@pytest.mark.parametrize("dtype", [*BITS, "int64", "uint64"])
def test_mulhi(dtype):
    info = np.iinfo(dtype)
    x, y = np.random.default_rng(0).integers(info.min, info.max, (2, 50), dtype, endpoint=True)
    x[:4], y[:4] = [info.min, info.max, info.min, 0], [info.min, info.max, info.max, info.min]
    with minijax.enable_x64(), jax.enable_x64(True):
        assert_close(lax.mulhi(x, y), jlax.mulhi(x, y), 0)
    exact = [int(a) * int(b) >> info.bits for a, b in zip(x, y, strict=True)]
    with minijax.enable_x64():
        assert lax.mulhi(x, y).tolist() == exact


def test_mulhi_refuses_floats():
    with pytest.raises(TypeError, match="mulhi"):
        lax.mulhi(1.0, 2.0)


@pytest.mark.parametrize("name", ["log2", "one_minus_square"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_unary_functions(name, dtype):
    x = np.array([0.5, 2, 3.25, 1], dtype)
    ours, theirs = getattr(lax, name), getattr(jlax, name)
    assert_close(ours(x), theirs(x), 1e-6, 1e-7)
    tangents = [f(x, np.ones_like(x)) for f in (_jvp(minijax, ours), _jvp(jax, theirs))]
    assert_close(*tangents, 1e-6, 1e-7)


def _jvp(library, function):
    return lambda x, t: library.jvp(function, (x,), (t,))[1]


ACCURACIES = ["AccuracyMode.HIGHEST", "AccuracyMode.DEFAULT", "Tolerance(rtol=1e-3)"]
FUNCTIONS = [
    "cbrt",
    "cos",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "logistic",
    "rsqrt",
    "sin",
    "sqrt",
    "tan",
    "tanh",
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name):
    x = np.array([0.5, 0.75], "float32")
    expected = getattr(jlax, name)(x)
    for text in ACCURACIES:
        accuracy = eval(f"lax.{text}")
        assert_close(getattr(lax, name)(x, accuracy=accuracy), expected, 1e-6)
        assert_close(
            minijax.jit(lambda x, a=accuracy: getattr(lax, name)(x, accuracy=a))(x), expected, 1e-6
        )
    with pytest.raises(NotImplementedError, match="accuracy must be"):
        getattr(lax, name)(x, accuracy=3)
    with pytest.raises(ValueError, match="not negative"):
        lax.Tolerance(-1.0)


@pytest.mark.parametrize("dtypes", [("int8", "int32"), ("float16", "float32"), ("int8", "float16")])
def test_a_product_of_another_dtype(dtypes):
    x = np.array([100, 3], dtypes[0])
    assert_close(lax.mul(x, x, out_dtype=dtypes[1]), jlax.mul(x, x, out_dtype=dtypes[1]), 1e-3)


@pytest.mark.parametrize("count", [0, 1, 3, 12])
@pytest.mark.parametrize("unroll", [None, 2])
def test_polynomials(count, unroll):
    x = np.array([[0.5, -1.5]], "float32")
    numbers = [float(i) for i in range(count)]
    arrays = [np.full((2, 1), i, "float32") for i in range(count)]
    for coeffs in (numbers, arrays):
        ours = lax.polynomial(x, coeffs, unroll=unroll)
        assert_close(ours, jlax.polynomial(x, coeffs, unroll=unroll), 1e-5)
    grads = [lib.grad(lambda x, f=f: f(x, numbers)[0, 0])(x) for lib, f in _polynomials()]
    assert_close(*grads, 1e-5)


def _polynomials():
    return (minijax, lax.polynomial), (jax, jlax.polynomial)


def test_staging():
    assert_close(lax.stage(2.0), jlax.stage(2.0))
    for tree in (None, {}, [1.0]):
        with pytest.raises(TypeError):
            jlax.stage(tree)
        with pytest.raises(TypeError, match="stage"):
            lax.stage(tree)
    assert lax.dce_sink(1.0) is None
    assert minijax.jit(lambda x: (lax.dce_sink(x * 2), lax.stage(x))[1])(1.0) == 1


TOP_K = [
    (np.array([3, 1, 2, 3], "int32"), 3, {}),
    (np.array([3, 1, 2, 1], "uint8"), 3, {}),
    (np.array([np.nan, 1, 2], "float32"), 2, {}),
    (np.array([[3, 1, 2], [4, 6, 5]], "float32"), 1, {"axis": 0}),
    (np.array([1, 1, 0, -128], "int8"), 3, {}),
    (np.zeros((2, 0), "float32"), 0, {}),
]


@pytest.mark.parametrize("mode", ["largest", "smallest"])
@pytest.mark.parametrize(("x", "k", "options"), TOP_K, ids=lambda x: str(x))
def test_top_k(x, k, options, mode):
    ours, theirs = (np_.top_k(x, k, mode=mode, **options) for np_ in (mnp, jnp))
    assert_close(ours, theirs, 0)


def test_top_k_refuses():
    for kwargs in ({"mode": "x"}, {"axis": 3}):
        with pytest.raises(ValueError, match=r"top_k|axis"):
            mnp.top_k(np.ones(3), 2, **kwargs)
    with pytest.raises(ValueError, match="k must be"):
        mnp.top_k(np.ones(3), 4, mode="smallest")


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"axis": 1, "keepdims": True},
        {"initial": 2},
        {"initial": (5, 0), "where": np.array([True, False])},
    ],
)
def test_minmax(kwargs):
    x = np.array([[3, 1], [-2, 7]])
    assert_close(mnp.minmax(x, **kwargs), jnp.minmax(x, **kwargs), 0)


def test_scaled_products():
    rng = np.random.default_rng(0)
    lhs, rhs = (rng.normal(size=(2, n, 8)).astype("float32") for n in (3, 5))
    scales = [
        np.exp2(rng.integers(-2, 3, shape)).astype("float32") for shape in ((2, 3, 4), (2, 5, 2))
    ]
    exact = np.einsum(
        "bmk,bnk->bmn", lhs * np.repeat(scales[0], 2, -1), rhs * np.repeat(scales[1], 4, -1)
    )
    assert_close(nn.scaled_matmul(lhs, rhs, *scales), jnp.asarray(exact), 1e-5, 1e-5)
    numbers = (((2,), (2,)), ((0,), (0,)))
    dot = lax.scaled_dot(
        lhs, rhs, lhs_scale=scales[0], rhs_scale=scales[1], dimension_numbers=numbers,
        preferred_element_type="float32",
    )  # fmt: skip
    assert_close(dot, jnp.asarray(exact), 1e-5, 1e-5)
    with pytest.raises(ValueError, match="multiple"):
        lax.scaled_dot(lhs, rhs, lhs_scale=np.ones((2, 3, 3)), dimension_numbers=numbers)
    with pytest.raises(ValueError, match="expected shapes"):
        nn.scaled_matmul(lhs, rhs, scales[1], scales[1])


@pytest.mark.parametrize("dimensions", [None, (1, 0), (0, 1)])
def test_reshape_of_permuted_axes(dimensions):
    x = np.arange(6.0).reshape(2, 3)
    assert_close(lax.reshape(x, (6,), dimensions), jlax.reshape(x, (6,), dimensions), 0)
