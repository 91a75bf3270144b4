"""The functions of `scipy.special`, each with its exact value by mpmath."""

from typing import Any

from mpmath import mp, mpf

from nets.ulps import jets
from nets.ulps.functions import Function, _i0, _i1, _one, _two
from nets.ulps.jets import Undefined, elementary, value

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
