"""`map_coordinates`: values and derivatives, beside JAX."""

import numpy as np
import pytest
from libraries import assert_same_program

MODES = ["constant", "nearest", "wrap", "mirror", "reflect"]


RNG = np.random.default_rng(0)


IMAGE = RNG.normal(size=(5, 4)) * 10


@pytest.mark.parametrize("mode", MODES)
def test_map_coordinates(mode):
    def function(lib):
        def sampled(x, places, order, cval=0.0):
            return lib.scipy.ndimage.map_coordinates(x, places, order, mode=mode, cval=cval)

        def loss(x, places):
            return (sampled(x, places, 1, 1.5) ** 2).sum()

        return lambda x, i, places: [
            sampled(x, places, 0, 1.5),
            sampled(x, places, 1),
            lib.grad(loss, argnums=(0, 1))(x, places),
            [
                sampled(i, places, 1, 3),
                sampled(i[0], [places[0].astype(int)], 1),
                lib.vmap(lambda p: sampled(x, [p, p], 1))(places[0]),
            ]
            if mode in ("constant", "reflect")
            else (),
        ]

    places = [RNG.uniform(-6, 9, size=7) for _ in range(2)]
    assert_same_program(function, IMAGE, IMAGE.astype(np.int32), places)
