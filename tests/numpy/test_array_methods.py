"""Methods and properties of arrays, beside JAX."""

import jax.numpy as jnp
import numpy as np
import pytest
from libraries import assert_all_same_results, refused

import glassjax.numpy as gnp

m = np.arange(12.0, dtype=np.float32).reshape(3, 4)


z = np.array([0, 3, 0, 2])


x = np.array([0.5, 1.0, 2.5, -3.0, 9.0], np.float32)


xp = np.array([0.0, 1.0, 1.0, 4.0], np.float32)


k = np.arange(12, dtype=np.int32).reshape(3, 4)


octets = np.array([[1, 200, 3], [0, 255, 16]], np.uint8)


points = np.linspace(-1, 1, 6, dtype=np.float32)


def in_jit(lib, ask):
    """What `ask` is told of a tracer."""
    told = []
    lib.jit(lambda m: told.append(ask(m)) or m)(m)
    return told[0]


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "methods": [
        lambda n, lib: n.asarray(m).take(1),
        lambda n, lib: n.asarray(m).repeat(2),
        lambda n, lib: n.asarray(m).flatten(),
        lambda n, lib: n.asarray(m).flatten("F"),
        lambda n, lib: n.asarray(m).diagonal(1),
        lambda n, lib: n.asarray(z).nonzero(),
        lambda n, lib: n.asarray(m).mT,
        lambda n, lib: n.asarray(m).item(3),
        lambda n, lib: n.asarray(m).item(1, 2),
        lambda n, lib: n.asarray(m).reshape(4, 3, order="F"),
        lambda n, lib: n.asarray(m).reshape((4, 3), order="F"),
        lambda n, lib: n.asarray(m).astype(int, copy=True),
        lambda n, lib: n.asarray(m).compress(np.array([1, 0, 1]), axis=0),
        lambda n, lib: n.asarray(z).choose([z, z + 1, z + 2, z + 3]),
    ],
    "methods of the newer standard": [
        lambda n, lib: n.asarray(x).sort(descending=True),
        lambda n, lib: n.asarray(k).argsort(axis=0),
        lambda n, lib: n.asarray(x).argpartition(2),
        lambda n, lib: n.asarray(xp).searchsorted(x, side="right"),
        lambda n, lib: (bool(2.5 in n.asarray(x)), bool(7 in n.asarray(x))),
        refused(lambda n, lib: 1 in n.asarray(k)),
        lambda n, lib: n.asarray(x).byteswap(),
        lambda n, lib: n.asarray(octets).byteswap(),
        lambda n, lib: n.asarray(k).to_device(lib.devices()[0]),
        refused(lambda n, lib: n.asarray(k).to_device(lib.devices()[0], stream=1)),
        lambda n, lib: n.asarray(k).tobytes() == k.tobytes(),
        lambda n, lib: n.asarray(k).tobytes("F") == k.tobytes("F"),
        lambda n, lib: n.asarray(k).__array_namespace__() is n,
        refused(lambda n, lib: n.asarray(k).flat),
        refused(lambda n, lib: n.asarray(k).__setitem__(0, 1)),
        lambda n, lib: (n.asarray(k).committed, n.asarray(k).platform() == lib.default_backend()),
        lambda n, lib: (n.asarray(k).is_fully_addressable, n.asarray(k).is_fully_replicated),
        *(
            lambda n, lib, a=a, dtype=dtype: n.asarray(a).view(dtype)
            for a in (points[:4], k, np.complex64([1 + 2j, 3j]))
            for dtype in (np.uint8, bool, np.int64, np.int16, np.complex64)
        ),
        lambda n, lib: n.asarray(points[0]).view(np.int64),
        *(
            lambda n, lib, a=a, dtype=dtype: n.asarray(a).view(dtype)
            for a in (octets, octets > 9)
            for dtype in (np.uint8, bool)
        ),
        *(  # the last axis, if there is one, does not divide into elements of that size
            refused(lambda n, lib, a=a, dtype=dtype: n.asarray(a).view(dtype))
            for a in (points[0], octets, octets > 9)
            for dtype in (np.int16, np.complex64)
        ),
        refused(
            lambda n, lib: lib.jit(
                lambda k: (k.copy(), k.sort(), k.trace(), k.argsort(), k.view(np.uint8), 2 in k[0])
            )(k)
        ),
        lambda n, lib: lib.jit(lambda k: (k.copy(), k.sort(), k.trace(), k.view(np.uint8)))(k),
        lambda n, lib: in_jit(lib, lambda k: (k.itemsize, k.nbytes, k.weak_type, k.ndim)),
        refused(lambda n, lib: in_jit(lib, lambda k: k.item(0))),
        refused(lambda n, lib: in_jit(lib, lambda k: k.tolist())),
        refused(lambda n, lib: in_jit(lib, lambda k: k.tobytes())),
        refused(lambda n, lib: in_jit(lib, lambda k: k.flat)),
        refused(lambda n, lib: in_jit(lib, lambda k: k.__setitem__(0, 1))),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])


# What says where the parts of an array are, on which of many devices; and what is JAX's own affair.
OF_MANY_DEVICES = {"addressable_shards", "format", "global_shards", "sharding"}


INNER = {"aval", "clone", "traceback", "unsafe_buffer_pointer", "unsafe_raw_buffer"}


def test_arrays_have_the_methods_and_properties_of_jaxs():
    public = {name for name in dir(jnp.ones((2, 2))) if not name.startswith("_")}
    deprecated = {"device_buffer", "device_buffers"}
    ours = gnp.ones((2, 2))
    lacking = {name for name in public - deprecated - {"flat"} if not hasattr(ours, name)}
    assert lacking <= OF_MANY_DEVICES | INNER
