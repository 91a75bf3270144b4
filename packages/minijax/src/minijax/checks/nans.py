"""`debug_nans` and `debug_infs`: an error at the first NaN or infinity."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import minijax.primitives.calls as _rules_of_calls  # noqa: F401
from minijax.primitives.declare_program import step_rules
from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.current import is_evaluating
from minijax.runtime.evaluation import library_evaluation
from minijax.settings.debugging import infs_option, nans_option
from minijax_stage2 import Primitive, typeof
from minijax_stage2.primitives import (
    broadcast_in_dim_p,
    convert_element_type_p,
    reshape_p,
    transpose_p,
)
from minijax_stage2.shaped_array import is_inexact
from minijax_stage2.source import user_source

# These compute no number that was not there before; programs make infinite constants by them.
_only_move = {convert_element_type_p, broadcast_in_dim_p, reshape_p, transpose_p}


def check_numbers(
    primitive: Primitive, args: Sequence[Any], params: dict[str, Any], outs: Sequence[Any]
) -> None:
    """Raise FloatingPointError if a result is NaN or infinite and the switch for that is on."""
    if primitive in _only_move:
        return
    kind = _invalid_kind(outs)
    if kind is None:
        return
    _look_inside(primitive, args, params)
    source = user_source()
    where = "" if source is None else f" at {source}:\n    {source.text}"
    name = f"{primitive} of `{params['name']}`" if "name" in params else str(primitive)
    raise FloatingPointError(f"invalid value ({kind}) encountered in {name}{where}")


def call_checked(function: Any, args: Any, kwargs: Any) -> tuple[Any] | None:
    """The result of a jitted function whose numbers are checked; None if they are not."""
    if not is_evaluating():
        return None
    with library_evaluation():
        try:
            return (tree_to_arrays(function._bind(args, kwargs)),)
        except FloatingPointError:
            if function._inside is not None:  # which the user's line calls
                function._inside(*args, **kwargs)
            raise


def _invalid_kind(outs: Sequence[Any]) -> str | None:
    for x in outs:
        if is_inexact(typeof(x).dtype):
            numbers = np.asarray(x)
            if nans_option.value and np.isnan(numbers).any():
                return "nan"
            if infs_option.value and np.isinf(numbers).any():
                return "inf"
    return None


def _look_inside(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> None:
    """Run the program in a primitive step by step; the offending step raises."""
    rule = step_rules.of(primitive)
    if rule is not None:
        rule(args, **params)
