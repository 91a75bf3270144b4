"""The library's lowering: stage 3's, extended for the library's programs."""

from __future__ import annotations

import math
import re
from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from operator import itemgetter
from types import MappingProxyType
from typing import Any

import numpy as np

import glassjax_stage3 as stage3
from glassjax import xla
from glassjax.dimensions import expressions
from glassjax.monitoring import LOWERED
from glassjax.runtime.effects import order_effects
from glassjax.settings.config import config, set_in_context
from glassjax.settings.names import later
from glassjax.settings.options import make_user_context, timed
from glassjax.shardings.partition_spec import PartitionSpec
from glassjax.shardings.reduction import reduction_in
from glassjax.shardings.sharding import NamedSharding
from glassjax.xla.executables import ir, parsed
from glassjax_stage2 import Primitive, ShapedArray
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import Dialect, dialect
from glassjax_stage2.source import Source
from glassjax_stage3 import Jaxpr, JaxprEqn, Literal, Var

_dump_jaxpr = later("glassjax.runtime.dumps", "dump_jaxpr")

# Templates: the text of an operation, with placeholders for the names and the location.
#
# The text of most operations depends only on types and parameters. So their lowering rule runs once
# for these, and writes a template, which is filled in for every such equation.


SEPARATOR = "\0"  # between the lines of a template
FIRST = 1_000_000_000  # placeholders are names with numbers that no program reaches
_PLACEHOLDER = re.compile(r"%(1\d{9})")

UNWRITTEN = object()
Templates = dict[Any, Any]


class TextTemplate:
    """Lines of text for all equations with the same types and parameters.

    The text is the concatenation of items of a list: the names of the operands, the location, new
    names, and the constant parts of the text.

    Attributes:
        new_names: the number of new names.
        parts: the constant parts.
        chosen: function from that list to the items in the order of the text.
        outs: for each result the position of its name in that list, and a suffix: `#1`.
        simple: `(begin, operation, comma, types)`, if the text is one operation with one result,
            which takes the operands in order: `%2 = stablehlo.add %0, %1 : tensor<f32>`.
    """

    __slots__ = ("chosen", "new_names", "outs", "parts", "simple")

    def __init__(
        self,
        operands: int,
        lines: Sequence[str],
        outs: Sequence[stage3.lowering.Value],
        new_names: int,
    ):
        found = _PLACEHOLDER.split(SEPARATOR.join(lines))
        places = [int(number) - FIRST for number in found[1::2]]
        self.new_names = new_names
        self.parts = found[::2]
        # Indices into operands, location, new names and constant parts, one after the other. In the
        # text, constant parts and placeholders alternate.
        chosen = [operands + 1 + new_names + number // 2 for number in range(len(found))]
        chosen[1::2] = places
        self.chosen = itemgetter(*chosen)
        named = [_PLACEHOLDER.split(x.name) for x in outs]
        self.outs = [(int(number) - FIRST, suffix) for _, number, suffix in named]
        self.simple: tuple[str, str, str, str] | None = None
        # the name of the result, the operands, the location
        in_order = [operands + 1, *range(operands + 1)]
        if (places, self.outs, new_names) == (in_order, [(operands + 1, "")], 1):
            begin, operation, *between, _ = self.parts
            types = between.pop() if between else ""
            comma = between[0] if between else ""
            if between == [comma] * len(between):
                self.simple = begin, operation, comma, types


_known: dict[tuple[Any, str, Dialect], Templates] = {}
_MOST = 16_384


def known_templates(platform: str, indent: str) -> Templates:
    """The templates for a platform, at an indentation, under the current types of numbers.

    None stands for operations without a template, whose text also depends on the module.
    """
    templates = _known.setdefault((platform, indent, dialect()), {})
    if len(templates) > _MOST:
        templates.clear()
    return templates


# Shardings in the text of a module, in Shardy's notation.


UNCONSTRAINED = PartitionSpec.UNCONSTRAINED

# True while the program that each device runs by itself is being written.
on_each_device: ContextVar[bool] = ContextVar("on_each_device", default=False)

# Its mesh, if not all axes are `Manual`.
mesh_of_devices: ContextVar[Any] = ContextVar("mesh_of_devices", default=None)


def declared_mesh(module: stage3.lowering.ModuleBuilder, mesh: Any) -> str:
    """The name of a mesh in a module, which declares it on first use."""
    key = "mesh", mesh.shape_tuple
    if key not in module.names:
        count = sum(isinstance(each, tuple) and each[0] == "mesh" for each in module.names)
        name = module.names[key] = f"mesh_{count}" if count else "mesh"
        axes = ", ".join(f"{axis_string(axis)}={size}" for axis, size in mesh.shape_tuple)
        module.functions.append(f"  sdy.mesh @{name} = <[{axes}]>")
    return module.names[key]


def sharding_text(
    module: stage3.lowering.ModuleBuilder,
    mesh: Any,
    spec: PartitionSpec,
    ndim: int,
    is_open: bool = False,
) -> str:
    """A spec in Shardy's notation: `<@mesh, [{"x"}, {}]>`; if it is open, axes may be added."""
    entries = [*spec, *[None] * (ndim - len(spec))]
    state = reduction_in(spec)
    parts = ", ".join(map(axis_string, sorted(state.unreduced, key=mesh.axis_names.index)))
    unreduced = f", unreduced={{{parts}}}" if parts else ""
    axes = [
        "{"
        + ", ".join([*map(axis_string, names), *["?"] * (is_open or entry is UNCONSTRAINED)])
        + "}"
        for entry, names in zip(entries, PartitionSpec(*entries).names(), strict=True)
    ]
    return f"<@{declared_mesh(module, mesh)}, [{', '.join(axes)}]{unreduced}>"


def constrained(
    b: stage3.lowering.FunctionBuilder,
    x: stage3.lowering.Value,
    sharding: NamedSharding,
    is_open: bool = False,
) -> stage3.lowering.Value:
    """`x` with a sharding constraint; if it is open, the compiler may shard further axes."""
    text = sharding_text(b.module, sharding.mesh, sharding.spec, x.aval.ndim, is_open)
    return _constraint_text(b, x, text)


def _constraint_text(
    b: stage3.lowering.FunctionBuilder, x: stage3.lowering.Value, text: str
) -> stage3.lowering.Value:
    operation = f"sdy.sharding_constraint {x.name} {text} : {stage3.lowering.mlir_type(x.aval)}"
    (out,) = b.emit(operation, x.aval)
    return out


def argument(module: stage3.lowering.ModuleBuilder, sharding: NamedSharding, ndim: int) -> str:
    """The MLIR attribute for the sharding of an argument or a result."""
    text = sharding_text(module, sharding.mesh, sharding.spec, ndim)
    return f"{{sdy.sharding = #sdy.sharding{text}}}"


def in_memory(
    b: stage3.lowering.FunctionBuilder, x: stage3.lowering.Value, kind: str
) -> stage3.lowering.Value:
    """`x` in a kind of memory."""
    types = stage3.lowering.mlir_type(x.aval)
    (out,) = b.emit(
        f"stablehlo.custom_call @annotate_device_placement({x.name}) {{has_side_effect = true, "
        f'mhlo.frontend_attributes = {{_xla_buffer_placement = "{kind}"}}}} : ({types}) -> {types}',
        x.aval,
    )
    return out


def replicated_if_uneven(
    b: stage3.lowering.FunctionBuilder, x: stage3.lowering.Value, counts: Sequence[int]
) -> stage3.lowering.Value:
    """`x`, replicated if these sizes are not multiples of the numbers of devices."""
    devices = math.prod([size for _, size in _first_mesh(b.module) or ()])
    return x if all(count % devices == 0 for count in counts) else replicated(b, x)


def replicated(
    b: stage3.lowering.FunctionBuilder, x: stage3.lowering.Value
) -> stage3.lowering.Value:
    """`x`, replicated, if the program is a partitioned one."""
    return x if _first_mesh(b.module) is None or on_each_device.get() else everywhere(b, x)


def everywhere(
    b: stage3.lowering.FunctionBuilder, x: stage3.lowering.Value
) -> stage3.lowering.Value:
    """`x`, replicated, in a module that declares a mesh."""
    text = ", ".join(["{}"] * x.aval.ndim)
    name = b.module.names["mesh", _first_mesh(b.module)]
    return _constraint_text(b, x, f"<@{name}, [{text}]>")


def _first_mesh(module: stage3.lowering.ModuleBuilder) -> Any:
    meshes = [key[1] for key in module.names if isinstance(key, tuple) and key[0] == "mesh"]
    return meshes[0] if meshes else None


def on_first_device(module: stage3.lowering.ModuleBuilder, count: int) -> str:
    """The sharding of an operation with `count` results that only the first device executes."""
    key = "the first device"
    if key not in module.names:
        module.names[key] = "first_device"
        module.functions.append("  sdy.mesh @first_device = <[], device_ids=[0]>")
    return f"#sdy.sharding_per_value<[{', '.join(['<@first_device, []>'] * max(count, 1))}]>"


def axis_string(axis: Any) -> str:
    """The name of an axis of a mesh in MLIR."""
    return f'"{stage3.lowering.symbol(str(axis))}"'


def joined(given: str | None, more: str) -> str:
    """Merge two attribute dictionaries in MLIR notation."""
    return more if not given else f"{given[:-1]}, {more[1:]}"


# Frontend attributes: names and texts on operations for XLA's passes.


Attributes = tuple[tuple[str, str], ...]

# The attributes of operations being staged, part of the keys of all programs.
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


# The library's lowering extends stage 3's with the platform of a module, rules for keys and
# complex numbers, the order of effects, named scopes, frontend attributes, and attributes of
# arguments and results.
#
# While a module is written, locations mark the operations that have frontend attributes. MLIR,
# whose parser knows where attributes belong in each operation, then writes the text again.


Avals = Sequence[ShapedArray]
Rule = Callable[..., Sequence[stage3.lowering.Value]]

# Rules that override the stages' rules for their primitives.
own_lowering_rules: dict[Primitive, Rule] = {}


class Module(stage3.lowering.ModuleBuilder):
    """A module of the library.

    Arguments:
        platform: its platform, "cpu" or "cuda"; rules may differ between them.
        argument_attributes: MLIR attributes of the arguments of `main`, by number.
        result_attributes: MLIR attributes of its results.

    Attributes:
        is_dynamic: whether it calls a function whose sizes XLA has to derive.
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
        self.is_dynamic = False

    def function(self) -> Function:
        return Function(self)

    def location(self, eqn: JaxprEqn) -> str:
        """The place in the user's program, with the equation's named scope."""
        place = super().location(eqn)
        scope = getattr(eqn.source, "scope", "")
        return f"loc({stage3.quoted(f'{scope}/{eqn.primitive}')}({place[4:]})" if scope else place

    def text(self, name: str) -> str:
        text = super().text(name)
        if "⟦" in text:  # until its sizes are known
            return text
        text = with_attributes(text)
        return xla.refined(text) if self.is_dynamic else text

    def attribute(
        self,
        b: stage3.lowering.FunctionBuilder,
        values: Sequence[stage3.lowering.Value],
        attributes: Attributes,
    ) -> None:
        """Give attributes to the operations of the function that return these values."""
        if not attributes:
            return
        mark = repr(attributes).encode().hex()
        for name in {x.name.partition("#")[0] for x in values}:
            # `%1 =` defines one result, `%1:2 =` two
            begins = f"{b.indent}{name} =", f"{b.indent}{name}:"
            for i in reversed(range(len(b.lines))):
                if b.lines[i].startswith(begins):
                    marked = rf'loc("{_MARK}{mark}"(\1))'
                    b.lines[i] = _LOCATION.sub(marked, b.lines[i])
                    break


# Until a module is complete, an operation carries its attributes as a name of its location.
_MARK = "glassjax attributes "
_LOCATION = re.compile(r"loc\((.*)\)$")
_IN_MARK = re.compile(rf'"{_MARK}(\w+)"')
_MARKED = re.compile(rf'loc\("{_MARK}\w+"(?:\((.*)\))?\)$', re.MULTILINE)
# MLIR's parser gives an operation without a location its line in the text, whose file is "-".
_UNKNOWN = re.compile(r' loc\("-":\d+:\d+\)')


def with_attributes(text: str) -> str:
    """The text of a module with attributes in place of marks; the first mark counts."""
    if _MARK not in text:
        return text
    module = parsed(text)

    def add_attributes(operation: Any) -> Any:
        found: dict[str, str] = {}
        for mark in _IN_MARK.findall(str(operation.location)):
            found.update(literal_eval(bytes.fromhex(mark).decode()))
        if found:
            attributes = {key: ir().StringAttr.get(x) for key, x in found.items()}
            operation.attributes["mhlo.frontend_attributes"] = ir().DictAttr.get(attributes)
        return ir().WalkResult.ADVANCE

    with module.context:
        module.operation.walk(add_attributes)
    written: str = module.operation.get_asm(enable_debug_info=True, use_local_scope=True)
    written, count = _MARKED.subn(_unmarked, written)
    # an operation may have several marks, one inside the other
    while count:
        written, count = _MARKED.subn(_unmarked, written)
    return _UNKNOWN.sub("", written)


def _unmarked(match: re.Match[str]) -> str:
    return f"loc({match[1] or 'unknown'})"


class Function(stage3.lowering.FunctionBuilder):
    """Writes a function of the library's modules.

    Attributes:
        platform: the module's platform.
        places: the module's locations.
        known: indices whose value is known during lowering, by name.
    """

    module: Module

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.platform = module.platform
        self.places = module.locations
        self.known: dict[str, int] = {}

    def head(self, name: str, visibility: str, params: Sequence[str], outs: Sequence[str]) -> str:
        if visibility == "public":
            params = _attributed(params, self.module.argument_attributes)
            outs = _attributed(outs, self.module.result_attributes)
        return super().head(name, visibility, params, outs)

    def constant(self, value: Any, aval: ShapedArray) -> stage3.lowering.Value:
        """A scalar, or an array filled with it; also a symbolic size."""
        if not isinstance(value, expressions.Dimension):
            return super().constant(value, aval)
        text = f"stablehlo.constant dense<{value}> : {stage3.lowering.mlir_type(aval)}"
        return self.emit(text, aval)[0]

    def lower_jaxpr(
        self, jaxpr: Jaxpr, params: Sequence[stage3.lowering.Value]
    ) -> list[stage3.lowering.Value]:
        """Write the equations of `jaxpr`, in order, by templates where there are some."""
        variables = [*jaxpr.constvars, *jaxpr.invars]
        names = {var: x.name for var, x in zip(variables, params, strict=True)}
        templates = known_templates(self.platform, self.indent)
        lines, places = self.lines, self.places
        last: Any = ()  # the source of the previous equation
        for eqn in jaxpr.eqns:
            primitive, invars, source = eqn.primitive, eqn.invars, eqn.source
            if source is not last:
                last, place = (), None
                if type(source) is Source:
                    last, place = source, places.get((id(source.code), source.offset))
                if place is None:
                    attributes = self.go_to(eqn)
                else:
                    self.location, attributes = place, ()
            given = [names[x] if type(x) is Var else self.literal(x, templates) for x in invars]
            # Inner programs need the module, and attributes are marks in the text of one operation.
            if primitive.higher_order or attributes:
                template = None
            else:
                rule = own_lowering_rules.get(primitive) or stage3.lowering_rules[primitive]
                in_avals, out_avals = [x.aval for x in invars], [x.aval for x in eqn.outvars]
                # None separates operands from results, whose numbers vary.
                key = (rule, *in_avals, None, *out_avals, *eqn.params.items())
                try:
                    template = templates.get(key, UNWRITTEN)
                except TypeError:  # a parameter is not hashable
                    template = None
                if template is UNWRITTEN:
                    template = self.template_of(rule, in_avals, out_avals, eqn.params)
                    templates[key] = template
            if template is None:
                operands = [
                    stage3.lowering.Value(name, x.aval)
                    for name, x in zip(given, invars, strict=True)
                ]
                outs = [x.name for x in self.lower_eqn(eqn, operands)]
            elif template.simple:
                begin, operation, comma, types = template.simple
                name = names[eqn.outvars[0]] = f"%{self.count}"
                self.count += 1
                line = f"{begin}{name}{operation}{comma.join(given)}{types}{self.location}"
                lines.append(line)
                continue
            else:
                outs = self.fill(template, given)
            names.update(zip(eqn.outvars, outs, strict=True))
        outs = [names[x] if type(x) is Var else self.literal(x, templates) for x in jaxpr.outvars]
        return [
            stage3.lowering.Value(name, x.aval) for name, x in zip(outs, jaxpr.outvars, strict=True)
        ]

    def lower_eqn(
        self, eqn: JaxprEqn, operands: Sequence[stage3.lowering.Value]
    ) -> Sequence[stage3.lowering.Value]:
        rule = own_lowering_rules.get(eqn.primitive) or stage3.lowering_rules[eqn.primitive]
        outs: Sequence[stage3.lowering.Value]
        outs = rule(self, [var.aval for var in eqn.outvars], *operands, **eqn.params)
        if attributes := getattr(eqn.source, "attributes", ()):
            self.module.attribute(self, outs, attributes)
        return outs

    def go_to(self, eqn: JaxprEqn) -> Attributes:
        """Set the location to an equation's, and return its frontend attributes."""
        self.location = self.module.location(eqn)
        return getattr(eqn.source, "attributes", ())

    def literal(self, x: Var | Literal, templates: Templates) -> str:
        """Write a literal, and return its name."""
        assert isinstance(x, Literal)
        value, aval = x.val, x.aval
        # By bits: 0.0 equals -0.0, True equals 1, and NaN does not equal itself.
        key = aval, type(value), value if type(value) is int else np.asarray(value).tobytes()
        template: Any = templates.get(key)
        if template is None:
            template = self.template([], lambda b: [b.constant(value, aval)])
            templates[key] = template
        begin, operation, *_ = template.simple
        name = self.fresh_name()
        self.lines.append(f"{begin}{name}{operation}{self.location}")
        return name

    def fill(self, template: TextTemplate, operands: Sequence[str]) -> list[str]:
        """Write the text of a template, and return the names of the results."""
        count = self.count
        self.count += template.new_names
        new_names = [f"%{number}" for number in range(count, self.count)]
        items = [*operands, self.location, *new_names, *template.parts]
        if text := "".join(template.chosen(items)):
            self.lines += text.split(SEPARATOR)
        return [items[place] + suffix for place, suffix in template.outs]

    def template_of(
        self, rule: Rule, in_avals: Avals, out_avals: Avals, params: dict[str, Any]
    ) -> TextTemplate | None:
        """The template of an equation, if its text depends only on types and parameters."""
        if any(type(aval) is not ShapedArray for aval in [*in_avals, *out_avals]):
            return None  # shardings are written separately
        return self.template(in_avals, lambda b, *args: rule(b, out_avals, *args, **params))

    def template(self, in_avals: Avals, write: Rule) -> TextTemplate | None:
        """The template of the text of `write(b, *operands)`; None if it needs the module."""
        b = _TemplateWriter(self, len(in_avals))
        operands = [stage3.lowering.Value(f"%{FIRST + n}", aval) for n, aval in enumerate(in_avals)]
        try:
            outs = write(b, *operands)
        except _NeedsModule:
            return None
        return TextTemplate(len(in_avals), b.lines, outs, b.count - FIRST - len(in_avals) - 1)


class _NeedsModule(Exception):
    """The text of an operation depends on the module that it is in."""


class _TemplateWriter(Function):
    """Writes a template, with placeholders for names and the location, and without a module."""

    def __init__(self, b: Function, operands: int) -> None:
        self.platform, self.indent = b.platform, b.indent
        self.lines, self.places = [], {}
        self.location = f"%{FIRST + operands}"
        self.count = FIRST + operands + 1

    def __getattr__(self, name: str) -> Any:  # the module, and known values
        raise _NeedsModule

    def go_to(self, eqn: JaxprEqn) -> Attributes:
        return ()


def _attributed(declared: Sequence[str], attributes: Mapping[int, str]) -> list[str]:
    return [f"{text} {attributes.get(n, '')}".rstrip() for n, text in enumerate(declared)]


def platform_of(b: stage3.lowering.FunctionBuilder) -> str:
    """The platform that a function is written for; in a stage's program, the default one."""
    return b.platform if isinstance(b, Function) else xla.platform_of()


def lower(jaxpr: Jaxpr, name: str, module: Module | None = None) -> str:
    """The StableHLO module of a program, by default for the platform of the default device."""
    if config.dump_ir_to:
        _dump_jaxpr(name.removeprefix("jit_"), jaxpr)
    module = module or Module(xla.platform_of())
    with set_in_context(expressions.in_brackets, True):
        module.add_function(order_effects(jaxpr), "main", "public")
    return module.text(stage3.lowering.symbol(name))


def recorded_lower(jaxpr: Jaxpr, name: str, module: Module | None = None) -> str:
    """`lower`, a step of the compilation of a function."""
    with timed(LOWERED, f"jit({name.removeprefix('jit_')})"):
        return lower(jaxpr, name, module)
