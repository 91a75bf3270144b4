"""The context of lowering rules, and of MLIR, under the names of `jax.extend.lowering`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minijax.xla import executables
from minijax_stage2 import Primitive, ShapedArray

_kept: list[Any] = []


@dataclass(frozen=True)
class ModuleContext:
    """The module that a rule writes into.

    Attributes:
        module: the module.
        platforms: the platforms that it is for.
    """

    module: Any
    platforms: tuple[str, ...]

    def add_keepalive(self, keepalive: Any) -> None:
        """Keep an object, such as a Python function that a program calls, from now on.

        It stays until the process ends: nothing says when the last program that needs it is gone.
        """
        _kept.append(keepalive)


@dataclass(frozen=True)
class LoweringRuleContext:
    """Knowledge of a lowering rule besides the operands.

    Attributes:
        module_context: the module.
        primitive: the primitive.
        avals_in: the types of the operands.
        avals_out: the types of the results.
    """

    module_context: ModuleContext
    primitive: Primitive | None
    avals_in: Sequence[ShapedArray]
    avals_out: Sequence[ShapedArray]

    def replace(self, **changes: Any) -> "LoweringRuleContext":
        return LoweringRuleContext(**{**vars(self), **changes})


JaxIrContext: type
upstream_dialects: Any


def __getattr__(name: str) -> Any:
    """Names of jaxlib's bindings of MLIR, which take a while to import."""
    if name == "JaxIrContext":
        return executables.context_class()
    if name == "upstream_dialects":
        return executables.dialects()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["JaxIrContext", "LoweringRuleContext", "ModuleContext", "upstream_dialects"]
