"""Compilation ahead of time: the stages between a function and its results, to look at."""

from collections.abc import Sequence
from typing import Any

from minijax_stage2 import Tracer, typeof
from minijax_stage2.tree import PyTreeDef, tree_flatten
from minijax_stage3.array import Array, executor, to_buffer
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
        self.name = lowered.name
        self.in_tree = lowered.in_tree
        self.out_tree = lowered.out_tree
        self.compiled = CompiledJaxpr(lowered.jaxpr, lowered.as_text())
        self.leaf_avals = self.compiled.in_avals[len(lowered.consts) :]
        self.execute = executor(self.compiled, lowered.consts, self.out_tree, lowered.array_type)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Executes the program.

        Raises:
            TypeError: structure or types of the arguments are not those it was compiled for.
        """
        leaves, in_tree = tree_flatten((args, kwargs))
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            raise TypeError(
                f"`{self.name}` is compiled, so nothing can transform it any more; "
                "transform the function itself, and compile the result"
            )
        if in_tree != self.in_tree:
            raise TypeError(
                f"`{self.name}` was compiled for arguments of structure {self.in_tree.described}, "
                f"called with {in_tree.described}"
            )
        expected = self.leaf_avals
        found = [typeof(leaf) for leaf in leaves]
        if [aval.strip_weak_type() for aval in found] != [a.strip_weak_type() for a in expected]:
            raise TypeError(
                f"`{self.name}` was compiled for {', '.join(map(str, expected))}, "
                f"called with {', '.join(map(str, found))}"
            )
        return self.execute_leaves(leaves)

    def execute_leaves(self, leaves: Sequence[Any]) -> Any:
        """The result for the leaves of arguments of the right structure and types."""
        return self.execute(list(map(to_buffer, leaves, self.leaf_avals)))

    def as_text(self) -> str:
        """The program as XLA has optimised it, in HLO."""
        return self.compiled.executable.hlo_text()

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of the work: floating-point operations, bytes accessed, and more."""
        return self.compiled.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """Bytes of memory by kind: arguments, results, what they share, temporaries, code."""
        return self.compiled.executable.memory_analysis()
