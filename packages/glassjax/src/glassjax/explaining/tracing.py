"""Calls of functions that are explained, traced and compiled without caches."""

from collections.abc import Callable
from typing import Any

from glassjax.runtime.jit import PjitFunction, jit
from glassjax.runtime.stages import Compiled, Lowered
from glassjax.settings.config import config


def traced_anew(fun: Callable[..., Any]) -> PjitFunction:
    """The function, jitted anew, without the caches of earlier calls."""
    own: Any = fun if isinstance(fun, PjitFunction) else jit(fun)
    return PjitFunction(own._fun, own._static, own._options, {}, False, own._given_places)


def compiled_anew(lowered: Lowered) -> Compiled:
    """The compiled program; one that was kept may come from other lines of source."""
    with config.override(enable_compilation_cache=False):
        return lowered.compile()
