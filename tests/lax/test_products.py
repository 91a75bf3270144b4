"""`dot_general`, ragged and scaled products, and their precision, beside JAX."""

import functools
import itertools
import re

import jax
import jax.numpy as jnp
import jax.scipy.fft
import jax.scipy.special
import jax.scipy.stats
import numpy as np
import pytest
from libraries import assert_all_same_results, assert_close

import glassjax
import glassjax.numpy
from glassjax import lax, nn

RNG = np.random.default_rng(0)


def array(*shape):
    return RNG.normal(size=shape).astype(np.float32)


# Operands, sizes of groups, axes that meet and batch axes, the ragged axis, the axis of groups.
PRODUCTS = {
    "rows": (array(5, 3), array(2, 3, 4), [2, 2], (((1,), (1,)), ((), ())), 0, [0]),
    "rows of a batch": (
        *(array(2, 5, 3), array(2, 2, 3, 4), [[2, 2], [1, 4]]),
        *((((2,), (2,)), ((0,), (1,))), 1, [0]),
    ),
    "one division of a batch": (
        *(array(2, 5, 3), array(2, 2, 3, 4), [2, 2]),
        *((((2,), (2,)), ((0,), (1,))), 1, [0]),
    ),
    "two axes of rows": (
        *(array(4, 5, 3), array(2, 3, 6), [[2, 2]] * 4),
        *((((2,), (1,)), ((), ())), 1, [0]),
    ),
    "contracting": (array(5, 3), array(5, 4), [2, 2], (((0,), (0,)), ((), ())), 0, []),
    "contracting in a batch": (
        *(array(2, 5, 3), array(2, 5, 4), [[2, 2], [1, 4]]),
        *((((1,), (1,)), ((0,), (0,))), 1, []),
    ),
    "two contracting": (
        *(array(2, 5, 3), array(4, 5, 2), [[2, 2], [1, 4]]),
        *((((0, 1), (2, 1)), ((), ())), 1, []),
    ),
    "batch": (array(3, 5, 2), array(3, 5, 4), [1, 1], (((1,), (1,)), ((0,), (0,))), 0, []),
}


def product(lib, lhs, rhs, sizes, numbers, ragged, groups):
    axes = lib.lax.RaggedDotDimensionNumbers(numbers, [ragged], groups)
    return lib.lax.ragged_dot_general(lhs, rhs, np.array(sizes, np.int32), axes)


def test_products_of_groups():
    programs = {
        name: lambda n, lib, args=args: product(lib, *args) for name, args in PRODUCTS.items()
    }
    assert_all_same_results(programs, 1e-5, 1e-5)


def test_derivatives_of_products_of_groups():
    lhs, rhs, *how = PRODUCTS["rows"]
    grads = lambda n, lib: lib.grad(  # noqa: E731
        lambda x, y: (product(lib, x, y, *how) ** 2).sum(), (0, 1)
    )(lhs, rhs)
    assert_all_same_results([grads], 1e-4, 1e-4)


@pytest.mark.parametrize(
    "change",
    [{"ragged": 2}, {"groups": []}, {"sizes": [1.0, 2.0]}, {"sizes": [1, 2, 2]}, {"groups": [3]}],
    ids=str,
)
def test_products_that_do_not_fit(change):
    lhs, rhs, sizes, numbers, ragged, groups = PRODUCTS["rows"]
    how = {"sizes": sizes, "ragged": ragged, "groups": groups} | change
    axes = lax.RaggedDotDimensionNumbers(numbers, [how["ragged"]], how["groups"])
    with pytest.raises(TypeError, match="ragged_dot_general"):
        lax.ragged_dot_general(lhs, rhs, np.array(how["sizes"]), axes)


# What sums of each dtype may be taken in: the libraries accept the same.
ELEMENT_TYPES = ["bool", "int8", "int32", "uint8", "bfloat16", "float32", "complex64"]


SUMS_OF_PRODUCTS = {
    "matmul": lambda lib, dtype, **how: lib.numpy.matmul(
        lib.numpy.ones((2, 2), dtype), lib.numpy.ones((2, 2), dtype), **how
    ),
    "conv": lambda lib, dtype, **how: lib.lax.conv_general_dilated(
        lib.numpy.ones((1, 2, 2), dtype), lib.numpy.ones((2, 2, 1), dtype), (1,), "VALID", **how
    ),
}


@pytest.mark.newest_jax
def test_preferred_element_types_are_refused_where_jax_refuses_them():
    wrong = []
    for name, dtype, preferred in itertools.product(SUMS_OF_PRODUCTS, ELEMENT_TYPES, ELEMENT_TYPES):
        program = functools.partial(
            SUMS_OF_PRODUCTS[name], dtype=dtype, preferred_element_type=preferred
        )
        theirs, ours = (dtype_or_error(lib, program) for lib in (jax, glassjax))
        if isinstance(theirs, TypeError):
            said = f"preferred_element_type must .*found {preferred}"
            is_right = isinstance(ours, TypeError) and re.search(said, str(ours))
        else:
            is_right = ours == theirs
        if not is_right:
            wrong.append(f"{name} of {dtype} in {preferred}: {ours!r}, JAX {theirs!r}")
    assert not wrong, "\n".join(wrong)


def dtype_or_error(lib, program):
    try:
        return lib.eval_shape(lambda: program(lib)).dtype
    except TypeError as error:
        return error


def assert_same_of_jit(function, rtol, atol=None):
    """What a function of a library gives, in one program, is the same for both."""
    assert_close(*(lib.jit(lambda lib=lib: function(lib))() for lib in (glassjax, jax)), rtol, atol)


def test_a_product_of_another_dtype():
    dtypes = [("int8", "int32"), ("float16", "float32"), ("int8", "float16")]

    def products(lib):
        of = [(np.array([100, 3], dtype), out_dtype) for dtype, out_dtype in dtypes]
        return [lib.lax.mul(x, x, out_dtype=out_dtype) for x, out_dtype in of]

    assert_same_of_jit(products, 1e-3)


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


SIZES = [[2, 4, 0], [1, 2, 1], [0, 3, 9], [6, 0, 0]]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
def test_products_of_groups_of_rows(dtype):
    rows = (4 * RNG.standard_normal((6, 2))).astype(dtype)
    matrices = (4 * RNG.standard_normal((3, 2, 4))).astype(dtype)

    def program(jnp, lib, sizes):
        def f(x, y=matrices):
            return lib.lax.ragged_dot(x, y, np.array(sizes))

        outs = [f(rows), lib.lax.ragged_dot(rows, matrices, np.array(sizes, np.uint8))]
        if dtype.startswith("float"):
            outs += lib.grad(lambda x, y: jnp.sum(f(x, y) ** 2), (0, 1))(rows, matrices)
            outs.append(lib.lax.ragged_dot(rows, matrices, np.array(sizes), "highest", "float32"))
        both = np.stack([rows, rows + 1])  # which JAX does not map over
        return [*outs, lib.vmap(f)(both) if lib is glassjax else jnp.stack([*map(f, both)])]

    programs = {str(sizes): functools.partial(program, sizes=sizes) for sizes in SIZES}
    assert_all_same_results(programs, 1e-5, 1e-5)


def test_groups_that_do_not_fit():
    x, y = np.ones((6, 2)), np.ones((2, 2, 4))
    for args in [
        (x, y, np.array([2.0, 4.0])),
        (x, y, np.array([2, 4, 1])),
        (x[0], y, np.array([2, 4])),
        (x, y[0], np.array([2, 4])),
        (x, y[:, :1], np.array([2, 4])),
    ]:
        for lib in (glassjax, jax):
            with pytest.raises(TypeError):
                pytest.fail(f"{args}: {lib.__name__} gives {lib.lax.ragged_dot(*args)}")
