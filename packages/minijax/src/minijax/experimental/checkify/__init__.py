"""Checks of values at run time, under the names of `jax.experimental.checkify`.

A program cannot raise an exception. `checkify` makes a function return what went wrong first, an
`Error`, besides its result.
"""

import minijax.experimental.checkify.operations as _operations
import minijax.experimental.checkify.programs as _programs
from minijax.experimental.checkify.check import check, check_error, debug_check
from minijax.experimental.checkify.error import (
    Error,
    ErrorCategory,
    JaxRuntimeError,
    all_checks,
    automatic_checks,
    div_checks,
    float_checks,
    index_checks,
    init_error,
    nan_checks,
    user_checks,
)
from minijax.experimental.checkify.interpreter import checkify

__all__ = [
    "Error", "ErrorCategory", "JaxRuntimeError", "all_checks", "automatic_checks", "check",
    "check_error", "checkify", "debug_check", "div_checks", "float_checks", "index_checks",
    "init_error", "nan_checks", "user_checks",
]  # fmt: skip

_rules = _operations, _programs
