"""Functions that return more than what is differentiated: `has_aux=True`."""

from collections.abc import Callable
from typing import Any

from minijax_stage1.source import name_of
from minijax_stage2.shaped_array import is_value
from minijax_stage2.tree import tree_flatten, tree_unflatten


class WithAux:
    """A function that returns `(out, aux)`, made to return `out` and the arrays of `aux`.

    What else is in `aux`, anything that is no array, is kept aside until `rebuild`.
    """

    def __init__(self, fun: Callable[..., Any]):
        self.fun = fun
        self.__name__ = name_of(fun)

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        result = self.fun(*args, **kwargs)
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(
                f"`{self.__name__}` with has_aux=True must return a pair (out, aux), found "
                f"{result!r:.60} of type {type(result).__name__}"
            )
        out, aux = result
        self.leaves, self.tree = tree_flatten(aux)
        return out, [leaf for leaf in self.leaves if is_value(leaf)]

    def rebuild(self, arrays: list[Any]) -> Any:
        """`aux` with these arrays in it, no longer those of the traced function."""
        rest = iter(arrays)
        return tree_unflatten(
            self.tree, [next(rest) if is_value(leaf) else leaf for leaf in self.leaves]
        )
