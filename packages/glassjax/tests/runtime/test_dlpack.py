"""DLPack: memory shared with numpy, freed in any order."""

import numpy as np
from backend_programs import EXTENSION_DTYPES, aval, elementwise, put
from rows import for_each

from glassjax import xla
from glassjax_stage3 import backend

NATIVE_DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]


class Exported:
    """The least that numpy needs to take a buffer by DLPack."""

    def __init__(self, buffer):
        self.buffer = buffer

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return xla.to_dlpack(self.buffer, max_version)

    def __dlpack_device__(self):
        return xla.dlpack_device(self.buffer)


@for_each("dtype", NATIVE_DTYPES)
def test_dlpack_shares_memory_with_numpy(dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    buffer = put(x)
    shared = np.from_dlpack(Exported(buffer))
    np.testing.assert_array_equal(shared, x)
    assert shared.dtype == x.dtype
    assert shared.ctypes.data == backend.get(buffer).ctypes.data
    assert not shared.flags.writeable
    del buffer
    np.testing.assert_array_equal(shared, x)


@for_each("order", [[0, 1, 2], [1, 2, 0], [2, 1, 0], [1, 0, 2]])
def test_views_may_be_dropped_in_any_order(order):
    # jaxlib aborts the process when a view outlives a buffer that was deleted by force.
    buffer = put(np.ones(1000, np.float32))
    owners = [buffer, backend.get(buffer), np.from_dlpack(Exported(buffer))]
    del buffer
    for i in order:
        assert all((view == 1).all() for view in owners[1:] if view is not None)
        owners[i] = None


@for_each("max_version", [None, (1, 0), (99, 0)])
@for_each("dtype", EXTENSION_DTYPES[:3])
def test_dlpack_exports_what_numpy_cannot_name(dtype, max_version):
    assert "dltensor" in repr(xla.to_dlpack(put(np.ones(3, dtype)), max_version))


def test_donation_leaves_what_is_viewed_by_dlpack():
    text = elementwise("stablehlo.negate", 1000)
    text = text.replace(
        "%x: tensor<1000xf32>", "%x: tensor<1000xf32> {tf.aliasing_output = 0 : i32}"
    )
    x = put(np.ones(1000, np.float32))
    view = np.from_dlpack(Exported(x))
    (y,) = backend.compile(text, [aval((1000,), "f4")]).execute([x])
    assert (backend.get(y) == -1).all()
    del x
    assert (view == 1).all()
