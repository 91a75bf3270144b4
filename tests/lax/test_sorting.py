"""`sort` and `top_k`: values, derivatives and errors, beside JAX."""

import jax
import numpy as np
import pytest
from lax_operands import F32, b, h, i, refusing, u, v, with_lax, x, z
from libraries import assert_all_same_results, assert_close

import glassjax
import glassjax.numpy as gnp

SORTS = [
    lambda lax: lax.sort(x),
    lambda lax: lax.sort(x, dimension=0),
    lambda lax: lax.sort(v),
    lambda lax: lax.sort(i, dimension=-2, is_stable=False),
    lambda lax: lax.sort(z),
    lambda lax: lax.sort(b),
    lambda lax: lax.sort(u[::-1]),
    lambda lax: lax.sort(h, dimension=0),
    lambda lax: lax.sort((i[0], x[0])),
    lambda lax: lax.sort([x[0], i[0]], num_keys=2),
    lambda lax: lax.sort((x[2], i[1], i[0]), num_keys=2),
    lambda lax: lax.sort((x, x * 2, x + 1), dimension=1, num_keys=1),
    lambda lax: lax.sort(np.zeros((0, 2), F32)),
    lambda lax: lax.sort_key_val(x, -x),
    lambda lax: lax.sort_key_val(x, x * 2, dimension=0),
    lambda lax: lax.sort_key_val(i[1], x[0], is_stable=False),
    lambda lax: lax.top_k(x, 2),
    lambda lax: lax.top_k(x, 2, axis=0),
    lambda lax: lax.top_k(v, 8),
    lambda lax: lax.top_k(i, 0),
    lambda lax: lax.top_k(u, 3),
    lambda lax: lax.top_k(h, 1),
    lambda lax: lax.approx_max_k(x, 2),
    lambda lax: lax.approx_max_k(x, 2, reduction_dimension=0, recall_target=0.9),
    lambda lax: lax.approx_min_k(x, 3),
    lambda lax: lax.approx_min_k(x, 1, reduction_dimension=0),
    lambda lax: lax.argmax(x, 0, np.int32),
    lambda lax: lax.argmin(x, 1, np.uint8),
    lambda lax: lax.argmax(v, 0, int),
    lambda lax: lax.argmin(v, 0, np.int32),
    lambda lax: lax.argmax(b, 1, np.int32),
    lambda lax: lax.argmin(i, 0, np.int16),
    lambda lax: lax.argmax(h, 1, np.int32),
]


NO_SORTS = [
    lambda lax: lax.sort(F32(1)),
    lambda lax: lax.sort(x, dimension=2),
    lambda lax: lax.sort(()),
    lambda lax: lax.sort((x, i)),
    lambda lax: lax.sort((x, x), num_keys=3),
    lambda lax: lax.sort((x, x), num_keys=0),
    lambda lax: lax.sort_key_val(x, x[0]),
    lambda lax: lax.top_k(x, 5),
    lambda lax: lax.top_k(x, -1),
    lambda lax: lax.top_k(F32(1), 1),
    lambda lax: lax.top_k(z, 1),
    lambda lax: lax.approx_max_k(x, 5),
    lambda lax: lax.argmax(x, 2, np.int32),
    lambda lax: lax.argmax(x, 0, np.float32),
    lambda lax: lax.argmin(z, 0, np.int32),
    lambda lax: lax.argmin(np.zeros((0, 2), F32), 0, np.int32),
]


@pytest.mark.bits(32)
def test_sorting():
    assert_all_same_results([*with_lax(SORTS), *refusing(NO_SORTS)])


@pytest.mark.bits(32)
def test_sorting_is_transformed():
    y = np.array([[3.0, -1.0, 2.0, -1.5], [0.5, 4.0, -2.5, 0.0]], F32)

    def program(n, lib):
        def f(x):
            second = lib.lax.sort((n.sin(x), x * x), dimension=0)
            return (
                lib.lax.sort(x * x),
                second,
                lib.lax.sort_key_val(x, x * x * x),
                lib.lax.top_k(x * x, 2)[0],
                lib.lax.approx_max_k(x, 1)[0],
            )

        out, tangent = lib.jvp(f, (y,), (y + 1,))
        pull = lambda x: lib.vjp(f, x)[1](lib.tree.map(n.cos, out))  # noqa: E731
        batch = np.stack([y, -y, y * y], 1)
        moved = lib.vmap(lambda x: (f(x), lib.lax.argmax(x, 1, np.int32)), 1)(batch)
        return lib.tree.leaves([out, tangent, lib.jvp(pull, (y,), (y * 2,)), moved])

    assert_all_same_results([program])


def assert_same(function, rtol, atol=None):
    """What a function of a library gives, in one program, is the same for both."""
    assert_close(*(lib.jit(lambda lib=lib: function(lib))() for lib in (glassjax, jax)), rtol, atol)


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
            gnp.top_k(np.ones(3), 2, **kwargs)
    with pytest.raises(ValueError, match="k must be"):
        gnp.top_k(np.ones(3), 4, mode="smallest")
