"""Sums of products of two sequences, one shifted along the other."""

from __future__ import annotations

from typing import Any

from minijax.lax import promoting as lax
from minijax.lax.precision import PrecisionLike
from minijax.numpy.products import meet
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.dtypes import DTypeLike
from minijax.runtime.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.promotion import to_inexact

OPTIONS = ("mode", "precision", "preferred_element_type")


@operation(static=OPTIONS)
def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The convolution of two sequences: the coefficients of the product of two polynomials.

    Arguments:
        a, v: the sequences.
        mode: "full" for all sums; "same" for as many as the longer sequence has elements; "valid"
            for those in which the sequences overlap completely.
        precision: the precision of the products, a `lax.Precision`.
        preferred_element_type: the dtype of the sums and of the result.

    Raises:
        ValueError: an argument is not a sequence or is empty, or `mode` is none of the three.

    >>> jnp.convolve(jnp.array([1, 2, 3]), jnp.array([1, 10]))
    Array([ 1., 12., 23., 30.], dtype=float32)
    >>> jnp.convolve(jnp.array([1.0, 5.0, 3.0]), jnp.array([0.5, 0.5]), mode="valid")
    Array([3., 4.], dtype=float32)
    """
    longer, shorter = _sequences("convolve", a, v)
    if len_of(longer) < len_of(shorter):
        longer, shorter = shorter, longer
    return _slide("convolve", longer, shorter, mode, precision, preferred_element_type)


@operation(static=OPTIONS)
def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The correlation of two sequences: `convolve` with `v` in reverse order and conjugated.

    The arguments are those of `convolve`.

    >>> jnp.correlate(jnp.array([1.0, 2.0, 4.0]), jnp.array([-1.0, 1.0]))
    Array([1., 2.], dtype=float32)
    """
    a, v = _sequences("correlate", a, v)
    if typeof(v).dtype.kind == "c":
        v = lax.conj(v)
    if len_of(a) < len_of(v):  # numpy exchanges them and reverses what comes of it
        out = _slide("correlate", v, lax.rev(a, [0]), mode, precision, preferred_element_type)
        return lax.rev(out, [0])
    return _slide("correlate", a, lax.rev(v, [0]), mode, precision, preferred_element_type)


def len_of(sequence: Any) -> int:
    return typeof(sequence).shape[0]


def _sequences(caller: str, a: Any, v: Any) -> list[Any]:
    for role, x in (("a", a), ("v", v)):
        aval = typeof(x)
        if aval.ndim != 1 or not aval.size:
            raise ValueError(f"{caller}: {role} must have one axis, and elements; found {aval}")
    return [to_inexact(x) for x in meet(a, v)]


def _slide(
    caller: str,
    longer: Any,
    shorter: Any,
    mode: str,
    precision: PrecisionLike,
    preferred_element_type: Any,
) -> Any:
    n = len_of(shorter)
    pads = {"full": (n - 1, n - 1), "same": (n // 2, n - n // 2 - 1), "valid": (0, 0)}
    if mode not in pads:
        raise ValueError(f"{caller}: mode must be 'full', 'same' or 'valid', found {mode!r}")
    out = lax.conv_general_dilated(
        lax.expand_dims(longer, [0, 1]),
        lax.expand_dims(lax.rev(shorter, [0]), [0, 1]),
        (1,),
        [pads[mode]],
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
    return lax.squeeze(out, [0, 1])


__all__ = [
    "convolve",
    "correlate",
]
