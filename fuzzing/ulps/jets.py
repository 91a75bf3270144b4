"""Truncated Taylor series over mpmath: a function written once, with its first two derivatives.

A formula of `functions.py` is applied to numbers of mpmath, or to a `Jet` of as many derivatives
as are asked for. `elementary` makes a function of both from the function of numbers and the
formulas of its derivatives.
"""

from collections.abc import Callable
from typing import Any

from mpmath import mp, mpf

Number = Any  # an mpf
Formula = Callable[[Number], Number]


class Undefined(Exception):
    """There is no exact value: a pole, a jump, or a kink where a derivative is asked for."""


class Jet:
    """The value of a function at a point, and its derivatives, up to the second."""

    __slots__ = ("terms",)

    def __init__(self, *terms: Number) -> None:
        self.terms = terms

    @property
    def order(self) -> int:
        return len(self.terms) - 1

    def __neg__(self) -> "Jet":
        return Jet(*(-t for t in self.terms))

    def __add__(self, other: Any) -> "Jet":
        if not isinstance(other, Jet):
            return Jet(self.terms[0] + other, *self.terms[1:])
        return Jet(*(a + b for a, b in zip(self.terms, other.terms, strict=True)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Jet":
        return self + -other

    def __rsub__(self, other: Any) -> "Jet":
        return -self + other

    def __mul__(self, other: Any) -> "Jet":
        if not isinstance(other, Jet):
            return Jet(*(t * other for t in self.terms))
        a, b = self.terms, other.terms
        products = [a[0] * b[0]]
        if self.order > 0:
            products.append(a[1] * b[0] + a[0] * b[1])
        if self.order > 1:
            products.append(a[2] * b[0] + 2 * a[1] * b[1] + a[0] * b[2])
        return Jet(*products)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Jet":
        return self * reciprocal(other)

    def __rtruediv__(self, other: Any) -> "Jet":
        return other * reciprocal(self)


def value(x: Any) -> Number:
    """The number itself, by which a formula chooses among its pieces."""
    return x.terms[0] if isinstance(x, Jet) else x


def elementary(function: Formula, *derivatives: Formula) -> Callable[[Any], Any]:
    """A function of numbers and jets, from that of numbers and its derivatives."""

    def of(x: Any) -> Any:
        if not isinstance(x, Jet):
            return function(x)
        if x.order > len(derivatives):
            raise Undefined
        at = x.terms[0]
        terms = [function(at)]
        if x.order > 0:
            slope = derivatives[0](at)
            terms.append(slope * x.terms[1])
        if x.order > 1:
            terms.append(derivatives[1](at) * x.terms[1] ** 2 + slope * x.terms[2])
        return Jet(*terms)

    return of


def pieces(x: Any, *bounds_and_formulas: Any) -> Any:
    """The formula of the piece that `x` is in: formula, bound, formula, ..., formula.

    At a bound, where the two formulas meet, there is a value, but no derivative.
    """
    at = value(x)
    formulas, bounds = bounds_and_formulas[::2], bounds_and_formulas[1::2]
    if isinstance(x, Jet) and x.order and at in bounds:
        raise Undefined
    return formulas[sum(at > bound for bound in bounds)](x)


def constant(number: Any) -> Callable[[Any], Any]:
    """The formula of a constant piece."""
    return lambda x: x * 0 + number


def _nonzero(x: Number) -> Number:
    if x == 0:
        raise Undefined
    return x


def _inside(x: Number, low: float, high: float = mp.inf) -> Number:
    if not low <= x <= high:
        raise Undefined
    return x


def _power(exponent: Number) -> Formula:
    return lambda x: mp.power(_nonzero(x) if exponent < 0 else x, exponent)


reciprocal = elementary(
    lambda x: 1 / _nonzero(mpf(x)), lambda x: -1 / (x * x), lambda x: 2 / (x * x * x)
)
exp = elementary(mp.exp, mp.exp, mp.exp)
expm1 = elementary(mp.expm1, mp.exp, mp.exp)
log = elementary(lambda x: mp.log(_inside(_nonzero(x), 0)), lambda x: 1 / x, lambda x: -1 / (x * x))
log1p = elementary(
    lambda x: mp.log1p(_inside(_nonzero(x + 1) - 1, -1)),
    lambda x: 1 / (1 + x),
    lambda x: -1 / (1 + x) ** 2,
)
sqrt = elementary(
    lambda x: mp.sqrt(_inside(x, 0)),
    lambda x: 1 / (2 * mp.sqrt(_nonzero(x))),
    lambda x: -1 / (4 * x * mp.sqrt(x)),
)
cbrt = elementary(
    lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    lambda x: mp.cbrt(abs(_nonzero(x))) ** -2 / 3,
    lambda x: -2 * mp.sign(x) * mp.cbrt(abs(x)) ** -5 / 9,
)
sin = elementary(mp.sin, mp.cos, lambda x: -mp.sin(x))
cos = elementary(mp.cos, lambda x: -mp.sin(x), lambda x: -mp.cos(x))
tan = elementary(mp.tan, lambda x: mp.sec(x) ** 2, lambda x: 2 * mp.sec(x) ** 2 * mp.tan(x))
asin = elementary(
    lambda x: mp.asin(_inside(x, -1, 1)),
    lambda x: 1 / mp.sqrt(_nonzero(1 - x * x)),
    lambda x: x / mp.sqrt(1 - x * x) ** 3,
)
acos = elementary(
    lambda x: mp.acos(_inside(x, -1, 1)),
    lambda x: -1 / mp.sqrt(_nonzero(1 - x * x)),
    lambda x: -x / mp.sqrt(1 - x * x) ** 3,
)
atan = elementary(mp.atan, lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2)
sinh = elementary(mp.sinh, mp.cosh, mp.sinh)
cosh = elementary(mp.cosh, mp.sinh, mp.cosh)
tanh = elementary(mp.tanh, lambda x: mp.sech(x) ** 2, lambda x: -2 * mp.tanh(x) * mp.sech(x) ** 2)
asinh = elementary(
    mp.asinh, lambda x: 1 / mp.sqrt(1 + x * x), lambda x: -x / mp.sqrt(1 + x * x) ** 3
)
acosh = elementary(
    lambda x: mp.acosh(_inside(x, 1)),
    lambda x: 1 / mp.sqrt(_nonzero(x * x - 1)),
    lambda x: -x / mp.sqrt(x * x - 1) ** 3,
)
atanh = elementary(
    lambda x: mp.atanh(_nonzero(1 - _inside(x, -1, 1) ** 2) and x),
    lambda x: 1 / (1 - x * x),
    lambda x: 2 * x / (1 - x * x) ** 2,
)
logistic = elementary(
    lambda x: 1 / (1 + mp.exp(-x)),
    lambda x: 1 / (2 + mp.exp(-x) + mp.exp(x)),
    lambda x: -mp.tanh(x / 2) / (2 + mp.exp(-x) + mp.exp(x)),
)
absolute = elementary(abs, lambda x: mp.sign(_nonzero(x)), lambda x: mpf(0))


def square(x: Any) -> Any:
    return x * x


def power(x: Any, exponent: Any) -> Any:
    """`x` to the power of a number."""
    n = mpf(exponent)
    slope, curvature = n, n * (n - 1)
    return elementary(
        _power(n),
        lambda x: slope * _power(n - 1)(x) if slope else mpf(0),
        lambda x: curvature * _power(n - 2)(x) if curvature else mpf(0),
    )(x)


# The functions that the normal distribution and the gamma function bring along.


def _bell(x: Number) -> Number:
    return 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)


erf = elementary(mp.erf, _bell, lambda x: -2 * x * _bell(x))
erfc = elementary(mp.erfc, lambda x: -_bell(x), lambda x: 2 * x * _bell(x))


def _normal(x: Number) -> Number:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def inverse_of_ndtr(p: Number) -> Number:
    """The quantile of the normal distribution, by Newton's method for the logarithm of `ndtr`."""
    p = _inside(_nonzero(p), 0, 1)
    if p > 0.5:
        return -inverse_of_ndtr(_nonzero(1 - p))
    if p == 0.5:
        return mpf(0)
    if p > 0.25:  # a zero is near: the odd part has all its digits
        x = (p - 0.5) * mp.sqrt(2 * mp.pi)
        for _ in range(200):
            step = (mp.erf(x / mp.sqrt(2)) / 2 - (p - 0.5)) / _normal(x)
            x -= step
            if abs(step) <= abs(x) * mpf(2) ** (8 - mp.prec):
                return x
        raise Undefined
    wanted = mp.log(p)
    x = -mp.sqrt(-2 * wanted)
    for _ in range(200):
        tail = mp.erfc(-x / mp.sqrt(2)) / 2
        step = (mp.log(tail) - wanted) * tail / _normal(x)
        x -= step
        if abs(step) <= abs(x) * mpf(2) ** (8 - mp.prec):
            return x
    raise Undefined


def _slope_of_ndtri(p: Number) -> Number:
    return 1 / _normal(inverse_of_ndtr(p))


ndtri = elementary(
    inverse_of_ndtr,
    _slope_of_ndtri,
    lambda p: inverse_of_ndtr(p) * _slope_of_ndtri(p) ** 2,
)


def _not_a_pole(x: Number) -> Number:
    if x <= 0 and x == mp.floor(x):
        raise Undefined
    return x


def _lgamma(x: Number) -> Number:
    x = _not_a_pole(x)
    if x > 0:
        return mp.loggamma(x)
    return mp.log(mp.pi / abs(mp.sinpi(x))) - mp.loggamma(1 - x)


def psi(n: int, x: Number) -> Number:
    x = _not_a_pole(x)
    if x == mp.inf:
        raise Undefined
    if x > mpf(2) ** 400:  # the asymptotic series, of which nothing else is seen
        head = mp.log(x) if n == 0 else (-1) ** (n + 1) * mp.factorial(n - 1) / x**n
        return head - 1 / (2 * x) if n == 0 else head
    return mp.psi(n, x)


lgamma = elementary(_lgamma, lambda x: psi(0, x), lambda x: psi(1, x))
digamma = elementary(lambda x: psi(0, x), lambda x: psi(1, x), lambda x: psi(2, x))


def sign_of_gamma(x: Number) -> int:
    return -1 if _not_a_pole(x) < 0 and int(mp.floor(x)) % 2 else 1


def _i_scaled(order: int) -> Formula:
    def scaled(x: Number) -> Number:
        if abs(x) > mpf(2) ** 200:
            return (
                (mp.sign(x) if order else 1)
                / mp.sqrt(2 * mp.pi * abs(x))
                * (1 - mpf(4 * order**2 - 1) / (8 * abs(x)))
            )
        return mp.besseli(order, x) * mp.exp(-abs(x))

    return scaled


_i0e, _i1e = _i_scaled(0), _i_scaled(1)


def _i1_over(x: Number) -> Number:
    return _i1e(x) / x if x else mpf(1) / 2


i0e = elementary(
    _i0e,
    lambda x: _i1e(x) - mp.sign(_nonzero(x)) * _i0e(x),
    lambda x: 2 * _i0e(x) - _i1_over(x) - 2 * mp.sign(x) * _i1e(x),
)
i1e = elementary(
    _i1e,
    lambda x: _i0e(x) - _i1_over(x) - mp.sign(x) * _i1e(x),
)
