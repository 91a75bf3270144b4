"""Lowering rules, under the names of `jax.interpreters.mlir`.

A rule takes a context and the operands as MLIR values, builds operations with jaxlib's bindings,
such as `jaxlib.mlir.dialects.stablehlo`, and returns the results. `lower_fun` makes such a rule
from a function of arrays. The rules of this library write text, see
`glassjax.core.FunctionBuilder`; the operations that a rule builds become a function in that text.
"""

import io
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import glassjax_stage3 as stage3
from glassjax.callbacks import io_callback, pure_callback
from glassjax.primitives.declare import array_text, lower_by, results_of
from glassjax.primitives.methods import as_result
from glassjax.primitives.routines import attribute_text
from glassjax.runtime.array import to_array
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.jax_params import read_jaxpr
from glassjax.runtime.lowering import Module, platform_of
from glassjax.runtime.program import compile_primitive, run_program
from glassjax.settings.names import counted
from glassjax.shardings.mesh import Mesh
from glassjax.xla.clients import pytree_registry_of
from glassjax.xla.executables import context_class, dialect, dialects, mlir_context
from glassjax.xla.executables import ir as _ir
from glassjax_stage2 import Primitive, ShapedArray, typeof
from glassjax_stage3 import Jaxpr, lowering_rules
from glassjax_stage3.jaxpr import consts_as_invars
from glassjax_stage3.staging import trace_to_jaxpr

# The context of a lowering rule.


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
        """Keep an object alive, such as a Python function that a program calls.

        It is kept until the process ends, as no event marks the end of the last program that needs
        it.
        """
        _kept.append(keepalive)


@dataclass(frozen=True)
class LoweringRuleContext:
    """The context of a lowering rule: everything but the operands.

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


# Types, attributes and constants.


LoweringRule = Callable[..., Any]
MeshAxisName = Any
ConstantHandler = Callable[..., Any]

# The kinds of channels between devices and the host, as StableHLO numbers them.
DEVICE_TO_DEVICE_TYPE, SEND_TO_HOST_TYPE, RECV_FROM_HOST_TYPE = 1, 2, 3

_constant_handlers: dict[type, ConstantHandler] = {}


def make_ir_context() -> Any:
    """A new MLIR context with XLA's dialects."""
    return mlir_context()


def dtype_to_ir_type(dtype: Any) -> Any:
    """The type of elements of a dtype, in the current context."""
    return _ir().Type.parse(stage3.lowering.element_type(np.dtype(dtype)))


def aval_to_ir_type(ctx: Any, aval: ShapedArray | None = None) -> Any:
    """The type of arrays, in the current context."""
    return _ir().Type.parse(stage3.lowering.mlir_type(ctx if aval is None else aval))


def aval_to_ir_types(ctx: Any, aval: ShapedArray | None = None) -> tuple[Any, ...]:
    """The type of arrays, as the only one of a tuple."""
    return (aval_to_ir_type(ctx, aval),)


def ir_constant(val: Any, *, const_lowering: Any = None, aval: Any = None) -> Any:
    """A constant in the current function: a number, an array, or a value of a class with a handler.

    Arguments:
        val: the value.
        const_lowering: ignored; no constant is an argument of a program here.
        aval: its type, passed to a handler.
    """
    for each in type(val).__mro__:
        if each in _constant_handlers:
            return _constant_handlers[each](val, aval)
    return dialect("stablehlo").constant(dense_elements(np.asarray(val)))


def ir_constants(val: Any, **options: Any) -> tuple[Any, ...]:
    """`ir_constant`, as a tuple."""
    found = ir_constant(val, **options)
    return found if isinstance(found, tuple) else (found,)


def register_constant_handler(type_: type, handler_fun: ConstantHandler) -> None:
    """Let `handler_fun(val, aval)` write values of a class for `ir_constant`."""
    _constant_handlers[type_] = handler_fun


def dense_elements(val: Any) -> Any:
    """The elements of an array as an attribute."""
    return _ir().Attribute.parse(array_text(val))


def dense_int_elements(xs: Sequence[int]) -> Any:
    """Integers as an attribute of 64-bit elements."""
    return _ir().DenseIntElementsAttr.get(np.asarray(xs, np.int64))


def dense_int_array(xs: Sequence[int]) -> Any:
    """Integers as an attribute, an array of 64 bits."""
    return _ir().DenseI64ArrayAttr.get(np.asarray(xs, np.int64))


def i32_attr(i: int) -> Any:
    """An integer of 32 bits as an attribute."""
    return _ir().IntegerAttr.get(_ir().IntegerType.get_signless(32), i)


def i64_attr(i: int) -> Any:
    """An integer of 64 bits as an attribute."""
    return _ir().IntegerAttr.get(_ir().IntegerType.get_signless(64), i)


def ir_attribute(val: Any) -> Any:
    """A Python value as an attribute, in the current context.

    Arguments:
        val: a number, bool, string, numpy array, dtype, or a dict or sequence of these; MLIR
            attributes and types are unchanged.

    Raises:
        TypeError: it is something else.
    """
    return _ir().Attribute.parse(attribute_text(val))


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


def flatten_ir_types(xs: Any) -> list[Any]:
    """The types among nested tuples and lists of them."""
    return list(_tree_registry().flatten(xs)[0])


def unflatten_ir_values_like_types(xs: Sequence[Any], ys: Any) -> Any:
    """The values `xs`, nested as the types `ys` are."""
    return _tree_registry().flatten(ys)[1].unflatten(xs)


@cache
def _tree_registry() -> Any:
    registry = pytree_registry_of("tuple", "list")
    registry.register_node(_ir().OpResultList, lambda xs: (xs, None), lambda _, xs: list(xs))
    return registry


def token_type() -> Any:
    """The type of tokens, which order effects, in the current context."""
    return dialect("stablehlo").TokenType.get()


def shape_tensor(ctx: Any, sizes: Sequence[Any]) -> Any:
    """Sizes, integers or scalar values, as one vector of 32-bit integers."""
    hlo, number = dialect("stablehlo"), aval_to_ir_type(ShapedArray((), np.int32))
    vector = aval_to_ir_type(ShapedArray((1,), np.int32))
    parts = [
        ir_constant(np.array([size], np.int32))
        if isinstance(size, int)
        else hlo.reshape(vector, size if size.type == number else hlo.convert(number, size))
        for size in sizes
    ]
    return hlo.concatenate(parts, 0) if parts else ir_constant(np.zeros(0, np.int32))


def module_to_string(module: Any, enable_debug_info: bool | None = None) -> str:
    """The text of a module, by default without source locations."""
    return str(module.operation.get_asm(enable_debug_info=bool(enable_debug_info)))


def module_to_bytecode(module: Any) -> bytes:
    """The bytecode of a module."""
    file = io.BytesIO()
    module.operation.write_bytecode(file=file)
    return file.getvalue()


def merge_mlir_modules(
    dst_module: Any, sym_name: str, src_module: Any, dst_symtab: Any = None
) -> str:
    """Add the functions of a module to another, as private ones.

    Arguments:
        dst_module: the module to add them to.
        sym_name: the new name of `main`; names in use get a number.
        src_module: the module with the functions, which does not change.
        dst_symtab: the symbol table of `dst_module`, to which they are added too.

    Returns:
        The name of `main` there.
    """
    names = {op.attributes["sym_name"].value: "" for op in src_module.body.operations}
    taken = {op.attributes["sym_name"].value for op in dst_module.body.operations}
    for name in names:
        wanted = sym_name if name == "main" else name
        numbered = (f"{wanted}_{number}" for number in itertools.count())
        candidates = itertools.chain([wanted], numbered)
        names[name] = next(each for each in candidates if each not in taken)
        taken.add(names[name])
    texts = [
        re.sub(r"@([\w.$-]+)", lambda m: f"@{names.get(m[1], m[1])}", op.get_asm())
        for op in src_module.body.operations
    ]
    for op in _append(dst_module, texts):
        op.attributes["sym_visibility"] = _ir().StringAttr.get("private", dst_module.context)
        if dst_symtab is not None:
            dst_symtab.insert(op)
    return names["main"]


def jaxpr_subcomp(
    ctx: ModuleContext,
    jaxpr: Any,
    name_stack: Any,
    tokens: Any,
    consts_for_constvars: Sequence[Any],
    *args: Any,
    dim_var_values: Sequence[Any] = (),
    const_lowering: Any = None,
    outer_traceback: Any = None,
) -> tuple[list[Any], Any]:
    """Write a call of a jaxpr into the current function.

    Arguments:
        ctx: the module, to which a function for the jaxpr is added.
        jaxpr: the jaxpr.
        name_stack: ignored.
        tokens: returned as they are: effects come in the order of the whole program.
        consts_for_constvars: MLIR values for the constants.
        args: values of MLIR for the arguments.
        dim_var_values, const_lowering, outer_traceback: ignored; shapes are known, and constants
            are written where they are used.

    Returns:
        The results as MLIR values, and `tokens`.
    """
    return _call_jaxpr(ctx, jaxpr, [*consts_for_constvars, *args]), tokens


def core_call_lowering(
    ctx: LoweringRuleContext, *args: Any, name: str, call_jaxpr: Any, **params: Any
) -> list[Any]:
    """The lowering rule of a primitive that calls a jaxpr.

    Arguments:
        ctx: the context of the rule.
        args: values of MLIR for the arguments.
        name: ignored.
        call_jaxpr: the jaxpr.
        params: other parameters of the primitive, ignored.
    """
    consts = [ir_constant(const) for const in call_jaxpr.consts]
    return _call_jaxpr(ctx.module_context, call_jaxpr, [*consts, *args])


def _append(module: Any, functions: Sequence[str]) -> list[Any]:
    """Add functions, which may call each other, to a module."""
    parsed = _ir().Module.parse("\n".join(functions), module.context)
    end = _ir().InsertionPoint(module.body)
    return [operation.operation.clone(end) for operation in parsed.body.operations]


def _call_jaxpr(ctx: ModuleContext, jaxpr: Jaxpr, operands: Sequence[Any]) -> list[Any]:
    """Write a function of the constants and arguments of a jaxpr, and a call of it."""
    builder = Module(ctx.platforms[0])
    builder.add_function(consts_as_invars(read_jaxpr(jaxpr)), "main", "private")
    prefix = f"part{len(ctx.module.body.operations)}_"
    _append(ctx.module, _prefix_functions(builder.functions, prefix))
    types = [aval_to_ir_type(aval) for aval in jaxpr.out_avals]
    callee = _ir().FlatSymbolRefAttr.get(f"{prefix}main")
    return list(dialect("func").CallOp(types, callee, [*operands]).results)


class lower_fun:
    """The lowering rule of a function of arrays.

    Arguments:
        fun: function of the operands, with the parameters by keyword.
        multiple_results: whether it returns a list of results instead of a single one.
    """

    def __init__(self, fun: Callable[..., Any], multiple_results: bool = True):
        self.function = results_of(fun) if multiple_results else lambda *a, **kw: [fun(*a, **kw)]

    def __call__(self, ctx: LoweringRuleContext, *operands: Any, **params: Any) -> list[Any]:
        """Write the function into the module of `ctx`, and a call of it."""
        arrays_fun = lambda *xs: self.function(*xs, **params)  # noqa: E731
        closed = trace_to_jaxpr(arrays_fun, ctx.avals_in, "lowering", self.function)
        consts = [ir_constant(const) for const in closed.consts]
        return _call_jaxpr(ctx.module_context, closed, [*consts, *operands])


def emit_python_callback(
    ctx: LoweringRuleContext,
    callback: Callable[..., Sequence[Any]],
    token: Any,
    operands: Sequence[Any],
    operand_avals: Sequence[ShapedArray],
    result_avals: Sequence[ShapedArray],
    *,
    has_side_effect: bool,
    returns_token: bool = True,
    partitioned: bool = False,
    sharding: Any = None,
) -> tuple[list[Any], Any, Any]:
    """Write a call of a Python function into the current function.

    Arguments:
        ctx: the context of the rule.
        callback: function of numpy arrays that returns a sequence of arrays.
        token: returned as it is: effects come in the order of the whole program.
        operands: the arguments, as MLIR values.
        operand_avals: their types.
        result_avals: the types of the results.
        has_side_effect: whether to call it even if its results are not used.
        returns_token, partitioned, sharding: ignored.

    Returns:
        The results, the token, and an object that must live as long as the program: pass it to
        `ctx.module_context.add_keepalive`.
    """

    def on_host(*arrays: Any) -> tuple[Any, ...]:
        return tuple(callback(*map(np.asarray, arrays)))

    def callback_program(*arrays: Any) -> list[Any]:
        call = io_callback if has_side_effect else pure_callback
        return list(call(on_host, tuple(result_avals), *arrays))

    closed = trace_to_jaxpr(callback_program, operand_avals, "lowering", callback)
    return _call_jaxpr(ctx.module_context, closed, operands), token, closed


def _prefix_functions(functions: Sequence[str], prefix: str) -> list[str]:
    """The texts of functions, with all their names prefixed."""
    names = [re.search(r"@(\w+)", text)[1] for text in functions]  # type: ignore[index]
    pattern = re.compile(rf"@({'|'.join(names)})\b")
    return [pattern.sub(rf"@{prefix}\1", text) for text in functions]


def register_lowering(
    prim: Primitive,
    rule: LoweringRule,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> LoweringRule:
    """Register the lowering rule of a primitive.

    Arguments:
        prim: the primitive.
        rule: the rule.
        platform: the platform of the rule, "cpu" or "cuda"; by default all platforms without their
            own rule.
        inline: ignored.
        cacheable: ignored.
    """
    ours = lower_by(rule.function) if isinstance(rule, lower_fun) else _through_bindings(prim, rule)
    previous = lowering_rules.get(prim)
    by_platform = getattr(previous, "by_platform", {})
    otherwise: LoweringRule | None = ours
    if platform is not None:
        by_platform = {**by_platform, platform: ours}
        otherwise = getattr(previous, "otherwise", previous)
    lowering_rules[prim] = _by_platform(prim, by_platform, otherwise) if by_platform else ours
    return rule


def _by_platform(
    prim: Primitive, by_platform: dict[str, LoweringRule], otherwise: LoweringRule | None
) -> LoweringRule:
    def platform_lower(
        b: stage3.lowering.FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        *operands: stage3.lowering.Value,
        **params: Any,
    ) -> list[stage3.lowering.Value]:
        rule = by_platform.get(platform_of(b), otherwise)
        if rule is None:
            raise NotImplementedError(
                f"the primitive `{prim}` has no lowering rule for {platform_of(b)}: it has one "
                f"for {', '.join(by_platform)}"
            )
        return rule(b, out_avals, *operands, **params)

    platform_lower.by_platform = by_platform  # type: ignore[attr-defined]
    platform_lower.otherwise = otherwise  # type: ignore[attr-defined]
    return platform_lower


def _through_bindings(prim: Primitive, rule: LoweringRule) -> LoweringRule:
    """Our rule, which writes text, from a rule that builds operations."""

    def bindings_lower(
        b: stage3.lowering.FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        *operands: stage3.lowering.Value,
        **params: Any,
    ) -> list[stage3.lowering.Value]:
        func = dialect("func")
        name = f"{stage3.lowering.symbol(prim.name)}_{len(b.module.names)}"
        b.module.names[object()] = name
        with make_ir_context(), _ir().Location.unknown():
            module = _ir().Module.create()
            context = ModuleContext(module, (platform_of(b),))
            in_avals = [x.aval for x in operands]
            types = [aval_to_ir_type(context, aval) for aval in in_avals]
            out_types = [aval_to_ir_type(context, aval) for aval in out_avals]
            with _ir().InsertionPoint(module.body):
                written = func.FuncOp(name, (types, out_types), visibility="private")
            with _ir().InsertionPoint(written.add_entry_block()):
                ctx = LoweringRuleContext(context, prim, in_avals, list(out_avals))
                outs = flatten_ir_values(rule(ctx, *written.arguments, **params))
                if len(outs) != len(out_avals):
                    raise TypeError(
                        f"the lowering rule of `{prim}` must return "
                        f"{counted(len(out_avals), 'value')}, found {len(outs)}"
                    )
                func.ReturnOp(outs)
            texts = [op.get_asm(enable_debug_info=False) for op in module.body.operations]
        b.module.functions += _prefix_functions(texts, f"{name}_")
        name = f"{name}_{name}"
        names = ", ".join(x.name for x in operands)
        return b.emit(
            f"func.call @{name}({names}) : {stage3.lowering.signature(operands, out_avals)}",
            *out_avals,
        )

    return bindings_lower


ir: Any
ir_tree_registry: Any
Value: type


def __getattr__(name: str) -> Any:
    """Names of jaxlib's MLIR bindings, imported on demand because they take a while to load."""
    match name:
        case "ir":
            return _ir()
        case "Value":
            return _ir().Value
        case "JaxIrContext":
            return context_class()
        case "upstream_dialects":
            return dialects()
        case "ir_tree_registry":
            return _tree_registry()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# Evaluation of a primitive by its lowering rule (`jax.interpreters.xla`).


# Functions that convert arguments of a class for programs. Entries are ignored: a class counts as
# an array once `core.pytype_aval_mappings` has its type.
canonicalize_dtype_handlers = dict.fromkeys(
    [np.ndarray, np.generic, bool, int, float, complex], to_array
)


@evaluated_by_library
def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Compile a primitive by its lowering rule, and run it.

    Arguments:
        prim: the primitive.
        args: its operands.
        params: its parameters.

    Returns:
        Its result, or a list of them if it has `multiple_results`.

    Raises:
        MissingRuleError: it has no lowering rule.
    """
    in_avals = tuple(map(typeof, args))
    return as_result(prim, list(run_program(compile_primitive(prim, in_avals, params), args)))


__all__ = [
    "DEVICE_TO_DEVICE_TYPE", "RECV_FROM_HOST_TYPE", "SEND_TO_HOST_TYPE", "ConstantHandler",
    "LoweringRule", "LoweringRuleContext", "Mesh", "MeshAxisName", "ModuleContext", "Value",
    "aval_to_ir_type", "aval_to_ir_types", "core_call_lowering", "dense_int_array",
    "dense_int_elements", "dtype_to_ir_type", "emit_python_callback", "flatten_ir_types",
    "flatten_ir_values", "i32_attr",
    "i64_attr", "ir", "ir_attribute", "ir_constant", "ir_constants", "ir_tree_registry",
    "jaxpr_subcomp", "lower_fun", "make_ir_context", "merge_mlir_modules", "module_to_bytecode",
    "module_to_string", "register_constant_handler", "register_lowering", "shape_tensor",
    "token_type", "unflatten_ir_values_like_types",
]  # fmt: skip
