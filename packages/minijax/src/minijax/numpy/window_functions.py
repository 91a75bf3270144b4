"""Window functions, which weigh the samples of a signal."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minijax.lax import promoting as lax
from minijax.numpy.dtypes import default_float
from minijax.numpy.math.transcendental import i0
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2.functions import one_int


def _window(caller: str, M: int, weight: Callable[[Any, int], Any]) -> Any:
    """`weight(n, M - 1)` of the indices n of `M` samples; 1 for a single one."""
    count = one_int(f"{caller}: M", M)
    dtype = default_float()
    if count <= 1:
        return lax.full((count,), 1, dtype)
    return weight(lax.iota(dtype, count), count - 1)


@operation(static="M")
def bartlett(M: int) -> Array:
    """The triangular window of `M` samples, 0 at its ends.

    >>> jnp.bartlett(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """

    def weight(n: Any, last: int) -> Any:
        return lax.sub(1, lax.div(lax.abs(lax.sub(lax.mul(2, n), last)), last))

    return _window("bartlett", M, weight)


def _cosine(n: Any, last: int, periods: int = 1) -> Any:
    return lax.cos(lax.div(lax.mul(2 * math.pi * periods, n), last))


@operation(static="M")
def blackman(M: int) -> Array:
    """The Blackman window of `M` samples, a sum of two cosines that is 0 at its ends.

    >>> [f"{w:.2f}" for w in jnp.blackman(5)[1:4]]
    ['0.34', '1.00', '0.34']
    """

    def weight(n: Any, last: int) -> Any:
        first = lax.sub(0.42, lax.mul(0.5, _cosine(n, last)))
        return lax.add(first, lax.mul(0.08, _cosine(n, last, 2)))

    return _window("blackman", M, weight)


@operation(static="M")
def hamming(M: int) -> Array:
    """The Hamming window of `M` samples, a cosine that is 0.08 at its ends.

    >>> [f"{w:.2f}" for w in jnp.hamming(5)]
    ['0.08', '0.54', '1.00', '0.54', '0.08']
    """
    return _window("hamming", M, lambda n, last: lax.sub(0.54, lax.mul(0.46, _cosine(n, last))))


@operation(static="M")
def hanning(M: int) -> Array:
    """The Hann window of `M` samples, a cosine that is 0 at its ends.

    >>> [f"{w:.2f}" for w in jnp.hanning(5)[1:4]]
    ['0.50', '1.00', '0.50']
    """
    return _window("hanning", M, lambda n, last: lax.mul(0.5, lax.sub(1, _cosine(n, last))))


@operation(static="M")
def kaiser(M: int, beta: ArrayLike) -> Array:
    """The Kaiser window of `M` samples; the larger `beta`, the narrower it is.

    >>> [f"{w:.2f}" for w in jnp.kaiser(5, 8.0)]
    ['0.00', '0.37', '1.00', '0.37', '0.00']
    """

    def weight(n: Any, last: int) -> Any:
        distance = lax.div(lax.sub(n, last / 2), last / 2)
        half_circle = lax.sqrt(lax.sub(1, lax.square(distance)))
        return lax.div(i0(lax.mul(beta, half_circle)), i0(beta))

    return _window("kaiser", M, weight)


__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]
