"""Products of block-scaled operands, beside JAX."""

import jax
import jax.scipy.fft
import jax.scipy.special
import jax.scipy.stats
import numpy as np
import pytest

import glassjax
import glassjax.numpy
from glassjax import nn

RNG = np.random.default_rng(0)


def array(*shape):
    return RNG.normal(size=shape).astype(np.float32)


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

    for dtype, *both in zip(dtypes, run(glassjax), run(jax), strict=True):
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
