"""Checks of differentiated values: real numbers, and others if options allow them."""

from collections.abc import Callable, Sequence
from typing import Any

from minijax.errors.classes import ComplexGradientError, IntegerGradientError
from minijax_stage2 import ShapedArray, full_like, tree_leaves, typeof
from minijax_stage2.arguments import check_inexact
from minijax_stage2.functions import ints
from minijax_stage2.shaped_array import is_inexact, typeof_named
from minijax_stage2.source import name_of
from minijax_stage2.tree import keystr, tree_flatten_with_path
from minijax_stage4.grad import require_scalar


def require_differentiable(
    caller: str,
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    inputs: Any,
    holomorphic: bool,
    allow_int: bool,
) -> None:
    """Raise an error if the chosen arguments are not differentiable.

    With `holomorphic` all of them must be complex; with `allow_int` they may be integers.
    """
    for path, leaf in tree_flatten_with_path(inputs)[0]:
        what = f"{caller}: argument {argnums}{keystr(path)} of `{name_of(fun)}`"
        aval = typeof_named(what, leaf)
        if holomorphic:
            _require_complex(what, aval)
    if not allow_int:
        check_inexact(caller, f"argument {argnums}", fun, inputs)


def one_like(caller: str, fun: Any, out: Any, holomorphic: bool) -> Any:
    """The cotangent 1 of a real scalar result, or with `holomorphic` a complex one."""
    kind = "complex number, where holomorphic=True" if holomorphic else "real number"
    expected = f"{caller}: the result of `{name_of(fun)}` must be one {kind}"
    aval = require_scalar(
        expected,
        out,
        "To return more than what is differentiated return (out, aux) and give has_aux=True.",
    )
    if not is_inexact(aval.dtype):
        raise IntegerGradientError(f"{expected}, found {aval}. Convert it, or use vjp.")
    if holomorphic and aval.dtype.kind != "c":
        raise ComplexGradientError(f"{expected}, found {aval}. Convert it, or use vjp.")
    if aval.dtype.kind == "c" and not holomorphic:
        raise ComplexGradientError(
            f"{expected}, found {aval}. Return its real part; for a complex derivative give "
            "holomorphic=True to grad."
        )
    return full_like(out, 1)


def require_results(caller: str, fun: Any, result: Any, holomorphic: bool) -> None:
    """Raise an error if a leaf of the result of `fun` has no derivative by reverse mode.

    Unless the function is holomorphic, a cotangent 1 gives only half of a complex derivative.
    """
    check_inexact(caller, "result", fun, result)
    for path, leaf in tree_flatten_with_path(result)[0]:
        what, aval = f"{caller}: result{keystr(path)} of `{name_of(fun)}`", typeof(leaf)
        if holomorphic:
            _require_complex(what, aval)
        elif aval.dtype.kind == "c":
            raise ComplexGradientError(
                f"{what} is complex, {aval}. Use jacfwd, or return its real and imaginary parts, "
                "or give holomorphic=True."
            )


def require_kind(
    caller: str,
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    args: Sequence[Any],
    holomorphic: bool,
) -> None:
    """Forward mode asks whether complex arguments have a complex derivative."""
    for i in ints("argnums", argnums):
        for x in tree_leaves(args[i]) if -len(args) <= i < len(args) else ():
            what = f"{caller}: argument {i} of `{name_of(fun)}`"
            aval = typeof_named(what, x)
            if holomorphic:
                _require_complex(what, aval)
            elif aval.dtype.kind == "c":
                raise ComplexGradientError(
                    f"{what} is complex, {aval}. Give holomorphic=True where the function has a "
                    "complex derivative, or differentiate with respect to real and imaginary parts."
                )


def _require_complex(what: str, aval: ShapedArray) -> None:
    if aval.dtype.kind != "c":
        raise ComplexGradientError(
            f"{what} must be complex where holomorphic=True, found {aval}. Convert it, or leave "
            "out holomorphic."
        )
