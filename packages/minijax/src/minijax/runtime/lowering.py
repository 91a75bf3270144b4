"""The library's lowering: stage 3's, with what its own programs need besides.

That is the platform of a module, rules for keys and complex numbers, the order of effects, names of
parts, frontend attributes, and attributes of arguments and results.

While a module is written, locations mark the operations that have frontend attributes. MLIR, which
knows where each operation has them, then writes the text once more.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from minijax import xla
from minijax.runtime.frontend_attributes import Attributes
from minijax.runtime.ordered_effects import in_order
from minijax.settings.debugging import logging_time
from minijax.settings.monitoring import LOWERED
from minijax.xla.mlir import ir, parsed
from minijax_stage2 import Primitive
from minijax_stage3 import Jaxpr, JaxprEqn, lowering_rules
from minijax_stage3.lowering import FunctionBuilder, ModuleBuilder, Value, quoted, symbol

# Rules that replace those of the stages for primitives of the stages.
own_lowering_rules: dict[Primitive, Callable[..., Sequence[Value]]] = {}


class Module(ModuleBuilder):
    """A module of the library.

    Arguments:
        platform: the platform that it is for, "cpu" or "cuda". Rules may differ between them.
        argument_attributes: MLIR attributes of the arguments of `main`, by number.
        result_attributes: those of its results.
    """

    def __init__(
        self,
        platform: str,
        argument_attributes: Mapping[int, str] = MappingProxyType({}),
        result_attributes: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        self.platform = platform
        self.argument_attributes = argument_attributes
        self.result_attributes = result_attributes
        self.attributed: list[Attributes] = []

    def function(self) -> "Function":
        return Function(self)

    def location(self, eqn: JaxprEqn) -> str:
        """The place in the user's program, with the name of the part that the equation is in."""
        place = super().location(eqn)
        scope = getattr(eqn.source, "scope", "")
        return f"loc({quoted(f'{scope}/{eqn.primitive}')}({place[4:]})" if scope else place

    def text(self, name: str) -> str:
        return self._with_attributes(super().text(name))

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

    def _with_attributes(self, text: str) -> str:
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
        return _UNKNOWN.sub("", written)


_LOCATION = re.compile(r"loc\((.*)\)$")
_MARK = re.compile(r'"minijax attributes (\d+)"')
_MARKED = re.compile(r'loc\("minijax attributes \d+"(?:\((.*)\))?\)$', re.MULTILINE)
_UNKNOWN = re.compile(r' loc\("-":\d+:\d+\)')


def _unmarked(match: re.Match[str]) -> str:
    return f"loc({match[1] or 'unknown'})"


class Function(FunctionBuilder):
    """Writes a function of the library's modules.

    Attributes:
        known: indices whose value lowering knows, by name.
    """

    module: Module

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.known: dict[str, int] = {}

    def head(self, name: str, visibility: str, params: Sequence[str], outs: Sequence[str]) -> str:
        if visibility == "public":
            params = _attributed(params, self.module.argument_attributes)
            outs = _attributed(outs, self.module.result_attributes)
        return super().head(name, visibility, params, outs)

    def lower_eqn(self, eqn: JaxprEqn, operands: Sequence[Value]) -> Sequence[Value]:
        rule = own_lowering_rules.get(eqn.primitive) or lowering_rules[eqn.primitive]
        outs: Sequence[Value]
        outs = rule(self, [var.aval for var in eqn.outvars], *operands, **eqn.params)
        if attributes := getattr(eqn.source, "attributes", ()):
            self.module.attribute(self, outs, attributes)
        return outs


def _attributed(declared: Sequence[str], attributes: Mapping[int, str]) -> list[str]:
    return [f"{text} {attributes.get(n, '')}".rstrip() for n, text in enumerate(declared)]


def platform_of(b: FunctionBuilder) -> str:
    """The platform that a function is written for; in a program of a stage, the default one."""
    return b.module.platform if isinstance(b.module, Module) else xla.platform_of()


def lower(jaxpr: Jaxpr, name: str, module: Module | None = None) -> str:
    """The StableHLO module of a program, by default for the platform of the default device."""
    module = module or Module(xla.platform_of())
    module.add_function(in_order(jaxpr), "main", "public")
    return module.text(symbol(name))


def recorded_lower(jaxpr: Jaxpr, name: str, module: Module | None = None) -> str:
    """`lower`, with its duration reported to the listeners of `monitoring`."""
    with logging_time(LOWERED, f"jit({name.removeprefix('jit_')})"):
        return lower(jaxpr, name, module)
