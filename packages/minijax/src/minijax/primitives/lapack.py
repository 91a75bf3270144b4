"""Calls of LAPACK's routines in the text of a program.

LAPACK stores matrices column by column, and reports success with a number. If it fails, the results
are NaN.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from minijax_stage2 import ShapedArray
from minijax_stage3.lowering import FunctionBuilder, Value, signature

_PREFIX = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def has_routines(dtype: "np.dtype[np.generic]") -> bool:
    """Return True if LAPACK computes with numbers of this dtype."""
    return dtype.name in _PREFIX


def routine(names: str | Sequence[str], dtype: "np.dtype[np.generic]") -> str:
    """The name of a routine for a dtype; it may differ for complex numbers.

    A complete name, which ends in `_ffi`, is used as it is.
    """
    if isinstance(names, str) and names.endswith("_ffi"):
        return names
    of_real, of_complex = (names, names) if isinstance(names, str) else names
    name = of_complex if dtype.kind == "c" else of_real
    return f"lapack_{_PREFIX[dtype.name]}{name}_ffi"


def call(
    b: FunctionBuilder,
    names: str | Sequence[str],
    operands: Sequence[Value],
    out_avals: Sequence[ShapedArray],
    batch: int,
    attributes: Mapping[str, str | bool | int] = MappingProxyType({}),
    in_place: Mapping[int, int] = MappingProxyType({}),
) -> list[Value]:
    """Write a call.

    Arguments:
        b: the builder to write to.
        names: the routine, without the dtype letter.
        operands: the first one has that dtype.
        out_avals: the types of the results.
        batch: the number of leading batch axes, in operands and results alike.
        attributes: LAPACK's letters, flags, or numbers.
        in_place: for operands that the routine overwrites, the result that replaces them.
    """
    config = ", ".join(f"{name} = {_attribute(value)}" for name, value in attributes.items())
    several = len(out_avals) > 1
    aliases = ", ".join(
        "#stablehlo.output_operand_alias<output_tuple_indices = "
        f"[{result if several else ''}], operand_index = {operand}, operand_tuple_indices = []>"
        for operand, result in in_place.items()
    )
    return b.emit(
        f"stablehlo.custom_call @{routine(names, operands[0].aval.dtype)}"
        f"({', '.join(x.name for x in operands)}) "
        f"{{api_version = 4 : i32, backend_config = {{{config}}}, "
        f"operand_layouts = [{_layouts([x.aval for x in operands], batch)}], "
        f"output_operand_aliases = [{aliases}], "
        f"result_layouts = [{_layouts(out_avals, batch)}]}} : {signature(operands, out_avals)}",
        *out_avals,
    )


def _attribute(value: str | bool | int) -> str:
    match value:
        case str():
            return f"{ord(value)} : ui8"
        case bool():
            return str(value).lower()
        case _:
            return f"{value} : i32"


def _layouts(avals: Sequence[ShapedArray], batch: int) -> str:
    """The layout of an array, with matrices stored by columns."""
    found = []
    for aval in avals:
        order = list(range(aval.ndim))[::-1]
        if aval.ndim - batch == 2:
            order[0], order[1] = order[1], order[0]
        values = str(order) if order else ""
        found.append(f"dense<{values}> : tensor<{aval.ndim}xindex>")
    return ", ".join(found)


def info_type(batch_shape: Sequence[int]) -> ShapedArray:
    """The type of the status `info` of a routine."""
    return ShapedArray(tuple(batch_shape), np.int32)


def nan_unless_done(b: FunctionBuilder, info: Value, outs: Sequence[Value]) -> list[Value]:
    """The results, NaN where `info` is not 0."""
    zero = b.constant(0, info.aval)
    is_done = ShapedArray(info.aval.shape, np.bool_)
    types = signature([info, zero], [is_done])
    (done,) = b.emit(f"stablehlo.compare EQ, {info.name}, {zero.name}, SIGNED : {types}", is_done)
    return [_select(b, done, out) for out in outs]


def _select(b: FunctionBuilder, done: Value, out: Value) -> Value:
    aval = out.aval
    nan = b.constant(complex(np.nan, np.nan) if aval.dtype.kind == "c" else np.nan, aval)
    mask = ShapedArray(aval.shape, np.bool_)
    dims = list(range(done.aval.ndim))
    types = signature([done], [mask])
    (where,) = b.emit(f"stablehlo.broadcast_in_dim {done.name}, dims = {dims} : {types}", mask)
    types = signature([where, out, nan], [aval])
    (chosen,) = b.emit(f'"stablehlo.select"({where.name}, {out.name}, {nan.name}) : {types}', aval)
    return chosen
