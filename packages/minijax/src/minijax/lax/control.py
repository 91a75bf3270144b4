"""Functions that steer: which branch runs, and what is differentiated."""

from collections.abc import Callable
from typing import Any

import minijax_stage4 as stage4
from minijax.arrays import tree_to_arrays
from minijax.declare import declare
from minijax.evaluation import evaluated_by_library
from minijax.operation import operation
from minijax_stage2 import Primitive, bind1, tree_map
from minijax_stage2.vmap_rules import elementwise


@evaluated_by_library
def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any
) -> Any:
    """Calls `true_fun` or `false_fun` on the operands, as `pred` says when the program runs.

    Arguments:
        pred: a boolean scalar; a number counts as true unless it is zero.
        true_fun: function of the operands.
        false_fun: function of the operands whose result has the same structure and types.
        operands: arrays and pytrees of arrays.

    Returns:
        The result of the function that is chosen. Under `vmap` over `pred` both run.

    Raises:
        TypeError: `pred` is no scalar, or the results differ in structure or types.
    """
    out = stage4.cond(pred, true_fun, false_fun, *tree_to_arrays(operands))
    return tree_to_arrays(out)


# --8<-- [start:stop_gradient]
stop_gradient_p = Primitive("stop_gradient")
declare(
    stop_gradient_p,
    abstract_eval=lambda x: [x],
    lower=lambda b, out_avals, x: [x],
    vmap=elementwise(stop_gradient_p),
)


@operation
def stop_gradient(x: Any) -> Any:
    """`x`, an array or a pytree of arrays, as a constant: no derivative passes through it."""
    return tree_map(lambda leaf: bind1(stop_gradient_p, leaf), x)


# --8<-- [end:stop_gradient]
