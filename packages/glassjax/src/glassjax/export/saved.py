"""Exported functions as directories that are served without Python."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from glassjax.export.call import words_type
from glassjax.lax.key_arrays import random_unwrap
from glassjax.settings.number_types import is_key_type
from glassjax.tree_util import keystr, tree_flatten_with_path
from glassjax.xla.clients import compile_options
from glassjax_stage2 import ShapedArray, tree_leaves, typeof

if TYPE_CHECKING:
    from glassjax.export.exported import Exported

# PJRT's numbers of dtypes, from 1.
_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "bfloat16", "complex64", "complex128",
)  # fmt: skip


def save(exported: "Exported", directory: str | os.PathLike[str], weights: Sequence[Any]) -> None:
    """Write a program, and the first of its arguments, for `runner.cc`."""
    name = exported.fun_name
    if len(exported.platforms) > 1 or exported.nr_devices > 1:
        raise ValueError(f"save: export `{name}` for one platform and one device")
    if exported.program.is_symbolic:
        raise ValueError(f"save: export `{name}` for sizes that are ints: a runner refines none")
    held = tree_leaves(weights)
    for number, (leaf, aval) in enumerate(zip(held, exported.in_avals, strict=False)):
        if typeof(leaf).strip_weak_type() != aval.strip_weak_type():
            raise TypeError(
                f"save: `{name}` takes {aval} as leaf {number} of its arguments, found "
                f"{typeof(leaf)}"
            )
    if len(held) > len(exported.in_avals):
        raise ValueError(
            f"save: `{name}` takes {len(exported.in_avals)} arrays, found {len(held)} weights"
        )
    lines = []
    for number, (path, aval) in enumerate(_named(exported.in_tree, exported.in_avals)):
        file = f"{number}.npy" if number < len(held) else "-"
        lines.append(f"argument {_described(aval)} {file} {path}")
    for path, aval in _named(exported.out_tree, exported.out_avals):
        lines.append(f"result {_described(aval)} {path}")
    target = Path(directory)
    (target / "weights").mkdir(parents=True)
    for number, leaf in enumerate(held):
        numbers = random_unwrap(leaf) if is_key_type(typeof(leaf).dtype) else leaf
        dtype = words_type(exported.in_avals[number]).dtype
        np.save(target / "weights" / f"{number}.npy", np.asarray(numbers, dtype))
    (target / "manifest.txt").write_text("".join(f"{line}\n" for line in lines))
    (target / "program.mlir").write_text(exported.mlir_module())
    (target / "program.mlirbc").write_bytes(exported.mlir_module_serialized)
    (target / "options.pb").write_bytes(compile_options(1, 1).SerializeAsString())
    shutil.copy(Path(__file__).with_name("runner.cc"), target)


def _named(treedef: Any, avals: Sequence[ShapedArray]) -> list[tuple[str, ShapedArray]]:
    """The types of the leaves, with their paths."""
    leaves, _ = tree_flatten_with_path(treedef.unflatten(avals))
    return [(keystr(path) or ".", aval) for path, aval in leaves]


def _described(aval: ShapedArray) -> str:
    aval = words_type(aval)
    if aval.dtype.name not in _DTYPES:
        raise ValueError(f"save: the runner has no name for the dtype of {aval}")
    size = aval.size * aval.dtype.itemsize
    shape = [1 + _DTYPES.index(aval.dtype.name), size, aval.ndim, *aval.shape]
    return " ".join(map(str, shape))
