"""Cosine transforms: values and derivatives, beside JAX."""

import numpy as np
import pytest
from libraries import assert_same_program
from shares import one_in

RNG = np.random.default_rng(0)


X, Y = RNG.normal(size=(5, 6)), RNG.normal(size=(3, 2))


@pytest.mark.parametrize("norm", one_in(2, ["ortho", None]))
def test_cosine_transforms(norm):
    def function(lib):
        of = lib.scipy.fft

        def loss(x):
            return (of.dct(x, norm=norm) ** 3).sum() + (of.idct(x, axis=0, norm=norm) ** 3).sum()

        return lambda x, i: [
            [of.dct(x, axis=axis, norm=norm) for axis in (0, 1)],
            [of.idct(x, axis=axis, norm=norm) for axis in (0, 1)],
            of.dct(i, n=9, norm=norm),
            of.idct(x + 1j, n=4, norm=norm),
            of.dctn(x, norm=norm),
            of.idctn(x, s=(4,), norm=norm),
            of.dctn(x, axes=(1,), norm=norm),
            lib.grad(loss)(x),
        ]

    assert_same_program(function, X, np.arange(6))
