"""Matrices of each dtype, and comparisons of results computed from them."""

import jax
import numpy as np
from libraries import assert_same

F32, F64, C64, C128, I32 = map(
    np.dtype, (np.float32, np.float64, np.complex64, np.complex128, np.int32)
)
TOLERANCE = {F32: 2e-4, C64: 2e-4, F64: 1e-10, C128: 1e-10}


def draw(shape, dtype=F64, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape)
    if dtype.kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return np.asarray(x).astype(dtype)


def positive(shape, dtype=F64):
    x = draw(shape, dtype)
    return x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1], dtype=dtype)


def leaves(tree):
    return jax.tree.leaves(tree)


def assert_same_of_each(ours, theirs, tolerance):
    """`assert_same` of what stands in each place of two dicts; all that differ are listed."""
    wrong = []
    for name, expected in theirs.items():
        try:
            assert_same(leaves(ours[name]), leaves(expected), tolerance)
        except AssertionError as error:
            wrong.append(f"{name}: {error}")
    assert not wrong, "\n".join(wrong)
