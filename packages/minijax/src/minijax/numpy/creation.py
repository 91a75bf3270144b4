"""Making arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax import array as arrays
from minijax import lax
from minijax.evaluation import evaluated_by_library
from minijax.numpy.dtypes import default_float, default_int
from minijax.numpy.manipulation import stack
from minijax.operation import operation
from minijax_stage2 import Tracer, tree_leaves, typeof

Shape = int | Sequence[int]


@evaluated_by_library
def array(object: Any, dtype: Any = None) -> Any:
    """An Array of numbers.

    Arguments:
        object: a number, an array, or lists and tuples of these, nested to any depth.
        dtype: the dtype of the result; by default that of `object`.

    Raises:
        TypeError: `object` holds something else.
        ValueError: nested lists have different lengths.
    """
    if isinstance(object, list | tuple) and _holds_arrays(object):
        return array(stack([array(item) for item in object]), dtype)
    if isinstance(object, Tracer):
        return object if dtype is None else lax.convert_element_type(object, dtype)
    return arrays.array(object, dtype)


def _holds_arrays(items: Any) -> bool:
    """Whether some of the items live on the device, or are not known yet."""
    return any(hasattr(leaf, "evaluate_primitive") for leaf in tree_leaves(items))


@evaluated_by_library
def asarray(a: Any, dtype: Any = None) -> Any:
    """`a` as an Array; itself where it is one of that dtype."""
    return array(a, dtype)


@operation(static=("shape", "dtype"))
def zeros(shape: Shape, dtype: Any = None) -> Any:
    """An array of zeros."""
    return lax.full(shape, 0, default_float() if dtype is None else dtype)


@operation(static=("shape", "dtype"))
def ones(shape: Shape, dtype: Any = None) -> Any:
    """An array of ones."""
    return lax.full(shape, 1, default_float() if dtype is None else dtype)


@operation(static=("shape", "dtype"))
def full(shape: Shape, fill_value: Any, dtype: Any = None) -> Any:
    """An array filled with `fill_value`, a number or what broadcasts to `shape`."""
    return lax.full(shape, fill_value, dtype)


@operation(static="dtype")
def zeros_like(a: Any, dtype: Any = None) -> Any:
    """Zeros in the shape of `a`, and in its dtype unless another is given."""
    return full_like(a, 0, dtype)


@operation(static="dtype")
def ones_like(a: Any, dtype: Any = None) -> Any:
    """Ones in the shape of `a`, and in its dtype unless another is given."""
    return full_like(a, 1, dtype)


@operation(static="dtype")
def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    """An array filled with `fill_value`, in the shape of `a`, and in its dtype by default."""
    aval = typeof(a)
    return lax.full(aval.shape, fill_value, aval.dtype if dtype is None else dtype)


@evaluated_by_library
def arange(start: Any, stop: Any = None, step: Any = None, *, dtype: Any = None) -> Any:
    """The numbers from `start` in steps of `step` up to `stop`, exclusive; or 0 up to `start`."""
    numbers = np.arange(start, stop, step, dtype=dtype)
    if stop is None and step is None and numbers.dtype.kind in "iu":
        return lax.iota(numbers.dtype, len(numbers))
    return arrays.array(numbers)


@evaluated_by_library
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, *, dtype: Any = None
) -> Any:
    """`num` numbers at equal distances from `start` to `stop`, which is the last by default."""
    return arrays.array(np.linspace(start, stop, num, endpoint, dtype=dtype))


@operation(static=("N", "M", "k", "dtype"))
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """The matrix of `N` rows and `M` columns with ones on its `k`-th diagonal, zeros elsewhere."""
    shape = (N, N if M is None else M)
    rows = lax.broadcasted_iota(default_int(), shape, 0)
    columns = lax.broadcasted_iota(default_int(), shape, 1)
    on_diagonal = lax.eq(lax.add(rows, k), columns)
    return lax.convert_element_type(on_diagonal, default_float() if dtype is None else dtype)
