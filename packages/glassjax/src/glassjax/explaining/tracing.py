"""Calls of functions that are explained: checked, traced and compiled without caches."""

import inspect
from collections.abc import Callable
from typing import Any

from glassjax.runtime.jit import PjitFunction, jit
from glassjax.runtime.stages import Compiled, Lowered
from glassjax.settings.config import config
from glassjax_stage2.source import name_of


def require_call(caller: str, fun: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Raise TypeError if `fun` does not take these arguments."""
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):  # a function without a signature
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{caller} of `{name_of(fun)}`: {error}; it takes {signature}") from None


def traced_anew(fun: Callable[..., Any]) -> PjitFunction:
    """The function, jitted anew, without the caches of earlier calls."""
    own: Any = fun if isinstance(fun, PjitFunction) else jit(fun)
    return PjitFunction(own._fun, own._static, own._options, {}, False, own._given_places)


def compiled_anew(lowered: Lowered) -> Compiled:
    """The compiled program; one that was kept may come from other lines of source."""
    with config.override(enable_compilation_cache=False):
        return lowered.compile()
