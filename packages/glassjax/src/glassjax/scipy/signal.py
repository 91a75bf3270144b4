"""Convolutions and spectra, under the names of `jax.scipy.signal`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.precision import PrecisionLike
from glassjax.numpy.products import promote_dtypes
from glassjax.numpy.transcendental import inexact_arrays
from glassjax.runtime.array import Array, ArrayLike, is_value, to_array
from glassjax.runtime.evaluation import evaluated_by_library, made_of_operations
from glassjax.runtime.operation import operation
from glassjax.settings.names import list_public_names
from glassjax.settings.number_types import require_no_promotion, warn
from glassjax_stage2 import typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import canonical_axes, canonical_axis, ints, one_int
from glassjax_stage2.promotion import to_inexact
from glassjax_stage2.shaped_array import typeof_named

# Convolutions and correlations.
#
# Common arguments: `mode` is "full" for all sums; "same" for as many as the first array has
# elements; "valid" for those in which one array lies within the other.


MODES = ("full", "same", "valid")


def _convolution_operands(caller: str, in1: Any, in2: Any, mode: str) -> tuple[Any, Any]:
    x, y = (inexact_arrays(operand)[0] for operand in promote_dtypes(in1, in2))
    if mode not in MODES:
        raise ValueError(f"{caller}: mode must be 'full', 'same' or 'valid', found {mode!r}")
    if typeof(x).ndim != typeof(y).ndim:
        raise ValueError(
            f"{caller}: in1 and in2 must have the same number of dimensions, found "
            f"{typeof(x)} and {typeof(y)}"
        )
    return x, y


def _full_sizes(x: Any, y: Any) -> list[tuple[int, int]]:
    return list(zip(typeof(x).shape, typeof(y).shape, strict=True))


def _convolved(caller: str, in1: Any, in2: Any, mode: str, precision: PrecisionLike) -> Any:
    x, y = _convolution_operands(caller, in1, in2, mode)
    if 0 in typeof(x).shape or 0 in typeof(y).shape:
        raise ValueError(
            f"{caller}: zero-size arrays not supported in convolutions, found {typeof(x)} "
            f"and {typeof(y)}"
        )
    sizes = _full_sizes(x, y)
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
    kernel = jnp.flip(y)
    out = lax.conv_general_dilated(
        x[None, None], kernel[None, None], strides, padding, precision=precision
    )
    return out[0, 0]


@operation(static=("mode", "axes"))
def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Sequence[int] | None = None
) -> Array:
    """The convolution, as a product of Fourier transforms.

    16-bit floats are transformed in 32 bits.

    Arguments:
        in1, in2, mode: as in `convolve`.
        axes: the axes to convolve along; None: all.

    Raises:
        ValueError: there is no such `mode`, or the shapes do not match.

    >>> x, y = jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 10.0])
    >>> glassjax.scipy.signal.fftconvolve(x, y).round(2)
    Array([ 1., 12., 23., 30.], dtype=float32)
    """
    x, y = _convolution_operands("fftconvolve", in1, in2, mode)
    ndim = typeof(x).ndim
    chosen = range(ndim) if axes is None else canonical_axes("fftconvolve", axes, ndim)
    sizes = _full_sizes(x, y)
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
            sizes = _full_sizes(x, y)
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

    >>> glassjax.scipy.signal.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 10.0]))
    Array([ 1., 12., 23., 30.], dtype=float32)
    """
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    if method not in ("direct", "auto"):
        raise ValueError(f"convolve: method must be 'auto', 'fft' or 'direct', found {method!r}")
    return _convolved("convolve", in1, in2, mode, precision)


@operation(like=convolve)
def correlate(in1: Any, in2: Any, mode: Any, method: Any, precision: Any) -> Any:
    """The correlation: `convolve` with `in2` in reverse order and conjugated.

    Arguments:
        in1, in2, mode, method, precision: as in `convolve`.

    Raises:
        ValueError: as in `convolve`.

    >>> x, y = jnp.array([1.0, 2.0, 4.0]), jnp.array([-1.0, 1.0])
    >>> glassjax.scipy.signal.correlate(x, y, mode="valid")
    Array([1., 2.], dtype=float32)
    """
    require_no_promotion(in1, in2)
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

    Arguments:
        in1, in2: the matrices.
        mode: as in `convolve`.
        boundary: must be "fill".
        fillvalue: must be 0.
        precision: as in `convolve`.

    Raises:
        NotImplementedError: `boundary` or `fillvalue` ask for anything but zeros outside.
        ValueError: an argument is not a matrix.

    >>> glassjax.scipy.signal.convolve2d(jnp.ones((2, 2)), jnp.array([[1.0, 10.0]]))
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


@operation(like=convolve2d)
def correlate2d(
    in1: Any, in2: Any, mode: Any, boundary: Any, fillvalue: Any, precision: Any
) -> Any:
    """The correlation of two matrices: `convolve2d` with `in2` in reverse order and conjugated.

    Arguments:
        in1, in2, mode, boundary, fillvalue, precision: as in `convolve2d`.

    Raises:
        NotImplementedError, ValueError: as in `convolve2d`.

    >>> print(correlate2d(jnp.arange(3.0)[None], jnp.array([[0.0, 1.0]]), mode="valid"))
    [[1. 2.]]
    """
    _require_matrices("correlate2d", in1, in2, boundary, fillvalue)
    kernel = jnp.flip(jnp.conj(in2))
    if mode != "same":
        return _convolved("correlate2d", in1, kernel, mode, precision)
    # If the size of `in2` is even, its middle is the later of the two central numbers.
    out = _convolved("correlate2d", in1, kernel, "full", precision)
    starts = [n // 2 for n in typeof(in2).shape]
    stops = [n + m for n, m in zip(starts, typeof(in1).shape, strict=True)]
    return lax.slice(out, starts, stops)


# Windows by name, periodic as in scipy: the sample after the last would begin the next period.


Numbers = np.ndarray[Any, Any]
_COSINES = {  # the factors of cos(0), -cos(x), cos(2 x), ..., where x goes through one period
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}


def _cosine_window(factors: tuple[float, ...], size: int) -> Numbers:
    x = 2 * math.pi / size * np.arange(size)
    terms = [(-1) ** k * factor * np.cos(k * x) for k, factor in enumerate(factors)]
    total: Numbers = np.sum(terms, axis=0)
    return total


def _bartlett(from_middle: Numbers, size: int) -> Numbers:
    return 1 - abs(from_middle) / (size / 2)


def _triang(from_middle: Numbers, size: int) -> Numbers:
    return 1 - abs(from_middle) / ((size + 2) // 2 if size % 2 == 0 else (size + 1) / 2)


def _cosine(from_middle: Numbers, size: int) -> Numbers:
    return np.cos(math.pi / (size + 1) * from_middle)


def _gaussian(from_middle: Numbers, size: int, std: float) -> Numbers:
    return np.exp(-0.5 * (from_middle / std) ** 2)


def _kaiser(from_middle: Numbers, size: int, beta: float) -> Numbers:
    inside = np.sqrt(np.maximum(0, 1 - (from_middle / (size / 2)) ** 2))
    weights: Numbers = np.i0(beta * inside) / np.i0(np.array(beta))
    return weights


def _tukey(from_middle: Numbers, size: int, alpha: float = 0.5) -> Numbers:
    from_end = size / 2 - abs(from_middle)
    slope = np.minimum(1, from_end / (alpha * size / 2)) if alpha > 0 else np.ones(size)
    return 0.5 * (1 - np.cos(math.pi * slope))


# Windows as functions of the distance from the middle, the number of samples, and parameters.
_FUNCTIONS: dict[str, Callable[..., Numbers]] = {
    "bartlett": _bartlett,
    "triang": _triang,
    "cosine": _cosine,
    "gaussian": _gaussian,
    "kaiser": _kaiser,
    "tukey": _tukey,
}


def window_of(caller: str, window: Any, size: int | None, longest: int) -> Any:
    """The samples of a window, given by name or as an array.

    Arguments:
        caller: the function that an error names.
        window: a name, a pair or longer tuple of a name and parameters, or an array.
        size: its size; by default the size of the array, or 256.
        longest: the maximum size of a window given by name.

    Raises:
        ValueError: there is no such window, or it has another size.
    """
    if isinstance(window, str | tuple):
        return _by_name(caller, window, min(256 if size is None else size, longest))
    if not is_value(window):
        raise ValueError(
            f"{caller}: window must be a name, a tuple of a name and parameters, or an array; "
            f"found {shown(window)}"
        )
    shape = typeof(window).shape
    if len(shape) != 1:
        raise ValueError(f"{caller}: a window has one axis, found {typeof(window)}")
    if size not in (None, shape[0]):
        raise ValueError(f"{caller}: nperseg is {size}, but the window has {shape[0]} numbers")
    if shape[0] > longest:
        raise ValueError(
            f"{caller}: the window has {shape[0]} numbers, but the signal only {longest}"
        )
    return window


def _by_name(caller: str, window: str | tuple[Any, ...], size: int) -> Numbers:
    name, *parameters = (window,) if isinstance(window, str) else window
    if size == 1 and (name in _COSINES or name in _FUNCTIONS):
        return np.ones(1)
    try:
        if name in _COSINES:
            return _cosine_window(_COSINES[name], size, *parameters)
        return _FUNCTIONS[name](np.arange(size) - size / 2, size, *parameters)
    except KeyError:
        names = ", ".join(map(repr, (*_COSINES, *_FUNCTIONS)))
        raise ValueError(
            f"{caller}: there is no window {shown(name)}; there are {names}. Any other window can "
            "be given as an array"
        ) from None
    except TypeError:
        raise ValueError(
            f"{caller}: the window {name!r} takes other parameters than {tuple(parameters)}"
        ) from None


# Segments: signals cut into overlapping pieces, for `stft` and `welch`.
#
# A segment has `nperseg` samples and shares `noverlap` samples with the next one. Each is
# multiplied by a window and Fourier transformed, padded with zeros if `nfft` is larger.


Detrend = str | Callable[[Any], Any] | Literal[False]


@dataclass(frozen=True)
class Segments:
    """A division of a signal into segments."""

    nperseg: int
    noverlap: int
    nfft: int

    @property
    def step(self) -> int:
        return self.nperseg - self.noverlap

    def of(self, x: Any) -> Any:
        """The segments of the last axis of an array, along an axis before it."""
        count = (typeof(x).shape[-1] - self.noverlap) // self.step
        starts = self.step * jnp.arange(count)
        return x[..., starts[:, None] + jnp.arange(self.nperseg)]

    def spectra(self, x: Any, window: Any, detrended: Detrend, one_sided: bool) -> Any:
        parts = self.of(x)
        if detrended:
            parts = detrended(parts) if callable(detrended) else detrend(parts, type=detrended)
            typeof_named("the result of the function detrend", parts)
        return (jnp.fft.rfft if one_sided else jnp.fft.fft)(window * parts, self.nfft)

    def frequencies(self, fs: Any, one_sided: bool, dtype: Any) -> Any:
        require_frequency(fs)
        numbers = (jnp.fft.rfftfreq if one_sided else jnp.fft.fftfreq)(self.nfft)
        return (numbers * fs).astype(dtype)


def require_frequency(fs: Any) -> None:
    """Raise TypeError unless the sampling frequency is a real number."""
    aval = typeof_named("the sampling frequency fs", fs)
    if aval.dtype.kind not in "biuf" or aval.shape:
        raise TypeError(f"the sampling frequency fs must be a real number, found {aval}")


def cut_segments(
    caller: str, window: Any, nperseg: Any, noverlap: Any, nfft: Any, longest: int
) -> Any:
    """The samples of a window, and segments of the same length."""
    size, overlap, length = (
        None if given is None else one_int(f"{caller}: {name}", given)
        for name, given in (("nperseg", nperseg), ("noverlap", noverlap), ("nfft", nfft))
    )
    if size is not None and size < 1:
        raise ValueError(f"{caller}: nperseg must be positive, found {size}")
    if size is not None and size > longest and isinstance(window, str | tuple):
        warn(
            f"{caller}: nperseg is {size}, but the signal has {longest} samples; segments are as "
            "long as the signal"
        )
    window = window_of(caller, window, size, longest)
    size = typeof(window).shape[0]
    segments = Segments(size, size // 2 if overlap is None else overlap, length or size)
    if segments.noverlap >= size:
        raise ValueError(f"{caller}: noverlap {segments.noverlap} must be less than nperseg {size}")
    if segments.nfft < size:
        raise ValueError(
            f"{caller}: nfft {segments.nfft} must be at least nperseg, which is {size}"
        )
    return window, segments


def is_one_sided(caller: str, one_sided: bool, *signals: Any) -> bool:
    """Return True if spectra leave out negative frequencies, as they may for real signals."""
    if one_sided and any(typeof(x).dtype.kind == "c" for x in signals):
        warn(
            f"{caller}: a signal is complex, so its spectrum has both sides: return_onesided=False"
        )
        return False
    return bool(one_sided)


def check_detrend(caller: str, detrend: Detrend) -> None:
    if not (callable(detrend) or detrend is False or detrend in ("linear", "constant")):
        raise ValueError(
            f"{caller}: detrend must be 'linear', 'constant', a function or False, found "
            f"{detrend!r}"
        )


def real_dtype(x: Any) -> Any:
    """The real dtype of the numbers of an array."""
    return np.zeros(0, typeof(x).dtype).real.dtype


@operation(static=("axis", "type", "bp", "overwrite_data"))
def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] | np.ndarray[Any, Any] = 0,
    overwrite_data: None = None,
) -> Array:
    """A signal minus its least-squares line, or minus its mean.

    Arguments:
        data: the signals.
        axis: the axis of their samples.
        type: "linear", or "constant" for the mean.
        bp: the beginnings of pieces, each with its own line.
        overwrite_data: must be None.

    Raises:
        NotImplementedError: `overwrite_data` is given.
        ValueError: there is no such `type`, or a piece begins outside of the signal.

    >>> print(detrend(jnp.array([1.0, 3.0, 8.0]), type="constant"))
    [-3. -1.  4.]
    """
    if overwrite_data is not None:
        raise NotImplementedError("detrend: overwrite_data must be None")
    if type not in ("linear", "constant"):
        raise ValueError(f"detrend: type must be 'linear' or 'constant', found {type!r}")
    (x,) = inexact_arrays(data)
    axis = canonical_axis("detrend", axis, typeof(x).ndim)
    if type == "constant":
        return x - jnp.mean(x, axis, keepdims=True)
    size = typeof(x).shape[axis]
    starts = sorted({0, *ints("detrend: bp", bp), size})
    if starts[0] < 0 or starts[-1] > size:
        raise ValueError(f"detrend: bp must be within the {size} samples, found {bp}")
    pieces = jnp.split(jnp.moveaxis(x, axis, -1), starts[1:-1], axis=-1)
    return jnp.moveaxis(jnp.concatenate([_without_line(piece) for piece in pieces], -1), -1, axis)


def _without_line(x: Any) -> Any:
    size = typeof(x).shape[-1]
    x = x - jnp.mean(x, -1, keepdims=True)
    numbers = np.arange(size) - (size - 1) / 2
    squares = np.sum(numbers**2) or 1.0  # the sum is 0 for a single sample
    times = jnp.asarray(numbers, real_dtype(x))
    return x - jnp.sum(times * x, -1, keepdims=True) / float(squares) * times


# Short-time Fourier transforms, `stft`, and their inverse, `istft`.


# How a signal is extended at its ends: the modes of `jnp.pad`.
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
        axis replaces the sample axis, and the time axis is last.

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
    window, segments = cut_segments("stft", window, nperseg, noverlap, nfft, typeof(x).shape[axis])
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
        fs, window, noverlap: as in `stft`.
        nperseg: the number of samples of a segment; by default from the size of `Zxx`.
        nfft: the number of samples transformed; None: as for an even `nperseg`.
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
    if nfft is None:  # sizes 2 n and 2 n + 1 have one-sided transforms of the same length
        nfft = size if input_onesided and size == longest + 1 else longest
    if nfft < size:
        raise ValueError(f"istft: nfft {nfft} must be at least nperseg, which is {size}")
    is_named = isinstance(window, str | tuple)
    window, segments = cut_segments("istft", window, size, noverlap, nfft, size)
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


# Spectral densities of signals, averaged over segments: `welch` and `csd`.


@hiding_frames
def csd(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The cross spectral density of signals, by Welch's method: the average over their segments.

    Arguments:
        x: the signals.
        y: the other signals, which broadcast to `x`; if shorter along `axis`, they are padded with
            zeros. None means `x` itself, whose spectral density is real.
        fs, window, noverlap, nfft, detrend, return_onesided, axis: as in `stft`.
        nperseg: the number of samples of a segment; by default the size of the window, if that is
            an array, or else 256.
        scaling: "density" for power per unit of frequency, "spectrum" for power.
        average: "mean" or "median", over segments.

    Returns:
        The frequencies, and the densities, which replace the samples.

    Raises:
        ValueError: there is no such window, scaling or average, or the shapes do not match.

    >>> x = jnp.sin(jnp.arange(64.0))
    >>> frequencies, densities = csd(x, 2 * x, nperseg=16)
    >>> print(frequencies[jnp.argmax(jnp.abs(densities))])
    0.1875
    """
    cuts = window, nperseg, noverlap, nfft
    return _density("csd", x, y, fs, cuts, detrend, return_onesided, scaling, axis, average)


@hiding_frames
def welch(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The spectral density of signals, by Welch's method: the average over their segments.

    Arguments:
        x: the signals.
        fs, window, nperseg, noverlap, nfft, detrend, return_onesided: as in `csd`.
        scaling, axis, average: as in `csd`.

    Returns:
        The frequencies, and the densities, which replace the samples.

    Raises:
        ValueError: as in `csd`.

    >>> frequencies, densities = welch(jnp.sin(jnp.arange(64.0)), nperseg=16)
    >>> print(frequencies[jnp.argmax(densities)])
    0.1875
    """
    cuts = window, nperseg, noverlap, nfft
    return _density("welch", x, None, fs, cuts, detrend, return_onesided, scaling, axis, average)


@evaluated_by_library
def _inexact(*signals: Any) -> list[Any]:
    """The signals as arrays of one dtype, real or complex."""
    return [to_array(x) for x in map(to_inexact, promote_dtypes(*signals))]


def _density(
    caller: str,
    x: Any,
    y: Any,
    fs: Any,
    cuts: Any,
    detrend: Detrend,
    return_onesided: bool,
    scaling: str,
    axis: int,
    average: str,
) -> tuple[Any, Any]:
    for name, given, known in (
        ("scaling", scaling, ("density", "spectrum")),
        ("average", average, ("mean", "median")),
    ):
        if given not in known:
            raise ValueError(f"{caller}: {name} must be one of {[*known]}, found {given!r}")
    check_detrend(caller, detrend)
    signals = _inexact(x, x if y is None else y)
    ranks = [typeof(s).ndim for s in signals]
    if ranks[0] != ranks[1]:
        raise ValueError(
            f"{caller}: x and y must have the same number of axes, found {typeof(signals[0])} "
            f"and {typeof(signals[1])}"
        )
    axis = canonical_axis(caller, axis, ranks[0])
    signals = [jnp.moveaxis(s, axis, -1) for s in signals]
    longest = max(typeof(s).shape[-1] for s in signals)
    if not all(typeof(s).size for s in signals):
        raise ValueError(
            f"{caller}: a signal has no samples: {', '.join(map(str, map(typeof, signals)))}"
        )
    window, nperseg, noverlap, nfft = cuts
    window, segments = cut_segments(caller, window, nperseg, noverlap, nfft, longest)
    one_sided = is_one_sided(caller, return_onesided, *signals)
    if y is None:
        del signals[1:]
    frequencies, out = _averaged(
        signals, fs, window, segments, detrend, one_sided, scaling, average, longest
    )
    return frequencies, jnp.moveaxis(out, -1, axis)


@operation(
    static=("segments", "detrended", "one_sided", "scaling", "average", "longest"),
)
def _averaged(
    signals: list[Any],
    fs: Any,
    window: Any,
    segments: Segments,
    detrended: Detrend,
    one_sided: bool,
    scaling: str,
    average: str,
    longest: int,
) -> Any:
    window = jnp.asarray(window, real_dtype(signals[0]))
    spectra = []
    for signal in signals:
        around = [(0, 0)] * (typeof(signal).ndim - 1)
        signal = jnp.pad(signal, (*around, (0, longest - typeof(signal).shape[-1])))
        spectra.append(segments.spectra(signal, window, detrended, one_sided))
    if len(spectra) == 1:
        powers = jnp.square(jnp.real(spectra[0])) + jnp.square(jnp.imag(spectra[0]))
    else:
        powers = jnp.conj(spectra[0]) * spectra[1]
    if scaling == "density":
        scale = 1 / (fs * jnp.sum(jnp.square(window)))
    else:
        scale = 1 / jnp.square(jnp.sum(window))
    dtype = real_dtype(powers)
    powers = powers * jnp.asarray(scale, dtype)
    if one_sided:  # omitted frequencies have equal powers, and the ends have no counterpart
        is_paired = np.full(typeof(powers).shape[-1], 2.0)
        is_paired[0] = 1
        if segments.nfft % 2 == 0:
            is_paired[-1] = 1
        powers = powers * jnp.asarray(is_paired, dtype)
    out = jnp.mean(powers, -2) if average == "mean" else _median(powers)
    return segments.frequencies(fs, one_sided, dtype), out


def _median(powers: Any) -> Any:
    """The median over segments, scaled to match the mean for noise."""
    if typeof(powers).dtype.kind == "c":
        return lax.complex(_median(jnp.real(powers)), _median(jnp.imag(powers)))
    # The expected median of n exponentially distributed numbers, in units of their mean.
    count = typeof(powers).shape[-2]
    even = np.arange(2, count, 2)
    bias = 1 + np.sum(1 / (even + 1) - 1 / even)
    return jnp.median(powers, axis=-2) / float(bias)


__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]
list_public_names(globals())
