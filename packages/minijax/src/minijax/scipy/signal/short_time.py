"""Short-time Fourier transforms, `stft`, and their inverse, `istft`."""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.errors.tracebacks import hiding_frames
from minijax.numpy.math.operands import inexact_arrays
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.evaluation import evaluated_by_library, made_of_operations
from minijax.runtime.operation import operation
from minijax.scipy.signal.segments import (
    Detrend,
    Segments,
    check_detrend,
    cut,
    is_one_sided,
    real_dtype,
    require_frequency,
)
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axis, ints

# How a signal is made longer at its ends, by what `jnp.pad` calls it.
_BOUNDARIES = {
    "even": {"mode": "reflect"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
    "constant": {"mode": "edge"},
    "zeros": {},
}


@hiding_frames
def stft(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """The Fourier transforms of the segments of signals.

    Arguments:
        x: the signals.
        fs: the sampling rate.
        window: the window of segments: an array of `nperseg` numbers; a name, such as "hann" or
            "hamming"; or a tuple of a name and parameters, such as ("kaiser", 8.0).
        nperseg: the number of samples of a segment.
        noverlap: the number of samples shared with the next segment; half of them by default.
        nfft: the number of samples to transform, padded with zeros.
        detrend: the trend to subtract from each segment: "constant" for its mean, "linear" for a
            line, False for nothing; or a function of segments, whose samples are in the last axis.
        return_onesided: whether to omit negative frequencies, which are redundant for real signals.
        boundary: the extension of signals by half a segment at both ends: "even", "odd",
            "constant", "zeros", or None.
        padded: whether to pad an incomplete last segment with zeros instead of dropping it.
        axis: the axis of samples.

    Returns:
        The frequencies, the times of the centers of segments, and the transforms: the frequency
        axis replaces that of samples, and the time axis is last.

    Raises:
        ValueError: there is no such window or boundary, or the sizes do not match.

    >>> frequencies, times, transforms = stft(jnp.sin(jnp.arange(64.0)), nperseg=16)
    >>> frequencies.shape, times.shape, transforms.shape
    ((9,), (9,), (9, 9))
    """
    (x,) = evaluated_by_library(inexact_arrays)(x)
    axis = canonical_axis("stft", axis, typeof(x).ndim)
    if boundary is not None and boundary not in _BOUNDARIES:
        raise ValueError(
            f"stft: boundary must be one of {[*_BOUNDARIES]} or None, found {boundary!r}"
        )
    if not typeof(x).size:
        nothing = jnp.zeros_like(x)
        return nothing.real, nothing.real, nothing.astype(np.result_type(nothing, np.complex64))
    window, segments = cut("stft", window, nperseg, noverlap, nfft, typeof(x).shape[axis])
    one_sided = is_one_sided("stft", return_onesided, x)
    check_detrend("stft", detrend)
    found: tuple[Any, Any, Any] = _stft(
        x, fs, window, segments, detrend, one_sided, boundary, bool(padded), axis
    )
    return found


@operation(static=("segments", "detrended", "one_sided", "boundary", "padded", "axis"))
def _stft(
    x: Any,
    fs: Any,
    window: Any,
    segments: Segments,
    detrended: Detrend,
    one_sided: bool,
    boundary: str | None,
    padded: bool,
    axis: int,
) -> Any:
    window = jnp.asarray(window, real_dtype(x))
    x = jnp.moveaxis(x, axis, -1)
    around = [(0, 0)] * (typeof(x).ndim - 1)
    first = segments.nperseg / 2  # the middle of the first segment
    if boundary:
        half, first = segments.nperseg // 2, 0.0
        x = jnp.pad(x, (*around, (half, half)), **_BOUNDARIES[boundary])
    if padded:
        lacking = -(typeof(x).shape[-1] - segments.nperseg) % segments.step
        x = jnp.pad(x, (*around, (0, lacking % segments.nperseg)))
    transforms = segments.spectra(x, window, detrended, one_sided) / jnp.abs(jnp.sum(window))
    times = first + segments.step * jnp.arange(typeof(transforms).shape[-2])
    dtype = real_dtype(transforms)
    out = jnp.moveaxis(jnp.swapaxes(transforms, -1, -2), -2, axis)
    return segments.frequencies(fs, one_sided, dtype), (times / fs).astype(dtype), out


@made_of_operations
def istft(
    Zxx: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """The inverse of `stft` for segments that overlap in this way.

    Arguments:
        Zxx: the transforms.
        fs, window, noverlap: as for `stft`.
        nperseg: the number of samples of a segment; by default from the size of `Zxx`.
        nfft: the number of samples transformed; by default that of an even `nperseg`.
        input_onesided: whether negative frequencies were omitted.
        boundary: whether half a segment was added at both ends.
        time_axis: the axis of segments.
        freq_axis: the axis of frequencies, which samples replace.

    Returns:
        The times of the samples, and the signals.

    Raises:
        ValueError: there is no such window, or the sizes do not match.

    >>> x = jnp.sin(jnp.arange(64.0))
    >>> _, _, transforms = stft(x, nperseg=16)
    >>> bool(jnp.allclose(istft(transforms)[1], x, atol=1e-6))
    True
    """
    z = jnp.asarray(Zxx)
    ndim = typeof(z).ndim
    if ndim < 2:
        raise ValueError(f"istft: Zxx must have axes of frequencies and times, found {typeof(z)}")
    time_axis = canonical_axis("istft", time_axis, ndim)
    freq_axis = canonical_axis("istft", freq_axis, ndim)
    if time_axis == freq_axis:
        raise ValueError("istft: time_axis and freq_axis must be two axes")
    count = typeof(z).shape[freq_axis]
    longest = 2 * (count - 1) if input_onesided else count
    (size,) = (longest,) if nperseg is None else ints("istft: nperseg", nperseg)
    if nfft is None:  # of an odd number of samples one-sided transforms are as long
        nfft = size if input_onesided and size == longest + 1 else longest
    if nfft < size:
        raise ValueError(f"istft: nfft {nfft} must be at least nperseg, which is {size}")
    is_named = isinstance(window, str | tuple)
    window, segments = cut("istft", window, size, noverlap, nfft, size)
    if is_named:
        window = jnp.asarray(window, real_dtype(z))
    signals = _overlapped(
        jnp.moveaxis(z, (freq_axis, time_axis), (-1, -2)),
        window,
        segments,
        bool(input_onesided),
        segments.nperseg // 2 if boundary else 0,
    )
    require_frequency(fs)
    times = jnp.arange(typeof(signals).shape[-1]) / fs
    place = freq_axis - (time_axis < freq_axis)
    return times.astype(real_dtype(signals)), jnp.moveaxis(signals, -1, place)


@operation(static=("segments", "one_sided", "cut"))
def _overlapped(z: Any, window: Any, segments: Segments, one_sided: bool, cut: int) -> Any:
    parts = (jnp.fft.irfft if one_sided else jnp.fft.ifft)(z, segments.nfft)
    window = jnp.asarray(window)
    parts = parts[..., : segments.nperseg] * window * jnp.sum(window)
    *lead, count, size = typeof(parts).shape
    length = size + (count - 1) * segments.step
    places = segments.step * jnp.arange(count)[:, None] + jnp.arange(size)
    total = jnp.zeros((*lead, length), parts.dtype).at[..., places].add(parts)
    weights = jnp.zeros(length, window.dtype).at[places].add(jnp.square(window))
    total = total / jnp.where(weights > 1e-10, weights, 1)
    return total[..., cut : length - cut]


__all__ = ["istft", "stft"]
