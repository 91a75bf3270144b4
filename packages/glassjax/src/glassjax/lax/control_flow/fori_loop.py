"""`fori_loop`: a scan if its bounds are known, and a while loop if they are traced."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

import glassjax_stage2 as stage2
from glassjax.dimensions.expressions import is_symbolic_dim, max_size
from glassjax.errors.arguments import require_fit
from glassjax.lax.control_flow.program_cache import keeps_programs
from glassjax.lax.control_flow.scan import repeat_scan
from glassjax.lax.control_flow.while_loop import repeat_while
from glassjax.runtime.array import tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.number_types import promote
from glassjax_stage2 import ShapedArray
from glassjax_stage2.arguments import require_function
from glassjax_stage2.shaped_array import kind_of, typeof_named
from glassjax_stage2.source import name_of

Carry = TypeVar("Carry")


@evaluated_by_library
@keeps_programs("lower", "upper", "body_fun", "unroll")
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Carry], Carry],
    init_val: Carry,
    *,
    unroll: int | bool | None = None,
) -> Carry:
    """Call `body_fun` with each integer from `lower` up to `upper`, exclusive, and a carry.

    With known bounds it is a `scan`, and has derivatives in both modes. With traced bounds it is a
    `while_loop`, which has none in reverse mode.

    Arguments:
        lower, upper: real numbers of one dtype, most often integers; of those that are known when
            the loop is traced, the integral parts count.
        body_fun: function of an integer and the carry that returns the next carry.
        init_val: the initial carry, a pytree of arrays.
        unroll: the number of iterations to unroll; True: all of them.

    Returns:
        The last carry.

    Raises:
        TypeError: a bound is not an integer, the bounds differ in dtype, or the carry changes its
            structure or types.
        ValueError: `unroll` is given and a bound is traced.

    >>> fori_loop(0, 5, lambda i, total: total + i, 0)
    Array(10, dtype=int32, weak_type=True)
    """
    if unroll is not None and type(unroll) is not int:
        require_fit("fori_loop", "unroll", unroll, bool)
    require_function("fori_loop", body_fun)
    first, last = (_loop_bound(role, bound) for role, bound in (("lower", lower), ("upper", upper)))
    are_weak = first.weak_type or last.weak_type
    if first.dtype != last.dtype and not (are_weak and first.dtype.kind == last.dtype.kind == "i"):
        raise TypeError(f"fori_loop: lower and upper must have one dtype, found {first} and {last}")
    init_val = tree_to_arrays(init_val)
    if not any(isinstance(x, stage2.Tracer) for x in (lower, upper)):
        begin, end = (x if is_symbolic_dim(x) else int(x) for x in (lower, upper))
        length = max_size(end - begin, 0)
        if length == 0:
            return init_val

        def numbered(carry: Any, _: None) -> Any:
            i, x = carry
            return (i + 1, body_fun(i, x)), None

        numbered.__name__ = name_of(body_fun)
        start = (begin, init_val)
        (_, out), _ = repeat_scan(numbered, start, None, length, False, unroll or 1, counts=True)
        return out
    if unroll is not None and unroll is not False and unroll != 1:
        raise ValueError(
            "fori_loop: unroll asks for bounds that are known when the loop is traced, found "
            f"lower of type {first} and upper of type {last}, and one of them is a tracer"
        )

    def cond_fun(carry: Any) -> Any:
        i, end, _ = carry
        return i < end

    def fori_step(carry: Any) -> Any:
        i, end, x = carry
        return i + 1, end, body_fun(i, x)

    fori_step.__name__ = name_of(body_fun)
    begin, end = promote(lower, upper)
    _, _, out = repeat_while(cond_fun, fori_step, (begin, end, init_val), counts=True)
    return out


def _loop_bound(role: str, x: Any) -> ShapedArray:
    aval = typeof_named(f"fori_loop: {role}", x)
    if aval.shape or kind_of(aval.dtype) >= kind_of(np.dtype(np.complex64)):
        raise TypeError(
            f"fori_loop: {role} must be a real scalar, found {aval}. Convert it by int(...), or "
            "by astype where it is traced."
        )
    return aval
