"""Saving and restoring 200 MB of arrays that are divided among eight devices, beside orbax.

Each line is measured in a process of its own. Saving takes until the checkpoint is complete on the
disk of the directory for temporary files.
"""

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.devices import EIGHT_DEVICES, divided
from benchmarks.measure import (
    QUICK_PAIRS,
    Action,
    Line,
    Row,
    Skip,
    figures_of,
    interleaved,
    row_of,
)
from benchmarks.programs import Library, libraries

COUNT = 20
SHAPE = (2048, 1280)  # 10 MB

Save = Callable[[Path, Any], None]
Restore = Callable[[Path, Any], Any]


def by_glassjax() -> tuple[Save, Restore]:
    from glassjax import checkpoints

    return (
        lambda path, tree: checkpoints.save(path, 0, tree).wait(),
        lambda path, like: checkpoints.restore(path, like),
    )


def by_orbax() -> tuple[Save, Restore]:
    from orbax import checkpoint

    checkpointer = checkpoint.AsyncCheckpointer(checkpoint.StandardCheckpointHandler())

    def save(path: Path, tree: Any) -> None:
        checkpointer.save(path, args=checkpoint.args.StandardSave(tree))
        checkpointer.wait_until_finished()

    return save, lambda path, like: checkpointer.restore(
        path, args=checkpoint.args.StandardRestore(like)
    )


def tree_of(lib: Library) -> dict[str, Any]:
    where = divided(lib, "x")
    numbers = np.random.default_rng(0).random(SHAPE, np.float32)
    return {str(i): lib.core.device_put(numbers + i, where) for i in range(COUNT)}


def saving(lib: Library, directory: Path, save: Save, restore: Restore) -> Action:
    tree, numbers = tree_of(lib), itertools.count()

    def action() -> None:
        path = directory / str(next(numbers))
        save(path, tree)
        shutil.rmtree(path)

    return action


def restoring(lib: Library, directory: Path, save: Save, restore: Restore) -> Action:
    tree = tree_of(lib)
    save(directory / "saved", tree)
    like = {
        name: lib.core.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)
        for name, x in tree.items()
    }
    return lambda: lib.core.block_until_ready(restore(directory / "saved", like))


CASES = {"save": saving, "restore": restoring}


def figures(name: str, pairs: int) -> list[float]:
    """Seconds of ours and orbax's in turn, in this process, which has eight devices."""
    with tempfile.TemporaryDirectory() as directory:
        actions = []
        for lib, functions in zip(libraries(), (by_glassjax(), by_orbax()), strict=True):
            of_library = Path(directory) / lib.core.__name__
            of_library.mkdir()
            actions.append(CASES[name](lib, of_library, *functions))
        return [seconds for pair in interleaved(*actions, pairs) for seconds in pair]


def beside_orbax(name: str) -> Line:
    """The line for a case."""

    def measure(quick: bool) -> Row:
        if find_spec("orbax") is None:
            raise Skip("orbax is not installed")
        count = QUICK_PAIRS if quick else 11
        program = f"from benchmarks.checkpoints import figures; print(*figures({name!r}, {count}))"
        found = figures_of(program, {**os.environ, **EIGHT_DEVICES})
        pairs = list(zip(found[::2], found[1::2], strict=True))
        rates = [COUNT * np.prod(SHAPE) * 4 / 1e9 / np.median(each) for each in np.transpose(pairs)]
        note = f"{rates[0]:.2f} and {rates[1]:.2f} GB/s; the peer is orbax"
        return row_of(f"checkpoint, {name} 200 MB", pairs, note=note)

    return Line(f"checkpoint, {name} 200 MB", measure, 1.0)


LINES = [beside_orbax(name) for name in CASES]
