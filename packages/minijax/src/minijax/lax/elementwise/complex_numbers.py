"""Complex numbers and their parts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minijax.lax.elementwise.arithmetic import neg
from minijax.lax.shapes.creation import full_like
from minijax.primitives.declare import declare, lower_by_types
from minijax.primitives.sharding_rules import by_elements
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import promote
from minijax_stage2 import Primitive, ShapedArray, bind1, typeof
from minijax_stage2.vmap_rules import elementwise
from minijax_stage3.abstract_eval import arithmetic

real_p = Primitive("real")
imag_p = Primitive("imag")
complex_p = Primitive("complex")


@operation
def real(x: ArrayLike) -> Array:
    """The real part of a complex `x`.

    >>> lax.real(jnp.array([1.0 + 2.0j, 3.0 - 4.0j]))
    Array([1., 3.], dtype=float32)
    """
    return bind1(real_p, x)


@operation
def imag(x: ArrayLike) -> Array:
    """The imaginary part of a complex `x`.

    >>> lax.imag(jnp.array([1.0 + 2.0j, 3.0 - 4.0j]))
    Array([ 2., -4.], dtype=float32)
    """
    return bind1(imag_p, x)


@operation
def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """`x + 1j * y`, for real `x` and `y` of 32 or 64 bits.

    >>> lax.complex(jnp.array([1.0, 2.0]), 3.0)
    Array([1.+3.j, 2.+3.j], dtype=complex64)
    """
    return bind1(complex_p, *promote(x, y))


@operation
def conj(x: ArrayLike) -> Array:
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
    sharding=by_elements(real_p),
    jvp=(lambda t, out, x: real(t),),
    transpose=(lambda ct, x: complex(ct, full_like(ct, 0)),),
)
declare(
    imag_p,
    abstract_eval=_type_of_part(imag_p),
    lower=lower_by_types("imag"),
    vmap=elementwise(imag_p),
    sharding=by_elements(imag_p),
    jvp=(lambda t, out, x: imag(t),),
    transpose=(lambda ct, x: complex(full_like(ct, 0), neg(ct)),),
)
declare(
    complex_p,
    abstract_eval=_type_of_complex,
    lower=lower_by_types("complex"),
    vmap=elementwise(complex_p),
    sharding=by_elements(complex_p),
    jvp=(
        lambda t, out, x, y: complex(t, full_like(t, 0)),
        lambda t, out, x, y: complex(full_like(t, 0), t),
    ),
    transpose=(lambda ct, x, y: real(ct), lambda ct, x, y: neg(imag(ct))),
    jointly=True,
)


__all__ = ["complex", "conj", "imag", "real"]
