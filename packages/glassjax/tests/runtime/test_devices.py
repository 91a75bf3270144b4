"""Devices, and arrays moved between them."""

import threading

import numpy as np
import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import Array, device_get, device_put, devices, grad, jit, vmap
from glassjax.errors import TracerArrayConversionError
from glassjax.sharding import reshard

X = np.arange(3, dtype=np.float32)


@pytest.mark.cpu_only
def test_there_is_one_cpu_in_one_process():
    (device,) = devices()
    assert (
        devices("cpu") == glassjax.local_devices() == glassjax.local_devices(0, "cpu") == [device]
    )
    assert device.platform == glassjax.default_backend() == "cpu"
    assert glassjax.device_count() == glassjax.local_device_count() == 1
    assert (glassjax.process_index(), glassjax.process_count()) == (0, 1)
    assert jnp.ones(2).devices() == {device}
    assert jnp.ones(2).device == device


@for_each(
    ("call", "error", "message"),
    [
        (
            lambda: devices("abacus"),
            RuntimeError,
            "Unknown backend 'abacus', there are no devices of this kind: ",
        ),
        (lambda: glassjax.device_count("tpu"), RuntimeError, "Unknown backend 'tpu'"),
        (lambda: glassjax.process_index("tpu"), RuntimeError, "Unknown backend 'tpu'"),
        (lambda: glassjax.local_devices(1), ValueError, "must be one of [0], found 1"),
        (lambda: device_put(X, "cpu"), TypeError, "device must be a device, a Sharding, a Par"),
        (lambda: device_put(X, src=3), TypeError, "src must be a device, a Sharding, a Partiti"),
        (
            lambda: device_put({"a": [1, "b"]}),
            TypeError,
            "device_put: x['a'][1]: expected an array or a number, found 'b'",
        ),
        (lambda: device_put(2**70), OverflowError, "device_put: x: the Python int"),
        (
            lambda: device_put(X, donate=True, may_alias=True),
            ValueError,
            "cannot be both donated and the result itself",
        ),
        (lambda: jit(device_get)(X), TracerArrayConversionError, "numpy array"),
        (lambda: reshard(X, 3), TypeError, "reshard: out_shardings must be a device, a Sharding"),
        (lambda: reshard(X, None), ValueError, "reshard: xs: out_shardings must be given"),
        (lambda: reshard(X, devices()[0]), TypeError, "reshard: xs: out_shardings must be a Named"),
    ],
)
def test_what_cannot_be(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


def test_devices_are_of_the_class_device():
    assert all(isinstance(device, glassjax.Device) for device in devices())
    assert not isinstance("cpu", glassjax.Device)


@pytest.mark.cpu_only
def test_the_default_device_is_where_arrays_are():
    for device in (devices()[0], "cpu", None):
        with glassjax.default_device(device):
            assert glassjax.config.jax_default_device == device
            assert jnp.ones(2).device == devices()[0]
    assert glassjax.config.default_device is None
    with pytest.raises(RuntimeError, match="backend 'abacus'"), glassjax.default_device("abacus"):
        pass


def test_live_arrays_are_those_that_somebody_has():
    kept, deleted = jnp.arange(5.0), jnp.arange(6.0)
    deleted.delete()
    tree = {"a": [jnp.arange(7.0)]}
    ids = [id(x) for x in glassjax.live_arrays()]
    assert ids.count(id(kept)) == ids.count(id(tree["a"][0])) == 1
    assert id(deleted) not in ids
    assert all(type(x) is Array for x in glassjax.live_arrays(glassjax.default_backend()))
    del tree
    assert len(glassjax.live_arrays()) == len(ids) - 1
    with pytest.raises(RuntimeError, match="backend 'abacus'"):
        glassjax.live_arrays("abacus")


class TestDevicePut:
    def test_a_pytree_of_anything(self):
        on_device = jnp.ones(2)
        tree = device_put({"a": [1, 2.5, X], "b": (on_device, None, np.int8(3))}, devices()[0])
        assert all(type(leaf) is Array for leaf in glassjax.tree.leaves(tree))
        # On a GPU, where a CPU is beside it, an array that is put somewhere stays there.
        assert tree["b"][0] is on_device or glassjax.default_backend() != "cpu"
        assert tree["b"][1] is None
        assert tree["b"][2].dtype == np.int8
        assert tree["a"][0].weak_type
        np.testing.assert_array_equal(tree["a"][2], X)

    def test_an_array_that_is_not_to_be_the_same(self):
        x = jnp.ones(3)
        copy = device_put(x, may_alias=False)
        x.delete()
        assert copy.tolist() == [1, 1, 1]

    def test_donated_numbers_of_numpy_stay(self):
        x = X.copy()
        device_put(x, donate=True)
        np.testing.assert_array_equal(x, X)

    def test_under_transformations_it_is_the_identity(self):
        def f(x):
            return device_put(x, devices()[0]) * 2.0

        for g in (f, jit(f), grad(f), jit(grad(f))):
            assert float(g(1.0)) == 2.0
        np.testing.assert_array_equal(vmap(f)(X), 2 * X)

    def test_under_transformations_numbers_are_constants(self):
        assert float(grad(lambda x: device_put(3.0) * x)(1.0)) == 3.0
        assert float(jit(lambda x: jnp.sum(device_put(X)) + x)(1.0)) == 4.0


class TestDeviceGet:
    def test_a_pytree_of_anything(self):
        tree = {"a": [jnp.ones(2), 1.5, "text", None], "b": X}
        found = device_get(tree)
        assert type(found["a"][0]) is np.ndarray
        assert found["a"][1:] == [1.5, "text", None]
        assert found["b"] is X

    def test_without_a_copy(self):
        x = jnp.ones(2)
        assert np.shares_memory(device_get(x), np.asarray(x))
        assert not device_get(x).flags.writeable

    def test_there_and_back(self):
        for x in (X, np.float32(2), np.zeros((0, 2), bool)):
            np.testing.assert_array_equal(device_get(device_put(x)), x)


class TestWhatFailsAtRunTime:
    def test_memory_that_does_not_suffice(self):
        @jit
        def astronomical(x):
            return jnp.zeros((2**45,)) + x

        if glassjax.default_backend() == "cpu":  # a GPU is still running when the call returns
            with pytest.raises(RuntimeError, match=r"`astronomical` failed while it ran: .*emory"):
                astronomical(1.0)
        with pytest.raises(RuntimeError, match=r"emory"):
            astronomical(1.0).block_until_ready()
        with pytest.raises(RuntimeError, match=r"emory"):
            jnp.zeros((2**45,)).block_until_ready()
        with pytest.raises(RuntimeError, match=r"emory"):
            device_put(np.broadcast_to(np.int8(1), (2**45,)))
        assert float(jit(lambda x: x + 1)(1.0)) == 2.0  # all the others go on

    def test_sizes_that_xla_cannot_count(self):
        for shape in ((2**62,), (2**40, 2**40)):
            with pytest.raises(TypeError, match=r"is too large: the bytes of an array have to be"):
                jnp.zeros(shape)

    def test_threads_fail_each_for_itself(self):
        outcomes = []

        def work(i):
            try:
                outcomes.append(float(jnp.sum(jnp.ones((2**45 if i % 2 else 8,)))))
            except RuntimeError as error:
                outcomes.append("emory" in str(error))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == [True] * 4 + [8.0] * 4
