"""Functions with auxiliary results, which are not differentiated: `has_aux=True`."""

from collections.abc import Callable
from typing import Any

from minijax_stage1.interpreter import leaked_value_error
from minijax_stage2 import Tracer, tree_leaves, tree_map
from minijax_stage2.errors import shown
from minijax_stage2.source import name_of
from minijax_stage2.tracer import PrimalTracer


class WithAux:
    """A function that returns `(out, aux)`, wrapped to return `out` and store `aux`."""

    def __init__(self, fun: Callable[..., Any]):
        self.fun = fun
        self.__name__ = name_of(fun)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.fun(*args, **kwargs)
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(
                f"`{self.__name__}` with has_aux=True must return a pair (out, aux), found "
                f"{shown(result)} of type {type(result).__name__}"
            )
        out, self.kept = result
        for leaf in tree_leaves(self.kept):
            if isinstance(leaf, Tracer) and leaf.interpreter.ended:
                raise leaked_value_error(leaf, leaf.interpreter, leaf.source)
        return out

    def aux(self) -> Any:
        """Return the auxiliary results after the transformation, without its tracers."""
        return tree_map(_opened, self.kept)


def _opened(x: Any) -> Any:
    while isinstance(x, PrimalTracer) and x.interpreter.ended:
        x = x.primal
    return x
