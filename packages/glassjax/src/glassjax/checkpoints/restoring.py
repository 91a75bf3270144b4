"""Restoring a tree, possibly on other devices."""

import os
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from glassjax import xla
from glassjax.checkpoints import storage
from glassjax.errors.tracebacks import hiding_frames
from glassjax.runtime.array import Array, array_at, given_type, put_array, to_library_array
from glassjax.runtime.places import default_placement
from glassjax.shardings.sharding import Index, Sharding
from glassjax.shardings.types import type_at
from glassjax.tree_util import keystr, tree_flatten_with_path
from glassjax_stage2 import ShapedArray, Tracer, float0
from glassjax_stage2.errors import shown
from glassjax_stage2.tree import PyTreeDef
from glassjax_stage3.array import new_buffer
from glassjax_stage3.executable import device_type

_MOST_IN_FLIGHT = 2**30  # bytes being read at a time


@hiding_frames
def restore(directory: str | os.PathLike[str], like: Any = None, step: int | None = None) -> Any:
    """Restore a tree that `save` saved, exactly: the same numbers and dtypes.

    Every process that calls it reads the shards of its devices. The devices, and the number of
    processes, may be different from when the tree was saved.

    Arguments:
        directory: the directory of the checkpoints.
        like: a pytree of the same structure. An Array or a `ShapeDtypeStruct` stands for an Array
            of this type, with this sharding; a numpy array for a numpy array of this type; a Python
            number for any scalar. None: leaves have their saved types, and Arrays are placed as by
            `jnp.array`.
        step: the step; the latest by default.

    Returns:
        The tree.

    Raises:
        ModuleNotFoundError: TensorStore is not installed.
        FileNotFoundError: there is no complete checkpoint, or none of this step.
        ValueError: the checkpoint is damaged; `like` has other leaves, shapes or dtypes; `like` is
            not given, and the tree has nodes of a class that is not registered with
            `export.register_pytree_node_serialization`; a sharding does not divide an array evenly.
        TypeError: an argument, or a leaf of `like`, is of another type.

    >>> import tempfile
    >>> directory = tempfile.mkdtemp()
    >>> glassjax.checkpoints.save(directory, 20, {"w": jnp.ones((4, 2))}).wait()
    >>> mesh = glassjax.make_mesh((1,), ("data",))
    >>> sharding = glassjax.NamedSharding(mesh, glassjax.P("data"))
    >>> like = {"w": glassjax.ShapeDtypeStruct((4, 2), jnp.float32, sharding=sharding)}
    >>> restore(directory, like)["w"].sharding.spec
    P('data',)
    """
    storage.tensorstore()
    found = storage.directory_of("restore", directory)
    number = storage.latest_step(found) if step is None else storage.step_of("restore", step)
    if number is None or number not in storage.all_steps(found):
        missing = "" if number is None else f"there is no step {number}; "
        raise FileNotFoundError(f"restore: {missing}{storage.described(found)}")
    path = found / str(number)
    try:
        manifest = storage.read_manifest(path)
    except (ValueError, OSError) as error:
        raise _damaged(path, error) from error
    if manifest.step != number:
        raise _damaged(path, ValueError(f"it is of step {manifest.step}, and was renamed"))
    treedef, targets = _targets(manifest, like)
    try:
        return treedef.unflatten(_read(path, targets))
    except _ReadError as error:
        raise _damaged(path, error.reason) from error.reason


def _damaged(path: Path, error: Exception) -> ValueError:
    others = [step for step in storage.all_steps(path.parent) if step != int(path.name)]
    remedy = (
        f"Restore another one, with step={others[-1]}: {storage.described(path.parent)}"
        if others
        else f"There is no other one in {path.parent}"
    )
    return ValueError(f"restore: {path} cannot be read: {storage.message_of(error)}. {remedy}")


class _ReadError(Exception):
    """A failure to read or decode an array."""

    def __init__(self, reason: Exception):
        self.reason = reason


class _Target(NamedTuple):
    """A leaf of the result: the saved leaf, and its target type and sharding.

    Attributes:
        leaf: the leaf of the checkpoint.
        aval: the type of the result.
        kind: "Array", "numpy", or "" for a Python number.
        sharding: the sharding of the Array; None for the default.
    """

    leaf: storage.Leaf
    aval: ShapedArray | None
    kind: str
    sharding: Sharding | None = None


def _targets(manifest: storage.Manifest, like: Any) -> tuple[PyTreeDef, list[_Target]]:
    """The structure of the result, and its leaves."""
    if like is None:
        return _structure(manifest), [_as_saved(leaf) for leaf in manifest.leaves]
    pairs, treedef = tree_flatten_with_path(like)
    given = {keystr(keys): to_library_array(x) for keys, x in pairs}
    saved = [leaf.path for leaf in manifest.leaves]
    if [*given] != saved:
        raise ValueError(_other_leaves(manifest.step, [*given], saved))
    pairs_of_leaves = zip(manifest.leaves, given.values(), strict=True)
    return treedef, [_target(leaf, x) for leaf, x in pairs_of_leaves]


def _structure(manifest: storage.Manifest) -> PyTreeDef:
    problem = "it has nodes of classes that checkpoints do not describe"
    try:
        treedef = manifest.treedef()
        if treedef is not None and treedef.num_leaves == len(manifest.leaves):
            return treedef
    except ValueError as error:
        problem = str(error)
    raise ValueError(
        f"restore: the structure of the tree of step {manifest.step} is not known: {problem}. Give "
        "`like`, a tree of this structure"
    )


def _other_leaves(step: int, given: Sequence[str], saved: Sequence[str]) -> str:
    missing = [path for path in saved if path not in given]
    extra = [path for path in given if path not in saved]
    parts = []
    if missing:
        parts.append(f"`like` lacks {_listed(missing)}, which step {step} has")
    if extra:
        parts.append(f"`like` has {_listed(extra)}, which step {step} has not")
    why = "; ".join(parts) or f"`like` has the leaves of step {step} in another order"
    return f"restore: {why}. `like` must have the structure of the tree that was saved"


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(f"tree{path}" for path in paths[:3]) + more


def _as_saved(leaf: storage.Leaf) -> _Target:
    if leaf.array is None:
        return _Target(leaf, None, "")
    return _Target(leaf, leaf.array.aval, leaf.kind)


def _target(leaf: storage.Leaf, x: Any) -> _Target:
    where = f"restore: the leaf like{leaf.path}"
    if isinstance(x, Tracer):
        raise TypeError(
            f"{where} is a tracer, of type {x.aval}; restore outside of transformations"
        )
    if isinstance(x, tuple(storage.PYTHON_TYPES)) and not isinstance(x, np.generic):
        if leaf.array is not None and leaf.array.aval.shape:
            raise ValueError(f"{where} is a number, and the checkpoint has {leaf.array.aval}")
        return _as_saved(leaf)
    aval: ShapedArray | None
    if isinstance(x, np.ndarray | np.generic):
        kind, aval, sharding = "numpy", ShapedArray(x.shape, x.dtype.newbyteorder("=")), None
    elif isinstance(x, Array):
        kind, aval = "Array", x.aval
        sharding = x.sharding if x.committed else None
    else:
        kind, aval, sharding = "Array", given_type(x), getattr(x, "sharding", None)
        if aval is None:
            raise TypeError(
                f"{where} must be an array, a ShapeDtypeStruct or a number, found {shown(x)} of "
                f"type {type(x).__name__}"
            )
    if leaf.array is None:
        _require_number_fits(where, leaf, aval)
    elif (aval.shape, aval.dtype) != (leaf.array.aval.shape, leaf.array.aval.dtype):
        raise ValueError(
            f"{where} is of type {aval}, and the checkpoint has {leaf.array.aval}. Restore what "
            "was saved, and convert it then"
        )
    if sharding is not None:
        try:
            sharding.shard_shape(aval.shape)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    return _Target(leaf, aval, kind, sharding)


def _require_number_fits(where: str, leaf: storage.Leaf, aval: ShapedArray) -> None:
    kinds = {"bool": "b", "int": "iu", "float": "fV", "complex": "c"}[leaf.kind]
    if aval.shape or aval.dtype.kind not in kinds or aval.dtype.names:
        raise ValueError(
            f"{where} is of type {aval}, and the checkpoint has the {leaf.kind} {leaf.value}"
        )
    if leaf.kind == "int":
        limits = np.iinfo(aval.dtype)
        if not limits.min <= int(leaf.value.real) <= limits.max:  # type: ignore[union-attr]
            raise ValueError(f"{where} is of type {aval}, which cannot hold {leaf.value}")


def _read(path: Path, targets: Sequence[_Target]) -> list[Any]:
    """The leaves of a checkpoint."""
    reader = storage.Reader(path)
    opened = {
        target.leaf.array.name: reader.open(target.leaf.array)
        for target in targets
        if target.leaf.array is not None
    }
    found: list[Any] = []
    in_flight: deque[tuple[int, Callable[[], Any]]] = deque()
    nbytes = 0
    for target in targets:
        array = target.leaf.array
        if array is None:
            size, finish = 0, _restored_number(target)
        else:
            size, finish = _begin(reader, array, opened[array.name], target)
        in_flight.append((size, finish))
        nbytes += size
        while nbytes > _MOST_IN_FLIGHT:
            size, finish = in_flight.popleft()
            found.append(finish())
            nbytes -= size
    return [*found, *[finish() for _, finish in in_flight]]


def _restored_number(target: _Target) -> Callable[[], Any]:
    value, aval = target.leaf.value, target.aval
    if aval is None:
        return lambda: value
    return lambda: _made(target, np.asarray(value, aval.dtype))


def _begin(
    reader: storage.Reader, array: storage.StoredArray, opened: Any, target: _Target
) -> tuple[int, Callable[[], Any]]:
    """Begin to read an array: the number of bytes, and a function that waits for the result."""
    aval, sharding = target.aval, target.sharding
    assert aval is not None
    indices: Sequence[Index] = [(slice(None),) * aval.ndim]
    if sharding is not None:
        indices = sharding.indices_here(aval.shape)
    reads = {}
    for index in indices:
        if str(index) not in reads:
            reads[str(index)] = _attempt(reader.read, opened, index)

    def finish_reading() -> Any:
        parts = {key: array.numbers(_attempt(future.result)) for key, future in reads.items()}
        if sharding is None:
            return _made(target, *parts.values())
        on_device = device_type(aval)
        used = set()
        for_devices = []
        for key in map(str, indices):  # jaxlib rejects arrays that share memory
            for_devices.append(parts[key].copy() if key in used else parts[key])
            used.add(key)
        where = sharding.placement(aval.ndim)
        buffer = xla.put_parts(on_device, where, for_devices, True)
        return array_at(buffer, type_at(aval, sharding))

    part = sharding.shard_shape(aval.shape) if sharding is not None else aval.shape
    itemsize = device_type(aval).dtype.itemsize
    return len(reads) * int(np.prod(part, dtype=np.int64)) * itemsize, finish_reading


def _attempt(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except (ValueError, OSError) as error:  # TensorStore's errors are ValueErrors
        raise _ReadError(error) from None


def _made(target: _Target, numbers: storage.Numbers) -> Any:
    """A leaf from these numbers, all in this process."""
    aval = target.aval
    assert aval is not None
    if target.kind == "numpy":
        return np.zeros(aval.shape, float0) if aval.dtype == float0 else numbers
    if target.sharding is not None:
        return put_array(numbers, aval, target.sharding)
    place = default_placement()
    if place is not None and not place.committed:
        return put_array(numbers, aval, place.sharding, committed=False)
    return Array(new_buffer(numbers, aval), aval)
