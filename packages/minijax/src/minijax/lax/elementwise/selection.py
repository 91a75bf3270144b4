"""Functions that select elements by a condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import minijax_stage2 as stage2
from minijax.lax.elementwise.comparisons import le
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import (
    require_meeting,
    require_one_rank,
)
from minijax_stage2 import typeof


@operation
def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """`on_true` where `pred` is true, else `on_false`, element by element.

    Raises:
        TypeError: the two differ in dtype or shape, or `pred` is neither boolean nor integer.

    >>> lax.select(jnp.array([True, False]), jnp.array([1, 2]), jnp.array([10, 20]))
    Array([ 1, 20], dtype=int32)
    """
    return select_n(pred, on_false, on_true)


@operation
def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """The case whose number is in `which`, element by element.

    Arguments:
        which: booleans, which select one of two cases, or integers, from 0 on.
        cases: arrays of one dtype and one shape.

    Raises:
        TypeError: `which` is of another dtype, or the cases differ in dtype or shape, or `which` is
            boolean and there are more than two.
        ValueError: there are no cases.

    >>> which, ones = jnp.array([2, 0, 1]), jnp.ones(3, int)
    >>> lax.select_n(which, 5 * ones, 6 * ones, 7 * ones)
    Array([7, 5, 6], dtype=int32)
    """
    dtype = typeof(which).dtype
    if not cases:
        raise ValueError("select_n: expected at least one case, found none")
    if dtype.kind not in "biu":
        raise TypeError(f"select_n: which must be boolean or integer, found {typeof(which)}")
    if dtype == np.bool_:
        if len(cases) > 2:
            raise TypeError(f"select_n: booleans choose between 2 cases, found {len(cases)}")
        return stage2.select_n(which, *cases) if len(cases) == 2 else cases[0]  # type: ignore[return-value]
    return _select_by_number(which, 0, cases)


def _select_by_number(which: Any, first: int, cases: Sequence[Any]) -> Any:
    """Halve the cases, so that the chain of selections is short."""
    if len(cases) == 1:
        return cases[0]
    middle = len(cases) // 2
    low = _select_by_number(which, first, cases[:middle])
    high = _select_by_number(which, first + middle, cases[middle:])
    return stage2.select_n(le(first + middle, which), low, high)


@operation
def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where `condition` is true, else `y`, element by element."""
    require_meeting(x, y)
    require_one_rank(condition, x, y)
    return stage2.where(condition, x, y)


__all__ = ["select", "select_n"]
