"""Discrete cosine transforms of the second type, under the names of `jax.scipy.fft`.

Common arguments: `n` or `s` are the sizes to which axes are truncated, or padded with zeros; the
`norm` "ortho" makes the transform orthogonal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.numpy.transcendental import inexact_arrays
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax_stage2 import typeof
from glassjax_stage2.functions import canonical_axes


def _check_arguments(caller: str, type: int, norm: str | None) -> None:
    if type != 2:
        raise NotImplementedError(f"{caller}: type must be 2, found {type}")
    if norm not in (None, "backward", "ortho"):
        raise ValueError(f"{caller}: norm must be None, 'backward' or 'ortho', found {norm!r}")


def _last_axis(x: Any, n: int | None, axis: int) -> Any:
    """The array with `axis` moved to the end, and of size `n`."""
    x = jnp.moveaxis(x, axis, -1)
    size = typeof(x).shape[-1]
    if n is not None and n < 0:
        raise ValueError(f"the size of a transform must not be negative, found {n}")
    if n is None or n <= size:
        return x[..., :n]
    config = [(0, 0, 0)] * (typeof(x).ndim - 1) + [(0, n - size, 0)]
    return lax.pad(x, jnp.zeros((), typeof(x).dtype), config)


def _by_parts(transform: Callable[[Any], Any], x: Any) -> Any:
    """Extend a transform of real numbers to complex numbers."""
    if typeof(x).dtype.kind == "c":
        return lax.complex(transform(x.real), transform(x.imag))
    return transform(x)


def _turn(n: int, dtype: Any, sign: int) -> Any:
    """The quarter turns `exp(sign * pi * i * k / (2 * n))` over k."""
    angle = jnp.arange(n, dtype=dtype) * (sign * math.pi / max(2 * n, 1))
    return lax.complex(jnp.cos(angle), jnp.sin(angle))


def _scales(n: int, dtype: Any) -> Any:
    """The factors of each coefficient relative to the orthogonal transform."""
    return jnp.sqrt(jnp.where(jnp.arange(n) == 0, 4, 2).astype(dtype) * n)


def _dct(x: Any, ortho: bool) -> Any:
    """The Fourier transform of the even positions followed by the odd positions reversed."""
    n, dtype = typeof(x).shape[-1], typeof(x).dtype
    ordered = jnp.concatenate([x[..., ::2], jnp.flip(x[..., 1::2], -1)], -1)
    out = 2 * (jnp.fft.fft(ordered) * _turn(n, dtype, -1)).real
    return out / _scales(n, dtype) if ortho else out


def _idct(x: Any, ortho: bool) -> Any:
    n, dtype = typeof(x).shape[-1], typeof(x).dtype
    x = x * _scales(n, dtype) if ortho else x
    # Coefficients from the end supply what the real part lacks, as the sequence is real.
    mirrored = jnp.concatenate([jnp.zeros_like(x[..., :1]), jnp.flip(x[..., 1:], -1)], -1)
    ordered = jnp.fft.ifft(lax.complex(x, -mirrored) * (0.5 * _turn(n, dtype, 1))).real
    half = (n + 1) // 2
    even, odd = ordered[..., :half], jnp.flip(ordered[..., half:], -1)
    if n % 2:
        odd = jnp.concatenate([odd, jnp.zeros_like(even[..., :1])], -1)
    both = jnp.stack([even, odd], -1)
    return both.reshape(*typeof(both).shape[:-2], -1)[..., :n]


def _transform_axis(
    transform: Callable[[Any, bool], Any], x: Any, n: int | None, axis: int, norm: str | None
) -> Any:
    (x,) = inexact_arrays(x)
    if typeof(x).dtype.itemsize < 4:  # XLA transforms no narrower floats
        x = x.astype("float32")

    def transform_real(x: Any) -> Any:
        return jnp.moveaxis(transform(_last_axis(x, n, axis), norm == "ortho"), -1, axis)

    return _by_parts(transform_real, x)


def _along_all(
    caller: str,
    transform: Callable[[Any, bool], Any],
    x: Any,
    s: Sequence[int] | int | None,
    axes: Sequence[int] | int | None,
    norm: str | None,
) -> Any:
    ndim = typeof(x).ndim
    sizes = [s] if isinstance(s, int) else None if s is None else list(s)
    if sizes is not None and len(sizes) > ndim:
        raise ValueError(
            f"{caller}: s must have at most x.ndim ({ndim}) elements, found {len(sizes)}"
        )
    if axes is None:
        chosen: Sequence[int] = range(0 if sizes is None else ndim - len(sizes), ndim)
    else:
        chosen = canonical_axes(caller, axes, ndim)
    for i, axis in enumerate(chosen):
        n = None if sizes is None or i >= len(sizes) else sizes[i]
        x = _transform_axis(transform, x, n, axis, norm)
    return x


@operation(static=("type", "n", "axis", "norm"))
def dct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """The sums of `2 * x[j] * cos(pi * k * (2 * j + 1) / (2 * n))` over j, for each k.

    Arguments:
        x: the array.
        type: must be 2.
        n: the size to which the axis is truncated, or padded with zeros; None: its own.
        axis: the axis.
        norm: "ortho", which makes the transform orthogonal; None and "backward" do not.

    Raises:
        NotImplementedError: `type` is not 2.
        ValueError: there is no such `norm`.

    >>> glassjax.scipy.fft.dct(jnp.ones(4)).round(3)
    Array([8., 0., 0., 0.], dtype=float32)
    """
    _check_arguments("dct", type, norm)
    return _transform_axis(_dct, x, n, axis, norm)


@operation(static=("type", "n", "axis", "norm"))
def idct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """The inverse of `dct`.

    Arguments:
        x, type, n, axis, norm: as in `dct`.

    Raises:
        NotImplementedError, ValueError: as in `dct`.

    >>> x = jnp.array([1.0, 2.0, 3.0])
    >>> bool(jnp.allclose(glassjax.scipy.fft.idct(glassjax.scipy.fft.dct(x)), x))
    True
    """
    _check_arguments("idct", type, norm)
    return _transform_axis(_idct, x, n, axis, norm)


@operation(static=("type", "s", "axes", "norm"))
def dctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """`dct` along several axes.

    Arguments:
        x, type: as in `dct`.
        s: the sizes to which the axes are truncated, or padded with zeros; None: their own.
        axes: the axes; None: the last ones, for which `s` has sizes, or all.
        norm: as in `dct`.

    Raises:
        NotImplementedError, ValueError: as in `dct`.

    >>> glassjax.scipy.fft.dctn(jnp.ones((2, 2))).round(3)
    Array([[16.,  0.],
           [ 0.,  0.]], dtype=float32)
    """
    _check_arguments("dctn", type, norm)
    return _along_all("dctn", _dct, x, s, axes, norm)


@operation(like=dctn)
def idctn(x: Any, type: Any, s: Any, axes: Any, norm: Any) -> Any:
    """`idct` along several axes.

    Arguments:
        x, type, s, axes, norm: as in `dctn`.

    Raises:
        NotImplementedError, ValueError: as in `dct`.

    >>> x = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> bool(jnp.allclose(glassjax.scipy.fft.idctn(glassjax.scipy.fft.dctn(x)), x))
    True
    """
    _check_arguments("idctn", type, norm)
    return _along_all("idctn", _idct, x, s, axes, norm)


__all__ = ["dct", "dctn", "idct", "idctn"]
