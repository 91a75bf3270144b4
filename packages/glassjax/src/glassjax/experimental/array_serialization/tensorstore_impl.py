"""Reading and writing of single arrays by TensorStore, as zarr."""

from __future__ import annotations

import asyncio
import math
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from glassjax.dtypes import canonicalize_dtype
from glassjax.lax.placement import device_put
from glassjax.runtime.array import Array
from glassjax.runtime.devices import process_count, process_index
from glassjax.runtime.make_array import make_array_from_single_device_arrays
from glassjax.runtime.staging import ShapeDtypeStruct
from glassjax.shardings.sharding import Format, Sharding, SingleDeviceSharding
from glassjax_stage2.errors import shown

Spec = dict[str, Any]  # TensorStore's description of an array: driver, key-value store, metadata

_LARGEST_FILE = 2 * 2**30
_CHUNK_ELEMENTS = 100_000_000


def tensorstore() -> Any:
    """The module `tensorstore`.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    try:
        return import_module("tensorstore")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "experimental.array_serialization needs TensorStore: "
            "pip install 'glassjax[checkpoint]'",
            name=error.name,
        ) from None


@cache
def _context() -> Any:
    """The limits of concurrency and memory of all reading and writing."""
    limits = {"total_bytes_limit": 10**10}
    return tensorstore().Context(
        {
            "file_io_concurrency": {"limit": 128},
            "data_copy_concurrency": {"limit": 128},
            "cache_pool": limits,
            "cache_pool#remote": limits,
        }
    )


def _open_options(context: Any, chunk_layout: Any) -> dict[str, Any]:
    layout = tensorstore().ChunkLayout
    default = layout(chunk=layout.Grid(elements=_CHUNK_ELEMENTS))
    return {"context": context or _context(), "chunk_layout": chunk_layout or default}


def get_tensorstore_spec(
    ckpt_path: str | os.PathLike[str],
    ocdbt: bool = True,
    process_idx: int | None = None,
    arr: Any = None,
    driver: str = "zarr3",
) -> Spec:
    """TensorStore's description of an array in a directory or bucket.

    Arguments:
        ckpt_path: its path, or `gs://BUCKET/PATH`, `s3://BUCKET/PATH`.
        ocdbt: whether the directory of the path is one database, and the array an entry of it.
        process_idx: the number of a process that has a directory of its own there.
        arr: an array; the description gets its shape, dtype and sharding.
        driver: "zarr3" or "zarr".

    Raises:
        ValueError: the path is relative, for a database; or names no bucket; or there is no such
            driver.

    >>> from glassjax.experimental.array_serialization.tensorstore_impl import get_tensorstore_spec
    >>> get_tensorstore_spec("/tmp/weights/w")["kvstore"]
    {'driver': 'ocdbt', 'base': {'driver': 'file', 'path': '/tmp/weights'}, 'path': 'w'}
    """
    path = re.sub(r"^(gs|s3):/", r"\1://", os.path.normpath(str(ckpt_path)))
    if process_idx is not None:
        parent, name = os.path.split(path)
        path = os.path.join(parent, f"process_{process_idx}", name)
    entry = None
    if ocdbt:
        path, entry = os.path.split(path)
    remote = re.match(r"(gs|s3)://", path)
    if remote:
        found = re.fullmatch(r"..://([^/]*)/(.*)", path, re.DOTALL)
        if found is None:
            raise ValueError(
                f"get_tensorstore_spec: ckpt_path must name a bucket and a path in it, found "
                f"{str(ckpt_path)!r}"
            )
        kind = {"gs": "gcs", "s3": "s3"}[remote[1]]
        store = {"driver": kind, "bucket": found[1], "path": found[2]}
    else:
        if ocdbt and not os.path.isabs(path):
            raise ValueError(
                f"get_tensorstore_spec: ckpt_path must be absolute, found {str(ckpt_path)!r}"
            )
        store = {"driver": "file", "path": path}
    if ocdbt:
        store = {"driver": "ocdbt", "base": store, "path": entry}
    spec: Spec = {"driver": driver, "kvstore": store}
    if arr is not None:
        spec["metadata"] = _metadata(arr, driver)
    return spec


def _local_shape(arr: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = tuple(arr.shape)
    return arr.sharding.shard_shape(shape) if isinstance(arr, Array) else shape


def _metadata(arr: Any, driver: str) -> dict[str, Any]:
    shape, dtype = tuple(arr.shape), np.dtype(arr.dtype)
    if driver == "zarr3":
        chunk = {"chunk_shape": chunk_shape(_local_shape(arr), dtype)}
        grid = {"name": "regular", "configuration": chunk}
        return {"codecs": [], "shape": shape, "data_type": dtype.name, "chunk_grid": grid}
    if driver == "zarr":
        chunks = [max(size, 1) for size in _local_shape(arr)]
        return {"compressor": {"id": "zstd"}, "shape": shape, "chunks": chunks}
    raise ValueError(f"the driver must be 'zarr3' or 'zarr', found {driver!r}")


def chunk_shape(local_shape: Sequence[int], dtype: Any, largest: int = _LARGEST_FILE) -> list[int]:
    """The shape of chunks that divide an array evenly, with at most about `largest` bytes each.

    Arguments:
        local_shape: the shape of the array.
        dtype: its dtype.
        largest: the number of bytes of a file.

    >>> from glassjax.experimental.array_serialization.tensorstore_impl import chunk_shape
    >>> chunk_shape((6, 5), "float32", largest=60)
    [3, 5]
    """
    shape = [max(size, 1) for size in local_shape]
    while math.prod(shape) * np.dtype(dtype).itemsize > 1.1 * largest and max(shape) > 1:
        least = {axis: _least_factor(size) for axis, size in enumerate(shape) if size > 1}
        axis = min(least, key=lambda axis: least[axis])
        shape[axis] //= least[axis]
    return shape


def _least_factor(size: int) -> int:
    return next((n for n in range(2, math.isqrt(size) + 1) if size % n == 0), size)


def merge_nested_ts_specs(dict1: Spec, dict2: Spec | None) -> Spec:
    """Merge two descriptions; the second takes precedence, also within `kvstore`.

    >>> from glassjax.experimental.array_serialization import tensorstore_impl
    >>> one = {"driver": "zarr", "kvstore": {"driver": "file", "path": "a"}}
    >>> tensorstore_impl.merge_nested_ts_specs(one, {"kvstore": {"path": "b"}})
    {'driver': 'zarr', 'kvstore': {'driver': 'file', 'path': 'b'}}
    """
    if dict2 is None:
        return dict1
    store = {**dict1.get("kvstore", {}), **dict2.get("kvstore", {})}
    return {**dict1, **dict2, "kvstore": store}


def verify_tensorstore_spec(
    spec: Spec,
    arr: Any,
    path: str | os.PathLike[str],
    ocdbt: bool,
    check_metadata: bool = True,
) -> None:
    """Raise ValueError unless a description fits an array and its path.

    Arguments:
        spec: the description.
        arr: the array.
        path: the path of the key-value store.
        ocdbt: whether it has to be a database.
        check_metadata: whether shape, dtype and chunks are compared.

    Raises:
        ValueError: the description does not match.

    >>> import numpy as np
    >>> from glassjax.experimental.array_serialization import tensorstore_impl
    >>> spec = tensorstore_impl.get_tensorstore_spec("/tmp/w", ocdbt=False, arr=np.ones(3))
    >>> tensorstore_impl.verify_tensorstore_spec(spec, np.ones(3), "/tmp/w", ocdbt=False)
    """
    store = spec.get("kvstore", {})
    if ocdbt and store.get("driver") != "ocdbt":
        raise ValueError(f"verify_tensorstore_spec: expected the driver 'ocdbt', found {store}")
    if check_metadata:
        if arr is None:
            raise ValueError("verify_tensorstore_spec: give the array, or check_metadata=False")
        wanted: list[tuple[str, Any, Any]] = []
        metadata = spec["metadata"]
        if "shape" in metadata:
            wanted.append(("shape", tuple(metadata["shape"]), tuple(arr.shape)))
        if spec.get("driver") == "zarr3":
            wanted.append(("dtype", metadata["data_type"], np.dtype(arr.dtype).name))
            chunk = metadata["chunk_grid"]["configuration"]["chunk_shape"]
            rest = [n % size for n, size in zip(_local_shape(arr), chunk, strict=True)]
            wanted.append((f"rest of a division by chunks {chunk}", rest, [0] * len(rest)))
        for name, found, expected in wanted:
            if found != expected:
                raise ValueError(
                    f"verify_tensorstore_spec: expected the {name} {expected}, found {found}"
                )
    found = store["base"]["path"] if ocdbt else store["path"]
    if str(found) != str(path):
        raise ValueError(f"verify_tensorstore_spec: expected the path {path}, found {found}")


def _has_metadata(spec: Any) -> bool:
    return isinstance(spec, Mapping) and (
        "metadata" in spec or any(map(_has_metadata, spec.values()))
    )


async def combine_kvstores(
    combined_kvstore: Spec, kvstores: Sequence[Spec], context: Any = None
) -> None:
    """Copy all entries of databases into one. One process may do so at a time.

    Arguments:
        combined_kvstore: the description of the target.
        kvstores: the descriptions of the sources.
        context: a `tensorstore.Context`; one with limits of memory by default.
    """
    ts = tensorstore()
    opened = [ts.KvStore.open(each, context=context or _context()) for each in kvstores]
    target = await ts.KvStore.open(combined_kvstore, context=context or _context())
    transaction = ts.Transaction()
    for store in await asyncio.gather(*opened):
        await store.experimental_copy_range_to(target.with_transaction(transaction))
    await transaction.commit_async()


async def async_serialize(
    arr_inp: Array,
    tensorstore_spec: Spec,
    commit_future: list[Any] | None = None,
    context: Any = None,
    chunk_layout: Any = None,
    primary_host: int | None = None,
    replica_id: int = 0,
    transaction: Any = None,
) -> None:
    """Write an array, each process its parts.

    Arguments:
        arr_inp: the array.
        tensorstore_spec: its description, which gets metadata if it has none.
        commit_future: a list that gets the futures of writing; without it, this waits for them.
        context: a `tensorstore.Context`; one with limits of memory by default.
        chunk_layout: a `tensorstore.ChunkLayout`.
        primary_host: the process that makes the files; all do by default.
        replica_id: which of equal parts is written.
        transaction: a `tensorstore.Transaction`.

    Raises:
        ValueError: there are several processes, and this one has the whole array.

    >>> import asyncio, tempfile
    >>> from glassjax.experimental.array_serialization import tensorstore_impl as arrays
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     spec = arrays.get_tensorstore_spec(f"{directory}/x")
    ...     x = jnp.arange(3)
    ...     asyncio.run(arrays.async_serialize(x, dict(spec)))
    ...     asyncio.run(arrays.async_deserialize(x.sharding, spec))
    Array([0, 1, 2], dtype=int32)
    """
    ts = tensorstore()
    if process_count() > 1 and isinstance(arr_inp, Array) and arr_inp.is_fully_addressable:
        raise ValueError(
            f"async_serialize: {arr_inp.aval} belongs to this process alone, and others would "
            f"write the same file, {tensorstore_spec['kvstore']}"
        )
    if not _has_metadata(tensorstore_spec):
        tensorstore_spec["metadata"] = _metadata(arr_inp, tensorstore_spec["driver"])
    if tensorstore_spec["driver"] == "zarr":
        tensorstore_spec.setdefault("dtype", np.dtype(arr_inp.dtype).name)
    open_options = {
        **_open_options(context, chunk_layout),
        "open": True,
        "transaction": transaction,
    }
    if primary_host in (None, process_index()):
        made = ts.open(ts.Spec(tensorstore_spec), create=True, **open_options)
        if commit_future is None:
            await made
        else:
            commit_future.append(made)
    stored = await ts.open(ts.Spec(tensorstore_spec), assume_metadata=True, **open_options)
    writing = [
        stored[shard.index].write(
            np.asarray(shard.data), can_reference_source_data_indefinitely=True
        )
        for shard in arr_inp.addressable_shards
        if shard.replica_id == replica_id
    ]
    for each in writing:
        if commit_future is None:
            await each.commit
        else:
            commit_future.append(each.commit)
            await each.copy


async def async_deserialize(
    in_type: Sharding | Format | ShapeDtypeStruct,
    tensorstore_spec: Any,
    global_shape: Sequence[int] | None = None,
    dtype: Any = None,
    byte_limiter: Any = None,
    context: Any = None,
    chunk_layout: Any = None,
    assume_metadata: bool = False,
) -> Array:
    """Read an array, each process its parts.

    Arguments:
        in_type: its sharding, a `Format` of it, or a `ShapeDtypeStruct` that has one.
        tensorstore_spec: its description.
        global_shape: its shape; by default the shape on disk. Missing elements are zero.
        dtype: its dtype; by default the dtype on disk.
        byte_limiter: an object whose coroutines `wait_for_bytes(count)` and
            `release_bytes(count)` are awaited around the reading of each part.
        context: a `tensorstore.Context`; one with limits of memory by default.
        chunk_layout: a `tensorstore.ChunkLayout`.
        assume_metadata: whether the description is trusted, rather than the file.

    Raises:
        TypeError: `in_type` is something else.
        ValueError: there is no such array.
    """
    ts = tensorstore()
    sharding: Any = in_type
    if isinstance(in_type, ShapeDtypeStruct):
        dtype, sharding = in_type.dtype if dtype is None else dtype, in_type.sharding
    elif isinstance(in_type, Format):
        sharding = in_type.sharding_by("async_deserialize", "in_type")
    if not isinstance(sharding, Sharding):
        raise TypeError(f"async_deserialize: expected a sharding, found {shown(in_type)}")
    open_options = _open_options(context, chunk_layout)
    stored = await ts.open(
        tensorstore_spec, open=True, assume_metadata=assume_metadata, **open_options
    )
    shape = tuple(stored.shape if global_shape is None else global_shape)
    dtype = canonicalize_dtype(stored.dtype.numpy_dtype if dtype is None else dtype)
    places = {
        device: index
        for device, index in sharding.devices_indices_map(shape).items()
        if device in sharding.addressable_devices
    }

    async def read(device: Any, index: Any) -> Array:
        wanted = ts.IndexTransform(input_shape=shape)[index].domain
        there = stored.domain.intersect(wanted)
        part = np.zeros(sharding.shard_shape(shape), stored.dtype.numpy_dtype)
        if byte_limiter is not None:
            await byte_limiter.wait_for_bytes(part.nbytes)
        target = ts.array(part)[ts.d[:].translate_to[wanted.origin]] if shape else ts.array(part)
        await target[there].write(stored[there])
        out = device_put(part.astype(dtype), SingleDeviceSharding(device))
        if byte_limiter is not None:
            await byte_limiter.release_bytes(part.nbytes)
        return out

    parts = await asyncio.gather(*[read(*place) for place in places.items()])
    return make_array_from_single_device_arrays(shape, sharding, parts, dtype=dtype)


__all__ = [
    "async_deserialize", "async_serialize", "chunk_shape", "combine_kvstores",
    "get_tensorstore_spec", "merge_nested_ts_specs", "verify_tensorstore_spec",
]  # fmt: skip
