"""Checks of values at run time."""

from minijax.experimental.checkify import (
    Error,
    FailedCheckError,
    JaxException,
    JaxRuntimeError,
    NaNError,
    OOBError,
    all_checks,
    check,
    check_error,
    checkify,
    user_checks,
)

__all__ = [
    "Error", "FailedCheckError", "JaxException", "JaxRuntimeError", "NaNError", "OOBError",
    "all_checks", "check", "check_error", "checkify", "user_checks",
]  # fmt: skip
