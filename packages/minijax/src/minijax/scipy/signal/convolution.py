"""Convolutions and correlations.

Common arguments: `mode` is "full" for all sums; "same" for as many as the first array has elements;
"valid" for those in which one array lies within the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minijax import numpy as jnp
from minijax.lax import promoting as lax
from minijax.lax.precision import PrecisionLike
from minijax.numpy.math.operands import inexact_arrays
from minijax.numpy.products import meet
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import require_one_dtype
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axes

MODES = ("full", "same", "valid")


def _operands(caller: str, in1: Any, in2: Any, mode: str) -> tuple[Any, Any]:
    x, y = (inexact_arrays(operand)[0] for operand in meet(in1, in2))
    if mode not in MODES:
        raise ValueError(f"{caller}: mode must be 'full', 'same' or 'valid', found {mode!r}")
    if typeof(x).ndim != typeof(y).ndim:
        raise ValueError(
            f"{caller}: in1 and in2 must have the same number of dimensions, found "
            f"{typeof(x)} and {typeof(y)}"
        )
    return x, y


def _sizes(x: Any, y: Any) -> list[tuple[int, int]]:
    return list(zip(typeof(x).shape, typeof(y).shape, strict=True))


def _convolved(caller: str, in1: Any, in2: Any, mode: str, precision: PrecisionLike) -> Any:
    x, y = _operands(caller, in1, in2, mode)
    if 0 in typeof(x).shape or 0 in typeof(y).shape:
        raise ValueError(
            f"{caller}: zero-size arrays not supported in convolutions, found {typeof(x)} "
            f"and {typeof(y)}"
        )
    sizes = _sizes(x, y)
    is_swapped = all(m <= n for m, n in sizes)
    if not is_swapped and not all(m >= n for m, n in sizes):
        raise ValueError(
            f"{caller}: one input must be smaller than the other in every dimension, found "
            f"{typeof(x)} and {typeof(y)}"
        )
    seconds = typeof(y).shape
    if is_swapped:
        x, y = y, x
    padding = {
        "full": [(n - 1, n - 1) for n in typeof(y).shape],
        "valid": [(0, 0)] * typeof(y).ndim,
        "same": [
            (n - 1 - (second - 1) // 2, n - second + (second - 1) // 2)
            for n, second in zip(typeof(y).shape, seconds, strict=True)
        ],
    }[mode]
    strides = [1] * len(padding)
    out = lax.conv_general_dilated(
        x[None, None], jnp.flip(y)[None, None], strides, padding, precision=precision
    )
    return out[0, 0]


@operation(static=("mode", "axes"))
def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Sequence[int] | None = None
) -> Array:
    """The convolution, a product of Fourier transforms, along `axes`, or all axes if None.

    16-bit floats are transformed in 32 bits.

    Raises:
        ValueError: there is no such `mode`, or the shapes do not match.

    >>> x, y = jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 10.0])
    >>> minijax.scipy.signal.fftconvolve(x, y).round(2)
    Array([ 1., 12., 23., 30.], dtype=float32)
    """
    x, y = _operands("fftconvolve", in1, in2, mode)
    ndim = typeof(x).ndim
    chosen = range(ndim) if axes is None else canonical_axes("fftconvolve", axes, ndim)
    sizes = _sizes(x, y)
    for axis, (m, n) in enumerate(sizes):
        if axis not in chosen and m != n:
            raise ValueError(
                f"fftconvolve: the axes that are not among {axes} must have the same size, found "
                f"{typeof(x)} and {typeof(y)}"
            )
    if mode == "valid":
        along = [sizes[axis] for axis in chosen]
        if not all(m >= n for m, n in along):
            if not all(m <= n for m, n in along):
                raise ValueError(
                    "fftconvolve: for 'valid' mode, one input must be at least as large as the "
                    f"other in every dimension, found {typeof(x)} and {typeof(y)}"
                )
            x, y = y, x
            sizes = _sizes(x, y)
    full = {axis: sum(sizes[axis]) - 1 for axis in chosen}
    is_complex = typeof(x).dtype.kind == "c"
    forward, back = (jnp.fft.fftn, jnp.fft.ifftn) if is_complex else (jnp.fft.rfftn, jnp.fft.irfftn)
    sizes_of_sums, axes = tuple(full.values()), tuple(chosen)
    product = forward(x, sizes_of_sums, axes) * forward(y, sizes_of_sums, axes)
    out = back(product, sizes_of_sums, axes)
    for axis, size in full.items():
        m, n = sizes[axis]
        kept = {"full": size, "same": m, "valid": m - n + 1}[mode]
        out = lax.slice_in_dim(out, (size - kept) // 2, (size - kept) // 2 + kept, axis=axis)
    return lax.convert_element_type(out, typeof(x).dtype)


@operation(static=("mode", "method", "precision"))
def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """The convolution of two arrays.

    Arguments:
        in1, in2: the arrays, with as many axes.
        mode: "full", "same" or "valid".
        method: "auto", "direct" for the sums, or "fft" for `fftconvolve`.
        precision: the precision of the sums.

    Raises:
        ValueError: there is no such `mode` or `method`, or the shapes do not match.

    >>> minijax.scipy.signal.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 10.0]))
    Array([ 1., 12., 23., 30.], dtype=float32)
    """
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    if method not in ("direct", "auto"):
        raise ValueError(f"convolve: method must be 'auto', 'fft' or 'direct', found {method!r}")
    return _convolved("convolve", in1, in2, mode, precision)


@operation(static=("mode", "method", "precision"))
def correlate(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """The correlation: `convolve` with `in2` in reverse order and conjugated.

    >>> x, y = jnp.array([1.0, 2.0, 4.0]), jnp.array([-1.0, 1.0])
    >>> minijax.scipy.signal.correlate(x, y, mode="valid")
    Array([1., 2.], dtype=float32)
    """
    require_one_dtype(in1, in2)
    return convolve(in1, jnp.flip(jnp.conj(in2)), mode, method, precision)


@operation(static=("mode", "boundary", "fillvalue", "precision"))
def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: PrecisionLike = None,
) -> Array:
    """The convolution of two matrices.

    Raises:
        NotImplementedError: `boundary` or `fillvalue` ask for anything but zeros outside.
        ValueError: an argument is not a matrix.

    >>> minijax.scipy.signal.convolve2d(jnp.ones((2, 2)), jnp.array([[1.0, 10.0]]))
    Array([[ 1., 11., 10.],
           [ 1., 11., 10.]], dtype=float32)
    """
    _require_matrices("convolve2d", in1, in2, boundary, fillvalue)
    return _convolved("convolve2d", in1, in2, mode, precision)


def _require_matrices(caller: str, in1: Any, in2: Any, boundary: str, fillvalue: float) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(f"{caller}: boundary must be 'fill', and fillvalue 0")
    if typeof(in1).ndim != 2 or typeof(in2).ndim != 2:
        raise ValueError(f"{caller}: takes matrices, found {typeof(in1)} and {typeof(in2)}")


@operation(static=("mode", "boundary", "fillvalue", "precision"))
def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: PrecisionLike = None,
) -> Array:
    """The correlation of two matrices: `convolve2d` with `in2` in reverse order and conjugated.

    Raises:
        NotImplementedError: `boundary` or `fillvalue` ask for anything but zeros outside.
        ValueError: an argument is not a matrix.

    >>> print(correlate2d(jnp.arange(3.0)[None], jnp.array([[0.0, 1.0]]), mode="valid"))
    [[1. 2.]]
    """
    _require_matrices("correlate2d", in1, in2, boundary, fillvalue)
    kernel = jnp.flip(jnp.conj(in2))
    if mode != "same":
        return _convolved("correlate2d", in1, kernel, mode, precision)
    # Of a size that is even, the middle is the one of two numbers that `in2` has further on.
    out = _convolved("correlate2d", in1, kernel, "full", precision)
    starts = [n // 2 for n in typeof(in2).shape]
    stops = [n + m for n, m in zip(starts, typeof(in1).shape, strict=True)]
    return lax.slice(out, starts, stops)


__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]
