"""Files of checkpoints: steps, manifests, arrays."""

import hashlib
import json
import operator
import os
import re
import shutil
import socket
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from glassjax import xla
from glassjax.checkpoints.structures import (
    aval_from_json,
    aval_to_json,
    tree_from_json,
    tree_to_json,
)
from glassjax.errors.arguments import require_fit
from glassjax.shardings.sharding import Index, Sharding
from glassjax.version import installed_version
from glassjax_stage2 import ShapedArray
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import Shape
from glassjax_stage2.tree import PyTreeDef
from glassjax_stage3.executable import device_type

# Arrays on disk by TensorStore: an OCDBT database, in which each is a zarr3 array.
#
# Chunks have checksums (CRC-32C), and none is omitted, so that a missing one is an error.


Numbers = np.ndarray[Any, Any]

ARRAYS = "arrays"  # the database in the directory of a checkpoint
_LARGEST_CHUNK = 2**26  # bytes; a device reads whole chunks
_ZARR_DTYPES = {
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
            "glassjax.checkpoints needs TensorStore: pip install 'glassjax[checkpoint]'",
            name=error.name,
        ) from None


def tensorstore_version() -> str | None:
    """The version of TensorStore."""
    try:
        return version("tensorstore")
    except PackageNotFoundError:
        return None


def stored_dtype(aval: ShapedArray) -> np.dtype[Any]:
    """The dtype in zarr; unsigned integers of the same bits for dtypes that it lacks."""
    dtype = device_type(aval).dtype
    return dtype if dtype.name in _ZARR_DTYPES else np.dtype(f"uint{8 * dtype.itemsize}")


def chunks_of(aval: ShapedArray, sharding: Sharding | None) -> Shape:
    """The shape of the chunks of an array: its shards, or parts of these if they are large.

    No chunk overlaps two shards, so that no two processes write one chunk.
    """
    parts = (1,) * aval.ndim if sharding is None else sharding.parts(aval.ndim)
    chunk = [max(1, size // count) for size, count in zip(aval.shape, parts, strict=True)]
    nbytes = int(np.prod(chunk, dtype=np.int64)) * stored_dtype(aval).itemsize
    for axis, count in enumerate(parts):
        if nbytes <= _LARGEST_CHUNK:
            break
        size = chunk[axis]
        wanted = max(1, size * _LARGEST_CHUNK // nbytes)
        if count > 1:  # split by a divisor of the shard, if one is near
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
        """Stored numbers in the device's representation."""
        return bits.view(device_type(self.aval).dtype)


class Part(NamedTuple):
    """A part of an array that this process writes; its numbers do not change."""

    array: StoredArray
    slices: Index
    numbers: Numbers


def write(
    directory: Path, arrays: Iterable[StoredArray], parts: Sequence[Part], creates: bool
) -> None:
    """Write parts of arrays in one transaction, flushed to the disk.

    Arguments:
        directory: the directory of the checkpoint.
        arrays: all arrays.
        parts: the parts of them that this process writes.
        creates: whether this process creates the arrays; only one does.
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


# The directory of checkpoints: one subdirectory for each step, which appears when it is complete.
#
# A checkpoint is written under a hidden name, and then renamed. Before it is deleted, it is renamed
# back. So whatever kills the process, a visible step is complete.


MANIFEST = "manifest.json"
_HIDDEN = re.compile(
    r"\.\d+\.[0-9a-f]{8}(?:-(?P<life>[0-9a-f]{8})-(?P<pid>\d+)-(?P<host>.*))?\.(incomplete|removed)"
)
_LIFE = uuid.uuid4().hex[:8]  # identifies this process, since its pid may have been reused
_SECONDS_OF_A_DAY = 24 * 60 * 60


def all_steps(directory: str | os.PathLike[str]) -> list[int]:
    """The steps with complete checkpoints, in ascending order.

    Arguments:
        directory: the directory of the checkpoints; it need not exist.

    Raises:
        TypeError: `directory` is not a path.
        ValueError: it is a URL.

    >>> all_steps("no/such/directory")
    []
    """
    found = directory_of("all_steps", directory)
    return sorted(int(each.parent.name) for each in found.glob(f"*/{MANIFEST}") if _is_step(each))


def _is_step(manifest: Path) -> bool:
    return re.fullmatch(r"0|[1-9][0-9]*", manifest.parent.name) is not None


def latest_step(directory: str | os.PathLike[str]) -> int | None:
    """The last step with a complete checkpoint; None if there is none.

    Arguments:
        directory: the directory of the checkpoints; it need not exist.

    Raises:
        TypeError: `directory` is not a path.
        ValueError: it is a URL.

    >>> latest_step("no/such/directory") is None
    True
    """
    return max(all_steps(directory), default=None)


def remove(directory: str | os.PathLike[str], step: int) -> None:
    """Delete the checkpoint of a step.

    Arguments:
        directory: the directory of the checkpoints.
        step: the step.

    Raises:
        FileNotFoundError: there is no such checkpoint.
        TypeError: an argument is of another type.

    >>> import tempfile
    >>> directory = tempfile.mkdtemp()
    >>> glassjax.checkpoints.save(directory, 1, jnp.arange(3)).wait()
    >>> remove(directory, 1)
    >>> all_steps(directory)
    []
    """
    path = directory_of("remove", directory) / str(step_of("remove", step))
    hidden = _hidden(path, "removed")
    try:
        path.rename(hidden)
    except FileNotFoundError:
        raise FileNotFoundError(f"remove: there is no {path}; {described(path.parent)}") from None
    flush(path.parent)
    shutil.rmtree(hidden)


def directory_of(caller: str, directory: Any) -> Path:
    """The path of a directory of checkpoints.

    Raises:
        TypeError: it is not a path.
        ValueError: it is a URL.
    """
    require_fit(caller, "directory", directory, str | os.PathLike)
    if "://" in str(directory):
        raise ValueError(
            f"{caller}: directory must be a path in a file system, found {shown(directory)}: "
            "a checkpoint becomes complete by a rename, which object stores do not have"
        )
    return Path(directory).expanduser().absolute()


def step_of(caller: str, step: Any) -> int:
    """A step as an int.

    Raises:
        TypeError: it is not an integer.
        ValueError: it is negative.
    """
    try:
        number = operator.index(step)
    except TypeError:
        raise TypeError(
            f"{caller}: step must be an int, found {shown(step)} of type {type(step).__name__}"
        ) from None
    if number < 0:
        raise ValueError(f"{caller}: step must be at least 0, found {number}")
    return number


def described(directory: Path) -> str:
    """A clause that lists the complete checkpoints."""
    steps = all_steps(directory)
    if not steps:
        return f"{directory} has no complete checkpoint"
    return f"{directory} has complete checkpoints of the steps {shown(steps)}"


def new_directory(path: Path) -> Path:
    """A new directory, under a hidden name, for the checkpoint at `path`.

    Deletes incomplete files of killed processes, but not files that others are still writing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for each in path.parent.iterdir():
        found = _HIDDEN.fullmatch(each.name)
        if found and not _is_in_use(each, found):
            shutil.rmtree(each, ignore_errors=True)  # another process may be faster
    hidden = _hidden(path, "incomplete")
    hidden.mkdir()
    return hidden


def _hidden(path: Path, why: str) -> Path:
    owner = f"{_LIFE}-{os.getpid()}-{socket.gethostname()}"
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}-{owner}.{why}")


def _is_in_use(hidden: Path, name: "re.Match[str]") -> bool:
    """Return True if the process that made a hidden directory may still be writing it.

    On another host this is unknown; a directory that was not touched for a day counts as abandoned.
    """
    if name["pid"] is None:  # named by an earlier version
        return False
    pid = int(name["pid"])
    if name["host"] == socket.gethostname():
        if pid == os.getpid():  # possibly a reused pid
            return name["life"] == _LIFE
        if not xla.process_runs(pid):
            return False
    with suppress(FileNotFoundError):
        return time.time() - hidden.stat().st_mtime < _SECONDS_OF_A_DAY
    return False


def complete(hidden: Path, path: Path, manifest: str) -> None:
    """Write the manifest of a checkpoint after its arrays, and rename it."""
    with open(hidden / MANIFEST, "w", encoding="utf-8") as file:
        file.write(manifest)
        file.flush()
        os.fsync(file.fileno())
    flush(hidden)
    hidden.rename(path)
    flush(path.parent)


def flush(directory: Path) -> None:
    """Flush the names in a directory to disk."""
    if os.name == "posix":  # elsewhere directories cannot be opened
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# The manifest of a checkpoint: the structure of the tree, and a line about each leaf, in JSON.
#
# Python numbers are in the manifest, arrays in the database. A digest reveals damage.


_FORMAT = "glassjax checkpoint"
_VERSION = 1
PYTHON_TYPES: tuple[type[Any], ...] = (bool, int, float, complex)


class Leaf(NamedTuple):
    """A leaf of the tree.

    Attributes:
        path: where it is in the tree.
        kind: "Array", "numpy", or the name of a Python number's type.
        array: the array in the database; None for a Python number.
        value: the number.
    """

    path: str
    kind: str
    array: StoredArray | None = None
    value: complex | None = None

    def to_json(self) -> dict[str, Any]:
        described: dict[str, Any] = {"path": self.path, "kind": self.kind}
        if self.array is None:
            return described | {"value": repr(self.value)}
        name, aval, chunks = self.array
        return described | {"array": name, "type": aval_to_json(aval), "chunks": [*chunks]}


class Manifest(NamedTuple):
    """A checkpoint without the numbers of its arrays.

    Attributes:
        step: the step.
        leaves: the leaves of the tree.
        structure: the tree without its leaves, as JSON; None if it has nodes of classes that are
            not registered for serialization.
    """

    step: int
    leaves: tuple[Leaf, ...]
    structure: Any

    def treedef(self) -> PyTreeDef | None:
        """The structure of the tree.

        Raises:
            ValueError: it has nodes of classes that this process does not know.
        """
        return None if self.structure is None else tree_from_json(self.structure[0])

    def digest(self) -> str:
        """A digest of everything that all processes must agree on: all except Python numbers."""
        leaves = [leaf._replace(value=None).to_json() for leaf in self.leaves]
        return _digest([self.step, leaves, self.structure])

    def to_text(self) -> str:
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "step": self.step,
            "written_by": {"glassjax": installed_version(), "tensorstore": tensorstore_version()},
            "structure": self.structure,
            "leaves": [leaf.to_json() for leaf in self.leaves],
        }
        return json.dumps(content | {"sha256": _digest(content)}, indent=1)


def structure_of(treedef: PyTreeDef) -> Any:
    """A structure as JSON, in a list; None if it has nodes of classes without a name."""
    try:
        return [tree_to_json(treedef, "the tree")]
    except ValueError:
        return None


def read_manifest(directory: Path) -> Manifest:
    """The manifest of the checkpoint in a directory.

    Raises:
        ValueError: it is damaged, or of a later version.
        OSError: it cannot be read.
    """
    path = directory / MANIFEST
    try:
        content = json.loads(path.read_bytes())
        digest = content.pop("sha256")
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        digest = content = None
    if content is None or digest != _digest(content) or content.get("format") != _FORMAT:
        raise ValueError(f"{path} is damaged: a part is missing or was changed")
    if content["version"] > _VERSION:
        raise ValueError(
            f"{path} is of version {content['version']}, and this version of glassjax reads "
            f"version {_VERSION}; use a newer one"
        )
    leaves = tuple(map(_leaf_from_json, content["leaves"]))
    return Manifest(content["step"], leaves, content["structure"])


def _leaf_from_json(described: dict[str, Any]) -> Leaf:
    path, kind = described["path"], described["kind"]
    if "value" in described:
        return Leaf(path, kind, None, _parse_number(kind, described["value"]))
    aval = aval_from_json(described["type"])
    return Leaf(path, kind, StoredArray(described["array"], aval, tuple(described["chunks"])))


def _parse_number(kind: str, text: str) -> complex:
    """The Python number with this `repr`."""
    if kind == "bool":
        return text == "True"
    (cls,) = [cls for cls in PYTHON_TYPES if cls.__name__ == kind]
    number: complex = cls(text)
    return number


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
