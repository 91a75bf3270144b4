"""Numbers and numpy's arrays become Arrays where they enter this library or leave it."""

from typing import Any

import numpy as np

from minijax.array import array, of_library
from minijax_stage2 import float0, tree_map
from minijax_stage2.shaped_array import is_value, python_scalars


def to_array(x: Any) -> Any:
    """A number or a numpy array as an Array; whatever else it is, `x` itself."""
    if not isinstance(x, (*python_scalars, np.ndarray, np.generic)) or not is_value(x):
        return of_library(x)
    return x if getattr(x, "dtype", None) == float0 else array(x)


def tree_to_arrays(tree: Any) -> Any:
    """The tree with each leaf that is a number or a numpy array as an Array."""
    return tree_map(to_array, tree)
