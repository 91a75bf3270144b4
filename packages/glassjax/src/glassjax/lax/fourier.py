"""Fourier transforms."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.lax.elementwise import conj, real
from glassjax.lax.shapes import full
from glassjax.lax.slicing import pad
from glassjax.primitives import sparsity_rules
from glassjax.primitives.declare import declare
from glassjax.primitives.sharding_rules import as_first
from glassjax.runtime.array import Array
from glassjax.runtime.lowering import platform_of, replicated
from glassjax.runtime.operation import operation
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import ints
from glassjax_stage2.promotion import to_inexact
from glassjax_stage2.shaped_array import Shape
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3.lowering import FunctionBuilder, Value, signature
from glassjax_stage4 import UndefPrimal

fft_p = Primitive("fft")


class FftType(enum.IntEnum):
    """The kinds of transform: complex or real (half of the spectrum), forward or inverse.

    >>> lax.fft(jnp.ones(4), lax.FftType.RFFT, (4,))
    Array([4.+0.j, 0.+0.j, 0.+0.j], dtype=complex64)
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


@operation(static=("fft_type", "fft_lengths"))
def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """The Fourier transform along the last axes.

    Arguments:
        x: the array; complex, or for RFFT real. Integers and booleans become floats.
        fft_type: an `FftType`, or its name.
        fft_lengths: the sizes of these axes, up to three; for IRFFT, the sizes in the result.

    Raises:
        ValueError: they do not match the array, or there is no such transform.
        TypeError: the transform does not support the dtype.

    >>> x = jnp.array([1, 0, -1, 0], jnp.complex64)
    >>> lax.fft(x, lax.FftType.FFT, (4,))
    Array([0.+0.j, 2.+0.j, 0.+0.j, 2.+0.j], dtype=complex64)
    """
    if isinstance(fft_type, str):
        if fft_type.upper() not in FftType.__members__:
            raise ValueError(f"fft: fft_type must be an FftType or its name, found {fft_type!r}")
        fft_type = FftType[fft_type.upper()]
    elif not isinstance(fft_type, FftType):
        raise TypeError(f"fft: fft_type must be an FftType or its name, found {shown(fft_type)}")
    lengths = ints("fft: fft_lengths", fft_lengths)
    kind = fft_type
    x = to_inexact(x)
    if typeof(x).dtype.itemsize == 2 and kind != FftType.RFFT:
        x = stage2.astype(x, np.float32)
    if kind != FftType.RFFT and typeof(x).dtype.kind != "c":
        x = stage2.astype(x, np.result_type(typeof(x).dtype, np.complex64))
    if not lengths:
        return x
    return bind1(fft_p, x, fft_type=kind, fft_lengths=lengths)


def _fft_type(x: ShapedArray, *, fft_type: FftType, fft_lengths: Shape) -> list[ShapedArray]:
    takes_real, gives_real = fft_type == FftType.RFFT, fft_type == FftType.IRFFT
    if x.dtype not in ((np.float32, np.float64) if takes_real else (np.complex64, np.complex128)):
        kind = "real" if takes_real else "complex"
        raise TypeError(f"fft: {fft_type.name} takes {kind} numbers of 32 bits or more, found {x}")
    count = len(fft_lengths)
    half = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1) if fft_lengths else ()
    if not 1 <= count <= 3 or x.shape[-count:] != (half if gives_real else fft_lengths):
        raise ValueError(f"fft: {fft_type.name} of lengths {fft_lengths} does not fit {x}")
    lead = x.shape[:-count]
    if takes_real:
        return [ShapedArray(lead + half, np.result_type(x.dtype, np.complex64))]
    if gives_real:
        return [ShapedArray(lead + fft_lengths, np.finfo(x.dtype).dtype)]
    return [x.strip_weak_type()]


def _fft_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    x: Value,
    *,
    fft_type: FftType,
    fft_lengths: Shape,
) -> list[Value]:
    if platform_of(b) == "cpu":  # XLA for CPUs rejects its own partitioner's layouts
        x = replicated(b, x)
    return b.emit(
        f"stablehlo.fft {x.name}, type = {fft_type.name}, length = {list(fft_lengths)} "
        f": {signature([x], out_avals)}",
        *out_avals,
    )


def _fft_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], **params: Any
) -> tuple[list[Any], list[BatchDim]]:
    x = move_batch_dim(values[0], axis, dims[0], 0)
    return [fft(x, **params)], [0]


def _fft_transpose(ct: Any, x: UndefPrimal, *, fft_type: FftType, fft_lengths: Shape) -> Any:
    """The transform's matrix is symmetric; the half that RFFT drops and IRFFT adds is zero."""
    if fft_type in (FftType.FFT, FftType.IFFT):
        return fft(ct, fft_type, fft_lengths)
    n = fft_lengths[-1]
    kept = n // 2 + 1
    if fft_type == FftType.RFFT:
        config = [(0, 0, 0)] * (typeof(ct).ndim - 1)
        whole = pad(ct, full((), 0, typeof(ct).dtype), [*config, (0, n - kept, 0)])
        return real(fft(whole, FftType.FFT, fft_lengths))
    # Frequencies other than 0, and n / 2 for even n, also stand for their mirror images.
    weights = np.full(kept, 2.0 / math.prod(fft_lengths))
    weights[0] /= 2
    if n % 2 == 0:
        weights[-1] /= 2
    out = fft(ct, FftType.RFFT, fft_lengths)
    weights = np.asarray(weights, typeof(ct).dtype).astype(typeof(out).dtype)
    return conj(out * stage2.broadcast_to(weights, typeof(out).shape))


declare(
    fft_p,
    abstract_eval=_fft_type,
    lower=_fft_lower,
    vmap=_fft_vmap,
    sharding=as_first,
    sparsity=sparsity_rules.by_mixing(lambda *, fft_lengths, **kind: range(-len(fft_lengths), 0)),
    jvp=(lambda t, out, x, **params: bind1(fft_p, t, **params),),
    transpose=(_fft_transpose,),
)
