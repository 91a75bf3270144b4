"""Arrays on disk by TensorStore: an OCDBT database, in which each is a zarr3 array.

Chunks carry checksums (CRC-32C), and none is left out: reading never makes up numbers for one that
is missing.
"""

from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minijax.shardings.sharding import Index, Sharding
from minijax_stage2 import ShapedArray
from minijax_stage2.shaped_array import Shape
from minijax_stage3.executable import device_type

Numbers = np.ndarray[Any, Any]

ARRAYS = "arrays"  # the database in the directory of a checkpoint
_LARGEST_CHUNK = 2**26  # bytes; what is read for one device is a multiple of chunks
_OF_ZARR = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
}  # fmt: skip


def tensorstore() -> Any:
    """The module `tensorstore`.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    try:
        return import_module("tensorstore")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "minijax.checkpoints needs TensorStore: pip install 'minijax[checkpoint]'",
            name=error.name,
        ) from None


def tensorstore_version() -> str | None:
    """The version of TensorStore."""
    try:
        return version("tensorstore")
    except PackageNotFoundError:
        return None


def stored_dtype(aval: ShapedArray) -> np.dtype[Any]:
    """The dtype in zarr's terms: unsigned integers of the same bits for those it lacks."""
    dtype = device_type(aval).dtype
    return dtype if dtype.name in _OF_ZARR else np.dtype(f"uint{8 * dtype.itemsize}")


def chunks_of(aval: ShapedArray, sharding: Sharding | None) -> Shape:
    """The shape of the chunks of an array: its shards, or parts of these if they are large.

    No chunk has numbers of two shards, so that no two processes write one.
    """
    parts = (1,) * aval.ndim if sharding is None else sharding.parts(aval.ndim)
    chunk = [max(1, size // count) for size, count in zip(aval.shape, parts, strict=True)]
    nbytes = int(np.prod(chunk, dtype=np.int64)) * stored_dtype(aval).itemsize
    for axis, count in enumerate(parts):
        if nbytes <= _LARGEST_CHUNK:
            break
        size = chunk[axis]
        wanted = max(1, size * _LARGEST_CHUNK // nbytes)
        if count > 1:  # by a divisor of the shard; none may be near
            near = range(wanted, wanted // 8, -1)
            wanted = next((each for each in near if size % each == 0), size)
        chunk[axis] = wanted
        nbytes = nbytes // size * wanted
    return tuple(chunk)


class StoredArray(NamedTuple):
    """An array in the database: its name, its type, and the shape of its chunks."""

    name: str
    aval: ShapedArray
    chunks: Shape

    def spec(self, directory: Path) -> dict[str, Any]:
        """TensorStore's description."""
        return {
            "driver": "zarr3",
            "kvstore": {
                "driver": "ocdbt",
                "base": {"driver": "file", "path": f"{directory / ARRAYS}/"},
                "path": f"{self.name}/",
            },
            "metadata": {
                "shape": [*self.aval.shape],
                "data_type": stored_dtype(self.aval).name,
                "chunk_grid": {
                    "name": "regular",
                    "configuration": {"chunk_shape": [*self.chunks]},
                },
                "chunk_key_encoding": {"name": "default"},
                "codecs": [
                    {"name": "bytes", "configuration": {"endian": "little"}},
                    {"name": "crc32c"},
                ],
            },
            "store_data_equal_to_fill_value": True,
            "fill_missing_data_reads": False,
        }

    def bits(self, numbers: Numbers) -> Numbers:
        """Numbers as they are stored."""
        return numbers.view(stored_dtype(self.aval))

    def numbers(self, bits: Numbers) -> Numbers:
        """Stored numbers as the device has them."""
        return bits.view(device_type(self.aval).dtype)


class Part(NamedTuple):
    """A part of an array that this process writes; nobody changes its numbers."""

    array: StoredArray
    slices: Index
    numbers: Numbers


def write(
    directory: Path, arrays: Iterable[StoredArray], parts: Sequence[Part], creates: bool
) -> None:
    """Write parts of arrays in one transaction, flushed to the disk.

    Arguments:
        directory: that of the checkpoint.
        arrays: all arrays.
        parts: those of them that this process writes.
        creates: whether this is the process that creates the arrays; only one does.
    """
    ts = tensorstore()
    context, transaction = ts.Context(), ts.Transaction()
    mode = {"create": True} if creates else {"open": True, "assume_metadata": True}
    touched = arrays if creates else {part.array.name: part.array for part in parts}.values()
    opened = {
        each.name: ts.open(each.spec(directory), context=context, transaction=transaction, **mode)
        for each in touched
    }
    writes = []
    for array, slices, numbers in parts:
        store = opened[array.name].result()
        if numbers.size:
            store = store[slices] if slices else store
            bits = array.bits(numbers)
            writes.append(store.write(bits, can_reference_source_data_indefinitely=True))
    for each in (*opened.values(), *writes):
        each.result()
    transaction.commit_sync()


class Reader:
    """Reads arrays of a checkpoint."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.ts = tensorstore()
        self.context = self.ts.Context()

    def open(self, array: StoredArray) -> Any:
        """A future of the array."""
        return self.ts.open(array.spec(self.directory), open=True, context=self.context)

    def read(self, opened: Any, index: Index) -> Any:
        """A future of the numbers of a part."""
        store = opened.result()
        return (store[index] if index else store).read()


def message_of(error: Exception) -> str:
    """The message of an error of TensorStore, without its list of settings."""
    return str(error).partition(" [tensorstore_spec=")[0].partition(" [source locations=")[0]
