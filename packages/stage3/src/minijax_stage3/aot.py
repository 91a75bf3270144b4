"""Compilation ahead of time: the stages between a function and its results, to look at."""

from collections.abc import Sequence
from typing import Any

from minijax_stage2 import Tracer, typeof
from minijax_stage2.tree import PyTreeDef, tree_flatten, tree_unflatten
from minijax_stage3.array import Array, array, call
from minijax_stage3.executable import CompiledJaxpr
from minijax_stage3.jaxpr import Jaxpr
from minijax_stage3.lowering import lower_to_module


class Lowered:
    """A function as a StableHLO module, for arguments of certain types."""

    def __init__(
        self,
        jaxpr: Jaxpr,
        consts: Sequence[Any],
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
        name: str,
        array_type: type[Array] = Array,
    ):
        self.jaxpr = jaxpr
        self.consts = consts
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.name = name
        self.array_type = array_type
        self._text = lower_to_module(jaxpr, f"jit_{name}")

    def as_text(self) -> str:
        """The StableHLO module. Constants that the function closes over are its first arguments."""
        return self._text

    def compile(self) -> "Compiled":
        """Has XLA compile the module."""
        return Compiled(self)


class Compiled:
    """A function that is compiled for arguments of certain types, and takes no others."""

    def __init__(self, lowered: Lowered):
        self.lowered = lowered
        self.compiled = CompiledJaxpr(lowered.jaxpr, lowered.as_text())
        self.consts = [array(x) for x in lowered.consts]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Executes the program.

        Raises:
            TypeError: structure or types of the arguments are not those it was compiled for.
        """
        lowered = self.lowered
        leaves, in_tree = tree_flatten((args, kwargs))
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            raise TypeError(
                f"`{lowered.name}` is compiled, so nothing can transform it any more; "
                "transform the function itself, and compile the result"
            )
        if in_tree != lowered.in_tree:
            raise TypeError(
                f"`{lowered.name}` was compiled for arguments of structure {lowered.in_tree}, "
                f"called with {in_tree}"
            )
        expected = self.compiled.in_avals[len(self.consts) :]
        found = [typeof(leaf) for leaf in leaves]
        if [aval.strip_weak_type() for aval in found] != [a.strip_weak_type() for a in expected]:
            raise TypeError(
                f"`{lowered.name}` was compiled for {', '.join(map(str, expected))}, "
                f"called with {', '.join(map(str, found))}"
            )
        outs = call(self.compiled, [*self.consts, *leaves], lowered.array_type)
        return tree_unflatten(lowered.out_tree, outs)

    def as_text(self) -> str:
        """The program as XLA has optimised it, in HLO."""
        return self.compiled.executable.hlo_text()

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of the work: floating-point operations, bytes accessed, and more."""
        return self.compiled.executable.cost_analysis()

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of memory: arguments, results, temporaries, code."""
        return self.compiled.executable.memory_analysis()
