"""JAX's programs of functions of `glassjax.lax`."""

from collections.abc import Sequence
from typing import Any

from glassjax import lax
from glassjax.lax.reordered import reordered
from glassjax_stage2 import typeof


def _reordered(x: Any, dimensions: Sequence[int], new_sizes: Sequence[int]) -> Any:
    """One `reshape`, with the order of the axes as a parameter."""
    is_in_order = [*dimensions] == [*range(typeof(x).ndim)]
    return lax.reshape(x, new_sizes) if is_in_order else reordered(x, dimensions, new_sizes)
