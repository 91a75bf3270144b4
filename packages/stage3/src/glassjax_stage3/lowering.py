"""Lowering: from a jaxpr to the text of a StableHLO module, which XLA compiles.

A rule writes lines of text, so both the rule and its output are readable. Every line carries the
user's file and line as its location.
"""

import re
from collections.abc import Sequence
from functools import lru_cache, singledispatch
from typing import Any, NamedTuple

import numpy as np

from glassjax_stage2 import ShapedArray
from glassjax_stage2.shaped_array import Shape, float0, short_dtype
from glassjax_stage2.trace import Rules
from glassjax_stage3.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var

lowering_rules = Rules("lowering to StableHLO", "lowering_rules")


@singledispatch
def type_text(aval: ShapedArray) -> str:
    """The MLIR type of an array; subclasses of `ShapedArray` may have their own.

    Raises:
        TypeError: the device does not support such arrays.

    >>> type_text(ShapedArray((2, 3), "float32"))
    'tensor<2x3xf32>'
    """
    if aval.size * max(aval.dtype.itemsize, 1) >= 2**63:  # XLA would abort the process
        raise TypeError(f"{aval} is too large: the bytes of an array have to be less than 2**63")
    sizes = "".join(f"{size}x" for size in aval.shape)
    return f"tensor<{sizes}{element_type(aval.dtype)}>"


mlir_type = lru_cache(maxsize=16_384)(type_text)


@lru_cache(maxsize=256)
def element_type(dtype: np.dtype[Any]) -> str:
    """The MLIR name of a dtype: `f32`, `i64`, `ui8`, `i1`, `complex<f32>`, `f8E4M3FN`."""
    if dtype.kind == "b" or dtype == float0:
        return "i1"
    if dtype.names:
        return element_type(dtype[0])
    bits = int("".join(filter(str.isdigit, dtype.name.partition("_")[0])))
    if bits not in (2, 4, 8, 16, 32, 64) and dtype != np.complex128:
        raise TypeError(f"the device holds no arrays of dtype {dtype}; convert them by astype")
    if dtype.kind == "c":
        return f"complex<f{4 * dtype.itemsize}>"
    width, _, layout = short_dtype(dtype).partition("_")
    return width.replace("u", "ui") + layout.upper()


def scalar_text(value: Any, dtype: np.dtype[Any]) -> str:
    """The exact MLIR text of a number in a constant."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype == float0:
        return "false"
    if dtype.names:
        return f'"0x{np.asarray(value, dtype).tobytes().hex()}"'
    if dtype.kind == "c":
        value, part = complex(value), np.finfo(dtype).dtype
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
    """Collects the functions of a module, one per jaxpr, however often it is called."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self.names: dict[Any, str] = {}
        self.locations: dict[Any, str] = {}

    def function(self) -> "FunctionBuilder":
        """The builder of a new function."""
        return FunctionBuilder(self)

    def add_function(self, jaxpr: Jaxpr, name: str, visibility: str) -> None:
        function, variables = self.function(), [*jaxpr.constvars, *jaxpr.invars]
        params = [Value(f"%arg{number}", var.aval) for number, var in enumerate(variables)]
        function.finish(name, visibility, params, function.lower_jaxpr(jaxpr, params))

    def private_function(self, jaxpr: Jaxpr, name: str) -> str:
        """The name of the private function that computes `jaxpr`."""
        if jaxpr not in self.names:
            self.names[jaxpr] = f"{symbol(name)}_{len(self.names)}"
            self.add_function(jaxpr, self.names[jaxpr], "private")
        return self.names[jaxpr]

    def location(self, eqn: JaxprEqn) -> str:
        """The MLIR location of an equation's place in the user's program, computed once each."""
        source = eqn.source
        if source is None:
            return "loc(unknown)"
        place = id(source.code), source.offset
        if place not in self.locations:
            self.locations[place] = f"loc({quoted(source.code.co_filename)}:{source.line}:1)"
        return self.locations[place]

    def text(self, name: str) -> str:
        """The text of the module, whose name is a symbol."""
        return "\n".join([f"module @{name} {{", *self.functions, "}", ""])


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
        self, name: str, visibility: str, params: Sequence[Value], outs: Sequence[Value]
    ) -> None:
        """Add the function of these lines to the module."""
        declared = [f"{x.name}: {mlir_type(x.aval)}" for x in params]
        types = [mlir_type(x.aval) for x in outs]
        names = ", ".join(x.name for x in outs)
        result = f"    return {names} : {', '.join(types)}" if outs else "    return"
        head = f"  {self.head(name, visibility, declared, types)} {{"
        self.module.functions.append("\n".join([head, *self.lines, result, "  }"]))

    def head(self, name: str, visibility: str, params: Sequence[str], outs: Sequence[str]) -> str:
        """The declaration of the function, from its parameters' and results' declarations."""
        types = f"({', '.join(params)}) -> ({', '.join(outs)})"
        return f"func.func {visibility} @{name}{types}"

    def fresh_name(self) -> str:
        self.count += 1
        return f"%{self.count - 1}"

    def constant(self, value: Any, aval: ShapedArray) -> Value:
        """A scalar, or an array filled with it."""
        text = f"dense<{scalar_text(value, aval.dtype)}>"
        (out,) = self.emit(f"stablehlo.constant {text} : {mlir_type(aval)}", aval)
        return out

    def broadcast(self, x: Value, shape: Shape) -> Value:
        """An operand broadcast to the shape of the result."""
        if x.aval.shape == shape:
            return x
        aval = ShapedArray(shape, x.aval.dtype)
        dims = [*range(x.aval.ndim)]
        text = f"stablehlo.broadcast_in_dim {x.name}, dims = {dims}"
        return self.emit(f"{text} : {signature([x], [aval])}", aval)[0]

    def reshape(self, x: Value, shape: Shape) -> Value:
        aval = ShapedArray(shape, x.aval.dtype)
        (out,) = self.emit(f"stablehlo.reshape {x.name} : {signature([x], [aval])}", aval)
        return out

    def lower_jaxpr(self, jaxpr: Jaxpr, params: Sequence[Value]) -> list[Value]:
        """Write the equations of `jaxpr`, in order, and return its results."""
        values: dict[Var, Value] = dict(zip([*jaxpr.constvars, *jaxpr.invars], params, strict=True))

        def read(atom: Atom) -> Value:
            if isinstance(atom, Literal):
                return self.constant(atom.val, atom.aval)
            return values[atom]

        for eqn in jaxpr.eqns:
            self.location = self.module.location(eqn)
            outs = self.lower_eqn(eqn, [read(atom) for atom in eqn.invars])
            values.update(zip(eqn.outvars, outs, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def lower_eqn(self, eqn: JaxprEqn, operands: Sequence[Value]) -> Sequence[Value]:
        """Write an equation by the rule of its primitive, and return its results."""
        rule = lowering_rules[eqn.primitive]
        outs: Sequence[Value] = rule(
            self, [var.aval for var in eqn.outvars], *operands, **eqn.params
        )
        return outs


def lower_to_module(jaxpr: Jaxpr, name: str) -> str:
    """The StableHLO module whose function `main` computes `jaxpr`; constants come first."""
    module = ModuleBuilder()
    module.add_function(jaxpr, "main", "public")
    return module.text(symbol(name))


def signature(operands: Sequence[Value], out_avals: Sequence[ShapedArray]) -> str:
    """The type of an operation.

    >>> row = ShapedArray((2,), "float32")
    >>> signature([Value("%x", row)], [row])
    '(tensor<2xf32>) -> tensor<2xf32>'
    """
    ins = ", ".join([mlir_type(operand.aval) for operand in operands])
    outs = ", ".join(map(mlir_type, out_avals))
    return f"({ins}) -> {outs if len(out_avals) == 1 else f'({outs})'}"


def quoted(text: str) -> str:
    """`text` as an MLIR string, without surrogates, which UTF-8 cannot encode."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return '"' + re.sub(r'[\\"\n]', lambda match: f"\\{ord(match[0]):02x}", text) + '"'


def symbol(name: str) -> str:
    """`name` as a valid MLIR symbol."""
    return re.sub(r"\W|^(?=\d|$)", "_", name, flags=re.ASCII)
