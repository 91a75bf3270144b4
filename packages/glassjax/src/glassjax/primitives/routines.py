"""Calls of foreign routines, as MLIR text."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import glassjax_stage3 as stage3
from glassjax import xla
from glassjax.primitives.declare import array_text
from glassjax.runtime.lowering import Function, platform_of
from glassjax.shardings.sharding import Layout
from glassjax.xla.executables import ir
from glassjax_stage2 import ShapedArray
from glassjax_stage2.errors import shown

# Calls of routines of other libraries in the text of a program.
#
# The libraries are LAPACK on a CPU, cuSOLVER and cuSPARSE on a GPU of NVIDIA. They store matrices
# column by column, and report success with a number. If one fails, the results are NaN.


Attribute = str | bool | int


class Letter(str):
    """A letter, passed to LAPACK as a number."""


class Routine(NamedTuple):
    """A routine: its name for XLA, and its letters, texts, flags or numbers."""

    name: str
    attributes: Mapping[str, Attribute] = MappingProxyType({})


def call_routine(
    b: stage3.lowering.FunctionBuilder,
    caller: str,
    operands: Sequence[stage3.lowering.Value],
    out_avals: Sequence[ShapedArray],
    batch: int,
    in_place: Mapping[int, int] = MappingProxyType({}),
    by_rows: bool = False,
    **by_platform: Routine,
) -> list[stage3.lowering.Value]:
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
        NotImplementedError: this platform has no such routine.
    """
    platform = platform_of(b)
    if platform not in by_platform:
        raise NotImplementedError(
            f"{caller} has no routine for the platform {platform!r}; there is one for "
            f"{', '.join(map(repr, by_platform))}. Put its arguments there, by "
            f"device_put(x, glassjax.devices({next(iter(by_platform))!r})[0])."
        )
    routine = by_platform[platform]
    if not isinstance(b, Function):  # the stages do not register routines
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
        f": {stage3.lowering.signature(operands, out_avals)}",
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


def nan_unless_done(
    b: stage3.lowering.FunctionBuilder,
    info: stage3.lowering.Value,
    outs: Sequence[stage3.lowering.Value],
) -> list[stage3.lowering.Value]:
    """The results, NaN where `info` is not 0."""
    zero = b.constant(0, info.aval)
    is_done = ShapedArray(info.aval.shape, np.bool_)
    types = stage3.lowering.signature([info, zero], [is_done])
    (done,) = b.emit(f"stablehlo.compare EQ, {info.name}, {zero.name}, SIGNED : {types}", is_done)
    return [_select(b, done, out) for out in outs]


def _select(
    b: stage3.lowering.FunctionBuilder, done: stage3.lowering.Value, out: stage3.lowering.Value
) -> stage3.lowering.Value:
    aval = out.aval
    nan = b.constant(complex(np.nan, np.nan) if aval.dtype.kind == "c" else np.nan, aval)
    mask = ShapedArray(aval.shape, np.bool_)
    dims = list(range(done.aval.ndim))
    types = stage3.lowering.signature([done], [mask])
    (where,) = b.emit(f"stablehlo.broadcast_in_dim {done.name}, dims = {dims} : {types}", mask)
    types = stage3.lowering.signature([where, out, nan], [aval])
    (chosen,) = b.emit(f'"stablehlo.select"({where.name}, {out.name}, {nan.name}) : {types}', aval)
    return chosen


# The names of LAPACK's and BLAS's routines, for programs on a CPU.


_PREFIX = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def has_routines(dtype: "np.dtype[np.generic]") -> bool:
    """Return True if LAPACK computes with numbers of this dtype."""
    return dtype.name in _PREFIX


def routine(
    names: str | Sequence[str], x: stage3.lowering.Value, **attributes: str | bool | int
) -> Routine:
    """The routine for numbers of the dtype of `x`.

    Arguments:
        names: its name without the letter of the dtype; or a pair of names, for real and for
            complex numbers.
        x: the first operand.
        attributes: LAPACK's letters, flags, or numbers.
    """
    real_name, complex_name = (names, names) if isinstance(names, str) else names
    name = complex_name if x.aval.dtype.kind == "c" else real_name
    letters = {
        key: Letter(value) if isinstance(value, str) else value for key, value in attributes.items()
    }
    return Routine(f"lapack_{_PREFIX[x.aval.dtype.name]}{name}_ffi", letters)


# Attributes and layouts of calls of foreign functions, as MLIR text.


LayoutOption = Sequence[int] | Layout | None


def attribute_text(value: Any) -> str:
    """The MLIR text of an attribute.

    Arguments:
        value: a Python or numpy number, a truth value, text or bytes, an array of numpy, a dtype,
            an attribute or a type of MLIR; or a dict, list or tuple of these.

    Raises:
        TypeError: it is something else.

    >>> attribute_text({"size": 3, "name": "a", "scales": (np.float32(1), True)})
    '{"size" = 3 : i64, "name" = "a", "scales" = [1.0 : f32, true]}'
    """
    match value:
        case bool() | np.bool_():
            return str(bool(value)).lower()
        case str() | bytes():
            return mlir_string(value)
        case dict():
            parts = (f"{mlir_string(key)} = {attribute_text(each)}" for key, each in value.items())
            return f"{{{', '.join(parts)}}}"
        case list() | tuple():
            return f"[{', '.join(map(attribute_text, value))}]"
        case np.ndarray():
            return array_text(value)
        case np.dtype():
            return stage3.lowering.element_type(value)
        case int():
            return _attribute_number(np.int64(value))
        case float() if not isinstance(value, np.generic):
            return _attribute_number(np.float64(value))
        case np.generic() if value.dtype.kind != "c":
            return _attribute_number(value)
    if isinstance(value, (ir().Attribute, ir().Type)):
        return str(value)
    raise TypeError(
        f"an attribute of a foreign function must be a real number, a truth value, text, an array "
        f"of numpy, a dtype, or a dict or tuple of these, found {shown(value)} of type "
        f"{type(value).__name__}; arrays of this library are passed as operands"
    )


def _attribute_number(value: np.generic) -> str:
    text = stage3.lowering.scalar_text(value, value.dtype)
    return f"{text} : {stage3.lowering.element_type(value.dtype)}"


def mlir_string(value: str | bytes) -> str:
    """Text or bytes as an MLIR string."""
    data = value.encode() if isinstance(value, str) else value
    plain = set(range(32, 127)) - {*b'"\\'}
    return '"' + "".join(chr(c) if c in plain else f"\\{c:02x}" for c in data) + '"'


def minor_to_major(layout: LayoutOption, ndim: int) -> tuple[int, ...]:
    """The axes of an array, from the smallest stride to the largest, as in XLA.

    Arguments:
        layout: a `Layout`, or axes from the largest stride to the smallest; None for row-major.
        ndim: the number of axes.

    Raises:
        ValueError: the layout has tiles, or another number of axes.
    """
    if isinstance(layout, Layout):
        if layout.tiling:
            raise ValueError(f"a foreign function takes arrays without tiles, found {layout}")
        layout = layout.major_to_minor
    order = tuple(range(ndim)) if layout is None else tuple(map(int, layout))
    if sorted(order) != list(range(ndim)):
        raise ValueError(
            f"a layout of an array of {ndim} axes must name each of them once, found {order}"
        )
    return order[::-1]


def layouts_text(layouts: Sequence[Sequence[int]]) -> str:
    """The MLIR text of layouts, from minor to major."""
    texts = (
        f"dense<{list(order) if order else ''}> : tensor<{len(order)}xindex>" for order in layouts
    )
    return f"[{', '.join(texts)}]"


def aliases_text(aliases: Sequence[tuple[int, int]], num_outs: int) -> str:
    """The MLIR text of pairs of an operand and the result that reuses its memory."""
    pairs = (
        f"#stablehlo.output_operand_alias<output_tuple_indices = {[out] if num_outs > 1 else []}, "
        f"operand_index = {operand}, operand_tuple_indices = []>"
        for operand, out in aliases
    )
    return f"[{', '.join(pairs)}]"
