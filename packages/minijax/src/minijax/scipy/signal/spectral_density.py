"""Spectral densities of signals, averaged over segments: `welch` and `csd`."""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax import numpy as jnp
from minijax.errors.tracebacks import hiding_frames
from minijax.lax import promoting as lax
from minijax.numpy.products import meet
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.conversion import to_array
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.operation import operation
from minijax.scipy.signal.segments import (
    Detrend,
    Segments,
    check_detrend,
    cut,
    is_one_sided,
    real_dtype,
)
from minijax_stage2 import typeof
from minijax_stage2.functions import canonical_axis
from minijax_stage2.promotion import to_inexact


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
        fs, window, noverlap, nfft, detrend, return_onesided, axis: as for `stft`.
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
    return _density(
        "csd",
        x,
        y,
        fs,
        window,
        nperseg,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        scaling,
        axis,
        average,
    )


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

    Arguments, results and errors are those of `csd`, with one signal.

    >>> frequencies, densities = welch(jnp.sin(jnp.arange(64.0)), nperseg=16)
    >>> print(frequencies[jnp.argmax(densities)])
    0.1875
    """
    return _density(
        "welch",
        x,
        None,
        fs,
        window,
        nperseg,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        scaling,
        axis,
        average,
    )


@evaluated_by_library
def _inexact(*signals: Any) -> list[Any]:
    """The signals as arrays of one dtype, real or complex."""
    return [to_array(x) for x in map(to_inexact, meet(*signals))]


def _density(
    caller: str,
    x: Any,
    y: Any,
    fs: Any,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
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
    window, segments = cut(caller, window, nperseg, noverlap, nfft, longest)
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
    if one_sided:  # what was left out has the same powers as what is there, but for the ends
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
    # The median of n numbers that are distributed exponentially, in units of their mean.
    count = typeof(powers).shape[-2]
    even = np.arange(2, count, 2)
    bias = 1 + np.sum(1 / (even + 1) - 1 / even)
    return jnp.median(powers, axis=-2) / float(bias)


__all__ = ["csd", "welch"]
