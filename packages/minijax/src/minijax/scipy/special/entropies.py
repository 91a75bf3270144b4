"""Products of numbers and logarithms, as entropies have them."""

import math
from typing import Any

from minijax.declare import binary, lower_by_primitives, unary
from minijax.lax import promoting as lax
from minijax.lax.elementwise import where
from minijax.numpy.transcendental import real_floats
from minijax.operation import operation


def _is_zero_times_number(x: Any, y: Any) -> Any:
    return lax.bitwise_and(lax.eq(x, 0), lax.eq(y, y))


def _xlogy(x: Any, y: Any) -> Any:
    return where(_is_zero_times_number(x, y), 0, lax.mul(x, lax.log(y)))


def _xlog1py(x: Any, y: Any) -> Any:
    return where(_is_zero_times_number(x, y), 0, lax.mul(x, lax.log1p(y)))


# Primitives, for their derivatives by x are logarithms also where x is 0.
_xlogy_of = binary(
    "xlogy",
    "",
    hlo=lower_by_primitives(_xlogy),
    kinds="f",
    jvp=(
        lambda t, out, x, y: lax.mul(t, lax.log(y)),
        lambda t, out, x, y: lax.div(lax.mul(t, x), y),
    ),
)
_xlog1py_of = binary(
    "xlog1py",
    "",
    hlo=lower_by_primitives(_xlog1py),
    kinds="f",
    jvp=(
        lambda t, out, x, y: lax.mul(t, lax.log1p(y)),
        lambda t, out, x, y: lax.div(lax.mul(t, x), lax.add(y, 1.0)),
    ),
)
_xlogx_of = unary(
    "xlogx",
    "",
    hlo=lower_by_primitives(lambda x: _xlogy(x, x)),
    kinds="f",
    jvp=lambda t, out, x: lax.mul(t, lax.add(lax.log(x), 1.0)),
)


@operation
def xlogy(x: Any, y: Any) -> Any:
    """`x * log(y)`, and 0 where `x` is 0.

    >>> minijax.scipy.special.xlogy(jnp.array([0.0, 2.0]), jnp.array([0.0, 1.0]))
    Array([0., 0.], dtype=float32)
    """
    return _xlogy_of(*real_floats("xlogy", x, y))


@operation
def xlog1py(x: Any, y: Any) -> Any:
    """`x * log(1 + y)`, and 0 where `x` is 0.

    >>> minijax.scipy.special.xlog1py(jnp.array([0.0, 2.0]), jnp.array([-1.0, 0.0]))
    Array([0., 0.], dtype=float32)
    """
    return _xlog1py_of(*real_floats("xlog1py", x, y))


@operation
def entr(x: Any) -> Any:
    """`-x * log(x)`; minus infinity where `x` is negative.

    >>> f"{minijax.scipy.special.entr(0.5):.3f}", minijax.scipy.special.entr(-1.0).item()
    ('0.347', -inf)
    """
    (x,) = real_floats("entr", x)
    return where(lax.lt(x, 0), -math.inf, lax.neg(_xlogx_of(x)))


@operation
def rel_entr(p: Any, q: Any) -> Any:
    """`p * log(p / q)`; infinite where one of them is negative, or `q` is 0 and `p` is not.

    >>> minijax.scipy.special.rel_entr(jnp.array([0.0, 2.0]), jnp.array([3.0, 2.0]))
    Array([0., 0.], dtype=float32)
    """
    p, q = real_floats("rel_entr", p, q)
    both_positive = lax.bitwise_and(lax.gt(p, 0), lax.gt(q, 0))
    is_zero = lax.bitwise_and(lax.eq(p, 0), lax.ge(q, 0))
    safe_p, safe_q = where(both_positive, p, 1), where(both_positive, q, 1)
    logs = lax.mul(safe_p, lax.sub(lax.log(safe_p), lax.log(safe_q)))
    return where(both_positive, logs, where(is_zero, 0.0, math.inf))


@operation
def kl_div(p: Any, q: Any) -> Any:
    """`p * log(p / q) - p + q`.

    >>> minijax.scipy.special.kl_div(jnp.array([0.0, 2.0]), jnp.array([3.0, 2.0]))
    Array([3., 0.], dtype=float32)
    """
    p, q = real_floats("kl_div", p, q)
    return lax.add(lax.sub(rel_entr(p, q), p), q)


__all__ = [
    "entr",
    "kl_div",
    "rel_entr",
    "xlog1py",
    "xlogy",
]
