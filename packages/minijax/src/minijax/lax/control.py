"""What derivatives do not see."""

from typing import Any

import minijax_stage4 as stage4
from minijax.operation import operation
from minijax_stage2 import tree_map


@operation
def stop_gradient(x: Any) -> Any:
    """`x`, an array or a pytree of arrays, as a constant: no derivative passes through it."""
    return tree_map(stage4.stop_gradient, x)


__all__ = [
    "stop_gradient",
]
