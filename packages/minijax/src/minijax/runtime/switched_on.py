"""The checks of evaluation and calls while their switches are on.

Nothing here is called before some switch has been on (`Switch.used`), and a check is imported once
its own is, so that they cost nothing otherwise.
"""

from collections.abc import Sequence
from typing import Any

from minijax.settings.debugging import (
    infs_option,
    key_reuse_option,
    nans_option,
    tracer_leaks_option,
)
from minijax.settings.later import later
from minijax_stage2 import Primitive

_check_keys = later("minijax.checks.key_reuse", "check_keys")
_call_with_keys_checked = later("minijax.checks.key_reuse", "call_checked")
_check_numbers = later("minijax.checks.nans", "check_numbers")
_call_with_numbers_checked = later("minijax.checks.nans", "call_checked")
_check_leaks = later("minijax.checks.leaks", "check_leaks")
_check_trace = later("minijax.checks.leaks", "check_trace")


def after_primitive(
    primitive: Primitive, args: Sequence[Any], params: dict[str, Any], outs: Sequence[Any]
) -> None:
    """Check the evaluation of a primitive."""
    if key_reuse_option.value:
        _check_keys(primitive, args, params)
    if nans_option.value or infs_option.value:
        _check_numbers(primitive, args, params, outs)


def after_function() -> None:
    """Check what is left when a function of the library returns to code that nothing transforms."""
    if tracer_leaks_option.value:
        _check_leaks()


def adds_equations() -> bool:
    """Return True if a check has functions write more equations, of which each is another."""
    return bool(key_reuse_option.value)


def call_checked(function: Any, args: Any, kwargs: Any) -> tuple[Any] | None:
    """The result of a jitted function, in a tuple, if a check makes the call; otherwise None."""
    result: tuple[Any] | None = None
    if key_reuse_option.value:
        result = _call_with_keys_checked(function, args, kwargs)
    if result is None and (nans_option.value or infs_option.value):
        result = _call_with_numbers_checked(function, args, kwargs)
    if result is None and tracer_leaks_option.value:
        _check_trace(function, args, kwargs)
    return result
