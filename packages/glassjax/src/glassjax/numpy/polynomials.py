"""Polynomials, given by their coefficients, the one of the highest power first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dtypes import finfo
from glassjax.errors import ConcretizationTypeError
from glassjax.errors.arguments import require_fit
from glassjax.errors.tracebacks import hiding_frames
from glassjax.numpy.cases import where
from glassjax.numpy.creation import eye, vander
from glassjax.numpy.dtypes import default_int, dtype_of_mean, to_common_dtype
from glassjax.numpy.indexing import known_value
from glassjax.numpy.linalg import eigvals, inv, lstsq
from glassjax.numpy.products import convolve, outer
from glassjax.numpy.rearranging import roll
from glassjax.numpy.selection import trim_zeros
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import as_weak_as, require_no_promotion
from glassjax_stage2 import typeof
from glassjax_stage2.promotion import broadcast_shapes, to_inexact

MOST_WRITTEN_OUT = 16  # steps; XLA makes a faster program of few steps than of a loop


@operation(static="unroll")
def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int | None = None) -> Array:
    """The value of the polynomial `p` at each element of `x`.

    Arguments:
        p: the coefficients, highest power first; further axes are several polynomials.
        x: an array of any shape that broadcasts with the other axes of `p`.
        unroll: the number of coefficients that one step of the loop takes, if there are many; 16
            by default.

    Raises:
        ValueError: `p` is a scalar.

    >>> jnp.polyval(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 10.0]))
    Array([  3., 123.], dtype=float32)
    """
    if unroll is not None and unroll < 0:
        raise ValueError(f"polyval: unroll must not be negative, found {unroll}")
    p, x = to_common_dtype(p, x)
    if not typeof(p).ndim:
        raise ValueError(f"polyval: coefficients must have an axis, found {typeof(p)}")
    count, *rest = typeof(p).shape
    if not 0 < count <= MOST_WRITTEN_OUT:
        zero = lax.full(broadcast_shapes(tuple(rest), typeof(x).shape), 0, typeof(x).dtype)
        step = MOST_WRITTEN_OUT if unroll is None else unroll
        return lax.scan(lambda out, c: (out * x + c, ()), zero, p, unroll=step)[0]
    # Unrolled: the derivative of a scan would stack residuals of each step.
    p = lax.convert_element_type(p, typeof(x).dtype)  # drops the weak type
    return lax.polynomial(x, [p[i] for i in reversed(range(count))], unroll=unroll)


def _scan_along(step: Callable[[Any, Any], Any], carry: Any, xs: Any, unroll: int = 1) -> Any:
    """A scan, unrolled if it has few steps."""
    return lax.scan(step, carry, xs, unroll=typeof(xs).shape[0] <= MOST_WRITTEN_OUT or unroll)


@operation
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The sum of two polynomials.

    >>> jnp.polyadd(jnp.array([1, 2]), jnp.array([3, 4, 5]))
    Array([3, 5, 7], dtype=int32)
    """
    require_no_promotion(a1, a2)
    return stage2.add(*_same_length("polyadd", a1, a2))


@operation
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The difference of two polynomials.

    >>> jnp.polysub(jnp.array([1, 2, 3]), jnp.array([1, 1]))
    Array([1, 1, 2], dtype=int32)
    """
    require_no_promotion(a1, a2)
    return stage2.sub(*_same_length("polysub", a1, a2))


@hiding_frames
def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """The product of two polynomials.

    Arguments:
        a1, a2: the coefficients.
        trim_leading_zeros: whether to drop leading zeros; then the numbers must be known.

    Raises:
        ConcretizationTypeError: leading zeros of traced numbers should be dropped.

    >>> jnp.polymul(jnp.array([1, 2]), jnp.array([1, 3]))
    Array([1., 5., 6.], dtype=float32)
    """
    require_no_promotion(a1, a2)
    if trim_leading_zeros and max(typeof(a1).size, typeof(a2).size) > 1:
        a1, a2 = trim_zeros(a1, "f"), trim_zeros(a2, "f")
    return _polymul(a1, a2)


@operation
def _polymul(a1: Any, a2: Any) -> Any:
    a1, a2 = (to_inexact(a) for a in to_common_dtype(a1, a2))
    for a in (a1, a2):
        _require_coefficients("polymul", a)
    return convolve(_or_zero(a1), _or_zero(a2))


def _or_zero(p: Any) -> Any:
    return p if typeof(p).size else lax.full((1,), 0, typeof(p).dtype)


@operation(static="m")
def polyder(p: ArrayLike, m: int = 1) -> Array:
    """The derivative of a polynomial, `m` times over.

    Raises:
        ValueError: `m` is negative, or `p` is not a vector.

    >>> jnp.polyder(jnp.array([1.0, 2.0, 3.0]))
    Array([2., 2.], dtype=float32)
    """
    if m < 0:
        raise ValueError(f"polyder: m must not be negative, found {m}")
    p = lax.convert_element_type(p, dtype_of_mean(p))
    _require_coefficients("polyder", p)
    count = typeof(p).shape[0] - m
    if m == 0 or count <= 0:
        return p if m == 0 else lax.slice_in_dim(p, 0, 0)
    powers = np.arange(typeof(p).shape[0] - 1, m - 1, -1, dtype=float)
    factors = np.prod([powers - i for i in range(m)], axis=0)
    return lax.slice_in_dim(p, 0, count) * np.asarray(factors, typeof(p).dtype)


@operation(static="m")
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """The `m`-th antiderivative of a polynomial, with the constants `k`, 0 by default.

    Arguments:
        p: the coefficients, highest power first.
        m: the order of the antiderivative.
        k: the constants of integration, a number or one for each order; None: 0.

    Raises:
        ValueError: `m` is negative, `p` is not a vector, or there are other than `m` constants.

    >>> jnp.polyint(jnp.array([2.0, 3.0]))
    Array([1., 3., 0.], dtype=float32)
    """
    if m < 0:
        raise ValueError(f"polyint: m must not be negative, found {m}")
    k = 0 if k is None else k
    p, k = (lax.convert_element_type(x, dtype_of_mean(p)) for x in (p, k))
    _require_coefficients("polyint", p)
    if m == 0:
        return p
    if typeof(k).shape not in ((), (1,), (m,)):
        raise ValueError(f"polyint: k must be a number or {m} of them, found {typeof(k)}")
    constants = stage2.reshape(k, (-1,))
    if typeof(constants).shape[0] != m:
        constants = lax.broadcast_in_dim(lax.squeeze(constants, (0,)), (m,), ())
    size = typeof(p).shape[0]
    powers = np.arange(size + m - 1, -1, -1, dtype=float)
    divisors = np.prod([np.maximum(powers - i, 1) for i in range(m)], axis=0)
    return lax.concatenate([p, constants], 0) / np.asarray(divisors, typeof(p).dtype)


@operation
def poly(seq_of_zeros: ArrayLike) -> Array:
    """The polynomial with these roots.

    Raises:
        ValueError: there are several axes.

    >>> jnp.poly(jnp.array([1.0, 2.0]))
    Array([ 1., -3.,  2.], dtype=float32)
    """
    zeros = lax.convert_element_type(seq_of_zeros, dtype_of_mean(seq_of_zeros))
    if typeof(zeros).ndim > 1:
        raise ValueError(f"poly: zeros must have one axis, found {typeof(zeros)}")
    zeros = stage2.reshape(zeros, (-1,))
    degree = typeof(zeros).shape[0]
    if not degree:
        return lax.full((), 1, typeof(zeros).dtype)
    nothing = lax.full((1,), 0, typeof(zeros).dtype)
    places = np.arange(degree + 1, dtype=np.int32)

    def root_step(carry: tuple[Any, Any], zero: Any) -> tuple[tuple[Any, Any], tuple[()]]:
        """A step with coefficients padded by zeros, which are none for infinite roots, either."""
        out, count = carry
        count = count + np.int32(1)
        shifted = lax.concatenate([nothing, lax.slice_in_dim(out, 0, degree)], 0)
        is_changed = stage2.gt(places, 0) & stage2.le(places, count)
        out = where(is_changed, out - shifted * zero, out)
        return (out, count), ()

    one = lax.full((1,), 1, typeof(zeros).dtype)
    out = lax.concatenate([one, lax.full((degree,), 0, typeof(zeros).dtype)], 0)
    return _scan_along(root_step, (out, lax.full((), 0, "int32")), zeros)[0][0]


@evaluated_by_library
def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """The quotient and the remainder of two polynomials.

    Arguments:
        u, v: the coefficients of the dividend and the divisor.
        trim_leading_zeros: whether to drop leading near-zeros from the remainder, which requires
            known numbers; otherwise it has the size of `u`.

    Raises:
        ConcretizationTypeError: leading zeros of traced numbers should be dropped.

    >>> jnp.polydiv(jnp.array([1.0, 3.0, 2.0]), jnp.array([1.0, 1.0]))
    (Array([1., 2.], dtype=float32), Array([0., 0., 0.], dtype=float32))
    """
    require_no_promotion(u, v)
    quotient, rest = _polydiv(u, v)
    if not trim_leading_zeros:
        return quotient, rest
    known = known_value(rest)
    if known is None:
        raise ConcretizationTypeError(
            "polydiv: the numbers decide how many leading zeros the remainder has, so they must be "
            f"known when the function is traced; {rest.why_unknown()}.\n"
            "Leave trim_leading_zeros False: the remainder then has the size of u."
        )
    (places,) = np.nonzero(np.abs(known) >= np.sqrt(np.finfo(typeof(rest).dtype).eps))
    size = typeof(rest).size
    return quotient, lax.slice_in_dim(rest, int(places[0]) if len(places) else size, size)


@operation
def _polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    u, v = to_common_dtype(u, v, inexact=True)
    _require_coefficients("polydiv", u, v)
    size, width = typeof(u).shape[0], typeof(v).shape[0]
    if not width:
        raise ValueError("polydiv: the divisor has no coefficients")
    if size < width:
        return lax.full((1,), 0, typeof(u).dtype), u
    head = lax.index_in_dim(v, 0, keepdims=False)

    def division_step(u: Any, i: Any) -> tuple[Any, Any]:
        factor = lax.dynamic_index_in_dim(u, i, keepdims=False) / head
        part = lax.dynamic_slice_in_dim(u, i, width) - factor * v
        return lax.dynamic_update_slice_in_dim(u, part, i, 0), factor

    rest, quotient = _scan_along(division_step, u, lax.iota(np.int32, size - width + 1))
    # The remainder is weakly typed if the dividend is, the quotient never.
    return lax.convert_element_type(quotient, typeof(u).dtype), as_weak_as(typeof(u), rest)


@operation(static=("deg", "rcond", "full", "cov"))
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """The least-squares fit of a polynomial of a given degree to points.

    Arguments:
        x: the coordinates of the points.
        y: the values at the points; or a matrix, whose columns are fitted separately.
        deg: the degree.
        rcond: singular values less than `rcond` times the largest count as 0; by default the
            number of points times the precision of the dtype.
        full: whether to return diagnostics as well.
        w: weights of the points, the factors of their residuals.
        cov: whether to return the covariance of the coefficients too, scaled by the residuals;
            "unscaled" omits the scaling.

    Returns:
        The coefficients, for a matrix in columns. With `full` a tuple of them, the squared
        residuals, rank and singular values of the scaled equations, and `rcond`. With `cov` a pair
        of them and their covariance.

    Raises:
        ValueError: the degree is negative, or there are too few points for a covariance.
        TypeError: `x` is not a sequence, `y` not a sequence or matrix, or sizes differ.

    >>> x = jnp.array([0.0, 1.0, 2.0])
    >>> [f"{c:.2f}" for c in jnp.polyfit(x, 3.0 * x + 1.0, 1)]
    ['3.00', '1.00']
    """
    if deg < 0:
        raise ValueError(f"polyfit: deg must not be negative, found {deg}")
    if typeof(x).ndim != 1 or not typeof(x).size:
        raise TypeError(f"polyfit: x must be a sequence that is not empty, found {typeof(x)}")
    count = typeof(x).size
    if typeof(y).ndim not in (1, 2) or typeof(y).shape[0] != count:
        raise TypeError(
            f"polyfit: y must have one or two axes, the first of size {count}, found {typeof(y)}"
        )
    if w is not None and typeof(w).shape != (count,):
        raise TypeError(f"polyfit: w must have the shape ({count},), found {typeof(w)}")
    x = to_inexact(x)
    if rcond is not None:
        require_fit("polyfit", "rcond", rcond, float)
    rcond = count * float(finfo(typeof(x).dtype).eps) if rcond is None else rcond
    powers, columns = vander(x, deg + 1), y if typeof(y).ndim == 2 else lax.expand_dims(y, (1,))
    if w is not None:
        weights = lax.expand_dims(to_inexact(w), (1,))
        powers, columns = powers * weights, columns * weights
    # Powers differ in magnitude: scaling the columns improves the condition number.
    scale = lax.sqrt(lax.reduce_sum(lax.mul(powers, powers), (0,)))
    powers = powers / scale
    found, squares, rank, singular = lstsq(powers, columns, rcond)
    found = found / lax.expand_dims(scale, (1,))
    found = found if typeof(y).ndim == 2 else lax.squeeze(found, (1,))
    if full:
        return found, squares, rank, singular, lax.full((), rcond)
    return (found, _covariance(powers, scale, squares, cov, y)) if cov else found


def _covariance(powers: Any, scale: Any, squares: Any, cov: bool | str, y: Any) -> Any:
    """Return the covariance of the coefficients, along a last axis for several polynomials."""
    count, order = typeof(powers).shape
    products = lax.dot_general(powers, powers, (((0,), (0,)), ((), ())))
    shared = lax.div(inv(products), outer(scale, scale))
    if cov == "unscaled":
        factor = lax.full((1,), 1, typeof(shared).dtype)
    elif count <= order:
        raise ValueError(
            f"polyfit: a covariance takes more than {order} points, or cov='unscaled'; found "
            f"{count}"
        )
    else:
        factor = squares / (count - order)
    if typeof(y).ndim == 1:
        return shared * factor
    return lax.expand_dims(shared, (2,)) * factor


def _require_coefficients(name: str, *polynomials: Any) -> None:
    for p in polynomials:
        if typeof(p).ndim != 1:
            raise ValueError(
                f"{name}: coefficients must be an array of one axis, found {typeof(p)}"
            )


def _same_length(name: str, *operands: Any) -> list[Any]:
    """The polynomials padded with leading zeros to equal length."""
    a1, a2 = to_common_dtype(*operands)
    _require_coefficients(name, a1, a2)
    size = max(typeof(a).shape[0] for a in (a1, a2))
    zero = np.zeros((), typeof(a1).dtype)[()]
    return [lax.pad(a, zero, [(size - typeof(a).shape[0], 0, 0)]) for a in (a1, a2)]


@evaluated_by_library
def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """The complex roots of a polynomial, in no particular order.

    Arguments:
        p: the coefficients.
        strip_zeros: whether to drop leading zeros, which reduces the number of roots; then the
            numbers must be known. If not, missing roots are NaN.

    Raises:
        ValueError: `p` has several axes.
        ConcretizationTypeError: leading zeros of traced numbers should be dropped.

    >>> [f"{r.real:.2f}" for r in jnp.roots(jnp.array([1.0, -3.0, 2.0]))]
    ['2.00', '1.00']
    """
    if typeof(p).ndim > 1:
        raise ValueError(f"roots: p must be a sequence of numbers, found {typeof(p)}")
    p, zeros = _leading_zeros(p)
    if typeof(p).size < 2:
        return _roots(p)  # a constant has no roots, zero included
    if not strip_zeros:
        return _roots_and_nan(p, zeros)
    known = known_value(zeros)
    if known is None:
        raise ConcretizationTypeError(
            "roots: the leading zeros decide how many roots there are, so p must be known when the "
            f"function is traced; {zeros.why_unknown()}.\n"
            "With strip_zeros=False there are as many as without zeros, some of them NaN."
        )
    return _roots(lax.slice_in_dim(p, int(known), typeof(p).size))


@operation
def _leading_zeros(p: Any) -> tuple[Any, Any]:
    """The coefficients as real or complex numbers, and the number of leading zeros."""
    p = stage2.reshape(to_inexact(p), (-1,))
    is_zero = p == 0
    return p, lax.reduce_sum(lax.cumprod(lax.convert_element_type(is_zero, default_int())), (0,))


@operation
def _roots(p: Any) -> Any:
    """The eigenvalues of the companion matrix, whose characteristic polynomial is `p`."""
    degree = typeof(p).size - 1
    if degree < 1:
        return lax.full((0,), 0, np.result_type(typeof(p).dtype, np.complex64))
    head, rest = lax.slice_in_dim(p, 0, 1), lax.slice_in_dim(p, 1, degree + 1)
    first_row = lax.expand_dims(-(rest / head), (0,))
    return eigvals(lax.concatenate([first_row, eye(degree - 1, degree, dtype=typeof(p).dtype)], 0))


@operation
def _roots_and_nan(p: Any, zeros: Any) -> Any:
    """The roots of `p`, whose leading zeros are moved to the end; NaN for missing roots."""
    size = typeof(p).size
    p = where(zeros == size, 1, p)
    found = _roots(roll(p, lax.neg(zeros)))
    count = typeof(found).size
    if not count:
        return found
    _, found = lax.sort_key_val(lax.convert_element_type(found == 0, np.int32), found)
    is_there = lax.iota(default_int(), count) < (count - zeros)
    return where(is_there, found, complex(np.nan, np.nan))
