"""Lowering: from a jaxpr to the text of a StableHLO module, which XLA compiles.

A rule writes lines of text, so both the rule and its output are readable. Every line carries the
user's file and line as its location.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from minijax_stage2 import Primitive, ShapedArray
from minijax_stage2.shaped_array import Shape, float0, short_dtype
from minijax_stage2.source import Source
from minijax_stage2.trace import Rules
from minijax_stage3.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var

lowering_rules = Rules("lowering to StableHLO", "lowering_rules")

# The MLIR types of what is not an array, for later packages.
opaque_types: dict[ShapedArray, str] = {}


@lru_cache(maxsize=16_384)
def mlir_type(aval: ShapedArray) -> str:
    """The MLIR type of an array.

    Raises:
        TypeError: the device does not support such arrays.

    >>> mlir_type(ShapedArray((2, 3), "float32"))
    'tensor<2x3xf32>'
    """
    if aval in opaque_types:
        return opaque_types[aval]
    if aval.size * max(aval.dtype.itemsize, 1) >= 2**63:  # XLA would abort the process
        raise TypeError(f"{aval} is too large: the bytes of an array have to be less than 2**63")
    sizes = "".join(f"{size}x" for size in aval.shape)
    return f"tensor<{sizes}{element_type(aval.dtype)}>"


@lru_cache(maxsize=256)
def element_type(dtype: np.dtype[Any]) -> str:
    """The MLIR name of a dtype: `f32`, `i64`, `ui8`, `i1`, `complex<f32>`, `f8E4M3FN`."""
    if dtype.kind == "b" or dtype == float0:
        return "i1"
    if dtype.names:
        return element_type(dtype[0])
    bits = int("".join(filter(str.isdigit, dtype.name.partition("_")[0])))
    if not 8 <= bits <= (128 if dtype.kind == "c" else 64):
        raise TypeError(f"the device holds no arrays of dtype {dtype}; convert them by astype")
    if dtype.kind == "c":
        return f"complex<f{4 * dtype.itemsize}>"
    if dtype.name.startswith("float") and "_" in dtype.name:
        width, layout = dtype.name.removeprefix("float").split("_")
        return f"f{width}{layout.upper()}"
    return short_dtype(dtype).replace("u", "ui")


def scalar_text(value: Any, dtype: np.dtype[Any]) -> str:
    """The exact MLIR text of a number in a constant."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype == float0:
        return "false"
    if dtype.names:
        return f'"0x{np.asarray(value, dtype).tobytes().hex()}"'
    if dtype.kind == "c":
        value = np.asarray(value)
        part = np.finfo(dtype).dtype
        real, imag = scalar_text(value.real, part), scalar_text(value.imag, part)
        return f"({real}, {imag})"
    if element_type(dtype).startswith(("f", "bf")):
        with np.errstate(over="ignore"):
            value = float(np.asarray(value).astype(dtype))
        if np.isfinite(value):
            digits = repr(value)
            return digits if "." in digits else digits.replace("e", ".0e")
        return "0x" + np.asarray(value, dtype).astype(dtype.newbyteorder(">")).tobytes().hex()
    return str(int(value))


class Value(NamedTuple):
    """A value in the text: its name and its type."""

    name: str
    aval: ShapedArray


class ModuleBuilder:
    """Collects the functions of a module, one per jaxpr, however often it is called.

    Arguments:
        platform: the devices that it is for: "cpu", "cuda". Rules may differ between them.
    """

    def __init__(self, platform: str = "cpu") -> None:
        self.platform = platform
        self.functions: list[str] = []
        self.names: dict[Any, str] = {}
        self.locations: dict[tuple[int, int, str], str] = {}
        self.attributes = ""  # of the module, as MLIR writes them

    def private_function(self, jaxpr: Jaxpr, name: str) -> str:
        """The name of the private function that computes `jaxpr`."""
        if jaxpr not in self.names:
            self.names[jaxpr] = f"{symbol(name)}_{len(self.names)}"
            self.add_function(jaxpr, self.names[jaxpr], "private")
        return self.names[jaxpr]

    def written_function(
        self, name: str, in_avals: tuple[ShapedArray, ...], outs: Callable[..., Sequence[Value]]
    ) -> str:
        """The name of a private function whose lines `outs(builder, *params)` writes.

        It is written once per name and parameter types.
        """
        key = name, in_avals
        if key not in self.names:
            self.names[key] = f"{symbol(name)}_{len(self.names)}"
            params = [Value(f"%arg{number}", aval) for number, aval in enumerate(in_avals)]
            builder = FunctionBuilder(self)
            builder.finish(self.names[key], "private", params, outs(builder, *params))
        return self.names[key]

    def after_equation(
        self, b: "FunctionBuilder", eqn: JaxprEqn, outs: Sequence[Value]
    ) -> Sequence[Value]:
        """The results of an equation, of which a later package may write more."""
        return outs

    def location(self, source: Source | None, primitive: Primitive) -> str:
        """The MLIR location of a place in the user's program, computed once each."""
        if source is None:
            return "loc(unknown)"
        name = f"{source.scope}/{primitive}" if source.scope else ""
        place = id(source.code), source.offset, name
        if place not in self.locations:
            file = _UNSAFE.sub(_escape, source.file)
            line = f'"{file}":{source.line}:1'
            name = _UNSAFE.sub(_escape, name)
            self.locations[place] = f'loc("{name}"({line}))' if name else f"loc({line})"
        return self.locations[place]

    def add_function(
        self,
        jaxpr: Jaxpr,
        name: str,
        visibility: str,
        attributes: Mapping[int, str] = MappingProxyType({}),
        out_attributes: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        builder = FunctionBuilder(self)
        params = builder.parameters(jaxpr)
        outs = builder.lower_jaxpr(jaxpr, params)
        builder.finish(name, visibility, params, outs, attributes, out_attributes)


# Rules of a later package that treat further dtypes, and leave the others to `lowering_rules`.
extended_rules: dict[Primitive, Callable[..., Any]] = {}


class FunctionBuilder:
    """Writes the lines of one function.

    >>> b = FunctionBuilder(ModuleBuilder())
    >>> (out,) = b.emit("stablehlo.negate %x : tensor<f32>", ShapedArray((), "float32"))
    >>> b.lines, out.name
    (['    %0 = stablehlo.negate %x : tensor<f32> loc(unknown)'], '%0')
    """

    def __init__(self, module: ModuleBuilder):
        self.module = module
        self.lines: list[str] = []
        self.count = 0
        self.known: dict[str, int] = {}  # indices of which lowering knows the value, by name
        self.location = "loc(unknown)"
        self.indent = "    "

    def emit(self, operation: str, *out_avals: ShapedArray) -> list[Value]:
        """Write one operation, whose text ends with its types, and name its results."""
        name = self.fresh_name()
        if len(out_avals) == 1:
            outs, binder = [Value(name, out_avals[0])], f"{name} = "
        else:
            outs = [Value(f"{name}#{i}", aval) for i, aval in enumerate(out_avals)]
            binder = f"{name}:{len(outs)} = " if outs else ""
        self.lines.append(f"{self.indent}{binder}{operation} {self.location}")
        return outs

    def finish(
        self,
        name: str,
        visibility: str,
        params: Sequence[Value],
        outs: Sequence[Value],
        attributes: Mapping[int, str] = MappingProxyType({}),
        out_attributes: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        """Add the function of these lines to the module."""
        declared = ", ".join(
            f"{x.name}: {mlir_type(x.aval)} {attributes.get(n, '')}".rstrip()
            for n, x in enumerate(params)
        )
        types = [mlir_type(value.aval) for value in outs]
        names = ", ".join(value.name for value in outs)
        result = f"    return {names} : {', '.join(types)}" if outs else "    return"
        returned = ", ".join(
            f"{out_type} {out_attributes.get(number, '')}".rstrip()
            for number, out_type in enumerate(types)
        )
        head = f"  func.func {visibility} @{name}({declared}) -> ({returned}) {{"
        self.module.functions.append("\n".join([head, *self.lines, result, "  }"]))

    def fresh_name(self) -> str:
        self.count += 1
        return f"%{self.count - 1}"

    def constant(self, value: Any, aval: ShapedArray) -> Value:
        """A scalar, or an array filled with it."""
        text = f"dense<{scalar_text(value, aval.dtype)}>"
        (out,) = self.emit(f"stablehlo.constant {text} : {mlir_type(aval)}", aval)
        return out

    def spread(self, x: Value, shape: Shape) -> Value:
        """A scalar operand broadcast to the shape of the others."""
        if x.aval.shape == shape:
            return x
        aval = ShapedArray(shape, x.aval.dtype)
        types = signature([x], [aval])
        (out,) = self.emit(f"stablehlo.broadcast_in_dim {x.name}, dims = [] : {types}", aval)
        return out

    def reshape(self, x: Value, shape: Shape) -> Value:
        aval = ShapedArray(shape, x.aval.dtype)
        (out,) = self.emit(f"stablehlo.reshape {x.name} : {signature([x], [aval])}", aval)
        return out

    def parameters(self, jaxpr: Jaxpr) -> list[Value]:
        return [
            Value(f"%arg{number}", var.aval)
            for number, var in enumerate([*jaxpr.constvars, *jaxpr.invars])
        ]

    def lower_jaxpr(self, jaxpr: Jaxpr, params: Sequence[Value]) -> list[Value]:
        """Write the equations of `jaxpr`, in order, and return its results."""
        values: dict[Var, Value] = dict(zip([*jaxpr.constvars, *jaxpr.invars], params, strict=True))

        def read(atom: Atom) -> Value:
            if isinstance(atom, Literal):
                return self.constant(atom.val, atom.aval)
            return values[atom]

        for eqn in jaxpr.eqns:
            self.location = self.module.location(eqn.source, eqn.primitive)
            operands = [read(atom) for atom in eqn.invars]
            outs = self.module.after_equation(self, eqn, self.lower_eqn(eqn, operands))
            values.update(zip(eqn.outvars, outs, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def lower_eqn(self, eqn: JaxprEqn, operands: Sequence[Value]) -> list[Value]:
        out_avals = [var.aval for var in eqn.outvars]
        rule = extended_rules.get(eqn.primitive) or lowering_rules[eqn.primitive]
        return rule(self, out_avals, *operands, **eqn.params)  # type: ignore[no-any-return]


# Passes over the jaxpr of a module, from first to last, before it is written.
passes: list[Callable[[Jaxpr], Jaxpr]] = []


def lower_to_module(
    jaxpr: Jaxpr,
    name: str,
    attributes: Mapping[int, str] = MappingProxyType({}),
    out_attributes: Mapping[int, str] = MappingProxyType({}),
    module: ModuleBuilder | None = None,
    platform: str = "cpu",
) -> str:
    """The StableHLO module whose function `main` computes `jaxpr`; constants come first.

    `attributes` are MLIR attributes of arguments, by their number, and `out_attributes` those of
    results. `module` may hold other functions already; otherwise it is made for `platform`.
    """
    module = module or ModuleBuilder(platform)
    for transform in passes:
        jaxpr = transform(jaxpr)
    module.add_function(jaxpr, "main", "public", attributes, out_attributes)
    head = f"module @{symbol(name)} {module.attributes}".rstrip()
    return "\n".join([f"{head} {{", *module.functions, "}", ""])


def signature(operands: Sequence[Value], out_avals: Sequence[ShapedArray]) -> str:
    """The type of an operation.

    >>> row = ShapedArray((2,), "float32")
    >>> signature([Value("%x", row)], [row])
    '(tensor<2xf32>) -> tensor<2xf32>'
    """
    ins = ", ".join([mlir_type(operand.aval) for operand in operands])
    outs = ", ".join(map(mlir_type, out_avals))
    return f"({ins}) -> {outs if len(out_avals) == 1 else f'({outs})'}"


_UNSAFE = re.compile(r'[\\"\n\ud800-\udfff]')  # UTF-8 cannot encode surrogates


def _escape(match: re.Match[str]) -> str:
    """A character, escaped for an MLIR string."""
    return f"\\{ord(match[0]):02x}" if match[0] < "\ud800" else "?"


def symbol(name: str) -> str:
    """`name` as a valid MLIR symbol."""
    return re.sub(r"\W|^(?=\d|$)", "_", name, flags=re.ASCII)
