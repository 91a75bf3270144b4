"""Complex numbers taken apart, and put together from their parts; the size and sign of numbers.

These functions are linear over the real numbers only. Cotangents follow JAX: what transposition
keeps is the real part of the product of cotangent and tangent.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax.lax.elementwise.arithmetic import div, mul, neg
from minijax.lax.elementwise.comparisons import eq, ge
from minijax.lax.elementwise.selection import where
from minijax.lax.shapes.creation import full_like
from minijax.primitives.declare import declare, lower_by_types, unary
from minijax.runtime.operation import operation
from minijax.settings.promotion import promote
from minijax.settings.public_names import set_all
from minijax_stage2 import Primitive, ShapedArray, bind1, typeof
from minijax_stage2.vmap_rules import elementwise
from minijax_stage3.abstract_eval import arithmetic
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type

real_p = Primitive("real")
imag_p = Primitive("imag")
complex_p = Primitive("complex")


@operation
def real(x: Any) -> Any:
    """The real part of a complex `x`.

    >>> lax.real(jnp.array([1.0 + 2.0j, 3.0 - 4.0j]))
    Array([1., 3.], dtype=float32)
    """
    return bind1(real_p, x)


@operation
def imag(x: Any) -> Any:
    """The imaginary part of a complex `x`.

    >>> lax.imag(jnp.array([1.0 + 2.0j, 3.0 - 4.0j]))
    Array([ 2., -4.], dtype=float32)
    """
    return bind1(imag_p, x)


@operation
def complex(x: Any, y: Any) -> Any:
    """`x + 1j * y`, for real `x` and `y` of 32 or 64 bits.

    >>> lax.complex(jnp.array([1.0, 2.0]), 3.0)
    Array([1.+3.j, 2.+3.j], dtype=complex64)
    """
    return bind1(complex_p, *promote(x, y))


@operation
def conj(x: Any) -> Any:
    """`x` with its imaginary part negated; a real `x` becomes complex.

    >>> lax.conj(jnp.array([1.0 + 2.0j, 3.0 - 4.0j]))
    Array([1.-2.j, 3.+4.j], dtype=complex64)
    """
    if typeof(x).dtype.kind != "c":
        return complex(x, full_like(x, 0))
    return complex(real(x), neg(imag(x)))


def _type_of_part(primitive: Primitive) -> Callable[[ShapedArray], list[ShapedArray]]:
    def rule(x: ShapedArray) -> list[ShapedArray]:
        if x.dtype.kind != "c":
            raise TypeError(f"{primitive}: expected a complex operand, found {x}")
        return [ShapedArray(x.shape, np.finfo(x.dtype).dtype, x.weak_type)]

    return rule


def _type_of_complex(x: ShapedArray, y: ShapedArray) -> list[ShapedArray]:
    (part,) = arithmetic(complex_p)(x, y)
    if part.dtype not in (np.float32, np.float64):
        raise TypeError(f"complex: expected real operands of 32 or 64 bits, found {x} and {y}")
    return [ShapedArray(part.shape, np.result_type(part.dtype, np.complex64), part.weak_type)]


declare(
    real_p,
    abstract_eval=_type_of_part(real_p),
    lower=lower_by_types("real"),
    vmap=elementwise(real_p),
    jvp=(lambda t, out, x: real(t),),
    transpose=(lambda ct, x: complex(ct, full_like(ct, 0)),),
)
declare(
    imag_p,
    abstract_eval=_type_of_part(imag_p),
    lower=lower_by_types("imag"),
    vmap=elementwise(imag_p),
    jvp=(lambda t, out, x: imag(t),),
    transpose=(lambda ct, x: complex(full_like(ct, 0), neg(ct)),),
)
declare(
    complex_p,
    abstract_eval=_type_of_complex,
    lower=lower_by_types("complex"),
    vmap=elementwise(complex_p),
    jvp=(
        lambda t, out, x, y: complex(t, full_like(t, 0)),
        lambda t, out, x, y: complex(full_like(t, 0), t),
    ),
    transpose=(lambda ct, x, y: real(ct), lambda ct, x, y: neg(imag(ct))),
    jointly=True,
)


def _magnitude(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.finfo(dtype).dtype if dtype.kind == "c" else dtype


def _abs_tangent(t: Any, out: Any, x: Any) -> Any:
    if typeof(x).dtype.kind != "c":
        return where(ge(x, 0), t, neg(t))
    return real(mul(t, div(conj(x), where(eq(out, 0), 1, out))))


abs = unary(
    "abs",
    """The absolute value of `x`; its derivative at a real 0 is 1, at a complex 0 it is 0.

    >>> lax.abs(jnp.array([-2, 3])), lax.abs(jnp.array([3.0 + 4.0j]))
    (Array([2, 3], dtype=int32), Array([5.], dtype=float32))
    """,
    hlo=lower_by_types("abs"),
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
    """A complex sign turns as far as `x` goes sideways; a real one stays."""
    if typeof(x).dtype.kind != "c":
        return None
    sideways = imag(mul(conj(out), t))
    size = abs(x)
    turn = div(sideways, where(eq(size, 0), 1, size))
    return mul(out, complex(full_like(turn, 0), turn))


sign = unary(
    "sign",
    """-1, 0 or 1, the sign of a real `x`; of a complex one `x / abs(x)`, or 0.

    >>> lax.sign(jnp.array([-3.0, 0.0, 2.0])), lax.sign(jnp.array([3.0j]))
    (Array([-1.,  0.,  1.], dtype=float32), Array([0.+1.j], dtype=complex64))
    """,
    hlo=_lower_sign,
    kinds="iufc",
    jvp=_sign_tangent,
)
set_all(globals())
