"""The elements of one array or another, by a condition."""

from typing import Any

from glassjax.lax import elementwise
from glassjax.runtime.operation import operation


@operation
def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where `condition` is true, else `y`, element by element."""
    return elementwise.where(condition, x, y)
