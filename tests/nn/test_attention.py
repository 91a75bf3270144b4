"""`dot_product_attention`: values, dtypes and gradients, beside JAX."""

from functools import partial

import jax
import ml_dtypes
import numpy as np
import pytest

import glassjax

BATCH, QUERIES, KEYS, HEADS, KEY_HEADS, SIZE = 2, 5, 6, 4, 2, 8
RNG = np.random.default_rng(0)
QUERY = RNG.normal(size=(BATCH, QUERIES, HEADS, SIZE))
KEY, VALUE = RNG.normal(size=(2, BATCH, KEYS, KEY_HEADS, SIZE))
BIAS = RNG.normal(size=(1, HEADS, QUERIES, KEYS)).astype(np.float32)
LENGTHS = {
    "query_seq_lengths": np.array([3, 5], np.int32),
    "key_value_seq_lengths": np.array([6, 2], np.int32),
}

CASES = {
    "plain": {},
    "masked": {"mask": RNG.random((BATCH, 1, QUERIES, KEYS)) > 0.3, "is_causal": True},
    "masked by heads": {
        "mask": RNG.random((BATCH, HEADS, 1, KEYS)) > 0.3,
        "bias": BIAS,
        "scale": 0.3,
    },
    "of lengths": LENGTHS,
    "in a window": {"local_window_size": (2, 1), "implementation": "xla"},
    "in the same window": {"local_window_size": 1, "return_residual": True},
    "of nothing": {"mask": np.zeros((1, 1, QUERIES, KEYS), bool)},
}


def values_and_gradients(lib, arrays, kwargs):
    def weighted_sum(*arrays):
        out = lib.nn.dot_product_attention(*arrays, **kwargs)
        first = out[0] if isinstance(out, tuple) else out
        return (first.astype("float32") ** 2).sum(), out

    return lib.tree.leaves(lib.grad(weighted_sum, (0, 1, 2), has_aux=True)(*arrays))


def test_attention_is_jaxs():
    """In all cases, of other dtypes, and without a batch."""

    def of(dtype):
        return [x.astype(dtype) for x in (QUERY, KEY, VALUE)]

    cases = {case: (of(np.float32), kwargs) for case, kwargs in CASES.items()}
    for dtype in (np.float64, ml_dtypes.bfloat16):
        cases[np.dtype(dtype).name] = of(dtype), {"bias": BIAS}
    alone = {"bias": BIAS[0], "return_residual": True}
    cases["without a batch"] = [x[0] for x in of(np.float32)], alone

    def everything(lib, arrays):
        return {
            case: values_and_gradients(lib, arrays[case], kwargs)
            for case, (_, kwargs) in cases.items()
        }

    given = {case: arrays for case, (arrays, _) in cases.items()}
    ours, theirs = (lib.jit(partial(everything, lib))(given) for lib in (glassjax, jax))
    for case, arrays in given.items():
        eps = max(float(ml_dtypes.finfo(arrays[0].dtype).eps), float(np.finfo(np.float32).eps))
        for mine, jaxs in zip(ours[case], theirs[case], strict=True):
            mine, jaxs = np.asarray(mine), np.asarray(jaxs)
            assert (mine.dtype, mine.shape) == (jaxs.dtype, jaxs.shape), case
            wanted = jaxs.astype(float)
            atol = 20 * eps * max(1.0, float(np.abs(wanted).max()))
            np.testing.assert_allclose(mine.astype(float), wanted, 0, atol, err_msg=case)


@pytest.mark.parametrize(
    ("kwargs", "argument"),
    [
        ({"value": VALUE[:, :3]}, "value"),
        ({"query": QUERY[..., :3]}, "query"),
        ({"query": QUERY[:, :, :3]}, "heads"),
        ({"mask": BIAS}, "mask"),
        ({"query_seq_lengths": np.arange(3, dtype=np.int32)}, "query_seq_lengths"),
        ({"implementation": "triton"}, "implementation"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_attention_refuses_what_jax_does(kwargs, argument):
    arrays = {"query": QUERY, "key": KEY, "value": VALUE} | kwargs
    for lib in (glassjax, jax):
        with pytest.raises(ValueError, match=argument):
            lib.nn.dot_product_attention(**arrays)
