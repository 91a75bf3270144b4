"""Checkpoints of arrays on eight devices, restored onto any other devices."""

import itertools

import numpy as np
import pytest
from eight_devices import CAN_READ, X, mesh_of, put, sharding

import glassjax
from glassjax import numpy as jnp

pytest.importorskip("tensorstore")

from glassjax import checkpoints
from glassjax.checkpoints import saving, storage

pytestmark = pytest.mark.skipif(not CAN_READ, reason="jaxlib cannot read sharded arrays")

WHOLE = {"shape": (8,), "names": ("x",)}
SHARDINGS = {
    "whole": lambda: sharding(glassjax),
    "rows": lambda: sharding(glassjax, "x"),
    "columns": lambda: sharding(glassjax, None, "y"),
    "both": lambda: sharding(glassjax, "x", "y"),
    "both, crosswise": lambda: sharding(glassjax, "y", "x"),
    "two axes on one": lambda: sharding(glassjax, ("y", "x")),
    "eight rows": lambda: sharding(glassjax, "x", **WHOLE),
    "a part of the devices": lambda: sharding(glassjax, "x", shape=(2,), names=("x",), start=5),
    "one device": lambda: glassjax.sharding.SingleDeviceSharding(glassjax.devices()[3]),
}


def test_any_sharding_is_restored_as_any_other(tmp_path):
    tree = {name: glassjax.device_put(X, where()) for name, where in SHARDINGS.items()}
    checkpoints.save(tmp_path, 1, tree).wait()
    for turn in range(len(SHARDINGS)):
        names = [*SHARDINGS][turn:] + [*SHARDINGS][:turn]
        wanted = dict(zip(SHARDINGS, names, strict=True))
        like = {
            name: glassjax.ShapeDtypeStruct(X.shape, X.dtype, sharding=SHARDINGS[other]())
            for name, other in wanted.items()
        }
        found = checkpoints.restore(tmp_path, like)
        for name, x in found.items():
            np.testing.assert_array_equal(x, X)
            assert x.sharding == like[name].sharding
            assert x.committed
            for shard in x.addressable_shards:
                np.testing.assert_array_equal(shard.data, X[shard.index])
    for name, x in checkpoints.restore(tmp_path).items():
        np.testing.assert_array_equal(x, X)
        assert not x.committed, name


def test_like_arrays(tmp_path):
    """What a program makes at its start says where what it restores is to be."""
    begin = {"a": put(glassjax, "x", x=0 * X), "b": jnp.zeros(3), "key": glassjax.random.key(0)}
    tree = {"a": put(glassjax, None, "y"), "b": jnp.ones(3), "key": glassjax.random.key(5)}
    checkpoints.save(tmp_path, 1, tree).wait()
    found = checkpoints.restore(tmp_path, begin)
    assert found["a"].sharding == begin["a"].sharding
    assert found["b"].sharding == begin["b"].sharding
    np.testing.assert_array_equal(found["a"], X)
    assert (glassjax.random.uniform(found["key"]) == glassjax.random.uniform(tree["key"])).all()


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float8_e4m3fn, jnp.bool_, jnp.int8])
def test_shards_of_narrow_numbers(dtype, tmp_path):
    x = put(glassjax, "x", "y", x=np.asarray(jnp.arange(64).reshape(8, 8).astype(dtype)))
    keys = glassjax.random.split(glassjax.random.key(1), 8)
    keys = glassjax.device_put(keys, sharding(glassjax, "x"))
    checkpoints.save(tmp_path, 1, [x, keys]).wait()
    found, found_keys = checkpoints.restore(tmp_path, [put(glassjax, "y", x=np.asarray(x)), keys])
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, x)
    np.testing.assert_array_equal(
        glassjax.random.key_data(found_keys), glassjax.random.key_data(keys)
    )


def test_each_shard_is_written_once(tmp_path, monkeypatch):
    written = []

    def write(directory, arrays, parts, creates):
        written.extend(part.numbers.nbytes for part in parts)
        real(directory, arrays, parts, creates)

    real = saving.write
    monkeypatch.setattr(saving, "write", write)
    tree = {name: glassjax.device_put(X, where()) for name, where in SHARDINGS.items()}
    checkpoints.save(tmp_path, 1, tree).wait()
    assert sum(written) == len(SHARDINGS) * X.nbytes


def test_chunks_never_have_numbers_of_two_shards(monkeypatch, tmp_path):
    monkeypatch.setattr(storage, "_LARGEST_CHUNK", 64)
    for where, shape in itertools.product(SHARDINGS.values(), [(8, 8), (24, 88), (8, 8, 3)]):
        aval = glassjax.typeof(np.zeros(shape, np.float32))
        shard = where().shard_shape(shape)
        parts = where().parts(len(shape))
        chunk = storage.chunks_of(aval, where())
        for size, count, wanted in zip(shard, parts, chunk, strict=True):
            assert 1 <= wanted <= size
            assert count == 1 or size % wanted == 0
    x = glassjax.device_put(np.arange(24 * 88.0).reshape(24, 88), sharding(glassjax, "x", "y"))
    checkpoints.save(tmp_path, 1, x).wait()
    like = glassjax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding(glassjax, "y"))
    np.testing.assert_array_equal(checkpoints.restore(tmp_path, like), x)


def test_a_sharding_that_does_not_divide_is_refused(tmp_path):
    checkpoints.save(tmp_path, 1, [np.ones(6), jnp.ones(6, np.float32)]).wait()
    where = glassjax.NamedSharding(mesh_of(glassjax), glassjax.P("x"))
    like = [np.ones(6), glassjax.ShapeDtypeStruct((6,), np.float32, sharding=where)]
    with pytest.raises(ValueError, match=r"the leaf like\[1\]: axis 0 .* is not a multiple of 4"):
        checkpoints.restore(tmp_path, like)


def test_training_goes_on_where_it_was_on_other_devices(tmp_path):
    """A restart with half of the devices: the losses are those of a run without interruption."""
    x, y = np.sin(np.arange(48.0)).reshape(8, 6), np.cos(np.arange(8.0))

    @glassjax.jit
    def step(w, x, y):
        value, slope = glassjax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))(w)
        return value, w - 0.1 * slope

    def run(w, steps, count):
        mesh = mesh_of(glassjax, (count,), ("x",))
        data = glassjax.NamedSharding(mesh, glassjax.P("x"))
        losses = []
        for _ in range(steps):
            value, w = step(w, *glassjax.device_put((x, y), data))
            losses.append(float(value))
        return losses, w

    begin = glassjax.device_put(np.ones(6), sharding(glassjax, **WHOLE))
    expected, _ = run(begin, 6, 8)
    losses, w = run(begin, 3, 8)
    checkpoints.save(tmp_path, 3, {"w": w, "losses": losses}).wait()
    where = sharding(glassjax, shape=(4,), names=("x",))
    like = {"w": glassjax.ShapeDtypeStruct((6,), w.dtype, sharding=where), "losses": [0.0] * 3}
    state = checkpoints.restore(tmp_path, like)
    more, _ = run(state["w"], 3, 4)
    np.testing.assert_allclose([*state["losses"], *more], expected, rtol=1e-6)


@pytest.mark.parametrize("name", SHARDINGS)
def test_the_numbers_are_those_when_save_was_called(name, tmp_path):
    big = np.ones((1024, 1024), np.float32)
    donated = glassjax.device_put(big, SHARDINGS[name]())
    pending = checkpoints.save(tmp_path, 1, donated)
    glassjax.jit(lambda x: x - 3, donate_argnums=0)(donated).block_until_ready()
    pending.wait()
    np.testing.assert_array_equal(checkpoints.restore(tmp_path), big)
