"""`debug_nans` and `debug_infs`: an error where a result is first no number, or not finite."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax.lax.control_flow.scan import scan_p
from minijax.lax.control_flow.while_loop import while_p
from minijax.runtime import hooks
from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.evaluation import library_evaluation
from minijax.settings.debugging import infs_option, nans_option
from minijax_stage1.interpreter import is_evaluating
from minijax_stage1.source import user_source
from minijax_stage2 import Primitive, typeof
from minijax_stage2.primitives import (
    broadcast_in_dim_p,
    convert_element_type_p,
    reshape_p,
    transpose_p,
)
from minijax_stage2.promotion import is_inexact
from minijax_stage3 import Jaxpr, eval_jaxpr


def looks_for_invalid_numbers() -> bool:
    return bool(nans_option.value or infs_option.value)


# These compute no number that was not there before; programs make infinite constants by them.
_only_move = {convert_element_type_p, broadcast_in_dim_p, reshape_p, transpose_p}


# --8<-- [start:check]
def check_numbers(
    primitive: Primitive, args: Sequence[Any], params: dict[str, Any], outs: Sequence[Any]
) -> None:
    """Raise FloatingPointError if a result is NaN or infinite and the switch for that is on."""
    if primitive in _only_move or not looks_for_invalid_numbers():
        return
    kind = _invalid_kind(outs)
    if kind is None:
        return
    _look_inside(primitive, args, params)
    source = user_source()
    where = "" if source is None else f" at {source}:\n    {source.text}"
    name = f"{primitive} of `{params['name']}`" if "name" in params else str(primitive)
    raise FloatingPointError(f"invalid value ({kind}) encountered in {name}{where}")


hooks.after_primitive.append(check_numbers)


def check_call(function: Any, args: Any, kwargs: Any) -> tuple[Any] | None:
    """The result of a jitted function whose numbers are checked; None where they are not."""
    if not (looks_for_invalid_numbers() and is_evaluating()):
        return None
    with library_evaluation():
        try:
            return (tree_to_arrays(function._bind(args, kwargs)),)
        except FloatingPointError:
            if function._inside is not None:  # which the user's line calls
                function._inside(*args, **kwargs)
            raise


hooks.before_jitted_call.append(check_call)


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
    """Run the program in a primitive step by step; the step that is to blame raises."""
    rule = step_rules.get(primitive)
    if rule is not None:
        rule(args, **params)
    elif isinstance(params.get("jaxpr"), Jaxpr):
        eval_jaxpr(params["jaxpr"], [], *args)


# --8<-- [end:check]


def _look_inside_scan(
    args: Sequence[Any],
    *,
    jaxpr: Jaxpr,
    num_consts: int,
    num_carry: int,
    length: int,
    reverse: bool,
    **params: Any,
) -> None:
    consts, carry = args[:num_consts], args[num_consts : num_consts + num_carry]
    xs = list(map(np.asarray, args[num_consts + num_carry :]))
    for i in reversed(range(length)) if reverse else range(length):
        outs = eval_jaxpr(jaxpr, [], *consts, *carry, *(x[i] for x in xs))
        carry = outs[:num_carry]


def _look_inside_while(
    args: Sequence[Any],
    *,
    cond_jaxpr: Jaxpr,
    body_jaxpr: Jaxpr,
    cond_consts: int,
    body_consts: int,
) -> None:
    of_cond, of_body = args[:cond_consts], args[cond_consts : cond_consts + body_consts]
    carry = args[cond_consts + body_consts :]
    while eval_jaxpr(cond_jaxpr, [], *of_cond, *carry)[0]:
        carry = eval_jaxpr(body_jaxpr, [], *of_body, *carry)


# Primitives whose programs do not run once on all of their operands, and how they run step by step.
step_rules: dict[Primitive, Callable[..., None]] = {
    scan_p: _look_inside_scan,
    while_p: _look_inside_while,
}
