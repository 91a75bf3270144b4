"""Sorting, partitioning and searching, beside JAX.

Values, dtypes, weak types and errors, over shapes and dtypes, under the transformations too.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from libraries import (
    assert_all_same_results,
    glassjax_of_constants,
    jax_of_constants,
    of_size,
    refused,
)
from shares import one_in
from transformations import along_an_axis, assert_alike_all, derivatives, in_one_program, types

import glassjax
import glassjax.numpy as gnp

x = np.array([[2.0, -0.0, np.nan, 0.0, -1.0], [1.5, 1.5, -3.0, np.inf, 1.5]], np.float32)
i = np.array([[3, -1, 7, 3, 0], [5, 5, 2, -9, 5]])
z = np.array([1 + 1j, 1 - 1j, complex(np.nan, 0), -2 + 5j, complex(1, np.nan), -2 + 5j])
b = np.array([True, False, True])
u = np.array([200, 3, 3, 0], np.uint8)
nothing = np.zeros((2, 0), np.float32)
ends = np.array([-1.0, 0.5, 0.5, 2.0], np.float32)

# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "sort": [
        lambda n, lib: n.sort(x),
        lambda n, lib: n.sort(x, 0),
        lambda n, lib: n.sort(x, axis=None),
        lambda n, lib: n.sort(x, descending=True),
        lambda n, lib: n.sort(i, stable=False, descending=True),
        lambda n, lib: n.sort(z),
        lambda n, lib: n.sort(b),
        lambda n, lib: n.sort(u),
        lambda n, lib: n.sort(nothing),
        lambda n, lib: n.sort(nothing, axis=0),
        lambda n, lib: n.sort(3.0, axis=None),
        refused(lambda n, lib: n.sort(3.0)),
        refused(lambda n, lib: n.sort(x, axis=2)),
        refused(lambda n, lib: n.sort(x, axis=(0, 1))),
        refused(lambda n, lib: n.sort(x, kind="quicksort")),
        refused(lambda n, lib: n.sort(x, order="field")),
        refused(lambda n, lib: n.sort([2, 1])),
        lambda n, lib: n.sort_complex(z),
        lambda n, lib: n.sort_complex(i),
        lambda n, lib: n.sort_complex(u),
        lambda n, lib: n.sort_complex(x.astype(np.float16)),
        refused(lambda n, lib: n.sort_complex(2.0)),
    ],
    "argsort": [
        lambda n, lib: n.argsort(x),
        lambda n, lib: n.argsort(x, 0),
        lambda n, lib: n.argsort(x, axis=None),
        lambda n, lib: n.argsort(i, descending=True),
        lambda n, lib: n.argsort(x, descending=True),
        lambda n, lib: n.argsort(x, axis=0, stable=True, descending=True),
        lambda n, lib: n.argsort(z),
        lambda n, lib: n.argsort(b),
        lambda n, lib: n.argsort(nothing),
        lambda n, lib: n.argsort(3.0, axis=None),
        refused(lambda n, lib: n.argsort(3.0)),
        refused(lambda n, lib: n.argsort(x, axis=2)),
        refused(lambda n, lib: n.argsort(x, kind="quicksort")),
        refused(lambda n, lib: n.argsort(x, order="field")),
        refused(lambda n, lib: n.argsort([2, 1])),
        lambda n, lib: n.lexsort((i[0], i[1])),
        lambda n, lib: n.lexsort(i),
        lambda n, lib: n.lexsort((x, i), axis=0),
        lambda n, lib: n.lexsort([x[0], i[1], x[1]]),
        lambda n, lib: n.lexsort((z,)),
        lambda n, lib: n.lexsort((1.0, 2.0)),
        refused(lambda n, lib: n.lexsort(())),
        refused(lambda n, lib: n.lexsort((i[0], b))),
        refused(lambda n, lib: n.lexsort(i, axis=2)),
    ],
    "partition": [
        lambda n, lib: n.partition(i, 2)[:, 2],
        lambda n, lib: n.sort(n.partition(i, 2)[:, :2]),
        lambda n, lib: n.sort(n.partition(i, 2)[:, 3:]),
        lambda n, lib: n.partition(x, -1)[:, -1],
        lambda n, lib: n.partition(i, 1, axis=0),
        lambda n, lib: n.partition(u, 0)[0],
        lambda n, lib: n.argpartition(np.array([4, 1, 8, 2]), 1)[1],
        lambda n, lib: n.argpartition(i, -2, axis=0),
        lambda n, lib: n.argpartition(u, 3)[3],
        refused(lambda n, lib: n.partition(i, 5)),
        refused(lambda n, lib: n.partition(i, 1, axis=2)),
        refused(lambda n, lib: n.argpartition(i, -6)),
        refused(lambda n, lib: n.argpartition(i, 1, axis=-3)),
        refused(lambda n, lib: n.partition(z, 1)),
        refused(lambda n, lib: n.argpartition(z, 1)),
        refused(lambda n, lib: n.partition([2, 1], 1)),
    ],
    "searchsorted": [
        *(
            lambda n, lib, side=side, method=method: n.searchsorted(
                ends, x, side=side, method=method
            )
            for side in ("left", "right")
            for method in ("scan", "scan_unrolled", "sort", "compare_all")
        ),
        lambda n, lib: n.searchsorted(ends, 0.5),
        lambda n, lib: n.searchsorted(ends, i, "right"),
        lambda n, lib: n.searchsorted(np.sort(i[0]), 2.5),
        lambda n, lib: n.searchsorted(ends[::-1], x, sorter=np.array([3, 2, 1, 0])),
        lambda n, lib: n.searchsorted(np.sort(z), z),
        lambda n, lib: n.searchsorted(np.array([1.0, np.nan, np.nan]), np.nan, "right"),
        lambda n, lib: n.searchsorted(ends, nothing),
        lambda n, lib: n.searchsorted(nothing[0], x),
        lambda n, lib: n.searchsorted(nothing[0], 1.0, "right"),
        lambda n, lib: n.searchsorted(ends[:1], x),
        lambda n, lib: n.searchsorted(np.array([False, True]), b),
        refused(lambda n, lib: n.searchsorted(x, 1.0)),
        refused(lambda n, lib: n.searchsorted(2.0, 1.0)),
        refused(lambda n, lib: n.searchsorted(ends, 1.0, side="middle")),
        refused(lambda n, lib: n.searchsorted(ends, 1.0, method="guess")),
        refused(lambda n, lib: n.searchsorted([1, 2], 1)),
        lambda n, lib: n.asarray(ends).searchsorted(x) if lib is jax else n.searchsorted(ends, x),
    ],
    "digitize": [
        lambda n, lib: n.digitize(x, ends),
        lambda n, lib: n.digitize(x, ends, right=True),
        lambda n, lib: n.digitize(x, ends[::-1]),
        lambda n, lib: n.digitize(x, ends[::-1], right=True),
        lambda n, lib: n.digitize(i, ends),
        lambda n, lib: n.digitize(x, ends, method="sort"),
        lambda n, lib: n.digitize(1, ends),
        lambda n, lib: n.digitize(1, np.array([0, 2**32 - 1], np.uint32)),  # falls as int32
        lambda n, lib: n.digitize(x, nothing[0]),
        lambda n, lib: n.digitize(x, ends[:1]),
        lambda n, lib: n.digitize(nothing, ends),
        refused(lambda n, lib: n.digitize(x, i)),
        refused(lambda n, lib: n.digitize(x, [1, 2])),
    ],
    "bincount": [
        of_size(5, lambda n, size=None: n.bincount(np.array([1, 4, 1]), length=size)),
        of_size(201, lambda n, size=None: n.bincount(u, length=size)),
        of_size(2, lambda n, size=None: n.bincount(b, length=size)),
        of_size(7, lambda n, size=None: n.bincount(np.array([1, 4, 1]), minlength=7, length=size)),
        lambda n, lib: n.bincount(np.array([1, 4, 1]), length=3),
        lambda n, lib: n.bincount(np.array([1, 4, -1]), length=6, minlength=8),
        of_size(
            8, lambda n, size=None: n.bincount(i[0], np.arange(5.0, dtype=np.float32), length=size)
        ),
        of_size(
            2,
            lambda n, size=None: n.bincount(
                np.array([1, 0, 1]), weights=np.array([1, 2, 3]), length=size
            ),
        ),
        of_size(0, lambda n, size=None: n.bincount(np.zeros(0, int), length=size)),
        of_size(2, lambda n, size=None: n.bincount(np.zeros(0, int), minlength=2, length=size)),
        of_size(5, lambda n, size=None: n.bincount(np.array([1, 4, 1]), minlength=-1, length=size)),
        refused(lambda n, lib: n.bincount(ends)),
        refused(lambda n, lib: n.bincount(i)),
        refused(lambda n, lib: n.bincount(i[0], ends)),
        refused(lambda n, lib: n.bincount([1, 2])),
        refused(lambda n, lib: lib.jit(n.bincount)(u)),
        lambda n, lib: lib.jit(lambda v: n.bincount(v, length=5))(u),
        lambda n, lib: lib.vmap(lambda v: n.bincount(v, length=5))(i),
        lambda n, lib: lib.grad(
            lambda v: (n.bincount(np.array([1, 0, 1, 3]), v, length=3) ** 2).sum()
        )(ends),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])


WITH_DERIVATIVES = [
    lambda n, x: n.sort(x),
    lambda n, x: n.sort(x, axis=0),
    lambda n, x: n.sort(x, axis=None, descending=True),
]
OF_REALS = [
    lambda n, x: n.partition(x, 1)[..., 1],
    lambda n, x: n.argpartition(x, 1)[..., 1],
    lambda n, x: n.digitize(x, x[0, :1]),
]
FUNCTIONS = [
    *WITH_DERIVATIVES,
    lambda n, x: n.argsort(x),
    lambda n, x: n.argsort(x, axis=0, descending=True),
    lambda n, x: n.argsort(x, axis=None),
    lambda n, x: n.lexsort(x),
    lambda n, x: n.sort_complex(x),
    lambda n, x: n.searchsorted(n.sort(x[0]), x),
    lambda n, x: n.searchsorted(n.sort(x[0]), x, side="right", method="compare_all"),
    lambda n, x: n.searchsorted(n.sort(x[0]), x, side="right", method="sort"),
]
DTYPES = "bool int8 uint8 uint64 bfloat16 float16 float64 complex64"


@pytest.mark.parametrize("dtype", one_in(3, DTYPES.split()))
def test_of_every_dtype(dtype):
    functions = FUNCTIONS + (OF_REALS if dtype not in ("bool", "complex64") else [])
    values = i.astype(np.int8 if dtype == "uint8" else int).astype(getattr(gnp, dtype).dtype)
    ours = in_one_program(functions, gnp, glassjax_of_constants, values)
    assert_alike_all(ours, in_one_program(functions, jnp, jax_of_constants, values))
    with jax.enable_x64(False), glassjax.enable_x64(False):
        ours = types(functions, gnp, glassjax, values)
        assert ours == types(functions, jnp, jax, values)


@pytest.mark.parametrize("shape", [(2, 1), (1, 3), (2, 3, 2)], ids=str)
def test_of_every_shape(shape):
    functions = [f for f in FUNCTIONS if len(shape) < 3] or WITH_DERIVATIVES
    values = np.cos(np.arange(np.prod(shape), dtype=np.float32)).reshape(shape)
    ours = in_one_program(functions, gnp, glassjax_of_constants, values)
    assert_alike_all(ours, in_one_program(functions, jnp, jax_of_constants, values))


def test_along_an_axis():
    batch = np.stack([x, x[::-1, ::-1]])
    functions = FUNCTIONS + OF_REALS[2:]
    ours = along_an_axis(functions, gnp, glassjax_of_constants, batch)
    assert_alike_all(ours, along_an_axis(functions, jnp, jax_of_constants, batch))


@pytest.mark.parametrize("values", [i.astype(float), i + 1j * i[::-1]], ids=["real", "complex"])
def test_derivatives(values):
    functions = [*WITH_DERIVATIVES, lambda n, x: n.sort_complex(x)]
    ours = derivatives(functions, gnp, glassjax_of_constants, values)
    assert_alike_all(ours, derivatives(functions, jnp, jax_of_constants, values))
