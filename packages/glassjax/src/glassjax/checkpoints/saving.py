"""Saving a tree of arrays, by one process or several."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from glassjax import xla
from glassjax.checkpoints import storage
from glassjax.checkpoints.storage import write
from glassjax.errors.arguments import require_fit
from glassjax.errors.tracebacks import hiding_frames
from glassjax.runtime.array import Array, parts_here, to_library_array
from glassjax.shardings.sharding import Index
from glassjax.tree_util import keystr, tree_flatten_with_path
from glassjax_stage2 import ShapedArray, Tracer, float0
from glassjax_stage2.errors import shown

# The processes that write one checkpoint together.
#
# The first creates its directory and the arrays in it, each writes its shards, and the first
# completes it when all have. If one of them fails, none completes it, and all say why.


_attempts: dict[int, int] = defaultdict(int)  # to save each step
_finished: list[str] = []  # keys of earlier meetings


class Coordinator:
    """The messages between processes about a checkpoint; a single process sends none.

    Arguments:
        step: the step.
        seconds: how long to wait for another process.
    """

    def __init__(self, step: int, seconds: float):
        joined = xla.coordination()
        self.joined = None if joined is None or joined.count == 1 else joined
        self.leads = self.joined is None or self.joined.index == 0
        self.seconds = seconds
        _attempts[step] += 1
        self.key = f"checkpoint/{step}/{_attempts[step]}"

    def begin(self, digest: str, directory: Path | None) -> Path:
        """The directory that the first process made for a checkpoint with this digest.

        Raises:
            RuntimeError: another process saves something else, failed or is missing; the directory
                is not visible from here.
        """
        joined = self.joined
        if joined is None:
            assert directory is not None
            return directory
        if directory is not None:
            word = {"digest": digest, "directory": os.fspath(directory)}
            joined.set(f"{self.key}/begin", json.dumps(word))
            return directory
        text = joined.get(f"{self.key}/begin", self.seconds)
        if text is None:
            raise RuntimeError(f"{joined.described(0)} did not save in {self.seconds} s")
        word = json.loads(text)
        if "problem" in word:
            raise RuntimeError(f"{joined.described(0)}: {word['problem']}")
        if word["digest"] != digest:
            raise RuntimeError(
                "the tree has other leaves, types or shardings than in process 0; all processes "
                "save the same step of the same tree"
            )
        found = Path(word["directory"])
        if not found.is_dir():
            raise RuntimeError(
                f"{found}, created by process 0, does not exist here: the directory must be on a "
                "file system that all processes share"
            )
        return found

    def wait_for_parts(self) -> None:
        """Wait, in the first process, until all have written their shards.

        Raises:
            RuntimeError: a process failed, or is missing.
        """
        if self.joined is not None:
            for index in range(1, self.joined.count):
                self._hear(index, f"{self.key}/part/{index}")
            for key in _finished:  # every process has read the outcome of earlier saves
                self.joined.delete(key)
            _finished[:] = [self.key]

    def part_is_written(self) -> None:
        """Report to the first process that the shards are written, and wait for the others.

        Raises:
            RuntimeError: another process failed.
        """
        if self.joined is not None:
            self.joined.set(f"{self.key}/part/{self.joined.index}", "")
            self._hear(0, f"{self.key}/end")

    def _hear(self, index: int, key: str) -> None:
        assert self.joined is not None
        problem = self.joined.get(key, self.seconds)
        if problem is None:
            problem = f"has not written its shards in {self.seconds} s"
        if problem:
            raise RuntimeError(f"{self.joined.described(index)}: {problem}")

    def end(self, problem: str = "") -> None:
        """Tell the other processes that this one is done, or failed."""
        if self.joined is None:
            return
        if not self.leads:
            if problem:
                self.joined.set(f"{self.key}/part/{self.joined.index}", problem)
            return
        if problem:
            self.joined.set(f"{self.key}/begin", json.dumps({"problem": problem}))
        self.joined.set(f"{self.key}/end", problem)


# Saving a tree: its numbers are copied at once, and written while the program goes on.


class PendingSave:
    """A checkpoint that is being written, as `save` returns it.

    A process does not end before it is written; if that fails and was not reported, the process
    prints the error and ends with exit code 1.

    Attributes:
        step: the step.
        path: the directory of the checkpoint, which exists once it is complete.

    >>> import tempfile
    >>> pending = glassjax.checkpoints.save(tempfile.mkdtemp(), 20, {"w": jnp.ones(3)})
    >>> pending.wait()
    >>> pending.done(), pending.path.name
    (True, '20')
    """

    _last: PendingSave | None = None

    def __init__(self, step: int, path: Path, write: Callable[[], None]):
        self.step, self.path = step, path
        self._error: Exception | None = None
        self._was_raised = False
        self._thread = Thread(target=self._run, args=(write,), name=f"glassjax-save-{step}")
        self._thread.start()
        if PendingSave._last is None:
            atexit.unregister(PendingSave._fail_if_lost)
            atexit.register(PendingSave._fail_if_lost)
        PendingSave._last = self

    def _run(self, write: Callable[[], None]) -> None:
        try:
            write()
        except Exception as error:
            self._error = error

    def done(self) -> bool:
        """Return True if nothing is being written any more."""
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Wait until the checkpoint is complete.

        Raises:
            RuntimeError: it could not be written. Without `wait`, the next `save` raises this.
        """
        self._thread.join()
        if self._error is not None:
            self._was_raised = True
            raise RuntimeError(self._why_lost()) from self._error

    def _why_lost(self) -> str:
        assert self._error is not None
        return (
            f"save: step {self.step} was not saved: {storage.message_of(self._error)}. "
            f"{storage.described(self.path.parent)}"
        )

    @staticmethod
    def _fail_if_lost() -> None:
        """Report, after all threads have ended, an error that no later `save` will raise."""
        last = PendingSave._last
        if last is not None and last._error is not None and not last._was_raised:
            sys.stdout.flush()
            print(f"glassjax.checkpoints: {last._why_lost()}", file=sys.stderr, flush=True)
            os._exit(1)  # at exit, no exception changes the exit code

    @staticmethod
    def wait_for_last() -> None:
        """Wait for the last one; raises its error if it was not reported."""
        last = PendingSave._last
        if last is not None:
            last._thread.join()
            if not last._was_raised:
                last.wait()
            PendingSave._last = None


@hiding_frames
def save(
    directory: str | os.PathLike[str],
    step: int,
    tree: Any,
    *,
    keep_last: int | None = None,
    timeout: float = 600.0,
) -> PendingSave:
    """Save a tree of arrays and numbers, in the background.

    The numbers are copied before it returns, so the arrays may be donated, deleted or changed. The
    checkpoint appears when it is complete. Until then, and if the process is killed, there is only
    a hidden directory, which the next `save` deletes. One checkpoint is written at a time: `save`
    waits for the previous one.

    Several processes save together, into a directory that they share. Each writes its shards;
    arrays that are local to each process are written by the first one.

    Arguments:
        directory: the directory of the checkpoints, created if missing. Only one job may save into
            it at a time.
        step: the number of the checkpoint, larger than all existing ones.
        tree: the pytree. Its leaves are Arrays, including random keys, numpy arrays of numbers, and
            Python numbers.
        keep_last: how many checkpoints to keep, this one included; None for all.
        timeout: seconds to wait for other processes.

    Returns:
        A handle; its method `wait` waits until the checkpoint is complete.

    Raises:
        ModuleNotFoundError: TensorStore is not installed.
        ValueError: there is a checkpoint of this step, or a later one.
        TypeError: a leaf is something else, or an argument is of another type.
        RuntimeError: the previous checkpoint could not be written, and its `wait` was not called.

    >>> import tempfile
    >>> directory = tempfile.mkdtemp()
    >>> save(directory, 20, {"w": jnp.ones(3), "epoch": 2}).wait()
    >>> glassjax.checkpoints.restore(directory)
    {'epoch': 2, 'w': Array([1., 1., 1.], dtype=float32)}
    """
    storage.tensorstore()
    path = storage.directory_of("save", directory) / str(storage.step_of("save", step))
    require_fit("save", "keep_last", keep_last, int | None)
    if keep_last is not None and keep_last < 1:
        raise ValueError(f"save: keep_last must be at least 1, or None, found {keep_last}")
    require_fit("save", "timeout", timeout, float)
    PendingSave.wait_for_last()
    coordinator = Coordinator(int(path.name), timeout)
    try:
        manifest, parts = _describe_tree(int(path.name), tree, coordinator)
        if coordinator.leads:
            _require_new(path)
    except Exception as error:
        coordinator.end(str(error))
        raise
    return PendingSave(
        manifest.step,
        path,
        lambda: _write_checkpoint(path, manifest, parts, keep_last, coordinator),
    )


def _require_new(path: Path) -> None:
    later = [step for step in storage.all_steps(path.parent) if step > int(path.name)]
    if path.exists():
        raise ValueError(
            f"save: {path} is there already; delete it with checkpoints.remove, or save another "
            "step"
        )
    if later:
        raise ValueError(
            f"save: step {path.name} is before step {later[-1]}, and a restart would begin with the"
            f" latest: {storage.described(path.parent)}. Delete those that are out of date with "
            "checkpoints.remove, or save into another directory"
        )


def _write_checkpoint(
    path: Path,
    manifest: storage.Manifest,
    parts: list[storage.Part],
    keep_last: int | None,
    coordinator: Coordinator,
) -> None:
    """Write a checkpoint, together with the other processes."""
    hidden = None
    try:
        hidden = storage.new_directory(path) if coordinator.leads else None
        at = coordinator.begin(manifest.digest(), hidden)
        arrays = [leaf.array for leaf in manifest.leaves if leaf.array is not None]
        write(at, arrays, parts, creates=coordinator.leads)
        if hidden is None:
            coordinator.part_is_written()
            return
        coordinator.wait_for_parts()
        storage.complete(hidden, path, manifest.to_text())
    except Exception as error:
        coordinator.end(storage.message_of(error))
        if hidden is not None:
            shutil.rmtree(hidden, ignore_errors=True)
        raise
    coordinator.end()
    if keep_last is not None:
        for old in storage.all_steps(path.parent)[:-keep_last]:
            storage.remove(path.parent, old)


def _describe_tree(
    step: int, tree: Any, coordinator: Coordinator
) -> tuple[storage.Manifest, list[storage.Part]]:
    """The manifest of a tree, and copies of the parts that this process writes."""
    pairs, treedef = tree_flatten_with_path(tree)
    leaves, parts = [], []
    for number, (keys, x) in enumerate(pairs):
        leaf, leaf_parts = _leaf(keystr(keys), str(number), to_library_array(x), coordinator)
        leaves.append(leaf)
        parts += leaf_parts
    return storage.Manifest(step, tuple(leaves), storage.structure_of(treedef)), parts


def _leaf(
    path: str, name: str, x: Any, coordinator: Coordinator
) -> tuple[storage.Leaf, list[storage.Part]]:
    where = f"save: the leaf tree{path}"
    if isinstance(x, Tracer):
        raise TypeError(f"{where} is a tracer, of type {x.aval}; save outside of transformations")
    if isinstance(x, Array):
        if (
            coordinator.joined is not None
            and coordinator.leads
            and not x.sharding.addressable_devices
        ):
            raise ValueError(
                f"{where} is only on devices of other processes; device_put it to a sharding of "
                "all processes, or of the first"
            )
        array = storage.StoredArray(name, x.aval, storage.chunks_of(x.aval, x.sharding))
        return storage.Leaf(path, "Array", array), _parts_of(array, x, coordinator)
    if isinstance(x, np.ndarray | np.generic):
        aval = _numpy_dtype_name(where, np.asarray(x))
        array = storage.StoredArray(name, aval, storage.chunks_of(aval, None))
        numbers = np.zeros(x.shape, np.bool_) if x.dtype == float0 else np.array(x, aval.dtype)
        whole = storage.Part(array, (slice(None),) * x.ndim, numbers)
        return storage.Leaf(path, "numpy", array), [whole] if coordinator.leads else []
    for cls in storage.PYTHON_TYPES:
        if isinstance(x, cls):
            return storage.Leaf(path, cls.__name__, None, cls(x)), []
    raise TypeError(
        f"{where} must be an array or a number, found {shown(x)} of type {type(x).__name__}"
    )


def _numpy_dtype_name(where: str, x: np.ndarray[Any, Any]) -> ShapedArray:
    dtype = x.dtype.newbyteorder("=")
    try:
        aval = ShapedArray(x.shape, dtype)
        storage.chunks_of(aval, None)
    except TypeError:
        aval = None
    if aval is None or dtype.kind not in "biufcV" or (dtype.names and dtype != float0):
        raise TypeError(f"{where} must be an array of numbers, found dtype {x.dtype}")
    return aval


def _parts_of(array: storage.StoredArray, x: Array, coordinator: Coordinator) -> list[storage.Part]:
    """Copies of the shards that this process writes; among replicas, the first."""
    if not coordinator.leads and x.is_fully_addressable:
        return []  # local to this process; the first process writes its own
    numbers = iter(parts_here(x))
    seen = set()
    found = []
    for device, index in x.sharding.devices_indices_map(x.shape).items():
        is_here = device.process_index == xla.process_index()
        part = next(numbers) if is_here else None
        key = _bounds(index)
        if key not in seen and part is not None:
            found.append(storage.Part(array, index, part if _is_copy(part) else np.array(part)))
        seen.add(key)
    return found


def _is_copy(part: storage.Numbers) -> bool:
    """Return True if numbers read from a device are in numpy's own memory."""
    while isinstance(part.base, np.ndarray):
        part = part.base
    return part.flags.owndata


def _bounds(index: Index) -> tuple[Any, ...]:
    return tuple([(each.start, each.stop) for each in index])
