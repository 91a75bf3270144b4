"""Formulas of rare cases: nothing is computed where none occurs."""

from collections.abc import Callable
from typing import Any

from minijax.lax.control_flow.cond import cond
from minijax.lax.elementwise.selection import where
from minijax.lax.reductions.standard import reduce_or
from minijax_stage2 import typeof


def where_any(mask: Any, function: Callable[..., Any], otherwise: Any, *operands: Any) -> Any:
    """`where(mask, function(*operands), otherwise)`, evaluated only if the mask holds somewhere."""
    every = tuple(range(typeof(mask).ndim))
    return cond(
        reduce_or(mask, every),
        lambda *operands: where(mask, function(*operands), otherwise),
        lambda *operands: otherwise,
        *operands,
    )
