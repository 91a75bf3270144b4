"""Polynomials with known coefficients, for approximations."""

from collections.abc import Sequence
from typing import Any

from minijax.lax.elementwise.arithmetic import add, mul


def polynomial(coefficients: Sequence[float], x: Any) -> Any:
    """The polynomial with these coefficients, highest degree first, by Horner's rule."""
    out: Any = coefficients[0]
    for c in coefficients[1:]:
        out = add(mul(out, x), c)
    return out
