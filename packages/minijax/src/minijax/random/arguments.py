"""Arguments shared by the distributions: dtypes, and the shapes of results."""

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.shapes.creation import sizes_of
from minijax.numpy.dtypes import default_float, default_int
from minijax.random.primitives import random_split_p
from minijax_stage2 import bind1, broadcast_to, typeof
from minijax_stage2.errors import shown
from minijax_stage2.promotion import broadcast_shapes
from minijax_stage2.shaped_array import dialect, is_inexact

Shape = int | Sequence[int]


finfo: Callable[[Any], Any] = ml_dtypes.finfo


def float_dtype(caller: str, dtype: Any) -> np.dtype[Any]:
    """The dtype of a real result, the default one if not given."""
    found: np.dtype[Any] = default_float() if dtype is None else dialect().dtype_of(caller, dtype)
    if not is_inexact(found) or found.kind == "c":
        raise ValueError(f"{caller}: expected a dtype of real numbers, found {found}")
    return found


def int_dtype(caller: str, dtype: Any, error: type[Exception] = ValueError) -> np.dtype[Any]:
    """The dtype of an integer result, the default one if not given."""
    found: np.dtype[Any] = default_int() if dtype is None else dialect().dtype_of(caller, dtype)
    if found.kind not in "iu":
        raise error(f"{caller}: expected a dtype of integers, found {found}")
    return found


def result_shape(caller: str, shape: Shape | None, *parameters: Any) -> tuple[int, ...]:
    """`shape` as a tuple, to which the parameters must broadcast; theirs if it is None.

    Raises:
        ValueError: a parameter does not broadcast to `shape`.
    """
    return broadcast_sizes(caller, shape, *(typeof(parameter).shape for parameter in parameters))


def broadcast_sizes(caller: str, shape: Shape | None, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """`result_shape` of parameters of these shapes."""
    meeting = broadcast_shapes((), *shapes)
    if shape is None:
        return meeting
    sizes = sizes_of(caller, shape)
    try:
        fits = broadcast_shapes(sizes, meeting) == sizes
    except ValueError:
        fits = False
    if not fits:
        found = " and ".join(map(str, shapes))
        raise ValueError(
            f"{caller}: parameters of shape {found} do not broadcast to the shape {sizes}; a "
            "shape is that of the whole result"
        )
    return sizes


def is_exact(caller: str, method: str) -> bool:
    """Return True if `method` is "exact", not "approximate".

    Raises:
        ValueError: there is no such method.
    """
    if method not in ("exact", "approximate"):
        raise ValueError(f'{caller}: method is "exact" or "approximate", found {shown(method)}')
    return method == "exact"


def as_dtype(x: Any, dtype: np.dtype[Any]) -> Any:
    """The parameter `x` of a distribution in the dtype of its result."""
    if isinstance(x, int | float):
        return dtype.type(x)
    if typeof(x).dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"the parameters of a real distribution must be real, found {typeof(x)}")
    return lax.convert_element_type(x, dtype)


def spread(x: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """The parameter `x` in the dtype and shape of the result."""
    return broadcast_to(as_dtype(x, dtype), shape)


def new_keys(key: Any, count: int) -> list[Any]:
    """The keys that `split` makes from a single typed key."""
    keys = bind1(random_split_p, key, shape=(count,))
    return [lax.index_in_dim(keys, at, keepdims=False) for at in range(count)]
