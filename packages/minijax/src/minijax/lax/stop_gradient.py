"""`stop_gradient`: a barrier to derivatives."""

from typing import TypeVar

import minijax_stage4 as stage4
from minijax.runtime.operation import operation
from minijax_stage2 import tree_map

Tree = TypeVar("Tree")


@operation
def stop_gradient(x: Tree) -> Tree:
    """`x`, a pytree of arrays, as a constant: no derivative passes through it.

    >>> f = lambda x: x * lax.stop_gradient(x)
    >>> f(3.0), minijax.grad(f)(3.0)
    (Array(9., dtype=float32, weak_type=True), Array(3., dtype=float32, weak_type=True))
    """
    return tree_map(stage4.stop_gradient, x)


__all__ = [
    "stop_gradient",
]
