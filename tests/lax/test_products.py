"""Products and exchanges of groups of unequal sizes; products of quantized blocks."""

import jax
import numpy as np
import pytest
from libraries import assert_all_same_results

import minijax
from minijax import lax, nn

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


def exchange(*args):
    return lax.ragged_all_to_all(*args, axis_name="i")


def test_an_exchange_of_slices():
    """Two examples, each with two slices. XLA has no such exchange for CPUs."""
    sent = np.array([[1, 2, 2], [3, 4, 0]], np.float32)
    output = np.full((2, 4), -1, np.float32)
    offsets, sizes = np.array([[0, 1], [0, 1]]), np.array([[1, 2], [1, 1]])
    places, received = np.array([[0, 0], [1, 2]]), np.array([[1, 1], [2, 1]])
    run = minijax.jit(minijax.vmap(exchange, axis_name="i"))
    out = run(sent, output, offsets, sizes, places, received)
    assert out.tolist() == [[1, 3, -1, -1], [2, 2, 4, -1]]
    weights = np.arange(8.0, dtype=np.float32).reshape(2, 4)
    grad = minijax.grad(
        lambda x: (run(x, output, offsets, sizes, places, received) * weights).sum()
    )
    assert grad(sent).tolist() == [[0, 4, 5], [1, 6, 0]]
    with pytest.raises(TypeError, match="rows of one shape"):
        run(sent, output.astype(int), offsets, sizes, places, received)
    with pytest.raises(TypeError, match="vectors of integers"):
        run(sent, output, offsets, sizes * 1.0, places, received)


@pytest.mark.newest_jax
@pytest.mark.parametrize("mode", ["mxfp8", "mxfp4", "nvfp4"])
def test_products_of_quantized_blocks(mode):
    lhs, rhs, weights = 3 * array(32, 64), 3 * array(64, 32), array(32, 32)
    dtypes = "float32", "bfloat16"

    def run(lib):
        scales = (lib.numpy.array([0.5], "float32"),) if mode == "nvfp4" else ()
        formats = [lib.nn.get_scaled_dot_general_config(mode, *scales)] * 3

        def f(x, y, dtype):
            out = lib.nn.scaled_dot_general(
                *(x, y, (((1,), (0,)), ((), ()))), preferred_element_type=dtype, configs=formats
            )
            return (out.astype("float32") * weights).sum(), out

        graded = lib.value_and_grad(f, (0, 1), has_aux=True)
        return lib.jit(lambda x, y: [graded(x, y, dtype) for dtype in dtypes])(lhs, rhs)

    for dtype, *both in zip(dtypes, run(minijax), run(jax), strict=True):
        ((_, ours), our_grads), ((_, theirs), their_grads) = both
        assert ours.dtype == theirs.dtype
        rtol, atol = (1e-2, 0.5) if dtype == "bfloat16" else (1e-4, 1e-3)
        for a, b in zip((ours, *our_grads), (theirs, *their_grads), strict=True):
            a, b = np.asarray(a, "float32"), np.asarray(b, "float32")
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def test_blocks_that_do_not_fit():
    formats = [nn.get_scaled_dot_general_config("mxfp8")] * 3
    with pytest.raises(ValueError, match="multiple of 32"):
        nn.scaled_dot_general(
            np.ones((2, 16)), np.ones((16, 2)), (((1,), (0,)), ((), ())), configs=formats
        )
    with pytest.raises(ValueError, match="one of nvfp4, mxfp8, mxfp4"):
        nn.get_scaled_dot_general_config("int4")
    with pytest.raises(ValueError, match="None for mxfp4"):
        nn.get_scaled_dot_general_config("mxfp4", 2.0)
