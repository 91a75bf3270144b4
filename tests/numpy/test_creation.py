"""Creation of arrays: values, dtypes, devices and files, beside JAX."""

import numpy as np
import pytest
from libraries import assert_all_same_results

import glassjax
import glassjax.numpy as gnp

x = np.arange(4.0, dtype=np.float32)


m = np.arange(12.0, dtype=np.float32).reshape(3, 4)


row = np.array([0.5, 1.0, 2.5, -3.0, 9.0], np.float32)


k = np.arange(12, dtype=np.int32).reshape(3, 4)


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "ranges": [
        lambda n, lib: n.copy(3),
        lambda n, lib: n.empty_like(m),
        lambda n, lib: n.identity(2),
        lambda n, lib: n.identity(2, dtype=int),
        lambda n, lib: n.frombuffer(b"\x01\x02", dtype=np.uint8),
        lambda n, lib: n.frombuffer(b"\x01\x02\x03", dtype=np.uint8, count=2, offset=1),
        lambda n, lib: n.logspace(0, 1, 3),
        lambda n, lib: n.logspace(0, 2, num=4, base=2, dtype=np.float32),
        lambda n, lib: n.logspace(0, 2, num=4, endpoint=False),
        lambda n, lib: n.geomspace(1, 10, 3),
        lambda n, lib: n.geomspace(1, 1000, 4, endpoint=False),
        lambda n, lib: n.geomspace(-1, -8, 4),
        lambda n, lib: n.arange(np.float16(1), 2, 0.25),
        lambda n, lib: n.arange(np.int8(1), 3.0),
        lambda n, lib: n.vander(x, 3),
        lambda n, lib: n.vander(x),
        lambda n, lib: n.vander(x, 3, increasing=True),
        lambda n, lib: n.vander(np.array([1, 2, 3])),
    ],
    "devices": [
        lambda n, lib: n.zeros(3, device=lib.devices()[0]),
        lambda n, lib: n.array([1, 2], device=n.ones(1).device, out_sharding=None),
        lambda n, lib: n.full_like(row, 2, device=lib.devices()[0]),
        lambda n, lib: n.linspace(0, 1, 3, device=lib.devices()[0]),
        lambda n, lib: n.astype(row, int, device=lib.devices()[0]),
        lambda n, lib: n.reshape(k, (4, 3), out_sharding=None),
        lambda n, lib: n.fft.fftfreq(4, device=lib.devices()[0]),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])


def test_arrays_are_saved_and_loaded(tmp_path):
    gnp.save(tmp_path / "x.npy", gnp.asarray(m))
    out = gnp.load(tmp_path / "x.npy")
    assert isinstance(out, glassjax.Array)
    np.testing.assert_array_equal(out, m)
    gnp.savez(tmp_path / "xs.npz", x=gnp.asarray(x), m=m)
    np.testing.assert_array_equal(gnp.load(tmp_path / "xs.npz")["x"], x)


def test_arrays_are_made_on_devices_only():
    with pytest.raises(TypeError, match="arange: device must be a device, a Sharding"):
        gnp.arange(3, device="nowhere")
    with pytest.raises(TypeError, match="zeros: out_sharding must be a NamedSharding or"):
        gnp.zeros(3, out_sharding="nowhere")
