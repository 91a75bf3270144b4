"""Polynomials, given by their coefficients, the one of the highest power first."""

from typing import Any

import numpy as np

from minijax import lax
from minijax.numpy.convolution import convolve
from minijax.numpy.dtypes import dtype_of_mean
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.promotion import cast, result_type


@operation(static="unroll")
def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """The value of the polynomial `p` at each element of `x`.

    Arguments:
        p: the coefficients.
        x: an array of any shape.
        unroll: makes no difference: there is no loop.
    """
    p, x = _of_one_dtype(p, x)
    _require_coefficients("polyval", p)
    shape, degree = typeof(x).shape, typeof(p).shape[0]
    out = lax.full(shape, 0, typeof(x).dtype)
    for i in range(degree):
        coefficient = lax.squeeze(lax.slice_in_dim(p, i, i + 1), (0,))
        out = lax.add(lax.mul(out, x), coefficient)
    return out


@operation
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials."""
    return lax.add(*_of_one_length("polyadd", a1, a2))


@operation
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials."""
    return lax.sub(*_of_one_length("polysub", a1, a2))


@operation(static="trim_leading_zeros")
def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """The product of two polynomials.

    Arguments:
        a1, a2: the coefficients.
        trim_leading_zeros: must be False: how many there are is known only when the program runs.
    """
    _require_no_trimming("polymul", trim_leading_zeros)
    a1, a2 = (lax.reshape(a, (-1,)) for a in _of_one_dtype(a1, a2))
    a1, a2 = (lax.convert_element_type(a, dtype_of_mean(a)) for a in (a1, a2))
    return convolve(a1, a2)


@operation(static="m")
def polyder(p: Any, m: int = 1) -> Any:
    """The derivative of a polynomial, `m` times over."""
    if m < 0:
        raise ValueError(f"polyder: m must not be negative, found {m}")
    p = lax.convert_element_type(p, dtype_of_mean(p))
    _require_coefficients("polyder", p)
    count = typeof(p).shape[0] - m
    if m == 0 or count <= 0:
        return p if m == 0 else lax.slice_in_dim(p, 0, 0)
    powers = np.arange(typeof(p).shape[0] - 1, m - 1, -1, dtype=float)
    factors = np.prod([powers - i for i in range(m)], axis=0)
    return lax.mul(lax.slice_in_dim(p, 0, count), np.asarray(factors, typeof(p).dtype))


@operation(static="m")
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The antiderivative of a polynomial, `m` times over, with the constants `k`, else 0."""
    if m < 0:
        raise ValueError(f"polyint: m must not be negative, found {m}")
    k = 0 if k is None else k
    p, k = (lax.convert_element_type(x, dtype_of_mean(p)) for x in (p, k))
    _require_coefficients("polyint", p)
    if m == 0:
        return p
    if typeof(k).shape not in ((), (1,), (m,)):
        raise ValueError(f"polyint: k must be a number or {m} of them, found {typeof(k)}")
    constants = lax.reshape(k, (-1,))
    if typeof(constants).shape[0] != m:
        constants = lax.broadcast_in_dim(lax.squeeze(constants, (0,)), (m,), ())
    size = typeof(p).shape[0]
    powers = np.arange(size + m - 1, -1, -1, dtype=float)
    divisors = np.prod([np.maximum(powers - i, 1) for i in range(m)], axis=0)
    return lax.div(lax.concatenate([p, constants], 0), np.asarray(divisors, typeof(p).dtype))


@operation
def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with these zeros.

    Raises:
        ValueError: there are several axes.
    """
    zeros = lax.convert_element_type(seq_of_zeros, dtype_of_mean(seq_of_zeros))
    if typeof(zeros).ndim > 1:
        raise ValueError(f"poly: zeros must have one axis, found {typeof(zeros)}")
    zeros = lax.reshape(zeros, (-1,))
    out = lax.full((1,), 1, typeof(zeros).dtype)
    nothing = lax.full((1,), 0, typeof(zeros).dtype)
    for i in range(typeof(zeros).shape[0]):
        zero = lax.squeeze(lax.slice_in_dim(zeros, i, i + 1), (0,))
        times_x = lax.concatenate([out, nothing], 0)
        out = lax.sub(times_x, lax.concatenate([nothing, lax.mul(out, zero)], 0))
    return out


@operation(static="trim_leading_zeros")
def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> Any:
    """The quotient and the remainder of two polynomials; the remainder has the size of `u`."""
    _require_no_trimming("polydiv", trim_leading_zeros)
    u, v = _of_one_dtype(u, v)
    u, v = (lax.convert_element_type(x, dtype_of_mean(x)) for x in (u, v))
    _require_coefficients("polydiv", u, v)
    size, width = typeof(u).shape[0], typeof(v).shape[0]
    if size < width:
        return lax.full((1,), 0, typeof(u).dtype), u
    head = lax.squeeze(lax.slice_in_dim(v, 0, 1), (0,))
    quotient = []
    for i in range(size - width + 1):
        factor = lax.div(lax.slice_in_dim(u, i, i + 1), head)
        quotient.append(factor)
        step = lax.mul(lax.squeeze(factor, (0,)), v)
        u = lax.sub(u, lax.pad(step, np.zeros((), typeof(u).dtype)[()], [(i, size - width - i, 0)]))
    return lax.concatenate(quotient, 0), u


def _require_no_trimming(name: str, trim_leading_zeros: bool) -> None:
    if trim_leading_zeros:
        raise NotImplementedError(f"{name}: trim_leading_zeros must be False")


def _require_coefficients(name: str, *polynomials: Any) -> None:
    for p in polynomials:
        if typeof(p).ndim != 1:
            raise ValueError(
                f"{name}: coefficients must be an array of one axis, found {typeof(p)}"
            )


def _of_one_dtype(*operands: Any) -> list[Any]:
    meeting = result_type(*map(typeof, operands))
    return [cast(x, meeting) for x in operands]


def _of_one_length(name: str, *operands: Any) -> list[Any]:
    """The polynomials with zeros for the powers that they lack."""
    a1, a2 = _of_one_dtype(*operands)
    _require_coefficients(name, a1, a2)
    size = max(typeof(a).shape[0] for a in (a1, a2))
    zero = np.zeros((), typeof(a1).dtype)[()]
    return [lax.pad(a, zero, [(size - typeof(a).shape[0], 0, 0)]) for a in (a1, a2)]


__all__ = [
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
]
