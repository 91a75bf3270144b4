"""Checks of values at run time."""

from minijax.experimental.checkify import (
    Error,
    JaxRuntimeError,
    all_checks,
    check,
    check_error,
    checkify,
    user_checks,
)
from minijax.experimental.checkify.error import FailedCheckError, JaxException, NaNError, OOBError

__all__ = [
    "Error", "FailedCheckError", "JaxException", "JaxRuntimeError", "NaNError", "OOBError",
    "all_checks", "check", "check_error", "checkify", "user_checks",
]  # fmt: skip
