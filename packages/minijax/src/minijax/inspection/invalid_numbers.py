"""`debug_nans` and `debug_infs`: an error where a result is first no number, or not finite."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minijax.config import Switch, config
from minijax.reusable_contexts import reusable_context
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

_nans = config.declare(
    "debug_nans",
    bool,
    False,
    "Whether a result that is not a number is an error, which says where it was computed.",
    Switch,
)
_infs = config.declare(
    "debug_infs",
    bool,
    False,
    "Whether a result that is infinite is an error, which says where it was computed.",
    Switch,
)


@reusable_context
def debug_nans(new_val: bool = True) -> Iterator[None]:
    """Sets `config.debug_nans` for the block of a `with`, in this thread only.

    Every result is looked at, which takes time. Where something in a compiled program is not a
    number, the program runs once more, step by step, to find which step computed it.

    Raises:
        TypeError: `new_val` is no bool.

    >>> import minijax.numpy as jnp
    >>> with debug_nans(True):
    ...     try:
    ...         jnp.log(jnp.zeros(2) - 1.0)
    ...     except FloatingPointError as error:
    ...         print(str(error).partition(" at ")[0])
    invalid value (nan) encountered in log
    """
    with _nans.override(new_val):
        yield


@reusable_context
def debug_infs(new_val: bool = True) -> Iterator[None]:
    """Sets `config.debug_infs` for the block of a `with`, in this thread only.

    Every result is looked at, as by `debug_nans`: where one is infinite, the error says where it
    was computed.

    Raises:
        TypeError: `new_val` is no bool.

    >>> with minijax.debug_infs(True):
    ...     try:
    ...         1.0 / jnp.zeros(2)
    ...     except FloatingPointError as error:
    ...         print(str(error).partition(" at ")[0])
    invalid value (inf) encountered in div
    """
    with _infs.override(new_val):
        yield


def looks_for_invalid_numbers() -> bool:
    return bool(_nans.value or _infs.value)


# These compute no number that was not there before; programs make infinite constants by them.
_only_move = {convert_element_type_p, broadcast_in_dim_p, reshape_p, transpose_p}


# --8<-- [start:check]
def check_numbers(
    primitive: Primitive, args: Sequence[Any], params: dict[str, Any], outs: Sequence[Any]
) -> None:
    """Raises the error due when what a primitive was evaluated to is not what is wanted.

    Raises:
        FloatingPointError: it is not a number, or infinite, and somebody asked.
    """
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


def _invalid_kind(outs: Sequence[Any]) -> str | None:
    for x in outs:
        if is_inexact(typeof(x).dtype):
            numbers = np.asarray(x)
            if _nans.value and np.isnan(numbers).any():
                return "nan"
            if _infs.value and np.isinf(numbers).any():
                return "inf"
    return None


def _look_inside(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> None:
    """Runs the program that a primitive holds step by step; the step that is to blame raises."""
    from minijax.lax.scan import scan_p
    from minijax.lax.while_loop import while_p

    if primitive is scan_p:
        _look_inside_scan(args, **params)
    elif primitive is while_p:
        _look_inside_while(args, **params)
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
