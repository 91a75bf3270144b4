"""The derivatives of the primitives, a table that reads as mathematics.

In a formula `t` is the tangent of that operand, `out` the result of the primitive.
"""

from minijax_stage2.functions import (
    astype,
    cos,
    div,
    dot_general,
    eq,
    full_like,
    log,
    mul,
    neg,
    power,
    select_n,
    sin,
    sub,
    where,
)
from minijax_stage2.jvp import defjvp, deflinear, defzero
from minijax_stage2.primitives import (
    COMPARISONS,
    add_p,
    broadcast_in_dim_p,
    convert_element_type_p,
    cos_p,
    div_p,
    dot_general_p,
    exp_p,
    log_p,
    mul_p,
    neg_p,
    pow_p,
    reduce_sum_p,
    reshape_p,
    select_n_p,
    sin_p,
    sub_p,
    transpose_p,
)
from minijax_stage2.promotion import is_inexact

# --8<-- [start:table]
deflinear(neg_p)
defjvp(sin_p, lambda t, out, x: mul(t, cos(x)))
defjvp(cos_p, lambda t, out, x: neg(mul(t, sin(x))))
defjvp(exp_p, lambda t, out, x: mul(t, out))
defjvp(log_p, lambda t, out, x: div(t, x))

defjvp(add_p, lambda t, out, x, y: t, lambda t, out, x, y: t)
defjvp(sub_p, lambda t, out, x, y: t, lambda t, out, x, y: neg(t))
defjvp(mul_p, lambda t, out, x, y: mul(t, y), lambda t, out, x, y: mul(x, t))
defjvp(div_p, lambda t, out, x, y: div(t, y), lambda t, out, x, y: neg(mul(div(t, y), out)))
defjvp(
    pow_p,
    # The slope of the power 0 is 0, also where x is infinite.
    lambda t, out, x, y: mul(
        t, mul(y, power(where(eq(y, 0), 1, x), where(eq(y, 0), 1, sub(y, 1))))
    ),
    lambda t, out, x, y: mul(t, mul(out, log(where(eq(x, 0), 1, x)))),
)

for comparison_p in COMPARISONS:
    defzero(comparison_p)

defjvp(
    select_n_p,
    None,
    lambda t, out, which, x, y: select_n(which, t, full_like(t, 0)),
    lambda t, out, which, x, y: select_n(which, full_like(t, 0), t),
)

defjvp(
    convert_element_type_p,
    lambda t, out, x, *, new_dtype, **weak: astype(t, new_dtype) if is_inexact(new_dtype) else None,
)

deflinear(reduce_sum_p)
deflinear(transpose_p)
deflinear(reshape_p)
deflinear(broadcast_in_dim_p)

defjvp(
    dot_general_p,
    lambda t, out, x, y, *, dimension_numbers, **how: dot_general(t, y, dimension_numbers, **how),
    lambda t, out, x, y, *, dimension_numbers, **how: dot_general(x, t, dimension_numbers, **how),
)
# --8<-- [end:table]
