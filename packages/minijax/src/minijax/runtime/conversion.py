"""Conversion of numbers and numpy arrays to Arrays as they enter or leave this library."""

from typing import Any

import numpy as np

from minijax.runtime.array import array, of_library
from minijax_stage2 import ShapedArray, float0, tree_map, typeof
from minijax_stage2.shaped_array import Shape, dialect, python_scalars

_NUMBERS = (*python_scalars, np.ndarray, np.generic)


def check_shape(caller: str, shape: Shape) -> None:
    """Raise an error if `shape` is not a tuple of sizes."""
    if not all(isinstance(size, int | np.integer) and 0 <= size < 2**63 for size in shape):
        raise TypeError(f"{caller}: a shape is a tuple of ints from 0 to 2**63 - 1, found {shape}")


def is_value(x: Any) -> bool:
    """Return True if `x` has a type: if it is an array, a number or a tracer."""
    try:
        typeof(x)
    except (TypeError, OverflowError):
        return False
    return True


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
        if aval := given_type(x):
            return aval
        raise


def given_type(x: Any) -> ShapedArray | None:
    """The type `x`, if it is not a value: a type of this library, or with a shape and a dtype."""
    if hasattr(x, "to_aval"):
        return x.to_aval()
    if isinstance(x, ShapedArray):
        return x
    if is_value(x) or not hasattr(x, "shape") or not hasattr(x, "dtype"):
        return None
    shape = tuple(x.shape)
    check_shape("a type", shape)
    weak_type = bool(getattr(x, "weak_type", False))
    return ShapedArray(shape, dialect().dtype_of("a type", x.dtype), weak_type)


def require_no_out(name: str, out: None) -> None:
    """Raise an error if numpy's argument `out` is used."""
    if out is not None:
        raise NotImplementedError(f"{name}: out must be None: an Array is never written to")


def converts_itself(x: Any) -> bool:
    """Return True if the class of `x` says itself how its objects become arrays."""
    return hasattr(type(x), "__jax_array__")


def with_own_conversions(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments, with the array of each that converts itself, also in lists and tuples."""
    given = (*args, *kwargs.values()) if kwargs else args
    classes = [cls for x in given for cls in (map(type, x) if type(x) in _ROWS else (type(x),))]
    if not [cls for cls in classes if hasattr(cls, "__jax_array__")]:
        return args, kwargs
    return tuple(map(_own_conversion, args)), {
        name: _own_conversion(x) for name, x in kwargs.items()
    }


_ROWS = (list, tuple)


def _own_conversion(x: Any) -> Any:
    if type(x) in _ROWS:
        return type(x)(map(_own_conversion, x))
    return x.__jax_array__() if converts_itself(x) else x
