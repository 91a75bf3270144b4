"""Exponentials, logarithms, trigonometric functions, and windows made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dtypes import finfo
from glassjax.lax.formulas import (
    call_in_32_bits_at_least,
)
from glassjax.lax.shapes import filled_like
from glassjax.numpy.cases import where
from glassjax.numpy.dtypes import default_float
from glassjax.numpy.elementwise import mod
from glassjax.numpy.reductions import cumsum
from glassjax.primitives.declare import declare, lower_by, lower_by_primitives, unary
from glassjax.primitives.sharding_rules import by_elements
from glassjax.runtime.array import Array, ArrayLike, to_array
from glassjax.runtime.nesting import note_composition
from glassjax.runtime.operation import operation, promoting
from glassjax.settings.number_types import letter_of, promote
from glassjax_stage2 import Primitive, Zero, bind, typeof
from glassjax_stage2.functions import canonical_axis, one_int
from glassjax_stage2.promotion import broadcast_shapes, broadcast_to, to_inexact
from glassjax_stage2.shaped_array import dialect, python_scalars
from glassjax_stage2.tangent import instantiate
from glassjax_stage2.vmap_rules import elementwise
from glassjax_stage3.abstract_eval import arithmetic

# Promotion of operands to arrays of one inexact dtype.


def inexact_arrays(*operands: Any) -> list[Array]:
    """The operands as real or complex arrays of one dtype, and of one shape or scalars.

    They are weak only if all are, even if a result depends on only some of them.
    """
    promoted = promote(*operands, inexact=True)
    are_weak = [typeof(x).weak_type for x in promoted]
    return list(map(to_array, promoted)) if all(are_weak) else strong(promoted)


def strong(operands: list[Any]) -> list[Array]:
    """The operands with strong types. Beside arrays, numbers become scalars of numpy.

    A program has these as literals.
    """
    numbers = (*python_scalars, np.generic)
    if all(isinstance(x, numbers) for x in operands):
        operands = list(map(to_array, operands))
    return [
        dialect().scalar(x, typeof(x).dtype)
        if isinstance(x, numbers)
        else lax.convert_element_type(to_array(x), typeof(x).dtype)
        for x in operands
    ]


def real_floats(caller: str, *operands: Any) -> list[Array]:
    """The operands as real numbers of one dtype, for functions of `lax`.

    Raises:
        ValueError: an operand is complex.
    """
    return _require_real(caller, promote(*operands, inexact=True))


def _require_real(caller: str, operands: list[Any]) -> list[Array]:
    if typeof(operands[0]).dtype.kind == "c":
        raise ValueError(f"{caller}: expected real operands, found {typeof(operands[0])}")
    return operands


def real_arrays(caller: str, *operands: Any) -> list[Array]:
    """`inexact_arrays` of real operands.

    Raises:
        ValueError: an operand is complex.
    """
    return _require_real(caller, inexact_arrays(*operands))


def strong_floats(caller: str, *operands: Any) -> list[Array]:
    """`real_arrays` with strong types, even for Python numbers.

    Raises:
        ValueError: an operand is complex.
    """
    return strong(real_arrays(caller, *operands))


# Exponentials, logarithms, trigonometric and hyperbolic functions, under numpy's names.


sin = promoting(lax.sin, inexact=True)
cos = promoting(lax.cos, inexact=True)
tan = promoting(lax.tan, inexact=True)
arcsin = asin = promoting(lax.asin, inexact=True)
arccos = acos = promoting(lax.acos, inexact=True)
arctan = atan = promoting(lax.atan, inexact=True)
sinh = promoting(lax.sinh, inexact=True)
cosh = promoting(lax.cosh, inexact=True)
tanh = promoting(lax.tanh, inexact=True)
arcsinh = asinh = promoting(lax.asinh, inexact=True)
arccosh = acosh = promoting(lax.acosh, inexact=True)
arctanh = atanh = promoting(lax.atanh, inexact=True)
exp = promoting(lax.exp, inexact=True)
exp2 = promoting(lax.exp2, inexact=True)
expm1 = promoting(lax.expm1, inexact=True)
log = promoting(lax.log, inexact=True)
log1p = promoting(lax.log1p, inexact=True)


@operation
def arctan2(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The angle of the point `(x2, x1)`, from -pi to pi.

    >>> f"{jnp.arctan2(1.0, -1.0):.3f}", f"{jnp.arctan2(-1.0, -1.0):.3f}"
    ('2.356', '-2.356')
    """
    return lax.atan2(*promote(x1, x2, inexact=True))


atan2 = arctan2


@operation
def log2(x: ArrayLike) -> Array:
    """The logarithm of `x` to base 2.

    >>> f"{jnp.log2(8.0):.3f}"
    '3.000'
    """
    x = to_inexact(x)
    if typeof(x).dtype.kind == "c":
        return _by_parts(log(x), lambda y: y / math.log(2))
    return lax.log2(x)


@operation
def log10(x: ArrayLike) -> Array:
    """The logarithm of `x` to base 10.

    >>> f"{jnp.log10(1000.0):.3f}"
    '3.000'
    """
    x = to_inexact(x)
    log = lax.log(lax.convert_element_type(x, typeof(x).dtype))
    return _by_parts(log, lambda y: y * (1 / math.log(10)))


def _by_parts(x: Any, function: Callable[[Any], Any]) -> Any:
    """A function of real numbers, applied to each part of complex ones."""
    if typeof(x).dtype.kind != "c":
        return function(x)
    return lax.complex(function(lax.real(x)), function(lax.imag(x)))


@operation
def deg2rad(x: ArrayLike) -> Array:
    """An angle in degrees, in radians.

    >>> f"{jnp.deg2rad(180.0):.3f}"
    '3.142'
    """
    return _scale(x, math.pi / 180)


@operation
def rad2deg(x: ArrayLike) -> Array:
    """An angle in radians, in degrees.

    >>> f"{jnp.rad2deg(jnp.pi):.3f}"
    '180.000'
    """
    return _scale(x, 180 / math.pi)


def _scale(x: Any, factor: float) -> Any:
    """The product with a factor, weak only if `x` is a scalar, as in JAX."""
    out = stage2.mul(to_inexact(x), factor)
    return lax.convert_element_type(out, typeof(out).dtype) if typeof(x).ndim else out


radians = deg2rad
degrees = rad2deg


hypot_p = Primitive("hypot")


def _hypot(x: Any, y: Any) -> list[Any]:
    """The length of a vector, and the cosine and sine of its angle.

    Both coordinates are scaled by a power of 2, so that no square over- or underflows.
    """
    limits = finfo(typeof(x).dtype)
    half, digits = limits.maxexp // 2 - 1, (limits.nmant + 1) // 2
    sizes = lax.abs(x), lax.abs(y)
    larger = lax.max(*sizes)
    is_large, is_small = larger >= 2.0**half, larger <= 2.0**-digits
    down, up = (filled_like(x, 2.0**n) for n in (-half - digits, half + digits))
    one = filled_like(x, 1.0)

    def scaled(x: Any) -> Any:
        shrunk, grown = x * down, x * up
        return lax.select(is_large, shrunk, lax.select(is_small, grown, x))

    x, y = scaled(x), scaled(y)
    factor = lax.select(is_large, up, lax.select(is_small, down, one))
    root = lax.sqrt(lax.square(x) + lax.square(y))
    length, infinity = root * factor, filled_like(x, math.inf)
    is_infinite = (sizes[0] == infinity) | (sizes[1] == infinity)
    return [lax.select(is_infinite, infinity, length), x / root, y / root]


def _hypot_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    length, *ratios = bind(hypot_p, *primals)
    pairs = zip(ratios, tangents, strict=True)
    change = reduce(stage2.add, [r * t for r, t in pairs if type(t) is not Zero])
    turns = [(instantiate(t) - r * change) / length for r, t in zip(ratios, tangents, strict=True)]
    return [length, *ratios], [change, *turns]


declare(
    hypot_p,
    abstract_eval=lambda x, y: arithmetic(hypot_p)(x, y) * 3,
    lower=lower_by(_hypot),
    vmap=elementwise(hypot_p, fills=True),
    sharding=by_elements(hypot_p),
    jvp=_hypot_jvp,
)
note_composition(hypot_p)


def _length(x: Any, y: Any) -> Any:
    shape = broadcast_shapes(typeof(x).shape, typeof(y).shape)
    return bind(hypot_p, broadcast_to(x, shape), broadcast_to(y, shape))[0]


@operation
def hypot(x1: ArrayLike, x2: ArrayLike) -> Array:
    """`sqrt(x1**2 + x2**2)` of real numbers, without intermediate overflow.

    >>> jnp.hypot(3.0, 4.0), jnp.hypot(jnp.float32(3e30), 4e30)
    (Array(5., dtype=float32, weak_type=True), Array(5.e+30, dtype=float32))
    """
    return call_in_32_bits_at_least(_length, *real_floats("hypot", x1, x2))


def _sinc_of_complex(x: Any) -> Any:
    is_far = (lax.abs(lax.real(x)) == math.inf) & lax.is_finite(lax.imag(x))
    turns = where(is_far, 1, math.pi * x)
    is_near = lax.abs(turns) < 1
    near, far = where(is_near, turns, 0), where(is_near, 1, turns)
    terms = range(10 if finfo(typeof(x).dtype).bits == 64 else 6)
    series = lax.polynomial(
        lax.square(near), [(-1) ** k / math.factorial(2 * k + 1) for k in terms]
    )
    return where(is_far, 0, where(is_near, series, lax.sin(far) / far))


def _sinc(x: Any) -> Any:
    """The sine by its series around the nearest integer, where it is exactly 0."""
    whole = lax.stop_gradient(lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN))
    rest = where(lax.abs(x) == math.inf, 0, x - whole)
    square = rest * rest
    terms = range(1, 12 if finfo(typeof(x).dtype).bits == 64 else 7)
    series = square * lax.polynomial(
        square, [(-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k + 1) for k in terms]
    )
    around_0 = 1 + series
    sine = rest + rest * series
    is_odd = 2 * lax.round(0.5 * whole, lax.RoundingMethod.TO_NEAREST_EVEN) != whole
    is_near = whole == 0
    ratio = sine / where(is_odd, -x, where(is_near, 1, x))
    ratio = where(rest == 0, ratio - lax.stop_gradient(ratio), ratio)  # 0, with its derivative
    return where(is_near, around_0, ratio)


@operation
def sinc(x: ArrayLike) -> Array:
    """`sin(pi * x) / (pi * x)`, and 1 at 0.

    >>> jnp.sinc(0.0), f"{jnp.sinc(0.5):.3f}"
    (Array(1., dtype=float32, weak_type=True), '0.637')
    """
    x = to_inexact(x)
    if typeof(x).dtype.kind == "c":
        return _sinc_of_complex(x)
    return call_in_32_bits_at_least(_sinc, x)


_i0 = unary(
    "i0",
    "",
    hlo=lower_by_primitives(lambda x: lax.exp(lax.abs(x)) * lax.bessel_i0e(x)),
    kinds="f",
    jvp=lambda t, out, x: t * (lax.exp(lax.abs(x)) * lax.bessel_i1e(x)),
)


@operation
def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of order 0.

    >>> f"{jnp.i0(1.0):.3f}"
    '1.266'
    """
    return _i0(*real_floats("i0", x))


@operation(static="axis")
def unwrap(
    p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, period: ArrayLike = 2 * math.pi
) -> Array:
    """Phases with periods added, so that neighbors differ by at most half a period.

    Arguments:
        p: the phases.
        discont: neighbors that differ by less do not change; half a period by default.
        axis: the axis along which they are neighbors.
        period: the period.

    Raises:
        ValueError: `p` has no axis.

    >>> jnp.unwrap(jnp.array([0.0, 170.0, -170.0]), period=360.0)
    Array([  0., 170., 190.], dtype=float32)
    """
    if not typeof(p).ndim:
        raise ValueError(f"unwrap: p must have an axis, found {typeof(p)}")
    p, period = promote(p, period)
    half = lax.div(*stage2.promote(period, 2))
    axis = canonical_axis("unwrap", axis, typeof(p).ndim)
    if not typeof(p).shape[axis]:
        return p
    after = lax.slice_in_dim(p, 1, None, axis=axis)
    step = after - lax.slice_in_dim(p, 0, -1, axis=axis)
    wrapped = mod(step + half, period) - half
    is_half = (wrapped + half == 0) & (step > 0)
    correction = where(is_half, half, wrapped) - step
    size = step if letter_of(typeof(p).dtype) == "u" else lax.abs(step)
    is_small = size < (half if discont is None else discont)
    total = cumsum(where(is_small, 0, correction), axis)
    first = lax.slice_in_dim(p, 0, 1, axis=axis)
    return lax.concatenate([first, after + total], axis)


# Window functions: weights for the samples of a signal.


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
        return 1 - lax.abs(2 * n - last) / last

    return _window("bartlett", M, weight)


def _cosine(n: Any, last: int, periods: int = 1) -> Any:
    return lax.cos(2 * math.pi * periods * n / last)


@operation(static="M")
def blackman(M: int) -> Array:
    """The Blackman window of `M` samples, a sum of two cosines that is 0 at its ends.

    >>> [f"{w:.2f}" for w in jnp.blackman(5)[1:4]]
    ['0.34', '1.00', '0.34']
    """

    def weight(n: Any, last: int) -> Any:
        first = 0.42 - 0.5 * _cosine(n, last)
        return first + 0.08 * _cosine(n, last, 2)

    return _window("blackman", M, weight)


@operation(static="M")
def hamming(M: int) -> Array:
    """The Hamming window of `M` samples, a cosine that is 0.08 at its ends.

    >>> [f"{w:.2f}" for w in jnp.hamming(5)]
    ['0.08', '0.54', '1.00', '0.54', '0.08']
    """
    return _window("hamming", M, lambda n, last: 0.54 - 0.46 * _cosine(n, last))


@operation(static="M")
def hanning(M: int) -> Array:
    """The Hann window of `M` samples, a cosine that is 0 at its ends.

    >>> [f"{w:.2f}" for w in jnp.hanning(5)[1:4]]
    ['0.50', '1.00', '0.50']
    """
    return _window("hanning", M, lambda n, last: 0.5 * (1 - _cosine(n, last)))


@operation(static="M")
def kaiser(M: int, beta: ArrayLike) -> Array:
    """The Kaiser window of `M` samples; the larger `beta`, the narrower it is.

    >>> [f"{w:.2f}" for w in jnp.kaiser(5, 8.0)]
    ['0.00', '0.37', '1.00', '0.37', '0.00']
    """

    def weight(n: Any, last: int) -> Any:
        distance = (n - last / 2) / (last / 2)
        half_circle = lax.sqrt(1 - lax.square(distance))
        return i0(beta * half_circle) / i0(beta)

    return _window("kaiser", M, weight)
