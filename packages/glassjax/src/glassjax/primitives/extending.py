"""Extending the library: primitives, traces, types, jaxprs, and tables of rules."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import glassjax_stage2 as stage2
import glassjax_stage3 as stage3
import glassjax_stage4 as stage4
from glassjax.dimensions.expressions import max_size, min_size, require_size
from glassjax.errors.arguments import checking_arguments, require_flags
from glassjax.errors.tracebacks import hiding_frames
from glassjax.primitives import declare as declaring
from glassjax.primitives.declare import leading_batch, lower_by, types_by
from glassjax.primitives.methods import set_methods
from glassjax.primitives.sharding_rules import by_batch, by_elements, by_lines, by_reduction
from glassjax.runtime.array import to_array
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.jax_params import read, read_jaxpr
from glassjax.runtime.operation import promoting
from glassjax.runtime.printed_jaxpr import printed_jaxpr
from glassjax.settings.names import counted
from glassjax.shardings.types import ShapedArray
from glassjax_stage2 import Primitive, arguments, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.jvp import jvp_flat
from glassjax_stage2.shaped_array import aval_rules
from glassjax_stage2.tree import PyTreeDef
from glassjax_stage2.vmap import move_batch_dim, vmap_flat
from glassjax_stage2.vmap_rules import elementwise as vmap_elementwise
from glassjax_stage3 import Jaxpr
from glassjax_stage3.jaxpr import inner_jaxprs
from glassjax_stage3.lowering import mlir_type, signature
from glassjax_stage3.staging import trace_to_jaxpr

jvp_flat, vmap_flat = hiding_frames(jvp_flat), hiding_frames(vmap_flat)
move_batch_dim, trace_to_jaxpr = hiding_frames(move_batch_dim), hiding_frames(trace_to_jaxpr)
inner_jaxprs, signature = hiding_frames(inner_jaxprs), hiding_frames(signature)
mlir_type, typeof = hiding_frames(mlir_type), hiding_frames(typeof)
leading_batch, lower_by = checking_arguments(leading_batch), checking_arguments(lower_by)
types_by, vmap_elementwise = checking_arguments(types_by), checking_arguments(vmap_elementwise)
by_batch, by_elements = checking_arguments(by_batch), checking_arguments(by_elements)
by_lines, by_reduction = checking_arguments(by_lines), checking_arguments(by_reduction)
declare, reduction = hiding_frames(declaring.declare), hiding_frames(declaring.reduction)
defjvp, deflinear = hiding_frames(stage2.defjvp), hiding_frames(stage2.deflinear)
defzero, deftranspose = hiding_frames(stage2.defzero), hiding_frames(stage4.deftranspose)


@hiding_frames
@functools.wraps(stage2.bind)
def bind(primitive: Primitive, *args: Any, **params: Any) -> list[Any]:
    return stage2.bind(primitive, *args, **read(primitive, params))


@hiding_frames
@functools.wraps(declaring.unary)
def unary(name: str, doc: str, *, kinds: str = "fc", **rules: Any) -> declaring.Unary:
    function = declaring.unary(name, doc, kinds=kinds, **rules)
    return promoting(function, inexact="i" not in kinds)


@hiding_frames
@functools.wraps(declaring.binary)
def binary(name: str, doc: str, *, kinds: str = "iufc", **rules: Any) -> declaring.Binary:
    function = declaring.binary(name, doc, kinds=kinds, **rules)
    return promoting(function, inexact="i" not in kinds)


@evaluated_by_library
@functools.wraps(stage3.eval_jaxpr)
def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    return [to_array(out) for out in stage3.eval_jaxpr(read_jaxpr(jaxpr), consts, *args)]


@hiding_frames
@functools.wraps(stage3.dce_jaxpr)
def dce_jaxpr(jaxpr: Jaxpr, used_outputs: Sequence[bool] | None = None) -> tuple[Jaxpr, list[bool]]:
    count = len(jaxpr.outvars)
    if used_outputs is not None:
        if len(used_outputs) != count:
            raise ValueError(
                f"dce_jaxpr: used_outputs must be one for each of {counted(count, 'result')}, "
                f"found {len(used_outputs)}"
            )
        for each in used_outputs:
            require_flags("dce_jaxpr", used_outputs=each)
    smaller, used = stage3.dce_jaxpr(read_jaxpr(jaxpr), used_outputs)
    return printed_jaxpr(smaller), used


@hiding_frames
@functools.wraps(stage3.typecheck_jaxpr)
def typecheck_jaxpr(jaxpr: Jaxpr) -> tuple[list[stage2.ShapedArray], list[stage2.ShapedArray]]:
    return stage3.typecheck_jaxpr(read_jaxpr(jaxpr))


set_methods()

pytype_aval_mappings = aval_rules  # for each class, a function from values to types
ParamDict = dict[str, Any]  # the parameters of an equation
Value = Any  # an array, a number or a tracer
AbstractValue = ShapedArray  # JAX's base class of types; here all types derive from ShapedArray


@checking_arguments
def max_dim(d1: int, d2: int) -> int:
    """The larger of two sizes of axes; if that depends on dimension variables, an expression.

    >>> max_dim(2, 3)
    3
    """
    return max_size(require_size("max_dim", d1), require_size("max_dim", d2))


@checking_arguments
def min_dim(d1: int, d2: int) -> int:
    """The smaller of two sizes of axes; if that depends on dimension variables, an expression.

    >>> min_dim(2, 3)
    2
    """
    return min_size(require_size("min_dim", d1), require_size("min_dim", d2))


class FlatFunction(arguments.FlatFunction):
    """A function with flattened arguments and a flattened result, for interpreters.

    The structure of the result, `out_tree`, is known once the function has been called.

    Arguments:
        fun: function of pytrees.
        in_tree: structure of the tuple of its positional arguments; or, with `has_kwargs`, of
            the pair of that tuple and the dict of its keyword arguments.

    Raises:
        TypeError: `fun` is not a function, or `in_tree` not a structure.

    >>> leaves, tree = glassjax.tree.flatten(({"x": 1.0, "y": 2.0},))
    >>> total = FlatFunction(lambda point: [point["x"] + point["y"]], tree)
    >>> total(*leaves), total.out_tree
    ([3.0], PyTreeDef([*]))
    """

    def __init__(self, fun: Callable[..., Any], in_tree: PyTreeDef, has_kwargs: bool = False):
        arguments.require_function("FlatFunction", fun)
        if not isinstance(in_tree, PyTreeDef):
            raise TypeError(f"FlatFunction: in_tree must be a PyTreeDef, found {shown(in_tree)}")
        super().__init__(fun, in_tree, has_kwargs)


@checking_arguments
@functools.wraps(stage3.jaxpr_as_fun)
def jaxpr_as_fun(closed_jaxpr: Jaxpr) -> Callable[..., list[Any]]:
    program = read_jaxpr(closed_jaxpr)
    return evaluated_by_library(stage3.jaxpr_as_fun(program))


# Functions of the stages and of other modules, wrapped above.
__all__ = [
    "by_batch", "by_elements", "by_lines", "by_reduction", "inner_jaxprs", "jvp_flat",
    "leading_batch", "lower_by", "mlir_type", "move_batch_dim", "signature", "trace_to_jaxpr",
    "typeof", "types_by", "vmap_elementwise", "vmap_flat",
]  # fmt: skip
