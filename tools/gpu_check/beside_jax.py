"""Runs the programs on both libraries and prints, as JSON, how each begins and ends.

Names of programs to leave out follow as arguments.
"""

import json
import sys
import time
import warnings
from importlib import import_module
from typing import Any

import numpy as np

from tools.gpu_check.programs import PROGRAMS

MODULES = "numpy lax lax.linalg nn random scipy.linalg scipy.special export ops dlpack experimental"
# Of floats of fewer bits, whatever a program allows those of 32.
LEAST = {"float16": 2e-3, "bfloat16": 2e-2, "float8_e4m3fn": 0.13, "float8_e5m2": 0.26}


def library(name: str) -> Any:
    for module in MODULES.split():
        import_module(f"{name}.{module}")
    return import_module(name)


def leaves(lib: Any, tree: Any) -> list[Any]:
    """The leaves of a tree, arrays as numpy's."""
    return [np.asarray(x) if hasattr(x, "dtype") else x for x in lib.tree_util.tree_leaves(tree)]


def difference(found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest number; infinite if not one of rounding."""
    if not isinstance(expected, np.ndarray):
        return 0.0 if found == expected else np.inf
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return np.inf
    if expected.dtype.kind in "biu":
        return 0.0 if np.array_equal(found, expected) else np.inf
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, b = found.astype(wide), expected.astype(wide)
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return np.inf
    a, b = np.nan_to_num(a), np.nan_to_num(b)
    scale = np.max(np.abs(b), initial=1e-30)
    return float(np.max(np.abs(a - b), initial=0.0) / scale)


def compared(name: str, libraries: tuple[Any, Any]) -> str:
    run, tolerance = PROGRAMS[name]
    ours, theirs = (leaves(lib, run(lib)) for lib in libraries)
    if len(ours) != len(theirs):
        return f"FAILED: {len(ours)} results, JAX has {len(theirs)}"
    worst = 0.0
    for i, (found, expected) in enumerate(zip(ours, theirs, strict=True)):
        away = difference(found, expected)
        worst = max(worst, away)
        if away > max(tolerance, LEAST.get(str(getattr(expected, "dtype", "")), 0.0)):
            if isinstance(expected, np.ndarray):
                shown = f"{expected.dtype}{list(expected.shape)}, by {away:.1e} of its largest"
            else:
                shown = f"{found!r}, JAX has {expected!r}"
            return f"FAILED: result {i} differs: {shown}"
    return f"equal, to {worst:.0e}" if worst else "equal"


def main(finished: list[str]) -> None:
    warnings.simplefilter("ignore")
    told = sys.stdout
    sys.stdout = sys.stderr  # for what programs print
    libraries = library("glassjax"), library("jax")
    for name in PROGRAMS:
        if name in finished:
            continue
        print(json.dumps({"name": name}), file=told, flush=True)
        started = time.perf_counter()
        try:
            result = compared(name, libraries)
        except Exception as error:
            result = f"FAILED: {type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
        seconds = time.perf_counter() - started
        print(
            json.dumps({"name": name, "result": result, "seconds": seconds}), file=told, flush=True
        )


if __name__ == "__main__":
    main(sys.argv[1:])
