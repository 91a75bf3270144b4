"""The logarithm of the gamma function of complex numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax import promoting as lax
from minijax.lax.elementwise.selection import where
from minijax_stage2 import typeof

# Lanczos' approximation (1964) for g = 7 with nine terms, which Godfrey computed.
_G = 7
_TERMS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
    -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
    1.5056327351493116e-7,
)  # fmt: skip


def log_gamma_of_complex(z: Any) -> Any:
    """The logarithm that is real on the positive axis, continued up to the negative one."""
    dtype = typeof(z).dtype
    wide = stage2.astype(z, np.complex128)
    x, y = lax.real(wide), lax.imag(wide)
    upper = lax.complex(x, lax.abs(y))  # values below the axis are the conjugated ones above it
    is_left = lax.lt(x, 0.5)
    right = _to_the_right(where(is_left, lax.sub(1.0, upper), upper))
    reflected = lax.sub(lax.sub(math.log(math.pi), _log_sine(where(is_left, upper, 0.25))), right)
    found = where(is_left, reflected, right)
    is_lower = lax.lt(y, 0.0)
    found = lax.complex(lax.real(found), where(is_lower, lax.neg(lax.imag(found)), lax.imag(found)))
    return stage2.astype(found, dtype)


def _to_the_right(z: Any) -> Any:
    """It, of numbers whose real part is 1/2 or more."""
    below = lax.sub(z, 1.0)
    total: Any = _TERMS[0]
    for i, term in enumerate(_TERMS[1:], 1):
        total = lax.add(total, lax.div(term, lax.add(below, float(i))))
    t = lax.add(below, _G + 0.5)
    power = lax.sub(lax.mul(lax.add(below, 0.5), lax.log(t)), t)
    return lax.add(lax.add(power, 0.5 * math.log(2 * math.pi)), lax.log(total))


def _log_sine(z: Any) -> Any:
    """The logarithm of `sin(pi z)` above the real axis, continuous there, and without overflow."""
    x, y = lax.real(z), lax.imag(z)
    turn = lax.mul(2 * math.pi, lax.sub(x, lax.round(x)))
    size = lax.exp(lax.mul(-2 * math.pi, y))
    # 1 - exp(2 i pi z), of numbers near 1 without cancellation
    half = lax.sin(lax.mul(0.5, turn))
    real = lax.add(
        lax.neg(lax.expm1(lax.mul(-2 * math.pi, y))), lax.mul(lax.mul(2.0, size), lax.square(half))
    )
    rest = lax.complex(real, lax.neg(lax.mul(size, lax.sin(turn))))
    line = lax.complex(lax.mul(math.pi, y), lax.mul(math.pi, lax.sub(0.5, x)))  # -i pi z + i pi/2
    return lax.sub(lax.add(line, lax.log(rest)), math.log(2.0))


__all__ = ["log_gamma_of_complex"]
