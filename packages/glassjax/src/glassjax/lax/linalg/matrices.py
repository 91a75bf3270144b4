"""Matrices in the last two axes of an array: helpers of the decompositions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.lax.conversion import convert_element_type
from glassjax.lax.elementwise import conj, real, select
from glassjax.lax.gathering import GatherDimensionNumbers, GatherScatterMode, gather
from glassjax.lax.reductions import reduce_sum
from glassjax.lax.shapes import broadcast_in_dim, broadcasted_iota, expand_dims, full_like
from glassjax.primitives.declare import Rule
from glassjax.runtime.array import Array
from glassjax_stage2 import ShapedArray, typeof
from glassjax_stage2.promotion import to_inexact
from glassjax_stage2.shaped_array import dialect

LAPACK_DTYPES = "float32", "float64", "complex64", "complex128"
DTYPES_OF_XLA = "bfloat16", "float16", *LAPACK_DTYPES  # for XLA's own algorithms


def matrices_of(
    caller: str, x: Any, square: bool = False, dtypes: Sequence[str] = LAPACK_DTYPES
) -> Array:
    """`x` as real or complex matrices.

    Raises:
        ValueError: it has fewer than two axes, or the matrices must be square and are not.
        TypeError: its dtype is not one of `dtypes`.
    """
    x = to_inexact(x)
    check_matrices(caller, typeof(x), square, dtypes)
    return x


def check_matrices(
    caller: str, aval: ShapedArray, square: bool = False, dtypes: Sequence[str] = LAPACK_DTYPES
) -> None:
    if aval.ndim < 2:
        raise ValueError(f"{caller}: takes matrices, in the last two axes; found {aval}")
    if square and aval.shape[-1] != aval.shape[-2]:
        raise ValueError(f"{caller}: takes square matrices, found {aval}")
    if aval.dtype.name not in dtypes:
        raise TypeError(f"{caller}: found {aval}; the dtypes it takes are {', '.join(dtypes)}")


def weak_together(rule: Rule) -> Rule:
    """The rule for types, with results that are weak if all operands are."""

    def types(*avals: ShapedArray, **params: Any) -> list[ShapedArray]:
        is_weak = all(aval.weak_type for aval in avals)
        return [ShapedArray(x.shape, x.dtype, is_weak) for x in rule(*avals, **params)]

    return types


def is_complex(x: Any) -> bool:
    return typeof(x).dtype.kind == "c"


def real_dtype(dtype: Any) -> np.dtype[Any]:
    return np.finfo(dtype).dtype


def mT(x: Any) -> Any:  # named after the attribute of arrays
    """The matrices transposed."""
    ndim = typeof(x).ndim
    return stage2.transpose(x, [*range(ndim - 2), ndim - 1, ndim - 2])


def mH(x: Any) -> Any:
    """The matrices transposed and conjugated."""
    return conj(mT(x)) if is_complex(x) else mT(x)


def matmul(x: Any, y: Any) -> Any:
    """The product of matrices, as exactly as they are."""
    return stage2.matmul(x, y, precision="[HIGHEST, HIGHEST]", preferred_element_type=None)


def real_part(x: Any) -> Any:
    return real(x) if is_complex(x) else x


def index(x: Any, axis: int) -> Any:
    """The row of each element, or for `axis` -1 its column."""
    shape = typeof(x).shape
    return broadcasted_iota(dialect().dtype_of("index", int), shape, axis % len(shape))


def tril(x: Any, k: int = 0) -> Any:
    """The matrices with zeros above the `k`-th diagonal."""
    below = index(x, -2) + k >= index(x, -1)
    return select(below, x, full_like(x, 0))


def triu(x: Any, k: int = 0) -> Any:
    """The matrices with zeros below the `k`-th diagonal."""
    below = index(x, -2) + (k - 1) >= index(x, -1)
    return select(below, full_like(x, 0), x)


def eye_like(x: Any) -> Any:
    """The unit matrices of the shape and dtype of `x`."""
    return eye(typeof(x).shape, typeof(x).dtype)


def eye(shape: Sequence[int], dtype: Any, k: int = 0) -> Any:
    """Matrices with ones on the `k`-th diagonal."""
    ndim = len(shape)
    rows = stage2.add(broadcasted_iota("int32", tuple(shape), ndim - 2), k)
    columns = broadcasted_iota("int32", tuple(shape), ndim - 1)
    return convert_element_type(stage2.eq(rows, columns), dtype)


def diagonal(x: Any) -> Any:
    """The main diagonals of the matrices."""
    on_it = index(x, -2) == index(x, -1)
    ndim = typeof(x).ndim
    rows, columns = typeof(x).shape[-2:]
    axis = ndim - 2 if rows >= columns else ndim - 1
    return reduce_sum(select(on_it, x, full_like(x, 0)), [axis])


def trace(x: Any) -> Any:
    """The sums of the main diagonals."""
    ndim = typeof(x).ndim
    on_it = index(x, -2) == index(x, -1)
    return reduce_sum(select(on_it, x, full_like(x, 0)), [ndim - 2, ndim - 1])


def times_columns(x: Any, factors: Any) -> Any:
    """Each column of the matrices times its factor."""
    ndim = typeof(x).ndim
    axes = [*range(ndim - 2), ndim - 1]
    factors = broadcast_in_dim(factors, typeof(x).shape, axes)
    return x * convert_element_type(factors, typeof(x).dtype)


def times_rows(x: Any, factors: Any) -> Any:
    """Each row of the matrices times its factor."""
    ndim = typeof(x).ndim
    factors = broadcast_in_dim(factors, typeof(x).shape, list(range(ndim - 1)))
    return x * convert_element_type(factors, typeof(x).dtype)


def permute_rows(x: Any, permutation: Any) -> Any:
    """The matrices with rows permuted by `permutation`."""
    *lead, _, columns = typeof(x).shape
    if not typeof(permutation).size:
        return x
    n = len(lead)
    numbers = GatherDimensionNumbers(
        offset_dims=(n + 1,),
        collapsed_slice_dims=(n,),
        start_index_map=(n,),
        operand_batching_dims=tuple(range(n)),
        start_indices_batching_dims=tuple(range(n)),
    )
    indices = expand_dims(permutation, [n + 1])
    sizes = (1,) * (n + 1) + (columns,)
    return gather(x, indices, numbers, sizes, mode=GatherScatterMode.PROMISE_IN_BOUNDS)


def inverse_permutation(permutation: Any) -> Any:
    """Invert `permutation`: return the position of each number."""
    shape = typeof(permutation).shape
    n = len(shape) - 1
    square = (*shape, shape[-1])
    numbers = broadcast_in_dim(permutation, square, list(range(n + 1)))
    is_there = numbers == broadcasted_iota(typeof(permutation).dtype, square, n + 1)
    places = broadcasted_iota(typeof(permutation).dtype, square, n)
    return reduce_sum(select(is_there, places, full_like(places, 0)), [n])
