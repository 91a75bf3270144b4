"""The size and the sign of real and complex numbers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.lax.elementwise.arithmetic import div, mul, neg
from minijax.lax.elementwise.bits import bitwise_or
from minijax.lax.elementwise.comparisons import eq, ge
from minijax.lax.elementwise.complex_numbers import complex, conj, imag, real
from minijax.lax.elementwise.selection import where
from minijax.lax.shapes.creation import full_like
from minijax.primitives.declare import lower_by_primitives, lower_by_types, unary
from minijax_stage2 import ShapedArray, typeof
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type


def _magnitude(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.finfo(dtype).dtype if dtype.kind == "c" else dtype


def _abs_tangent(t: Any, out: Any, x: Any) -> Any:
    if typeof(x).dtype.kind != "c":
        return where(ge(x, 0), t, neg(t))
    return real(mul(t, div(conj(x), where(eq(out, 0), 1, out))))


def _lower_abs(b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value) -> list[Value]:
    plain = lower_by_types("abs")(b, out_avals, x)
    return plain if x.aval.dtype.kind != "c" else _infinite(b, out_avals, x, *plain)


@lower_by_primitives
def _infinite(z: Any, size: Any) -> Any:
    """The size of a complex number: infinite if a part is, whatever the other one is."""
    parts = real(z), imag(z)
    is_infinite = [bitwise_or(eq(part, math.inf), eq(part, -math.inf)) for part in parts]
    return where(bitwise_or(*is_infinite), math.inf, size)


abs = unary(
    "abs",
    """The absolute value of `x`; its derivative at a real 0 is 1, at a complex 0 it is 0.

    >>> lax.abs(jnp.array([-2, 3])), lax.abs(jnp.array([3.0 + 4.0j]))
    (Array([2, 3], dtype=int32), Array([5.], dtype=float32))
    """,
    hlo=_lower_abs,
    kinds="ifc",
    result=_magnitude,
    jvp=_abs_tangent,
)


def _lower_sign(b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value) -> list[Value]:
    (out,) = out_avals
    if out.dtype.kind != "u":
        return b.emit(f"stablehlo.sign {x.name} : {mlir_type(out)}", out)
    one = b.constant(1, out)
    return b.emit(f"stablehlo.minimum {x.name}, {one.name} : {mlir_type(out)}", out)


def _sign_tangent(t: Any, out: Any, x: Any) -> Any:
    """Jvp: a complex sign rotates with the perpendicular part of `t`; a real one is constant."""
    if typeof(x).dtype.kind != "c":
        return None
    sideways = imag(mul(conj(out), t))
    size = abs(x)
    turn = div(sideways, where(eq(size, 0), 1, size))
    return mul(out, complex(full_like(turn, 0), turn))


sign = unary(
    "sign",
    """The sign of a real `x`, -1, 0 or 1; for a complex one `x / abs(x)`, or 0.

    >>> lax.sign(jnp.array([-3.0, 0.0, 2.0])), lax.sign(jnp.array([3.0j]))
    (Array([-1.,  0.,  1.], dtype=float32), Array([0.+1.j], dtype=complex64))
    """,
    hlo=_lower_sign,
    kinds="iufc",
    jvp=_sign_tangent,
)


__all__ = ["abs", "sign"]
