"""The incomplete beta function of large operands, and its density without large logarithms.

With `mean = a / (a + b)` the powers of `x` and `1 - x` are those of the mean times

    exp(-exponent),  exponent = a * g(x / mean - 1) + b * g((1 - x) / (1 - mean) - 1)

where `g(t) = t - log1p(t)`. What remains is the normal distribution of `sqrt(2 * exponent)`, and
a correction of the size of its density (https://dlmf.nist.gov/8.18).
"""

import math
from typing import Any

from minijax.lax.elementwise.abs_and_sign import sign
from minijax.lax.elementwise.arithmetic import add, div, mul, neg, sub
from minijax.lax.elementwise.comparisons import gt
from minijax.lax.elementwise.selection import where
from minijax.lax.elementwise.transcendental import exp, sqrt
from minijax.lax.special.error_functions import erfc
from minijax.lax.special.log_beta import beyond_stirling
from minijax.lax.special.minus_log1p import minus_log1p

LARGE = 1e7  # from here on, of both operands, one correction is enough for float64
_NEXT_TO_MEAN = 1e-4


def _distance(a: Any, b: Any, x: Any) -> Any:
    """`a - (a + b) * x`: how far `x` is below the mean."""
    total = add(a, b)
    return where(gt(a, b), sub(mul(total, sub(1.0, x)), b), sub(a, mul(total, x)))


def _exponent(a: Any, b: Any, x: Any, distance: Any) -> Any:
    total = add(a, b)
    of_a = minus_log1p(neg(div(distance, a)), mul(x, div(total, a)))
    of_b = minus_log1p(div(distance, b), mul(sub(1.0, x), div(total, b)))
    return add(mul(a, of_a), mul(b, of_b))


def powers_by_beta(a: Any, b: Any, x: Any) -> Any:
    """`x**a * (1 - x)**b / beta(a, b)`, for `a` and `b` that are not small."""
    total = add(a, b)
    rest = sub(add(beyond_stirling(a), beyond_stirling(b)), beyond_stirling(total))
    size = sqrt(div(mul(a, div(b, total)), 2 * math.pi))
    return mul(size, exp(neg(add(_exponent(a, b, x, _distance(a, b, x)), rest))))


def incomplete_beta(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function."""
    total, distance = add(a, b), _distance(a, b, x)
    exponent = _exponent(a, b, x, distance)
    root, side = sqrt(exponent), neg(sign(distance))
    spread = mul(sqrt(a), sqrt(b))
    is_far = gt(root, _NEXT_TO_MEAN)
    by_eta = div(sqrt(mul(total, 0.5)), mul(side, where(is_far, root, 1.0)))
    far = add(by_eta, div(spread, where(is_far, distance, 1.0)))
    correction = where(is_far, far, div(sub(b, a), mul(spread, 3.0)))
    normal = mul(0.5, erfc(neg(mul(side, root))))
    return add(normal, mul(correction, div(exp(neg(exponent)), sqrt(mul(total, 2 * math.pi)))))
