"""Newer functions of `lax`, `numpy` and `nn`, beside JAX's."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax as jlax
from libraries import assert_close

import minijax
import minijax.numpy as mnp
from minijax import lax, nn

BITS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def assert_same(function, rtol, atol=None):
    """What a function of a library gives, in one program, is the same for both."""
    assert_close(*(lib.jit(lambda lib=lib: function(lib))() for lib in (minijax, jax)), rtol, atol)


def test_mulhi():
    rng, operands, exact = np.random.default_rng(0), [], []
    for dtype in BITS:
        info = np.iinfo(dtype)
        x, y = rng.integers(info.min, info.max, (2, 50), dtype, endpoint=True)
        x[:4], y[:4] = [info.min, info.max, info.min, 0], [info.min, info.max, info.max, info.min]
        operands.append((x, y))
        exact.append([int(a) * int(b) >> info.bits for a, b in zip(x, y, strict=True)])
    found = minijax.jit(lambda: [lax.mulhi(x, y) for x, y in operands])()
    types = jax.eval_shape(lambda: [jlax.mulhi(x, y) for x, y in operands])
    for out, of_jax, expected in zip(found, types, exact, strict=True):
        assert (out.dtype, out.shape, out.weak_type) == (of_jax.dtype, of_jax.shape, False)
        assert out.tolist() == expected


def test_mulhi_refuses_floats():
    with pytest.raises(TypeError, match="mulhi"):
        lax.mulhi(1.0, 2.0)


@pytest.mark.parametrize("name", ["log2", "one_minus_square"])
def test_unary_functions(name):
    def values_and_tangents(lib):
        of = [np.array([0.5, 2, 3.25, 1], dtype) for dtype in ("float32", "complex64")]
        return [lib.jvp(getattr(lib.lax, name), (x,), (np.ones_like(x),)) for x in of]

    assert_same(values_and_tangents, 1e-6, 1e-7)


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


def test_accuracy():
    x = np.array([0.5, 0.75], "float32")
    accuracies = [None, *(eval(f"lax.{text}") for text in ACCURACIES)]
    found = minijax.jit(
        lambda x: [[getattr(lax, name)(x, accuracy=a) for a in accuracies] for name in FUNCTIONS]
    )(x)
    for name, (expected, *others) in zip(FUNCTIONS, found, strict=True):
        for other in others:
            np.testing.assert_allclose(other, expected, rtol=1e-6, err_msg=name, strict=True)
        with pytest.raises(NotImplementedError, match="accuracy must be"):
            getattr(lax, name)(x, accuracy=3)
    with pytest.raises(ValueError, match="not negative"):
        lax.Tolerance(-1.0)


def test_a_product_of_another_dtype():
    dtypes = [("int8", "int32"), ("float16", "float32"), ("int8", "float16")]

    def products(lib):
        of = [(np.array([100, 3], dtype), out_dtype) for dtype, out_dtype in dtypes]
        return [lib.lax.mul(x, x, out_dtype=out_dtype) for x, out_dtype in of]

    assert_same(products, 1e-3)


def test_polynomials():
    x = np.array([[0.5, -1.5]], "float32")

    def polynomials(lib):
        out = []
        for count, unroll in itertools.product((0, 1, 3, 12), (None, 2)):
            numbers = [float(i) for i in range(count)]
            arrays = [np.full((2, 1), i, "float32") for i in range(count)]

            def of_numbers(x, numbers=numbers, unroll=unroll):
                return lib.lax.polynomial(x, numbers, unroll=unroll)

            out += [of_numbers(x), lib.lax.polynomial(x, arrays, unroll=unroll)]
            out.append(lib.grad(lambda x, f=of_numbers: f(x)[0, 0])(x))
        return out

    assert_same(polynomials, 1e-5)


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


def test_top_k():
    def largest_and_smallest(lib):
        modes = "largest", "smallest"
        top_k = lib.numpy.top_k
        return [top_k(x, k, mode=mode, **how) for x, k, how in TOP_K for mode in modes]

    assert_same(largest_and_smallest, 0)


def test_top_k_refuses():
    for kwargs in ({"mode": "x"}, {"axis": 3}):
        with pytest.raises(ValueError, match=r"top_k|axis"):
            mnp.top_k(np.ones(3), 2, **kwargs)
    with pytest.raises(ValueError, match="k must be"):
        mnp.top_k(np.ones(3), 4, mode="smallest")


def test_minmax():
    x = np.array([[3, 1], [-2, 7]])
    options = [
        {},
        {"axis": 1, "keepdims": True},
        {"initial": 2},
        {"initial": (5, 0), "where": np.array([True, False])},
    ]
    assert_same(lambda lib: [lib.numpy.minmax(x, **kwargs) for kwargs in options], 0)


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


def test_reshape_of_permuted_axes():
    x = np.arange(6.0).reshape(2, 3)
    assert_same(lambda lib: [lib.lax.reshape(x, (6,), d) for d in (None, (1, 0), (0, 1))], 0)
