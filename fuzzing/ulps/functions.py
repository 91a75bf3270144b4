"""The elementwise functions of real numbers, each with its exact value by mpmath.

A function is named by its path in `glassjax` and `jax`. Its formula takes numbers of mpmath, or
jets, from which its derivatives follow. Where mpmath has no such function, the formula defines it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mpmath import mp, mpf

from fuzzing.ulps import jets
from fuzzing.ulps.jets import Undefined, constant, elementary, pieces, value

Exact = Callable[..., Any]


@dataclass(frozen=True)
class Function:
    """An elementwise function.

    Arguments:
        path: where it is in both libraries.
        exact: its formula, of as many numbers as it has operands.
        near: where its zeros, poles, branch points and borders of algorithms are; points are drawn
            around them.
        domain: where most points are drawn, for each operand or for all.
        orders: the highest derivative that is measured.
        by: the operands by which it has derivatives; all if not given.
        partials: its first derivatives where the formula takes no jets, for each operand.
        keywords: static arguments.
        pick: which of several results.
        operands: how many.
        dtypes: in which it exists.
        whole: which operands are whole numbers.
        endless: where all operands are finite and above it, JAX's sums do not end.
    """

    path: str
    exact: Exact
    near: tuple[float, ...] = ()
    domain: tuple[tuple[float, float], ...] = ((-10.0, 10.0),)
    orders: int = 2
    by: tuple[int, ...] | None = None
    partials: dict[int, Exact] = field(default_factory=dict)
    keywords: tuple[tuple[str, Any], ...] = ()
    pick: int | None = None
    operands: int = 1
    dtypes: tuple[str, ...] = ("float16", "bfloat16", "float32", "float64")
    whole: tuple[int, ...] = ()
    endless: float = math.inf

    @property
    def name(self) -> str:
        options = "".join(f", {key}={option}" for key, option in self.keywords)
        return self.path + (f"[{self.pick}]" if self.pick is not None else "") + options

    def derivatives(self) -> list[tuple[int, ...]]:
        """By which operands it is differentiated: nothing, one of them, one of them twice."""
        by = range(self.operands) if self.by is None else self.by
        return [(i,) * order for order in range(self.orders + 1) for i in (by if order else [0])]

    def exactly(self, by: Sequence[int], args: Sequence[Any]) -> Any:
        """The exact value of the derivative; raises where there is none."""
        if not by:
            return self.exact(*args)
        if self.partials:
            return self.partials[by[0]](*args)
        seeds = [mpf(1), mpf(0)][: len(by)]
        zeros = [mpf(0)] * len(by)
        jets_ = [jets.Jet(x, *(seeds if i == by[0] else zeros)) for i, x in enumerate(args)]
        return self.exact(*jets_).terms[len(by)]


def _one(path: str, exact: Exact, *near: float, **options: Any) -> Function:
    return Function(path, exact, near, **options)


def _two(path: str, exact: Exact, *near: float, orders: int = 1, **options: Any) -> Function:
    return Function(path, exact, near, operands=2, orders=orders, **options)


def _whole(rounding: Callable[[Any], Any]) -> Exact:
    return lambda x: rounding(x)


def _even(x: Any) -> Any:
    return mp.nint(x)


def _sin_of_turns(x: Any) -> Any:
    return jets.elementary(
        mp.sinpi, lambda x: mp.pi * mp.cospi(x), lambda x: -(mp.pi**2) * mp.sinpi(x)
    )(x)


def _sinc(x: Any) -> Any:
    if value(x) != 0:
        return _sin_of_turns(x) / (x * mp.pi)
    if not isinstance(x, jets.Jet):
        return mpf(1)
    return jets.Jet(*(mpf(1), mpf(0), -(mp.pi**2) / 3)[: x.order + 1])


def _i0(x: Any) -> Any:
    return jets.elementary(
        lambda x: mp.besseli(0, x),
        lambda x: mp.besseli(1, x),
        lambda x: (mp.besseli(0, x) + mp.besseli(2, x)) / 2,
    )(x)


def _i1(x: Any) -> Any:
    return jets.elementary(
        lambda x: mp.besseli(1, x),
        lambda x: (mp.besseli(0, x) + mp.besseli(2, x)) / 2,
        lambda x: (3 * mp.besseli(1, x) + mp.besseli(3, x)) / 4,
    )(x)


def _identity(x: Any) -> Any:
    return x * 1


NUMPY = (
    _one("numpy.abs", jets.absolute, orders=1),
    _one("numpy.acos", jets.acos, -1.0, 0.0, 1.0, domain=((-1.0, 1.0),)),
    _one("numpy.acosh", jets.acosh, 1.0, domain=((1.0, 10.0),)),
    _one("numpy.asin", jets.asin, -1.0, 1.0, 0.5, domain=((-1.0, 1.0),)),
    _one("numpy.asinh", jets.asinh),
    _one("numpy.atan", jets.atan, 1.0),
    _one("numpy.atanh", jets.atanh, -1.0, 1.0, domain=((-1.0, 1.0),)),
    _one("numpy.cbrt", jets.cbrt),
    _one("numpy.ceil", mp.ceil, 1.0, orders=0),
    _one("numpy.cos", jets.cos, 1.5707963267948966, 3.141592653589793),
    _one("numpy.cosh", jets.cosh, domain=((-90.0, 90.0),)),
    _one("numpy.deg2rad", lambda x: x * (mp.pi / 180)),
    _one("numpy.exp", jets.exp, domain=((-90.0, 90.0),)),
    _one("numpy.exp2", lambda x: jets.exp(x * mp.log(2)), domain=((-130.0, 130.0),)),
    _one("numpy.expm1", jets.expm1, domain=((-90.0, 90.0),)),
    _one("numpy.fabs", jets.absolute, orders=1),
    _one("numpy.floor", mp.floor, 1.0, orders=0),
    _one("numpy.i0", _i0, 8.0, domain=((-30.0, 30.0),)),
    _one("numpy.log", jets.log, 1.0, domain=((0.0, 10.0),)),
    _one("numpy.log10", lambda x: jets.log(x) / mp.log(10), 1.0, domain=((0.0, 10.0),)),
    _one("numpy.log1p", jets.log1p, -1.0, domain=((-1.0, 10.0),)),
    _one("numpy.log2", lambda x: jets.log(x) / mp.log(2), 1.0, domain=((0.0, 10.0),)),
    _one("numpy.nan_to_num", _identity, orders=1),
    _one("numpy.negative", lambda x: -x, orders=1),
    _one("numpy.positive", _identity, orders=1),
    _one("numpy.rad2deg", lambda x: x * (180 / mp.pi), orders=1),
    _one("numpy.reciprocal", jets.reciprocal),
    _one("numpy.rint", _even, 0.5, 1.5, orders=0),
    _one("numpy.round", _even, 0.5, 1.5, orders=0),
    _one("numpy.sign", mp.sign, orders=0),
    _one("numpy.sin", jets.sin, 3.141592653589793, 1.5707963267948966),
    _one("numpy.sinc", _sinc, 1.0, 2.0, 1.4302966531242027),
    _one("numpy.sinh", jets.sinh, domain=((-90.0, 90.0),)),
    _one("numpy.sqrt", jets.sqrt, domain=((0.0, 10.0),)),
    _one("numpy.square", jets.square),
    _one("numpy.tan", jets.tan, 1.5707963267948966, 3.141592653589793),
    _one("numpy.tanh", jets.tanh),
    _one("numpy.trunc", lambda x: mp.sign(x) * mp.floor(abs(x)), 1.0, orders=0),
)


def _quotient(x: Any, y: Any) -> Any:
    if y == 0:
        raise Undefined
    return mp.floor(x / y)


def _remainder(x: Any, y: Any) -> Any:
    if y == 0:
        raise Undefined
    return x - y * mp.floor(x / y)


def _fmod(x: Any, y: Any) -> Any:
    if y == 0:
        raise Undefined
    return mp.sign(x) * (abs(x) - abs(y) * mp.floor(abs(x / y)))


def _power_of(x: Any, y: Any) -> Any:
    at, exponent = value(x), value(y)
    if at > 0:
        return jets.exp(y * jets.log(x))
    if isinstance(x, jets.Jet) or at == 0 or exponent != mp.floor(exponent):
        raise Undefined
    return mp.power(at, int(exponent)) if abs(exponent) < 2**40 else _sized_power(at, exponent)


def _sized_power(x: Any, y: Any) -> Any:
    sign = -1 if int(y) % 2 else 1
    return sign * mp.exp(y * mp.log(-x))


def _chosen(wants_larger: bool) -> Exact:
    def of(x: Any, y: Any) -> Any:
        if isinstance(x, jets.Jet) and value(x) == value(y):
            raise Undefined
        return x if (value(x) > value(y)) == wants_larger else y

    return of


def _heaviside(x: Any, y: Any) -> Any:
    return y if x == 0 else mpf(1 if x > 0 else 0)


def _atan2(y: Any, x: Any) -> Any:
    if value(x) == 0 and value(y) == 0:
        raise Undefined
    if isinstance(x, jets.Jet):  # of which one has the derivative 1, the other 0
        at, to = value(x), value(y)
        radius, slope = at * at + to * to, at * y.terms[1] - to * x.terms[1]
        bend = at * x.terms[1] + to * y.terms[1]
        terms = mp.atan2(to, at), slope / radius, -2 * slope * bend / radius**2
        return jets.Jet(*terms[: x.order + 1])
    if value(y) == 0 and value(x) < 0:
        raise Undefined  # the sign of zero, of which mpmath has but one, decides
    return mp.atan2(y, x)


def _logaddexp(x: Any, y: Any) -> Any:
    high, low = (x, y) if value(x) > value(y) else (y, x)
    return high + jets.log1p(jets.exp(low - high))


def _logaddexp2(x: Any, y: Any) -> Any:
    return _logaddexp(x * mp.log(2), y * mp.log(2)) / mp.log(2)


def _hypot(x: Any, y: Any) -> Any:
    if isinstance(x, jets.Jet) and value(x) == 0 and value(y) == 0:
        raise Undefined
    return jets.sqrt(jets.square(x) + jets.square(y))


def _copysign(x: Any, y: Any) -> Any:
    if y == 0:
        raise Undefined
    return abs(x) * mp.sign(y)


_POWERS = ((0.0, 10.0), (-10.0, 10.0))

NUMPY_OF_TWO = (
    _two("numpy.add", lambda x, y: x + y),
    _two("numpy.arctan2", _atan2, orders=2),
    _two("numpy.copysign", _copysign, orders=0),
    _two("numpy.divide", lambda x, y: x / y, orders=2),
    _two("numpy.divmod", _quotient, 1.0, orders=0, pick=0),
    _two("numpy.divmod", _remainder, 1.0, orders=0, pick=1),
    _two("numpy.float_power", _power_of, 1.0, domain=_POWERS, orders=2),
    _two("numpy.floor_divide", _quotient, 1.0, orders=0),
    _two("numpy.fmax", _chosen(True)),
    _two("numpy.fmin", _chosen(False)),
    _two("numpy.fmod", _fmod, 1.0, orders=0),
    _two("numpy.heaviside", _heaviside, orders=0),
    _two("numpy.hypot", _hypot, orders=2),
    _two("numpy.logaddexp", _logaddexp, orders=2),
    _two("numpy.logaddexp2", _logaddexp2),
    _two("numpy.maximum", _chosen(True)),
    _two("numpy.minimum", _chosen(False)),
    _two("numpy.multiply", lambda x, y: x * y),
    _two("numpy.power", _power_of, 1.0, domain=_POWERS, orders=2),
    _two("numpy.remainder", _remainder, 1.0, orders=0),
    _two("numpy.subtract", lambda x, y: x - y),
)


LAX = (
    _one("lax.bessel_i0e", jets.i0e, 8.0, domain=((-30.0, 30.0),)),
    _one("lax.bessel_i1e", jets.i1e, 8.0, domain=((-30.0, 30.0),), orders=1),
    _one("lax.digamma", jets.digamma, 1.4616321449683622, -1.0, -0.504083, orders=2),
    _one("lax.erf", jets.erf, 1.0),
    _one("lax.erf_inv", lambda x: _erf_inv(x), -1.0, 1.0, domain=((-1.0, 1.0),)),
    _one("lax.erfc", jets.erfc, 1.0, domain=((-10.0, 27.0),)),
    _one("lax.integer_pow", lambda x: jets.power(x, 3), keywords=(("y", 3),)),
    _one("lax.integer_pow", lambda x: jets.power(x, -2), keywords=(("y", -2),)),
    _one("lax.lgamma", jets.lgamma, 1.0, 2.0, 0.0, -1.0, -2.457024738220801, -2.747682646727413,
         -3.143580888349980, domain=((-20.0, 40.0),)),
    _one("lax.logistic", jets.logistic),
    _one("lax.rsqrt", lambda x: jets.power(x, -0.5), domain=((0.0, 10.0),)),
)  # fmt: skip


def _erf_inv(x: Any) -> Any:
    def of(x: Any) -> Any:
        jets._nonzero(1 - jets._inside(x, -1, 1) ** 2)
        if x < 0:
            return -of(-x)
        if x == 0:
            return mpf(0)
        return -jets.inverse_of_ndtr((1 - x) / 2) / mp.sqrt(2) if x > 0.5 else mp.erfinv(x)

    def slope(x: Any) -> Any:
        return mp.sqrt(mp.pi) / 2 * mp.exp(of(x) ** 2)

    return jets.elementary(of, slope, lambda x: 2 * of(x) * slope(x) ** 2)(x)


def _elu(x: Any, alpha: Any = 1) -> Any:
    return pieces(x, lambda x: jets.expm1(x) * alpha, 0, _identity)


def _gelu(x: Any) -> Any:
    return x * jets.erfc(x * (-1 / mp.sqrt(2))) / 2


def _gelu_by_tanh(x: Any) -> Any:
    inner = mp.sqrt(2 / mp.pi) * (x + jets.power(x, 3) * mpf("0.044715"))
    return x * jets.logistic(inner * 2)


def _softplus(x: Any) -> Any:
    if value(x) > 0:
        return x + jets.log1p(jets.exp(-x))
    return jets.log1p(jets.exp(x))


def _log1mexp(x: Any) -> Any:
    return jets.log(-jets.expm1(-x))


_SELU = (mpf("1.0507009873554804934193349852946"), mpf("1.6732632423543772848170429916717"))
_RELU6 = (constant(0), 0, _identity, 6, constant(6))
_HARD_TANH = (constant(-1), -1, _identity, 1, constant(1))


def _hard_sigmoid(x: Any) -> Any:
    return pieces(x, constant(0), -3, lambda x: (x + 3) / 6, 3, constant(1))


def _hard_silu(x: Any) -> Any:
    return x * _hard_sigmoid(x)


NN = (
    _one("nn.celu", _elu, domain=((-90.0, 10.0),)),
    _one("nn.elu", _elu, domain=((-90.0, 10.0),)),
    _one("nn.gelu", _gelu_by_tanh, 0.75),
    _one("nn.gelu", _gelu, 0.75, keywords=(("approximate", False),)),
    _one("nn.hard_sigmoid", _hard_sigmoid, -3.0, 3.0, orders=1),
    _one("nn.hard_silu", _hard_silu, -3.0, 3.0),
    _one("nn.hard_tanh", lambda x: pieces(x, *_HARD_TANH), -1.0, 1.0, orders=1),
    _one("nn.leaky_relu", lambda x: pieces(x, lambda x: x * mpf("0.01"), 0, _identity), orders=1),
    _one("nn.log1mexp", _log1mexp, 0.6931471805599453, domain=((0.0, 90.0),)),
    _one("nn.log_sigmoid", lambda x: -_softplus(-x), domain=((-20.0, 90.0),)),
    _one("nn.mish", lambda x: x * jets.tanh(_softplus(x)), domain=((-40.0, 20.0),)),
    _one("nn.relu", lambda x: pieces(x, constant(0), 0, _identity), orders=1),
    _one("nn.relu6", lambda x: pieces(x, *_RELU6), 6.0, orders=1),
    _one("nn.selu", lambda x: _elu(x, _SELU[1]) * _SELU[0], domain=((-90.0, 10.0),)),
    _one("nn.silu", lambda x: x * jets.logistic(x), -1.2784645427610738),
    _one("nn.soft_sign", lambda x: x / (jets.absolute(x) + 1)),
    _one("nn.softplus", _softplus, domain=((-90.0, 20.0),)),
    _one("nn.sparse_plus", lambda x: pieces(
        x, constant(0), -1, lambda x: jets.square(x + 1) / 4, 1, _identity), -1.0, 1.0),
    _one("nn.sparse_sigmoid", lambda x: pieces(
        x, constant(0), -1, lambda x: (x + 1) / 2, 1, constant(1)), -1.0, 1.0, orders=1),
    _one("nn.squareplus", lambda x: (x + jets.sqrt(jets.square(x) + 4)) / 2),
)  # fmt: skip


# Of `scipy.special`.

UNIT = ((0.0, 1.0),)
POSITIVE = ((0.0, 40.0),)


def _positive(x: Any) -> Any:
    if not x > 0:
        raise Undefined
    return x


def _entr(x: Any) -> Any:
    return -(x * jets.log(x))


def _xlogy(x: Any, y: Any) -> Any:
    if value(x) == 0 and not isinstance(x, jets.Jet):
        return mpf(0)
    return x * jets.log(y)


def _xlog1py(x: Any, y: Any) -> Any:
    if value(x) == 0 and not isinstance(x, jets.Jet):
        return mpf(0)
    return x * jets.log1p(y)


def _rel_entr(p: Any, q: Any) -> Any:
    if not (value(p) > 0 and value(q) > 0):
        raise Undefined
    return p * (jets.log(p) - jets.log(q))


def _kl_div(p: Any, q: Any) -> Any:
    return _rel_entr(p, q) - p + q


def _erfcx(x: Any) -> Any:
    def of(x: Any) -> Any:
        if x > mpf(2) ** 60:
            return (1 - 1 / (2 * x * x)) / (x * mp.sqrt(mp.pi))
        return mp.exp(x * x) * mp.erfc(x)

    def slope(x: Any) -> Any:
        if x > mpf(2) ** 60:
            return (-1 + 3 / (2 * x * x)) / (x * x * mp.sqrt(mp.pi))
        return 2 * x * of(x) - 2 / mp.sqrt(mp.pi)

    def curvature(x: Any) -> Any:
        if x > mpf(2) ** 60:
            return 2 / (x * x * x * mp.sqrt(mp.pi))
        return 2 * of(x) + 2 * x * slope(x)

    return elementary(of, slope, curvature)(x)


def _ndtr(x: Any) -> Any:
    return jets.erfc(x * (-1 / mp.sqrt(2))) / 2


def _log_ndtr(x: Any) -> Any:
    if value(x) > 0:
        return jets.log1p(-jets.erfc(x * (1 / mp.sqrt(2))) / 2)
    return jets.log(_ndtr(x))


def _logit(x: Any) -> Any:
    return jets.log(x) - jets.log1p(-x)


def _gamma(x: Any) -> Any:
    if abs(value(x)) > 2000:
        if value(x) > 0:
            return mp.inf if not isinstance(x, jets.Jet) else jets.Jet(*[mp.inf] * (x.order + 1))
        jets._not_a_pole(value(x))
        return x * 0
    return jets.exp(jets.lgamma(x)) * jets.sign_of_gamma(value(x))


def _factorial(x: Any) -> Any:
    if value(x) < 0:
        return x * 0
    return _gamma(x + 1)


def _bits_for_logs(*args: Any) -> int:
    """As many more bits as keep the logarithms of gamma functions from hiding one another.

    Otherwise a term may be lost at two precisions alike, which would then agree on what is wrong.
    """
    sizes = [mp.mag(jets._nonzero(value(x))) for x in args]
    return max(0, *sizes) + 12 + max(sizes) - min(sizes)


def _betaln(a: Any, b: Any) -> Any:
    with mp.extraprec(_bits_for_logs(a, b)):
        return jets.lgamma(a) + jets.lgamma(b) - jets.lgamma(a + b)


def _beta(a: Any, b: Any) -> Any:
    signs = [jets.sign_of_gamma(value(x)) for x in (a, b, a + b)]
    return jets.exp(_betaln(a, b)) * (signs[0] * signs[1] * signs[2])


def _multigammaln(a: Any) -> Any:
    if not value(a) > 1:
        raise Undefined
    return jets.lgamma(a) + jets.lgamma(a - 0.5) + jets.lgamma(a - 1) + mp.log(mp.pi) * 1.5


def _poch(z: Any, m: Any) -> Any:
    if not (value(z) > 0 and value(z + m) > 0):
        raise Undefined
    if value(m) == 0 and not isinstance(m, jets.Jet):
        return mpf(1)
    with mp.extraprec(_bits_for_logs(z, m)):
        return jets.exp(jets.lgamma(z + m) - jets.lgamma(z))


_ei = elementary(
    mp.ei, lambda x: mp.exp(x) / jets._nonzero(x), lambda x: mp.exp(x) * (x - 1) / (x * x)
)
_e1 = elementary(
    lambda x: -mp.ei(-_positive(x)),
    lambda x: -mp.exp(-_positive(x)) / x,
    lambda x: mp.exp(-_positive(x)) * (x + 1) / (x * x),
)


def _expn(n: int) -> Any:
    def integral(n: int, x: Any) -> Any:
        return mp.expint(n, _positive(x)).real

    return elementary(
        lambda x: integral(n, x), lambda x: -integral(n - 1, x), lambda x: integral(n - 2, x)
    )


def _sin_over(x: Any) -> Any:
    return mp.sin(x) / x if x else mpf(1)


_si = elementary(mp.si, _sin_over)
_ci = elementary(lambda x: mp.ci(abs(jets._nonzero(x))), lambda x: mp.cos(x) / jets._nonzero(x))


def _spence_of(x: Any) -> Any:
    if x < 0:
        raise Undefined
    if x > 1:
        return -_spence_of(1 / x) - mp.log(x) ** 2 / 2
    if x == 0:
        return mp.pi**2 / 6
    if x < 0.5:
        return mp.pi**2 / 6 - mp.log(x) * mp.log1p(-x) - mp.polylog(2, x).real
    return mp.polylog(2, 1 - x).real


def _slope_of_spence(x: Any) -> Any:
    return mp.log(x) / (1 - x) if x != 1 else mpf(-1)


_spence = elementary(_spence_of, _slope_of_spence)


def _slope_of_fresnel_s(x: Any) -> Any:
    return mp.sinpi(x * x / 2)


def _slope_of_fresnel_c(x: Any) -> Any:
    return mp.cospi(x * x / 2)


def _density(a: Any, x: Any) -> Any:
    with mp.extraprec(_bits_for_logs(_positive(a), _positive(x))):
        return mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


def _below(a: Any, x: Any) -> Any:
    """The lower function as a series; loops of our own end when their time is up."""
    with mp.extraprec(_bits_for_logs(a, x)):
        weight = mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1))
    term = total = mpf(1)
    n = 0
    while term > total * mpf(2) ** -(mp.prec + 5):
        n += 1
        term *= x / (a + n)
        total += term
    return weight * total


def _above(a: Any, x: Any) -> Any:
    """The upper function as a continued fraction, by Lentz' method."""
    with mp.extraprec(_bits_for_logs(a, x)):
        weight = mp.exp(a * mp.log(x) - x - mp.loggamma(a))
        first = x + 1 - a
    value = above = first
    below, change, n = mpf(0), mpf(0), 0
    while abs(change - 1) > mpf(2) ** -(mp.prec + 5):
        n += 1
        numerator, denominator = n * (a - n), first + 2 * n
        below = 1 / (denominator + numerator * below)
        above = denominator + numerator / above
        change = above * below
        value *= change
    return weight / value


def _gammainc(a: Any, x: Any) -> Any:
    a, x = _positive(a), _positive(x)
    return _below(a, x) if x < a + 1 else 1 - _above(a, x)


def _gammaincc(a: Any, x: Any) -> Any:
    a, x = _positive(a), _positive(x)
    return 1 - _below(a, x) if x < a + 1 else _above(a, x)


def _betainc(a: Any, b: Any, x: Any) -> Any:
    if not (a > 0 and b > 0 and 0 <= x <= 1):
        raise Undefined
    return x if x in (0, 1) else mp.betainc(a, b, 0, x, regularized=True)


def _slope_of_betainc(a: Any, b: Any, x: Any) -> Any:
    if not (a > 0 and b > 0 and 0 < x < 1):
        raise Undefined
    logs = (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - _betaln(a, b)
    return mp.exp(logs)


def _zeta(x: Any, q: Any) -> Any:
    if not (x > 1 and q > 0):
        raise Undefined
    return mp.zeta(x, q)


def _polygamma(n: int) -> Any:
    return elementary(lambda x: jets.psi(n, x), lambda x: jets.psi(n + 1, x))


def _owens_t(h: Any, a: Any) -> Any:
    h, size = abs(h), abs(a)
    if h > 50:
        raise Undefined
    if size <= 1:
        return mp.sign(a) * _owens_t_by_series(h, size)
    tail, other = (mp.erfc(x / mp.sqrt(2)) / 2 for x in (h, size * h))
    rest = _owens_t_by_series(size * h, 1 / size) if size * h < 150 else 0  # or below e^-11000
    return mp.sign(a) * ((tail + other) / 2 - tail * other - rest)


def _owens_t_by_series(h: Any, a: Any) -> Any:
    """For 0 <= a <= 1: the arc tangent, less a series in odd powers of `a`.

    Their factors are the chances that a Poisson variable of mean h^2 / 2 is larger than 0, 1, ...
    """
    mean = h * h / 2
    if mean > 200:  # where all digits cancel
        bell = mp.quad(lambda t: mp.exp(-mean * (1 + t * t)) / (1 + t * t), [0, a])
        return bell / (2 * mp.pi)
    chance = mp.exp(-mean)  # of the number k itself
    larger, power = 1 - chance, a
    total, k = power * larger, 0
    while k <= mean or abs(power) * chance > a * mpf(2) ** -(mp.prec + 10):
        k += 1
        chance *= mean / k
        larger -= chance
        power *= -a * a
        total += power * larger / (2 * k + 1)
    return (mp.atan(a) - total) / (2 * mp.pi)


def _slope_of_owens_t_by_h(h: Any, a: Any) -> Any:
    return -mp.npdf(h) * mp.erf(a * h / mp.sqrt(2)) / 2


def _slope_of_owens_t_by_a(h: Any, a: Any) -> Any:
    return mp.exp(-h * h * (1 + a * a) / 2) / (2 * mp.pi * (1 + a * a))


_GAMMA_ZEROS = (1.0, 2.0, 0.0, -1.0, -2.457024738220801, -2.747682646727413, -3.14358088834998)

SPECIAL: tuple[Function, ...] = (
    _two("scipy.special.beta", _beta, 1.0, domain=POSITIVE),
    _two("scipy.special.betaln", _betaln, 1.0, domain=POSITIVE),
    Function("scipy.special.betainc", _betainc, (0.5,), ((0.1, 30.0), (0.1, 30.0), (0.0, 1.0)),
             orders=1, by=(2,), partials={2: _slope_of_betainc}, operands=3),
    _one("scipy.special.entr", _entr, 1.0, 0.36787944, domain=((0.0, 10.0),)),
    _one("scipy.special.erf", jets.erf, 1.0),
    _one("scipy.special.erfcx", _erfcx, 1.5, domain=((-9.0, 20.0),)),
    _one("scipy.special.exp1", _e1, 1.0, domain=POSITIVE),
    _one("scipy.special.expi", _ei, 0.3725074107813666, 40.0, -1.0, domain=((-40.0, 60.0),)),
    _one("scipy.special.expit", jets.logistic),
    _two("scipy.special.expn", lambda n, x: _expn(int(n))(x), 1.0, domain=((1.0, 8.0), (0.0, 40.0)),
         whole=(0,), orders=0),
    _one("scipy.special.factorial", _factorial, domain=POSITIVE, orders=1),
    _one("scipy.special.fresnel", mp.fresnels, 1.25, pick=0, orders=1,
         partials={0: _slope_of_fresnel_s}),
    _one("scipy.special.fresnel", mp.fresnelc, 1.25, pick=1, orders=1,
         partials={0: _slope_of_fresnel_c}),
    _one("scipy.special.gamma", _gamma, *_GAMMA_ZEROS[:4], domain=((-20.0, 40.0),), orders=1),
    _two("scipy.special.gammainc", _gammainc, 1.0, domain=POSITIVE, by=(1,), endless=1e8,
         partials={1: _density}),
    _two("scipy.special.gammaincc", _gammaincc, 1.0, domain=POSITIVE, by=(1,), endless=1e8,
         partials={1: lambda a, x: -_density(a, x)}),
    _one("scipy.special.gammaln", jets.lgamma, *_GAMMA_ZEROS, domain=((-20.0, 40.0),)),
    _one("scipy.special.gammasgn", lambda x: mpf(jets.sign_of_gamma(x)), -1.0, -2.0, orders=0),
    _one("scipy.special.i0", _i0, 8.0, domain=((-30.0, 30.0),)),
    _one("scipy.special.i0e", jets.i0e, 8.0, domain=((-30.0, 30.0),)),
    _one("scipy.special.i1", _i1, 8.0, domain=((-30.0, 30.0),), orders=1),
    _one("scipy.special.i1e", jets.i1e, 8.0, domain=((-30.0, 30.0),), orders=1),
    _two("scipy.special.kl_div", _kl_div, 1.0, domain=POSITIVE),
    _one("scipy.special.log_ndtr", _log_ndtr, -20.0, 8.0, -10.0, 5.0, domain=((-30.0, 30.0),)),
    _one("scipy.special.logit", _logit, 0.5, 1.0, domain=UNIT),
    _one("scipy.special.loggamma", lambda x: jets.lgamma(_above_zero(x)), 1.0, 2.0,
         domain=POSITIVE),
    _one("scipy.special.multigammaln", _multigammaln, 1.0, domain=((1.0, 40.0),), orders=1,
         keywords=(("d", 3),)),
    _one("scipy.special.ndtr", _ndtr, 1.0, -0.7071067811865476, domain=((-30.0, 10.0),)),
    _one("scipy.special.ndtri", jets.ndtri, 0.0, 0.5, 1.0, 0.1353352832366127, domain=UNIT),
    _two("scipy.special.owens_t", _owens_t, 1.0, domain=((-6.0, 6.0), (-3.0, 3.0)), orders=1,
         partials={0: _slope_of_owens_t_by_h, 1: _slope_of_owens_t_by_a}),
    _two("scipy.special.poch", _poch, domain=((0.0, 20.0), (-3.0, 10.0))),
    _two("scipy.special.polygamma", lambda n, x: _polygamma(int(n))(x), 1.0,
         domain=((0.0, 5.0), (0.0, 40.0)), whole=(0,), orders=0),
    _two("scipy.special.rel_entr", _rel_entr, 1.0, domain=POSITIVE),
    _one("scipy.special.sici", _si, 4.0, pick=0, domain=((-40.0, 40.0),), orders=1),
    _one("scipy.special.sici", _ci, 4.0, 0.6165054856207162, pick=1, domain=POSITIVE, orders=1),
    _one("scipy.special.spence", _spence, 0.0, 1.0, 0.5, 1.5, domain=((0.0, 10.0),), orders=1,
         dtypes=("float32", "float64")),
    _two("scipy.special.xlog1py", _xlog1py, domain=((-10.0, 10.0), (-1.0, 10.0))),
    _two("scipy.special.xlogy", _xlogy, domain=((-10.0, 10.0), (0.0, 10.0))),
    _two("scipy.special.zeta", _zeta, 1.0, domain=((1.0, 20.0), (0.0, 20.0)), orders=0),
)  # fmt: skip


def _above_zero(x: Any) -> Any:
    _positive(value(x))
    return x
