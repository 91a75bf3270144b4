"""Conversion of numbers and numpy arrays to Arrays as they enter or leave this library."""

from typing import Any

import numpy as np

from minijax.runtime.array import array, of_library
from minijax_stage2 import ShapedArray, float0, tree_map, typeof
from minijax_stage2.shaped_array import is_value, python_scalars
from minijax_stage3.staging import as_type

_NUMBERS = (*python_scalars, np.ndarray, np.generic)


def to_array(x: Any) -> Any:
    """A number or a numpy array as an Array; anything else is returned unchanged."""
    if not isinstance(x, _NUMBERS) or not is_value(x):
        return of_library(x)
    return x if getattr(x, "dtype", None) == float0 else array(x)


def tree_to_arrays(tree: Any) -> Any:
    """The tree with each leaf that is a number or a numpy array as an Array."""
    return tree_map(to_array, tree)


def type_of(x: Any) -> ShapedArray:
    """The type of a value, or of anything with a shape and a dtype."""
    try:
        return typeof(x)
    except TypeError:
        if aval := as_type(x):
            return aval
        raise


def require_no_out(name: str, out: None) -> None:
    """Raise an error if numpy's argument `out` is used."""
    if out is not None:
        raise NotImplementedError(f"{name}: out must be None: an Array is never written to")
