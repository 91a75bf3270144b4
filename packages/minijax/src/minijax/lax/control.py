"""What derivatives do not see."""

from typing import Any

from minijax.declare import declare
from minijax.operation import operation
from minijax_stage2 import Primitive, bind1, tree_map
from minijax_stage2.vmap_rules import elementwise

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

__all__ = [
    "stop_gradient",
]
