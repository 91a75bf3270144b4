"""`argnums`: the arguments of a function to differentiate."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from minijax_stage2.errors import IntegerGradientError
from minijax_stage2.flat_function import require_function
from minijax_stage2.functions import ints
from minijax_stage2.promotion import is_inexact
from minijax_stage2.shaped_array import typeof_named
from minijax_stage2.shown import counted
from minijax_stage2.source import name_of
from minijax_stage2.tree import keystr, tree_flatten_with_path


class ChosenArguments:
    """The positional arguments of `fun` that a transformation differentiates with respect to.

    Arguments:
        caller: the transformation, for messages.
        fun: the function.
        argnums: their positions, one or several; the other arguments are constants.

    >>> chosen = ChosenArguments("grad", pow, 1)
    >>> inputs, of_inputs = chosen.split((2.0, 3.0))
    >>> inputs, of_inputs(4.0)
    ((3.0,), 16.0)
    """

    def __init__(self, caller: str, fun: Callable[..., Any], argnums: int | Sequence[int]):
        require_function(caller, fun)
        self.caller = caller
        self.fun = fun
        self.positions = ints(f"{caller}: argnums", argnums)
        self.is_one = not getattr(argnums, "ndim", isinstance(argnums, Iterable))

    def split(
        self, args: Sequence[Any], kwargs: Mapping[str, Any] = MappingProxyType({})
    ) -> tuple[tuple[Any, ...], Callable[..., Any]]:
        """The chosen arguments of a call, and the function of these alone.

        Raises:
            TypeError: there is no such argument.
            ValueError: one is chosen twice.
        """
        self._require_fit(len(args))

        def of_inputs(*inputs: Any) -> Any:
            whole = list(args)
            for i, arg in zip(self.positions, inputs, strict=True):
                whole[i] = arg
            return self.fun(*whole, **kwargs)

        of_inputs.__name__ = name_of(self.fun)  # for messages
        return tuple([args[i] for i in self.positions]), of_inputs

    def one_or_all(self, results: Sequence[Any]) -> Any:
        """The result for the one chosen argument; those for all if `argnums` is a sequence."""
        return results[0] if self.is_one else results

    def require_inexact(self, inputs: Sequence[Any]) -> None:
        """Raise an error if a leaf of a chosen argument is not a real or complex number."""
        for argnum, arg in zip(self.positions, inputs, strict=True):
            for path, leaf in tree_flatten_with_path(arg)[0]:
                argument = f"argument {argnum}{keystr(path)}"
                what = f"{self.caller}: {argument} of `{name_of(self.fun)}`"
                aval = typeof_named(what, leaf)
                if not is_inexact(aval.dtype):
                    raise IntegerGradientError(
                        f"{what} has type {aval}, and integers have no gradient. Convert it to a "
                        "float, or choose other arguments by argnums."
                    )

    def _require_fit(self, count: int) -> None:
        for i in self.positions:
            if not -count <= i < count:
                raise TypeError(
                    f"{self.caller}: argnums names argument {i!r} of `{name_of(self.fun)}`, which "
                    f"was called with {counted(count, 'positional argument')}. Count from 0, and "
                    "pass by position what is differentiated."
                )
        if len({i % count for i in self.positions}) < len(self.positions):
            raise ValueError(
                f"{self.caller}: argnums {self.positions} name an argument of "
                f"`{name_of(self.fun)}` twice"
            )
