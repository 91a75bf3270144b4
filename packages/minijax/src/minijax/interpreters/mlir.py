"""Lowering rules, under the names of `jax.interpreters.mlir`.

A rule takes a context and the operands as values of MLIR, and builds operations by jaxlib's
bindings, `jaxlib.mlir.dialects.stablehlo` among them; it returns the results. `lower_fun` makes
such a rule of a function of arrays. Rules of this library write text, see
`minijax.core.FunctionBuilder`, and what such a rule builds becomes a function in that text.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minijax.callbacks.ffi_attributes import attribute_text
from minijax.primitives.array_constants import array_text
from minijax.primitives.decomposition import lower_by, results_of
from minijax.xla.mlir import dialect, ir, mlir_context
from minijax_stage2 import Primitive, ShapedArray
from minijax_stage2.shown import counted
from minijax_stage3 import lowering_rules
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage3.lowering import (
    FunctionBuilder,
    ModuleBuilder,
    Value,
    element_type,
    mlir_type,
    signature,
    symbol,
)
from minijax_stage3.staging import trace_to_jaxpr

Rule = Callable[..., Any]


def make_ir_context() -> Any:
    """A new context of MLIR that knows XLA's dialects."""
    return mlir_context()


def dtype_to_ir_type(dtype: Any) -> Any:
    """The type of elements of a dtype, in the current context."""
    return ir().Type.parse(element_type(np.dtype(dtype)))


def aval_to_ir_type(ctx: Any, aval: ShapedArray | None = None) -> Any:
    """The type of arrays, in the current context."""
    return ir().Type.parse(mlir_type(ctx if aval is None else aval))


def aval_to_ir_types(ctx: Any, aval: ShapedArray | None = None) -> tuple[Any, ...]:
    """The type of arrays, as the only one of a tuple."""
    return (aval_to_ir_type(ctx, aval),)


def ir_constant(val: Any, **options: Any) -> Any:
    """A constant in the current function: a number or an array."""
    return dialect("stablehlo").constant(dense_elements(np.asarray(val)))


def dense_elements(val: Any) -> Any:
    """The elements of an array as an attribute."""
    return ir().Attribute.parse(array_text(val))


def dense_int_elements(xs: Sequence[int]) -> Any:
    """Integers as an attribute of 64-bit elements."""
    return ir().DenseIntElementsAttr.get(np.asarray(xs, np.int64))


def dense_int_array(xs: Sequence[int]) -> Any:
    """Integers as an attribute, an array of 64 bits."""
    return ir().DenseI64ArrayAttr.get(np.asarray(xs, np.int64))


def i32_attr(i: int) -> Any:
    """An integer of 32 bits as an attribute."""
    return ir().IntegerAttr.get(ir().IntegerType.get_signless(32), i)


def i64_attr(i: int) -> Any:
    """An integer of 64 bits as an attribute."""
    return ir().IntegerAttr.get(ir().IntegerType.get_signless(64), i)


def ir_attribute(val: Any) -> Any:
    """A Python value as an attribute, in the current context.

    Arguments:
        val: a number, a truth value, text, an array of numpy, a dtype, a dict or a sequence of
            these; attributes and types of MLIR stay what they are.

    Raises:
        TypeError: it is something else.
    """
    return ir().Attribute.parse(attribute_text(val))


def flatten_ir_values(xs: Any) -> list[Any]:
    """The values among the results of a rule, which may be operations and nested lists of them."""
    found: list[Any] = []
    for x in xs if isinstance(xs, list | tuple) else [xs]:
        if isinstance(x, list | tuple):
            found += flatten_ir_values(x)
        elif hasattr(x, "results"):
            found += x.results
        else:
            found.append(x)
    return found


@dataclass(frozen=True)
class ModuleContext:
    """The module that a rule writes into.

    Attributes:
        module: the module.
        platforms: the platforms that it is for.
    """

    module: Any
    platforms: tuple[str, ...]


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


class lower_fun:
    """The lowering rule of a function of arrays.

    Arguments:
        fun: function of the operands, with the parameters by keyword.
        multiple_results: whether it returns a list of results, and not one.
    """

    def __init__(self, fun: Callable[..., Any], multiple_results: bool = True):
        self.function = results_of(fun) if multiple_results else lambda *a, **kw: [fun(*a, **kw)]

    def __call__(self, ctx: LoweringRuleContext, *operands: Any, **params: Any) -> list[Any]:
        """Write the function into the module of `ctx`, and a call of it."""
        of_arrays = lambda *xs: self.function(*xs, **params)  # noqa: E731
        closed = trace_to_jaxpr(of_arrays, ctx.avals_in, "lowering", self.function)
        module = ctx.module_context.module
        builder = ModuleBuilder(ctx.module_context.platforms[0])
        builder.add_function(consts_as_invars(closed.jaxpr), "main", "private")
        main = f"part{len(module.body.operations)}_"
        for text in _renamed(builder.functions, main):
            module.body.append(ir().Operation.parse(text))
        types = [aval_to_ir_type(aval) for aval in closed.out_avals]
        name = ir().FlatSymbolRefAttr.get(f"{main}main")
        call = dialect("func").CallOp
        consts = [ir_constant(const) for const in closed.consts]
        return list(call(types, name, [*consts, *operands]).results)


def _renamed(functions: Sequence[str], prefix: str) -> list[str]:
    """The texts of functions, with a prefix to the names of all of them."""
    names = [re.search(r"@(\w+)", text)[1] for text in functions]  # type: ignore[index]
    pattern = re.compile(rf"@({'|'.join(names)})\b")
    return [pattern.sub(rf"@{prefix}\1", text) for text in functions]


def register_lowering(
    prim: Primitive,
    rule: Rule,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> Rule:
    """Enter the lowering rule of a primitive.

    Arguments:
        prim: the primitive.
        rule: the rule.
        platform: the platform that it is for, "cpu" or "cuda"; by default all others.
        inline: of no effect.
        cacheable: of no effect.
    """
    ours = lower_by(rule.function) if isinstance(rule, lower_fun) else _through_bindings(prim, rule)
    previous = lowering_rules.get(prim)
    by_platform = getattr(previous, "by_platform", {})
    otherwise: Rule | None = ours
    if platform is not None:
        by_platform = {**by_platform, platform: ours}
        otherwise = getattr(previous, "otherwise", previous)
    lowering_rules[prim] = _by_platform(prim, by_platform, otherwise) if by_platform else ours
    return rule


def _by_platform(prim: Primitive, by_platform: dict[str, Rule], otherwise: Rule | None) -> Rule:
    def ours(
        b: FunctionBuilder, out_avals: Sequence[ShapedArray], *operands: Value, **params: Any
    ) -> list[Value]:
        rule = by_platform.get(b.module.platform, otherwise)
        if rule is None:
            raise NotImplementedError(
                f"the primitive `{prim}` has no lowering rule for {b.module.platform}: it has one "
                f"for {', '.join(by_platform)}"
            )
        return rule(b, out_avals, *operands, **params)

    ours.by_platform = by_platform  # type: ignore[attr-defined]
    ours.otherwise = otherwise  # type: ignore[attr-defined]
    return ours


def _through_bindings(prim: Primitive, rule: Rule) -> Rule:
    """Our rule, which writes text, from one that builds operations."""

    def ours(
        b: FunctionBuilder, out_avals: Sequence[ShapedArray], *operands: Value, **params: Any
    ) -> list[Value]:
        func = dialect("func")
        name = f"{symbol(prim.name)}_{len(b.module.names)}"
        b.module.names[object()] = name
        with make_ir_context(), ir().Location.unknown():
            module = ir().Module.create()
            context = ModuleContext(module, (b.module.platform,))
            in_avals = [x.aval for x in operands]
            types = [aval_to_ir_type(context, aval) for aval in in_avals]
            out_types = [aval_to_ir_type(context, aval) for aval in out_avals]
            with ir().InsertionPoint(module.body):
                written = func.FuncOp(name, (types, out_types), visibility="private")
            with ir().InsertionPoint(written.add_entry_block()):
                ctx = LoweringRuleContext(context, prim, in_avals, list(out_avals))
                outs = flatten_ir_values(rule(ctx, *written.arguments, **params))
                if len(outs) != len(out_avals):
                    raise TypeError(
                        f"the lowering rule of `{prim}` must return "
                        f"{counted(len(out_avals), 'value')}, found {len(outs)}"
                    )
                func.ReturnOp(outs)
            texts = [op.get_asm(enable_debug_info=False) for op in module.body.operations]
        b.module.functions += _renamed(texts, f"{name}_")
        name = f"{name}_{name}"
        names = ", ".join(x.name for x in operands)
        return b.emit(f"func.call @{name}({names}) : {signature(operands, out_avals)}", *out_avals)

    return ours


__all__ = [
    "LoweringRuleContext", "ModuleContext", "aval_to_ir_type", "aval_to_ir_types",
    "dense_int_array", "dense_int_elements", "dtype_to_ir_type", "flatten_ir_values", "i32_attr",
    "i64_attr", "ir_attribute", "ir_constant", "lower_fun", "make_ir_context", "register_lowering",
]  # fmt: skip
