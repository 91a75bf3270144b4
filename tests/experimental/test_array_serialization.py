"""TensorStore arrays, written by one library and read by the other."""

import asyncio

import jax
import numpy as np
import pytest
from tables import for_each

import glassjax

pytest.importorskip("tensorstore")

from jax.experimental.array_serialization import serialization as their_serialization
from jax.experimental.array_serialization import tensorstore_impl as their_impl

from glassjax.experimental.array_serialization import serialization, tensorstore_impl

X = np.arange(12, dtype=np.float32).reshape(3, 4)
ARRAYS = [X, X.astype(np.int32), X > 3, X[0, 0], X[:0], X * 1j]


def outcome(make):
    try:
        return make()
    except (TypeError, ValueError) as error:
        return type(error)


@for_each("arguments", [
    {"ckpt_path": "/a/b/c"}, {"ckpt_path": "/a/b/c/", "ocdbt": False}, {"ckpt_path": "b/c"},
    {"ckpt_path": "b/c", "ocdbt": False}, {"ckpt_path": "gs://bucket/a/b"}, {"ckpt_path": "gs://b"},
    {"ckpt_path": "s3://bucket//a/b", "ocdbt": False}, {"ckpt_path": "/a/b", "process_idx": 3},
    {"ckpt_path": "/a/b", "arr": X}, {"ckpt_path": "/a/b", "arr": X[:0], "driver": "zarr"},
    {"ckpt_path": "/a/b", "arr": X, "driver": "n5"}, {"ckpt_path": "gs://bucket/a", "ocdbt": True},
])  # fmt: skip
def test_descriptions(arguments):
    ours, theirs = (
        outcome(lambda module=module: module.get_tensorstore_spec(**arguments))
        for module in (tensorstore_impl, their_impl)
    )
    assert ours == theirs


def test_changes_and_checks_of_descriptions():
    spec = tensorstore_impl.get_tensorstore_spec("/a/b", arr=X)
    wrong = [
        (spec, X, "/b", True), (spec, X[0], "/a", True), (spec, X.astype(int), "/a", True),
        (spec, None, "/a", True), ({**spec, "kvstore": {"path": "/a"}}, X, "/a", True),
    ]  # fmt: skip
    for module in (tensorstore_impl, their_impl):
        module.verify_tensorstore_spec(spec, X, "/a", True)
        module.verify_tensorstore_spec(spec, None, "/a", True, check_metadata=False)
        for arguments in wrong:
            with pytest.raises(ValueError, match=r"\w"):
                module.verify_tensorstore_spec(*arguments)
        assert module.merge_nested_ts_specs(spec, None) is spec
    more = {"driver": "zarr", "kvstore": {"path": "c"}}
    assert tensorstore_impl.merge_nested_ts_specs(spec, more) == their_impl.merge_nested_ts_specs(
        spec, more
    )


@for_each("place", [
    "gs://a", "/a", {"driver": "gcs"}, {"driver": "zarr", "kvstore": {"driver": "s3"}}, {},
    {"kvstore": {"driver": "ocdbt", "base": "s3://a"}}, {"kvstore": {"driver": "file"}},
])  # fmt: skip
def test_remote_storage(place):
    assert serialization.is_remote_storage(place) == their_serialization.is_remote_storage(place)


LIBS = [(glassjax, tensorstore_impl), (jax, their_impl)]


@pytest.mark.parametrize("reader", LIBS, ids=["read by glassjax", "read by JAX"])
@pytest.mark.parametrize("writer", LIBS, ids=["written by glassjax", "written by JAX"])
@pytest.mark.parametrize("driver", ["zarr", "zarr3"])
def test_what_one_writes_the_other_reads(tmp_path, driver, writer, reader):
    async def run():
        for number, x in enumerate(ARRAYS):
            lib, module = writer
            spec = module.get_tensorstore_spec(tmp_path / f"x{number}", ocdbt=driver == "zarr3")
            spec["driver"] = driver
            await module.async_serialize(lib.numpy.asarray(x), dict(spec))
            lib, module = reader
            sharding = lib.numpy.asarray(x).sharding
            out = await module.async_deserialize(sharding, spec)
            np.testing.assert_array_equal(out, x)
            assert out.dtype == x.dtype
            assert isinstance(out, lib.Array)

    asyncio.run(run())


def test_other_shapes_and_dtypes(tmp_path):
    found = []
    for lib, module in LIBS:
        spec = module.get_tensorstore_spec(tmp_path / lib.__name__, ocdbt=False)
        sharding = lib.numpy.asarray(X).sharding
        asyncio.run(module.async_serialize(lib.numpy.asarray(X), dict(spec)))
        for shape, dtype in [((5, 4), None), ((2, 6), "int32"), (None, "float16")]:
            out = asyncio.run(module.async_deserialize(sharding, spec, shape, dtype))
            found.append((out.shape, str(out.dtype), np.asarray(out).tolist()))
        typed = lib.ShapeDtypeStruct(X.shape, "int8", sharding=sharding)
        found.append(asyncio.run(module.async_deserialize(typed, spec)).dtype)
        with pytest.raises((TypeError, AssertionError)):
            asyncio.run(module.async_deserialize("here", spec))
        absent = module.get_tensorstore_spec(tmp_path / "absent", ocdbt=False)
        with pytest.raises(ValueError, match=r"\w"):
            asyncio.run(module.async_deserialize(sharding, absent))
    half = len(found) // 2
    assert found[:half] == found[half:]


@pytest.mark.parametrize("module", [serialization, their_serialization])
def test_manager(tmp_path, module):
    lib = glassjax if module is serialization else jax
    manager, done = module.GlobalAsyncCheckpointManager(), []
    arrays = [lib.numpy.asarray(x) for x in ARRAYS[:3]]
    paths = [str(tmp_path / str(number)) for number in range(3)]
    manager.serialize_with_paths(arrays, paths, on_commit_callback=lambda: done.append(1))
    shardings = [x.sharding for x in arrays]
    for x, y in zip(manager.deserialize_with_paths(shardings, paths), arrays, strict=True):
        np.testing.assert_array_equal(x, y)
    assert done == [1]
    manager.check_for_errors()
    manager.serialize_with_paths(
        arrays[:1], [str(tmp_path / "x")], on_commit_callback=lambda: 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        manager.wait_until_finished()
    manager.wait_until_finished()
    few = manager.deserialize_with_paths(shardings, paths, concurrent_gb=1e-8)
    np.testing.assert_array_equal(few[0], arrays[0])


@pytest.mark.parametrize("module", [tensorstore_impl, their_impl])
def test_databases_are_combined(tmp_path, module):
    specs = [
        module.get_tensorstore_spec(tmp_path / name, process_idx=number)
        for number, name in enumerate("ab")
    ]
    lib = glassjax if module is tensorstore_impl else jax
    x = lib.numpy.asarray(X)

    async def run():
        for number, spec in enumerate(specs):
            await module.async_serialize(x + number, dict(spec))
        whole = module.get_tensorstore_spec(tmp_path / "b")
        stores = [{**spec["kvstore"], "path": ""} for spec in specs]
        await module.combine_kvstores({**whole["kvstore"], "path": ""}, stores)
        return await module.async_deserialize(x.sharding, whole)

    np.testing.assert_array_equal(asyncio.run(run()), X + 1)
