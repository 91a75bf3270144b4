"""Fourier transforms, under the names of `numpy.fft`.

Common arguments: `n`, or `s` for several axes, truncates the axes to that size, or pads them with
zeros; `norm` is "backward" (the default), "ortho" or "forward": it divides one direction by the
number of elements, or both by its square root.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dimensions.expressions import min_size, surely_less
from glassjax.dtypes import DTypeLike
from glassjax.lax.fourier import FftType
from glassjax.lax.fourier import fft as transform
from glassjax.lax.placement import placed_result
from glassjax.numpy.dtypes import default_float
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax.settings.names import set_all
from glassjax_stage2 import typeof
from glassjax_stage2.functions import canonical_axes, ints, one_int
from glassjax_stage2.promotion import to_inexact

Axes = int | Sequence[int] | None
Sizes = Sequence[int] | None
ONE_AXIS_ARGS = ("n", "axis", "norm")
SEVERAL_AXES_ARGS = ("s", "axes", "norm")


def _transformed(caller: str, kind: FftType, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(
            f"{caller}: norm must be None, 'backward', 'ortho' or 'forward', found {norm!r}"
        )
    if typeof(a).dtype.names:
        raise TypeError(f"{caller}: expected numbers, found {typeof(a)}")
    a = to_inexact(a)
    if typeof(a).dtype.itemsize < 4:
        a = stage2.astype(a, np.float32)
    if kind == FftType.RFFT and typeof(a).dtype.kind == "c":
        raise TypeError(f"{caller}: takes real numbers, found {typeof(a)}")
    ndim = typeof(a).ndim
    sizes = None if s is None else ints(f"{caller}: s", s)
    if axes is None:
        axes = range(ndim) if sizes is None else range(ndim - len(sizes), ndim)
    axes = canonical_axes(caller, axes, ndim)
    if not axes:
        return transform(a, kind, ())
    if sizes is None:
        sizes = tuple(typeof(a).shape[axis] for axis in axes)
        if kind == FftType.IRFFT:
            sizes = (*sizes[:-1], 2 * (sizes[-1] - 1))
            if not sizes[-1]:  # an inverse of size 0 is empty, though its spectrum has one element
                return _empty_transform(a, kind, axes, sizes)
        if not typeof(a).size and (kind != FftType.RFFT or sizes[-1]):
            return _empty_transform(a, kind, axes, sizes)
    if len(sizes) != len(axes) or any(surely_less(size, 1) for size in sizes):
        raise ValueError(f"{caller}: the sizes of the axes {axes} must be positive, found {sizes}")
    taken = (*sizes[:-1], sizes[-1] // 2 + 1) if kind == FftType.IRFFT else sizes
    others = [axis for axis in range(ndim) if axis not in axes]
    order = [*others, *axes]
    a = _resized(stage2.transpose(a, order), taken)
    out = _in_parts(a, kind, sizes)
    back = sorted(range(ndim), key=order.__getitem__)
    return _normalized(stage2.transpose(out, back), kind, math.prod(sizes), norm)


def _empty_transform(a: Any, kind: FftType, axes: Sequence[int], sizes: tuple[int, ...]) -> Any:
    """The transform of an empty array, which XLA does not support."""
    out_sizes = (*sizes[:-1], sizes[-1] // 2 + 1) if kind == FftType.RFFT else sizes
    shape = list(typeof(a).shape)
    for axis, size in zip(axes, out_sizes, strict=True):
        shape[axis] = max(size, 0)
    dtype = np.result_type(typeof(a).dtype, np.complex64)
    return lax.full(shape, 0, np.finfo(dtype).dtype if kind == FftType.IRFFT else dtype)


def _resized(a: Any, sizes: tuple[int, ...]) -> Any:
    """The last axes with these sizes: truncated, or padded with zeros."""
    shape = typeof(a).shape
    lead = shape[: len(shape) - len(sizes)]
    limits = (*lead, *map(min_size, shape[len(lead) :], sizes))
    if limits != shape:
        a = lax.slice(a, [0] * len(shape), limits)
    found = typeof(a).shape[len(lead) :]
    if found == sizes:
        return a
    config = [(0, 0, 0)] * len(lead)
    config += [(0, size - n, 0) for size, n in zip(sizes, found, strict=True)]
    return lax.pad(a, lax.full((), 0, typeof(a).dtype), config)


def _in_parts(a: Any, kind: FftType, sizes: tuple[int, ...]) -> Any:
    """The transform along any number of last axes, three at a time."""
    if len(sizes) <= 3:
        return transform(a, kind, sizes)
    first, rest = sizes[:-3], sizes[-3:]
    ndim = typeof(a).ndim
    turned = [
        *range(ndim - len(sizes)),
        *range(ndim - 3, ndim),
        *range(ndim - len(sizes), ndim - 3),
    ]
    back = sorted(range(ndim), key=turned.__getitem__)

    def along_first(a: Any, kind: FftType) -> Any:
        return stage2.transpose(_in_parts(stage2.transpose(a, turned), kind, first), back)

    if kind == FftType.IRFFT:
        return transform(along_first(a, FftType.IFFT), kind, rest)
    out = transform(a, kind, rest)
    return along_first(out, FftType.IFFT if kind == FftType.IFFT else FftType.FFT)


def _normalized(out: Any, kind: FftType, count: int, norm: str | None) -> Any:
    is_inverse = kind in (FftType.IFFT, FftType.IRFFT)
    if norm in (None, "backward"):
        return out
    if norm == "ortho":
        factor = math.sqrt(count) if is_inverse else 1 / math.sqrt(count)
    else:
        factor = count if is_inverse else 1 / count
    return out * stage2.full_like(out, factor)


def _along_one(
    caller: str, kind: FftType, a: Any, n: int | None, axis: int, norm: str | None
) -> Any:
    if not isinstance(axis, int | np.integer):
        raise ValueError(f"{caller}: axis must be an int, found {axis!r}")
    return _transformed(caller, kind, a, None if n is None else (n,), (axis,), norm)


def _along_two(
    caller: str, kind: FftType, a: Any, s: Any, axes: Sequence[int], norm: str | None
) -> Any:
    if len(axes) != 2:
        raise ValueError(f"{caller}: takes two axes, found {axes}")
    return _transformed(caller, kind, a, s, axes, norm)


@operation(static=ONE_AXIS_ARGS)
def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Fourier's transform along one axis.

    Arguments:
        a: the array.
        n: the size to which the axis is truncated, or padded with zeros; None: its own.
        axis: the axis.
        norm: "backward", the default, divides the inverse transform by the number of elements;
            "forward" the transform; "ortho" both, by its square root.

    Raises:
        ValueError: there is no such `norm` or axis, or `n` is not positive.

    >>> jnp.fft.fft(jnp.array([1.0, 0.0, -1.0, 0.0]))
    Array([0.+0.j, 2.+0.j, 0.+0.j, 2.+0.j], dtype=complex64)
    """
    return _along_one("fft", FftType.FFT, a, n, axis, norm)


@operation(static=ONE_AXIS_ARGS)
def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `fft`.

    Arguments:
        a, n, axis, norm: as in `fft`.

    Raises:
        ValueError: as in `fft`.

    >>> jnp.fft.ifft(jnp.fft.fft(jnp.array([1.0, 0.0, -1.0, 0.0]))).real
    Array([ 1.,  0., -1.,  0.], dtype=float32)
    """
    return _along_one("ifft", FftType.IFFT, a, n, axis, norm)


@operation(static=ONE_AXIS_ARGS)
def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The first half of the `fft` of real numbers.

    Arguments:
        a: the array, of real numbers.
        n, axis, norm: as in `fft`.

    Raises:
        TypeError: `a` is complex.
        ValueError: as in `fft`.

    >>> jnp.fft.rfft(jnp.array([1.0, 0.0, -1.0, 0.0]))
    Array([0.+0.j, 2.+0.j, 0.+0.j], dtype=complex64)
    """
    return _along_one("rfft", FftType.RFFT, a, n, axis, norm)


@operation(static=ONE_AXIS_ARGS)
def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `rfft`.

    Arguments:
        a: the array, the first half of a spectrum.
        n: the size of the result; None: twice the size of the axis, less 2.
        axis, norm: as in `fft`.

    Raises:
        ValueError: as in `fft`.

    >>> jnp.fft.irfft(jnp.fft.rfft(jnp.array([1.0, 2.0, 3.0, 4.0])))
    Array([1., 2., 3., 4.], dtype=float32)
    """
    return _along_one("irfft", FftType.IRFFT, a, n, axis, norm)


@operation(static=SEVERAL_AXES_ARGS)
def fft2(
    a: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """Fourier's transform along two axes.

    Arguments:
        a: the array.
        s: as in `fftn`.
        axes: the two axes.
        norm: as in `fft`.

    Raises:
        ValueError: as in `fftn`.

    >>> jnp.fft.fft2(jnp.ones((2, 2)))
    Array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _along_two("fft2", FftType.FFT, a, s, axes, norm)


@operation(static=SEVERAL_AXES_ARGS)
def ifft2(
    a: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """The inverse of `fft2`.

    Arguments:
        a, s, axes, norm: as in `fft2`.

    Raises:
        ValueError: as in `fftn`.

    >>> jnp.fft.ifft2(jnp.fft.fft2(jnp.array([[1.0, 2.0], [3.0, 4.0]]))).real
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _along_two("ifft2", FftType.IFFT, a, s, axes, norm)


@operation(static=SEVERAL_AXES_ARGS)
def rfft2(
    a: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """`fft2` of real numbers, with half of the last axis kept.

    Arguments:
        a: the array, of real numbers.
        s, axes, norm: as in `fft2`.

    Raises:
        TypeError: `a` is complex.
        ValueError: as in `fftn`.

    >>> jnp.fft.rfft2(jnp.ones((2, 4))).shape
    (2, 3)
    """
    return _along_two("rfft2", FftType.RFFT, a, s, axes, norm)


@operation(static=SEVERAL_AXES_ARGS)
def irfft2(
    a: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """The inverse of `rfft2`.

    Arguments:
        a: as in `irfft`.
        s: the sizes of the axes of the result; None: the sizes in `a`, but 2 * (n - 1) along the
            last axis, of size n.
        axes, norm: as in `fft2`.

    Raises:
        ValueError: as in `fftn`.

    >>> jnp.fft.irfft2(jnp.fft.rfft2(jnp.array([[1.0, 2.0], [3.0, 4.0]])))
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _along_two("irfft2", FftType.IRFFT, a, s, axes, norm)


@operation(static=SEVERAL_AXES_ARGS)
def fftn(a: ArrayLike, s: Sizes = None, axes: Sizes = None, norm: str | None = None) -> Array:
    """Fourier's transform along several axes.

    Arguments:
        a: the array.
        s: the sizes to which the axes are truncated, or padded with zeros; None: their own.
        axes: the axes; None: the last ones, for which `s` has sizes, or all.
        norm: as in `fft`.

    Raises:
        ValueError: there is no such `norm` or axis, or a size is not positive.

    >>> jnp.fft.fftn(jnp.ones((2, 2, 2)), axes=(0, 1)).shape
    (2, 2, 2)
    """
    return _transformed("fftn", FftType.FFT, a, s, axes, norm)


@operation(static=SEVERAL_AXES_ARGS)
def ifftn(a: ArrayLike, s: Sizes = None, axes: Sizes = None, norm: str | None = None) -> Array:
    """The inverse of `fftn`.

    Arguments:
        a, s, axes, norm: as in `fftn`.

    Raises:
        ValueError: as in `fftn`.

    >>> jnp.fft.ifftn(jnp.fft.fftn(jnp.array([[1.0, 2.0], [3.0, 4.0]]))).real
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _transformed("ifftn", FftType.IFFT, a, s, axes, norm)


@operation(static=SEVERAL_AXES_ARGS)
def rfftn(a: ArrayLike, s: Sizes = None, axes: Sizes = None, norm: str | None = None) -> Array:
    """`fftn` of real numbers, with half of the last axis kept.

    Arguments:
        a: the array, of real numbers.
        s, axes, norm: as in `fftn`.

    Raises:
        TypeError: `a` is complex.
        ValueError: as in `fftn`.

    >>> jnp.fft.rfftn(jnp.ones((2, 3, 4))).shape
    (2, 3, 3)
    """
    return _transformed("rfftn", FftType.RFFT, a, s, axes, norm)


@operation(static=SEVERAL_AXES_ARGS)
def irfftn(a: ArrayLike, s: Sizes = None, axes: Sizes = None, norm: str | None = None) -> Array:
    """The inverse of `rfftn`.

    Arguments:
        a: as in `irfft`.
        s: as in `irfft2`.
        axes, norm: as in `fftn`.

    Raises:
        ValueError: as in `fftn`.

    >>> jnp.fft.irfftn(jnp.fft.rfftn(jnp.array([[1.0, 2.0], [3.0, 4.0]])))
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return _transformed("irfftn", FftType.IRFFT, a, s, axes, norm)


@operation(static=ONE_AXIS_ARGS)
def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The real transform of numbers given by their first half; the rest are its conjugates.

    Arguments:
        a: as in `irfft`.
        n: as in `irfft`.
        axis, norm: as in `fft`.

    Raises:
        ValueError: as in `fft`.

    >>> jnp.fft.hfft(jnp.array([1.0, 1.0, 0.0]))
    Array([ 3.,  1., -1.,  1.], dtype=float32)
    """
    conjugate = lax.conj(a) if typeof(a).dtype.kind == "c" else a
    return irfft(conjugate, n, axis, _other_direction(norm))


@operation(static=ONE_AXIS_ARGS)
def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of `hfft`: `rfft` conjugated, and divided by the number of elements.

    Arguments:
        a: the array, of real numbers.
        n, axis, norm: as in `fft`.

    Raises:
        TypeError: `a` is complex.
        ValueError: as in `fft`.

    >>> jnp.fft.ihfft(jnp.array([1.0, 0.0, -1.0, 0.0])).real
    Array([0. , 0.5, 0. ], dtype=float32)
    """
    return lax.conj(rfft(a, n, axis, _other_direction(norm)))


def _other_direction(norm: str | None) -> str | None:
    return {None: "forward", "backward": "forward", "forward": "backward"}.get(norm, norm)


def _frequencies(caller: str, n: int, numbers: Any, d: Any, dtype: Any) -> Any:
    dtype = default_float() if dtype is None else dtype
    if typeof(d).dtype.kind == "c":
        raise TypeError(f"{caller}: d must be real, found {typeof(d)}")
    return lax.convert_element_type(numbers, dtype) / lax.convert_element_type(n * d, dtype)


@operation(static=("n", "dtype", "device"), creates=True)
def fftfreq(
    n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Any = None
) -> Array:
    """The frequencies of the results of `fft`, for samples `d` apart.

    Arguments:
        n: the size of the transformed axis.
        d: the distance of samples.
        dtype: the dtype of the result; None: the default float.
        device: a device or a sharding, where the result lies; None: the default device.

    >>> jnp.fft.fftfreq(4, d=0.5)
    Array([ 0. ,  0.5, -1. , -0.5], dtype=float32)
    """
    n = one_int("fftfreq: n", n)
    counts = lax.iota("int32", n)
    shifted = lax.select(counts < (n + 1) // 2, counts, counts - n)
    return placed_result("fftfreq", _frequencies("fftfreq", n, shifted, d, dtype), device)


@operation(static=("n", "dtype", "device"), creates=True)
def rfftfreq(
    n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Any = None
) -> Array:
    """The frequencies of the results of `rfft`, for samples `d` apart.

    Arguments:
        n, d, dtype, device: as in `fftfreq`.

    >>> jnp.fft.rfftfreq(4, d=0.5)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    n = one_int("rfftfreq: n", n)
    counts = lax.iota("int32", n // 2 + 1)
    return placed_result("rfftfreq", _frequencies("rfftfreq", n, counts, d, dtype), device)


@operation(static="axes")
def fftshift(x: ArrayLike, axes: Axes = None) -> Array:
    """The array with frequency 0 in the middle of the axes `axes`, or all.

    >>> jnp.fft.fftshift(jnp.fft.fftfreq(5, d=0.2))
    Array([-2., -1.,  0.,  1.,  2.], dtype=float32)
    """
    return _rolled("fftshift", x, axes, 0)


@operation(static="axes")
def ifftshift(x: ArrayLike, axes: Axes = None) -> Array:
    """The inverse of `fftshift`.

    >>> jnp.fft.ifftshift(jnp.array([-2, -1, 0, 1, 2]))
    Array([ 0,  1,  2, -2, -1], dtype=int32)
    """
    return _rolled("ifftshift", x, axes, 1)


def _rolled(caller: str, x: Any, axes: Axes, more: int) -> Any:
    for axis in canonical_axes(caller, axes, typeof(x).ndim):
        shape = typeof(x).shape
        cut = (shape[axis] + 1 - more) // 2
        zeros = [0] * len(shape)
        begin, end = list(zeros), list(shape)
        begin[axis] = end[axis] = cut
        x = lax.concatenate([lax.slice(x, begin, shape), lax.slice(x, zeros, end)], axis)
    return x


set_all(globals())
