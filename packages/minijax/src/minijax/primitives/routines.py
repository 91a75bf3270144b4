"""Calls of routines of other libraries in the text of a program.

The libraries are LAPACK on a CPU, cuSOLVER and cuSPARSE on a GPU of NVIDIA. They store matrices
column by column, and report success with a number. If one fails, the results are NaN.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from minijax import xla
from minijax.runtime.lowering import Function, platform_of
from minijax_stage2 import ShapedArray
from minijax_stage3.lowering import FunctionBuilder, Value, signature

Attribute = str | bool | int


class Letter(str):
    """A letter, which LAPACK takes as a number."""


class Routine(NamedTuple):
    """A routine: the name by which XLA finds it, and letters, texts, flags or numbers for it."""

    name: str
    attributes: Mapping[str, Attribute] = MappingProxyType({})


def call(
    b: FunctionBuilder,
    caller: str,
    operands: Sequence[Value],
    out_avals: Sequence[ShapedArray],
    batch: int,
    in_place: Mapping[int, int] = MappingProxyType({}),
    by_rows: bool = False,
    **by_platform: Routine,
) -> list[Value]:
    """Write a call of the routine for the platform of the module.

    Arguments:
        b: the builder to write to.
        caller: the name of the primitive, for messages.
        operands: the operands.
        out_avals: the types of the results.
        batch: the number of leading batch axes, in operands and results alike.
        in_place: for operands that the routine overwrites, the result that replaces them.
        by_rows: whether matrices are stored row by row, and so look transposed to the routine.
        by_platform: the routine for each platform.

    Raises:
        NotImplementedError: there is none for this platform.
    """
    platform = platform_of(b)
    if platform not in by_platform:
        raise NotImplementedError(
            f"{caller} has no routine for the platform {platform!r}; there is one for "
            f"{', '.join(map(repr, by_platform))}. Put its arguments there, by "
            f"device_put(x, minijax.devices({next(iter(by_platform))!r})[0])."
        )
    routine = by_platform[platform]
    if not isinstance(b, Function):  # the stages do not look for routines in programs
        xla.register_routines(f"@{routine.name}", platform)
    config = ", ".join(f"{name} = {_attribute(x)}" for name, x in routine.attributes.items())
    several = len(out_avals) > 1
    aliases = ", ".join(
        "#stablehlo.output_operand_alias<output_tuple_indices = "
        f"[{result if several else ''}], operand_index = {operand}, operand_tuple_indices = []>"
        for operand, result in in_place.items()
    )
    return b.emit(
        f"stablehlo.custom_call @{routine.name}"
        f"({', '.join(x.name for x in operands)}) "
        f"{{api_version = 4 : i32, backend_config = {{{config}}}, "
        f"operand_layouts = [{_layouts([x.aval for x in operands], batch, by_rows)}], "
        f"output_operand_aliases = [{aliases}], "
        f"result_layouts = [{_layouts(out_avals, batch, by_rows)}]}} "
        f": {signature(operands, out_avals)}",
        *out_avals,
    )


def _attribute(value: Attribute) -> str:
    match value:
        case Letter():
            return f"{ord(value)} : ui8"
        case str():
            return f'"{value}"'
        case bool():
            return str(value).lower()
        case _:
            return f"{value} : i32"


def _layouts(avals: Sequence[ShapedArray], batch: int, by_rows: bool) -> str:
    """The layout of each array."""
    found = []
    for aval in avals:
        order = list(range(aval.ndim))[::-1]
        if aval.ndim - batch == 2 and not by_rows:
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
