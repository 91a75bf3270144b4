"""Arrays computed from symbolic sizes: a size in arithmetic with arrays becomes a scalar."""

from collections.abc import Callable, Sequence
from typing import Any

from glassjax.dimensions.expressions import Dimension
from glassjax.lax import elementwise
from glassjax.primitives.declare import declare
from glassjax.runtime.array import is_evaluating
from glassjax_stage2 import Primitive, ShapedArray, bind1
from glassjax_stage2.shaped_array import dialect
from glassjax_stage3.lowering import FunctionBuilder, Value

dim_as_value_p = Primitive("dim_as_value")


def dimension_as_value(dimension: Dimension) -> Any:
    """The value of a symbolic size, a weakly typed integer scalar of a program.

    Raises:
        TypeError: no program is traced.
    """
    if is_evaluating():
        raise TypeError(
            f"the symbolic size '{dimension}' has no value outside a traced function: its "
            "variables get theirs from the arguments of the function"
        )
    return bind1(dim_as_value_p, dim=dimension)


def operation_of_values(name: str) -> Callable[[Any, Any], Any]:
    """The function `max` or `min` of two arrays computed from sizes."""
    return {"max": elementwise.max, "min": elementwise.min}[name]


def _value_type(*, dim: Dimension) -> Sequence[ShapedArray]:
    return [dialect().int_type(0)]


def _lower_value(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], *, dim: Dimension
) -> Sequence[Value]:
    return [b.constant(dim, out_avals[0])]


declare(dim_as_value_p, abstract_eval=_value_type, lower=_lower_value)
