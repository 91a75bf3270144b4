"""Attributes and layouts of calls of foreign functions, as MLIR text."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.primitives.array_constants import array_text
from minijax.shardings.layout import Layout
from minijax.xla.mlir import ir
from minijax_stage2.errors import shown
from minijax_stage3.lowering import element_type, scalar_text

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
            return quoted(value)
        case dict():
            parts = (f"{quoted(key)} = {attribute_text(each)}" for key, each in value.items())
            return f"{{{', '.join(parts)}}}"
        case list() | tuple():
            return f"[{', '.join(map(attribute_text, value))}]"
        case np.ndarray():
            return array_text(value)
        case np.dtype():
            return element_type(value)
        case int():
            return _number(np.int64(value))
        case float() if not isinstance(value, np.generic):
            return _number(np.float64(value))
        case np.generic() if value.dtype.kind != "c":
            return _number(value)
    if isinstance(value, (ir().Attribute, ir().Type)):
        return str(value)
    raise TypeError(
        f"an attribute of a foreign function must be a real number, a truth value, text, an array "
        f"of numpy, a dtype, or a dict or tuple of these, found {shown(value)} of type "
        f"{type(value).__name__}; arrays of this library are passed as operands"
    )


def _number(value: np.generic) -> str:
    return f"{scalar_text(value, value.dtype)} : {element_type(value.dtype)}"


def quoted(value: str | bytes) -> str:
    """Text or bytes as an MLIR string."""
    data = value.encode() if isinstance(value, str) else value
    plain = set(range(32, 127)) - {*b'"\\'}
    return '"' + "".join(chr(c) if c in plain else f"\\{c:02x}" for c in data) + '"'


def minor_to_major(layout: LayoutOption, ndim: int) -> tuple[int, ...]:
    """The axes of an array, from the one of the smallest stride, as XLA counts them.

    Arguments:
        layout: a `Layout`, or axes from the one of the largest stride; None for row-major.
        ndim: the number of axes.

    Raises:
        ValueError: the layout has tiles, or it is not one of so many axes.
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
    """The MLIR text of pairs of an operand and the result that takes its place."""
    pairs = (
        f"#stablehlo.output_operand_alias<output_tuple_indices = {[out] if num_outs > 1 else []}, "
        f"operand_index = {operand}, operand_tuple_indices = []>"
        for operand, out in aliases
    )
    return f"[{', '.join(pairs)}]"


__all__ = ["LayoutOption", "aliases_text", "attribute_text", "layouts_text", "minor_to_major"]
