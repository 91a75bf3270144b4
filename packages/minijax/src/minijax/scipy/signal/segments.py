"""Segments: signals cut into overlapping pieces, for `stft` and `welch`.

A segment has `nperseg` samples, `noverlap` of which it shares with the next one. Each is multiplied
by a window and Fourier transformed, padded with zeros if `nfft` is larger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from minijax import numpy as jnp
from minijax.numpy.math.operands import inexact_arrays
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.scipy.signal.windows import window_of
from minijax.settings.number_types import warn
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axis, ints, one_int
from minijax_stage2.shaped_array import typeof_named

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


def cut(caller: str, window: Any, nperseg: Any, noverlap: Any, nfft: Any, longest: int) -> Any:
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
    """Return True if spectra leave out negative frequencies, which those of real signals may."""
    if one_sided and any(typeof(x).dtype.kind == "c" for x in signals):
        warn(
            f"{caller}: a signal is complex, so its spectrum has both sides: return_onesided=False"
        )
        return False
    return bool(one_sided)


def check_detrend(caller: str, how: Detrend) -> None:
    if not (callable(how) or how is False or how in ("linear", "constant")):
        raise ValueError(
            f"{caller}: detrend must be 'linear', 'constant', a function or False, found {how!r}"
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
    squares = np.sum(numbers**2) or 1.0  # of a single sample, 0
    times = jnp.asarray(numbers, real_dtype(x))
    return x - jnp.sum(times * x, -1, keepdims=True) / float(squares) * times
