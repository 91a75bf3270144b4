"""`python -m clients.run NAME ...` runs programs and prints their results as JSON."""

import importlib
import json
import sys
import time
import traceback

import numpy as np


def as_numbers(tree):
    """A tree of arrays as lists of numbers and texts."""
    if isinstance(tree, dict):
        return {str(key): as_numbers(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [as_numbers(value) for value in tree]
    if tree is None or isinstance(tree, str):
        return tree
    return np.asarray(tree).astype(float).tolist()


def main() -> None:
    for name in sys.argv[1:]:
        start = time.perf_counter()
        try:
            result = {"result": as_numbers(importlib.import_module(f"clients.with_{name}").main())}
        except Exception as error:
            traceback.print_exc()
            lines = str(error).strip().splitlines() or [""]
            result = {"error": f"{type(error).__name__}: {lines[0]}"}
        result["seconds"] = round(time.perf_counter() - start, 1)
        print(json.dumps({"name": name, **result}), flush=True)


if __name__ == "__main__":
    main()
