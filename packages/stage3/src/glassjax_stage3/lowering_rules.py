"""Lowering rules: each primitive in StableHLO.

A rule `(builder, out_avals, *operands, **params)` emits lines and returns the results.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassjax_stage2 import ShapedArray
from glassjax_stage2 import primitives as p
from glassjax_stage2.shaped_array import Shape, is_inexact
from glassjax_stage3.lowering import FunctionBuilder, Value, lowering_rules, mlir_type, signature

Avals = Sequence[ShapedArray]
Rule = Callable[..., list[Value]]


def elementwise(operation: str) -> Rule:
    """The rule of a primitive that is one operation of StableHLO on operands of one type."""

    def elementwise_lower(b: FunctionBuilder, out_avals: Avals, *operands: Value) -> list[Value]:
        (out,) = out_avals
        names = ", ".join(b.broadcast(x, out.shape).name for x in operands)
        return b.emit(f"stablehlo.{operation} {names} : {mlir_type(out)}", out)

    return elementwise_lower


def _add_lower(b: FunctionBuilder, out_avals: Avals, x: Value, y: Value) -> list[Value]:
    # XLA adds constant booleans modulo 2.
    operation = "or" if out_avals[0].dtype == np.bool_ else "add"
    return elementwise(operation)(b, out_avals, x, y)


def comparison_type(dtype: np.dtype[Any]) -> str:
    """StableHLO's comparison type for a dtype; float0 is stored as booleans."""
    if is_inexact(dtype):
        return "FLOAT"
    return "SIGNED" if dtype.name.startswith("int") else "UNSIGNED"


def comparison(direction: str) -> Rule:
    def comparison_lower(b: FunctionBuilder, out_avals: Avals, x: Value, y: Value) -> list[Value]:
        (out,) = out_avals
        x, y = b.broadcast(x, out.shape), b.broadcast(y, out.shape)
        kind = comparison_type(x.aval.dtype)
        types = signature([x, y], out_avals)
        return b.emit(f"stablehlo.compare {direction}, {x.name}, {y.name}, {kind} : {types}", out)

    return comparison_lower


lowering_rules[p.neg_p] = elementwise("negate")
lowering_rules[p.sin_p] = elementwise("sine")
lowering_rules[p.cos_p] = elementwise("cosine")
lowering_rules[p.exp_p] = elementwise("exponential")
lowering_rules[p.log_p] = elementwise("log")

lowering_rules[p.add_p] = _add_lower
lowering_rules[p.sub_p] = elementwise("subtract")
lowering_rules[p.mul_p] = elementwise("multiply")
lowering_rules[p.div_p] = elementwise("divide")
lowering_rules[p.pow_p] = elementwise("power")

lowering_rules[p.eq_p] = comparison("EQ")
lowering_rules[p.ne_p] = comparison("NE")
lowering_rules[p.lt_p] = comparison("LT")
lowering_rules[p.le_p] = comparison("LE")
lowering_rules[p.gt_p] = comparison("GT")
lowering_rules[p.ge_p] = comparison("GE")


def _select_n_lower(
    b: FunctionBuilder, out_avals: Avals, which: Value, on_false: Value, on_true: Value
) -> list[Value]:
    (out,) = out_avals
    which, on_false, on_true = (b.broadcast(x, out.shape) for x in (which, on_false, on_true))
    names = f"{which.name}, {on_true.name}, {on_false.name}"
    return b.emit(f"stablehlo.select {names} : {mlir_type(which.aval)}, {mlir_type(out)}", out)


lowering_rules[p.select_n_p] = _select_n_lower


def _convert_element_type(
    b: FunctionBuilder,
    out_avals: Avals,
    x: Value,
    *,
    new_dtype: np.dtype[Any],
    weak_type: bool = False,
) -> list[Value]:
    (out,) = out_avals
    if new_dtype == np.bool_:
        zero = b.constant(0, ShapedArray((), x.aval.dtype))
        return comparison("NE")(b, out_avals, x, zero)
    if x.aval.dtype.kind == "c" and new_dtype.kind != "c":  # the imaginary part is dropped
        real = ShapedArray(x.aval.shape, np.finfo(x.aval.dtype).dtype)
        (x,) = b.emit(f"stablehlo.real {x.name} : {signature([x], [real])}", real)
    return b.emit(f"stablehlo.convert {x.name} : {signature([x], out_avals)}", out)


lowering_rules[p.convert_element_type_p] = _convert_element_type


def _reduce_sum(b: FunctionBuilder, out_avals: Avals, x: Value, *, axes: Shape) -> list[Value]:
    (out,) = out_avals
    zero = b.constant(0, ShapedArray((), out.dtype))
    return b.emit(
        f"stablehlo.reduce({x.name} init: {zero.name}) applies stablehlo.add "
        f"across dimensions = {list(axes)} : {signature([x, zero], out_avals)}",
        out,
    )


def _transpose_lower(
    b: FunctionBuilder, out_avals: Avals, x: Value, *, permutation: Shape
) -> list[Value]:
    types = signature([x], out_avals)
    return b.emit(f"stablehlo.transpose {x.name}, dims = {list(permutation)} : {types}", *out_avals)


def _reshape(b: FunctionBuilder, out_avals: Avals, x: Value, *, new_sizes: Shape) -> list[Value]:
    return [b.reshape(x, new_sizes)]


def _broadcast_in_dim_lower(
    b: FunctionBuilder, out_avals: Avals, x: Value, *, shape: Shape, broadcast_dimensions: Shape
) -> list[Value]:
    types = signature([x], out_avals)
    dims = list(broadcast_dimensions)
    return b.emit(f"stablehlo.broadcast_in_dim {x.name}, dims = {dims} : {types}", *out_avals)


def _dot_general_lower(
    b: FunctionBuilder,
    out_avals: Avals,
    x: Value,
    y: Value,
    *,
    dimension_numbers: p.DotDimensionNumbers,
    preferred_element_type: np.dtype[Any] | None = None,
    **params: str,
) -> list[Value]:
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    attributes = "".join(f", {name} = {value}" for name, value in params.items())
    batching = f"batching_dims = {list(x_batch)} x {list(y_batch)}, " if x_batch else ""
    return b.emit(
        f"stablehlo.dot_general {x.name}, {y.name}, {batching}"
        f"contracting_dims = {list(x_contract)} x {list(y_contract)}{attributes} "
        f": {signature([x, y], out_avals)}",
        *out_avals,
    )


lowering_rules[p.reduce_sum_p] = _reduce_sum
lowering_rules[p.transpose_p] = _transpose_lower
lowering_rules[p.reshape_p] = _reshape
lowering_rules[p.broadcast_in_dim_p] = _broadcast_in_dim_lower
lowering_rules[p.dot_general_p] = _dot_general_lower
