"""Jitted functions that are traced and lowered once for all sizes, `jit(f, symbolic="b, n")`.

The sizes of a call are put into the text of the program for all sizes, which XLA then compiles.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from glassjax import xla
from glassjax.dimensions.scopes import SymbolicScope, symbolic_shape
from glassjax.dimensions.solving import Equation, solved_sizes, type_at
from glassjax.runtime.pipeline import Compilation, CompileOptions, Traced
from glassjax.runtime.places import Places, Shardings
from glassjax.runtime.symbolic_modules import TextForAllSizes
from glassjax_stage2 import ShapedArray
from glassjax_stage2.tree import broadcast_prefix, tree_leaves
from glassjax_stage3 import Jaxpr, JaxprEqn, Var
from glassjax_stage3.jit import jit_p


class SymbolicSizes:
    """The sizes of arguments that are variables, as given to `jit`.

    Arguments:
        caller: the function that errors name.
        specs: a text as for `symbolic_shape`, for all arrays; or a list or tuple with a text, None
            (no variables) or a pytree of them for each positional argument.
        constraints: what always holds for the variables, as for `SymbolicScope`.

    Raises:
        TypeError: `specs` is something else.
        ValueError: a constraint is malformed, or cannot be satisfied.
    """

    def __init__(self, caller: str, specs: Any, constraints: Sequence[str]):
        if not isinstance(specs, str | list | tuple):
            raise TypeError(
                f"{caller}: symbolic must be the text of a shape, such as 'b, ...', or a tuple of "
                f"one for each argument, found {specs!r}"
            )
        self.caller = caller
        self.specs = specs if isinstance(specs, str) else tuple(specs)
        self.scope = SymbolicScope(constraints)

    def __reduce__(self) -> tuple[Any, ...]:
        constraints = [constraint.text for constraint in self.scope.constraints]
        return SymbolicSizes, (self.caller, self.specs, constraints)

    def types(self, args: Any, kwargs: Any, avals: Sequence[ShapedArray]) -> list[ShapedArray]:
        """The types of the leaves of arguments, with variables for sizes.

        Raises:
            ValueError: a text is malformed, or does not fit its argument.
        """
        texts: list[str | None]
        if isinstance(self.specs, str):
            texts = [self.specs] * len(avals)
        else:
            texts = broadcast_prefix(self.specs, args, lambda x: x is None, name="symbolic")
            texts += [None] * len(tree_leaves(kwargs))
        return [self._type(text, aval) for text, aval in zip(texts, avals, strict=True)]

    def _type(self, text: str | None, aval: ShapedArray) -> ShapedArray:
        if text is None:
            return aval
        shape = symbolic_shape(text, like=aval.shape, scope=self.scope)
        if len(shape) != aval.ndim:
            raise ValueError(
                f"{self.caller}: symbolic={text!r} has {len(shape)} sizes, and the argument is "
                f"{aval}. End it with '...' for all further axes"
            )
        return aval.update(shape=shape)

    def values(
        self, types: Sequence[ShapedArray], avals: Sequence[ShapedArray], names: Sequence[str]
    ) -> dict[str, int]:
        """The values of the variables in a call.

        Raises:
            ValueError: there are none, or they do not follow from the sizes; a constraint does not
                hold.
        """
        equations = [
            Equation(size, given, f"axis {axis} of {name}")
            for symbolic, aval, name in zip(types, avals, names, strict=True)
            for axis, (size, given) in enumerate(zip(symbolic.shape, aval.shape, strict=True))
        ]
        return solved_sizes(self.caller, equations)


class CompilationForAllSizes(Compilation):
    """A function traced with symbolic sizes, lowered once.

    Arguments:
        scope: the scope of its variables.
        traced, options, where, out_shardings: as for `Compilation`.
    """

    def __init__(
        self,
        scope: SymbolicScope,
        traced: Traced,
        options: CompileOptions,
        where: Places,
        out_shardings: Shardings,
    ):
        super().__init__(traced, options, where, out_shardings)
        self.scope = scope

    @cached_property
    def serves(self) -> bool:
        """True if its text can be compiled for any sizes.

        It cannot if arguments or results are sharded, or if it calls Python, which gets
        arguments of fixed types.
        """
        return not self.is_placed(self.consts()) and not xla.calls_python(self.general_text.text)

    @cached_property
    def general_text(self) -> TextForAllSizes:
        return TextForAllSizes(self.text(), self.scope)

    @cached_property
    def calls_dynamic(self) -> bool:
        """True if it calls exported programs, which compute their sizes."""
        return "get_dimension_size" in self.general_text.text

    def at(self, sizes: Mapping[str, int]) -> Compilation:
        """The function at some values of the variables."""
        return _CompilationAtSizes(self, sizes)


class _CompilationAtSizes(Compilation):
    def __init__(self, general: CompilationForAllSizes, sizes: Mapping[str, int]):
        vars(self).update(vars(general))
        self._general, self._sizes = general, sizes
        self._program = (None,)  # it runs on the default device
        traced = general.traced
        self.jaxpr = _call_at(general.jaxpr, traced.name, sizes)
        whole = _call_at(traced.jaxpr, traced.name, sizes)
        self.traced = Traced(traced.name, whole, (), traced.in_tree, traced.out_tree)
        self.traced.consts = traced.consts  # brought to the device once for all sizes

    def text(self) -> str:
        text = self._general.general_text.at_sizes(self._sizes)
        return xla.refined(text) if self._general.calls_dynamic else text


def _call_at(jaxpr: Jaxpr, name: str, sizes: Mapping[str, int]) -> Jaxpr:
    """A call of a program for all sizes, with the types that it has at some of them."""
    invars, outvars = (
        [Var(type_at(aval, sizes)) for aval in avals] for avals in (jaxpr.in_avals, jaxpr.out_avals)
    )
    eqn = JaxprEqn(jit_p, invars, outvars, {"jaxpr": jaxpr, "name": name})
    return Jaxpr([], invars, [eqn], outvars)
