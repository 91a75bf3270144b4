"""The elements of one array or another, by a condition."""

from typing import Any

import glassjax_stage2 as stage2
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import require_one_rank, require_promotable


@operation
def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where `condition` is true, else `y`, element by element."""
    require_promotable(x, y)
    require_one_rank(condition, x, y)
    return stage2.where(condition, x, y)
