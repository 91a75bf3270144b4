"""`check`: a primitive without results, which fails if a predicate is False."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.experimental.checkify.error import (
    Error,
    FailedCheckError,
    Site,
    check_p,
    first_of_mapped,
)
from minijax.lax import promoting as lax
from minijax.primitives.calls import pass_token
from minijax.primitives.declare_program import declare_program
from minijax.primitives.sharding_rules import whole
from minijax.runtime.conversion import to_array
from minijax.runtime.evaluation import evaluated_by_library
from minijax_stage2 import ShapedArray, bind, tree_flatten, typeof
from minijax_stage2.errors import shown
from minijax_stage2.shaped_array import has_type
from minijax_stage2.source import user_source
from minijax_stage2.vmap import BatchAxis, move_batch_dim
from minijax_stage3 import JaxprEqn
from minijax_stage4.stop_gradient import stop_gradient


@evaluated_by_library
def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Check that `pred` is True, at run time.

    In a function that `checkify` transforms, a failure becomes its `Error`. Where nothing is
    transformed, it raises at once. Compiled programs that `checkify` does not see cannot check.

    Arguments:
        pred: a scalar of dtype bool.
        msg: the format of the message, as for `str.format`.
        *fmt_args: pytrees of arrays, for the format.
        debug: whether to check only where `checkify` transforms the function.
        **fmt_kwargs: pytrees of arrays, for the format, by name.

    Raises:
        JaxRuntimeError: `pred` is False, and nothing is transformed.
        TypeError: `pred` is not a scalar of dtype bool, or something else than arrays is to be
            shown.

    >>> from minijax.experimental import checkify
    >>> checkify.check(jnp.array(2) > 0, "is {}", 3)
    """
    if not has_type(pred) or typeof(pred).shape or typeof(pred).dtype != np.bool_:
        raise TypeError(f"check takes a scalar pred as argument, got {shown(pred)}")
    numbers, structure = tree_flatten((fmt_args, fmt_kwargs))
    for number in numbers:
        if not has_type(number):
            raise TypeError(
                f"check: what the message shows are arrays and pytrees of arrays, found "
                f"{shown(number)} of type {type(number).__name__}; put it into msg itself"
            )
    text = f"{msg} (`check` failed)"
    site = Site(FailedCheckError, text, structure, source=user_source())
    code = lax.select(to_array(pred), np.int32(0), np.int32(1))
    Error(code, [stop_gradient(to_array(x)) for x in numbers], (site,)).hand_on(debug)


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """`check` where `checkify` transforms the function, and nothing elsewhere.

    Arguments:
        pred: a scalar of dtype bool.
        msg: the format of the message, as for `str.format`.
        *fmt_args: pytrees of arrays, for the format.
        **fmt_kwargs: pytrees of arrays, for the format, by name.

    Raises:
        TypeError: as for `check`.

    >>> from minijax.experimental import checkify
    >>> checkify.debug_check(False, "nobody looks")
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


@evaluated_by_library
def check_error(error: Error) -> None:
    """Raise an exception if `error` is one; under `checkify`, make it the function's own.

    Arguments:
        error: what a function returns that `checkify` made.

    Raises:
        JaxRuntimeError: it is one, and nothing is transformed.
        TypeError: `error` is no `Error`.

    >>> from minijax.experimental import checkify
    >>> error, out = checkify.checkify(lambda x: x + 1)(2.0)
    >>> checkify.check_error(error)
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error: expected an Error, found {shown(error)}")
    error.throw()


def _evaluate(code: Any, *numbers: Any, sites: tuple[Site, ...], debug: bool) -> list[Any]:
    if not debug:
        Error(code, numbers, sites).require_none()
    return []


def _no_types(*avals: ShapedArray, **params: Any) -> list[ShapedArray]:
    return []


def _lower(b: Any, out_avals: Any, *operands: Any, **params: Any) -> list[Any]:
    raise _not_transformed()


def _order(with_token: Any, eqn: JaxprEqn, token: Any, following: Any) -> list[JaxprEqn]:
    if not eqn.params["debug"]:
        raise _not_transformed()
    return [pass_token(eqn, token, following)]


def _not_transformed() -> ValueError:
    return ValueError(
        "a `check` is in a program that is compiled, and programs cannot raise errors. Transform "
        "the function first: error, out = jit(checkify(f))(x), then error.throw()"
    )


def _vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    """Of a mapped check the first example that fails is the error."""
    rows = (move_batch_dim(x, axis, dim, 0) for x, dim in zip(values, dims, strict=True))
    bind(check_p, *first_of_mapped(list(rows)), **params)
    return [], []


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    bind(check_p, *primals, **params)
    return [], []


declare_program(
    check_p,
    evaluate=_evaluate,
    abstract_eval=_no_types,
    lower=_lower,
    vmap=_vmap,
    sharding=whole,
    jvp=_jvp,
    transpose=None,
    partial_eval=None,
    dce=None,
    dependence=None,
    order=_order,
    keys=None,
    steps=None,
    effects=True,
)
