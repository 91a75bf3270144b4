"""Arrays in the text of a program."""

from typing import Any

from minijax_stage2 import ShapedArray
from minijax_stage2.shaped_array import float0
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type


def array_text(value: Any) -> str:
    """The MLIR text of an array's elements and type: its bytes, but for truth values."""
    aval = ShapedArray(value.shape, value.dtype)
    if value.size == 0:
        elements = ""
    elif value.dtype == float0:
        elements = "false"
    elif value.dtype.kind == "b":
        elements = str(value.tolist()).lower()
    else:
        elements = f'"0x{value.astype(value.dtype.newbyteorder("<")).tobytes().hex()}"'
    return f"dense<{elements}> : {mlir_type(aval)}"


def lower_array(b: FunctionBuilder, value: Any) -> Value:
    """Write the constant `value`, an array of numpy."""
    aval = ShapedArray(value.shape, value.dtype)
    (out,) = b.emit(f"stablehlo.constant {array_text(value)}", aval)
    return out
