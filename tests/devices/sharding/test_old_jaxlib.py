"""A jaxlib that cannot read sharded arrays: nothing is sharded."""

import jax
import numpy as np
import pytest

import glassjax


@pytest.mark.skipif(jax.__version_info__ >= (0, 11), reason="jaxlib can read divided arrays")
def test_dividing_an_array_is_refused():
    mesh = glassjax.make_mesh((4, 2), ("x", "y"))
    with pytest.raises(RuntimeError, match=r"jaxlib 0\.11"):
        glassjax.device_put(np.ones(8), glassjax.NamedSharding(mesh, glassjax.P("x")))


def test_one_device_of_many_computes():
    x = glassjax.device_put(np.arange(3.0), glassjax.devices()[3])
    y = glassjax.jit(lambda x: x * 2)(x) + 1
    np.testing.assert_array_equal(y, [1.0, 3.0, 5.0])
    assert y.devices() == {glassjax.devices()[3]}
