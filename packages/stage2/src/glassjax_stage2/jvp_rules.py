"""The derivatives of the primitives, a table that reads as mathematics.

In a formula `t` is the operand's tangent, `out` the result of the primitive.
"""

# ruff: noqa: F403, F405
from typing import Any

from glassjax_stage2 import primitives as p
from glassjax_stage2.functions import *
from glassjax_stage2.jvp import defjvp, deflinear, defzero, jvp_rules
from glassjax_stage2.shaped_array import is_inexact, typeof
from glassjax_stage2.tangent import Zero
from glassjax_stage2.trace import bind1

deflinear(p.neg_p)
defjvp(p.sin_p, lambda t, out, x: mul(t, cos(x)))
defjvp(p.cos_p, lambda t, out, x: neg(mul(t, sin(x))))
defjvp(p.exp_p, lambda t, out, x: mul(t, out))
defjvp(p.log_p, lambda t, out, x: div(t, x))

defjvp(p.add_p, lambda t, out, x, y: t, lambda t, out, x, y: t, jointly=True)
defjvp(p.sub_p, lambda t, out, x, y: t, lambda t, out, x, y: neg(t), jointly=True)
defjvp(p.mul_p, lambda t, out, x, y: mul(t, y), lambda t, out, x, y: mul(x, t))
defjvp(p.div_p, lambda t, out, x, y: div(t, y), lambda t, out, x, y: div(neg(mul(t, out)), y))
defjvp(
    p.pow_p,
    # The slope of the power 0 is 0, even for infinite x.
    lambda t, out, x, y: mul(t, mul(y, power(where(eq(y, 0), 1, x), sub(y, 1)))),
    lambda t, out, x, y: mul(t, mul(out, log(where(eq(x, 0), 1, x)))),
)

for comparison_p in p.COMPARISONS:
    defzero(comparison_p)


def _select_jvp(primals: Any, tangents: Any) -> Any:
    """A selection of tangents; a case without one has zeros."""
    out = bind1(p.select_n_p, *primals)
    zero = full_like(out, 0)
    return [out], [select_n(primals[0], *(zero if type(t) is Zero else t for t in tangents[1:]))]


jvp_rules[p.select_n_p] = _select_jvp


def _convert_tangent(t: Any, out: Any, x: Any, **params: Any) -> Any:
    return bind1(p.convert_element_type_p, t, **params) if is_inexact(typeof(out).dtype) else None


defjvp(p.convert_element_type_p, _convert_tangent)

deflinear(p.reduce_sum_p)
deflinear(p.transpose_p)
deflinear(p.reshape_p)
deflinear(p.broadcast_in_dim_p)

defjvp(
    p.dot_general_p,
    lambda t, out, x, y, **params: bind1(p.dot_general_p, t, y, **params),
    lambda t, out, x, y, **params: bind1(p.dot_general_p, x, t, **params),
)
