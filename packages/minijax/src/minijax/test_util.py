"""Derivatives compared with differences of values."""

from minijax.checks.derivatives import check_grads, check_jvp, check_vjp

__all__ = [
    "check_grads",
    "check_jvp",
    "check_vjp",
]
