"""Frontend attributes: names and texts that operations bring along for the passes of XLA.

While a module is written, locations mark the operations that have some. MLIR, which knows where
each operation has its attributes, then writes the text once more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from minijax.settings.user_context import make_user_context
from minijax.xla.mlir import ir, parsed
from minijax_stage2.shown import shown
from minijax_stage3 import JaxprEqn
from minijax_stage3.lowering import FunctionBuilder, ModuleBuilder, Value

Attributes = tuple[tuple[str, str], ...]

# The attributes of the operations that are staged now, a part of the keys of all programs.
attributes_in_context = make_user_context(())


def as_attributes(given: Mapping[str, Any]) -> Attributes:
    """Attributes in the order of their names, with values as texts."""
    return tuple(
        sorted(
            (name, str(x).lower() if isinstance(x, bool) else str(x)) for name, x in given.items()
        )
    )


def checked_attributes(caller: str, given: Any) -> Attributes:
    """`as_attributes` of a mapping from names to str, bool, int or float; else TypeError."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{caller}: expected a dict of metadata, found {shown(given)}")
    for name, x in given.items():
        if not isinstance(x, str | int | float):
            raise TypeError(
                f"{caller}: {name} must be a str, bool, int or float, found {shown(x)} of type "
                f"{type(x).__name__}"
            )
    return as_attributes(given)


_LOCATION = re.compile(r"loc\((.*)\)$")
_MARK = re.compile(r'"minijax attributes (\d+)"')
_MARKED = re.compile(r'loc\("minijax attributes \d+"(?:\((.*)\))?\)$', re.MULTILINE)
_OF_TEXT = re.compile(r' loc\("-":\d+:\d+\)')  # of what had none


class AttributedModule(ModuleBuilder):
    """A module whose operations may have frontend attributes."""

    def __init__(self, platform: str = "cpu") -> None:
        super().__init__(platform)
        self.attributed: list[Attributes] = []

    def after_equation(
        self, b: FunctionBuilder, eqn: JaxprEqn, outs: Sequence[Value]
    ) -> Sequence[Value]:
        """The results of an equation, whose operations have the attributes of its source."""
        self.attribute(b, outs, getattr(eqn.source, "attributes", ()))
        return outs

    def attribute(
        self, b: FunctionBuilder, values: Sequence[Value], attributes: Attributes
    ) -> None:
        """Give attributes to the operations of the function that return these values."""
        if not attributes:
            return
        if attributes not in self.attributed:
            self.attributed.append(attributes)
        number = self.attributed.index(attributes)
        for name in {x.name.partition("#")[0] for x in values}:
            begins = f"{b.indent}{name} =", f"{b.indent}{name}:"
            for i in reversed(range(len(b.lines))):
                if b.lines[i].startswith(begins):
                    marked = rf'loc("minijax attributes {number}"(\1))'
                    b.lines[i] = _LOCATION.sub(marked, b.lines[i])
                    break

    def with_attributes(self, text: str) -> str:
        """The text of the module with attributes in place of marks; the first mark counts."""
        if not self.attributed:
            return text
        module = parsed(text)
        name = "mhlo.frontend_attributes"

        def add(operation: Any) -> Any:
            found: dict[str, str] = {}
            for number in _MARK.findall(str(operation.location)):
                found.update(self.attributed[int(number)])
            if found:
                attributes = {key: ir().StringAttr.get(x) for key, x in found.items()}
                operation.attributes[name] = ir().DictAttr.get(attributes)
            return ir().WalkResult.ADVANCE

        with module.context:
            module.operation.walk(add)
        written: str = module.operation.get_asm(enable_debug_info=True, use_local_scope=True)
        written, count = _MARKED.subn(_unmarked, written)
        while count:
            written, count = _MARKED.subn(_unmarked, written)
        return _OF_TEXT.sub("", written)


def _unmarked(match: re.Match[str]) -> str:
    return f"loc({match[1] or 'unknown'})"
