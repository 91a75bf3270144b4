"""Comparisons, element by element."""

from __future__ import annotations

import minijax_stage2 as stage2
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import require_meeting


@operation
def eq(x: ArrayLike, y: ArrayLike) -> Array:
    """`x == y`, element by element.

    >>> lax.eq(jnp.array([1.0, jnp.nan]), jnp.array([1.0, jnp.nan]))
    Array([ True, False], dtype=bool)
    """
    require_meeting(x, y)
    return stage2.eq(x, y)


@operation
def ne(x: ArrayLike, y: ArrayLike) -> Array:
    """`x != y`, element by element.

    >>> lax.ne(jnp.array([1.0, jnp.nan]), jnp.array([1.0, jnp.nan]))
    Array([False,  True], dtype=bool)
    """
    require_meeting(x, y)
    return stage2.ne(x, y)


@operation
def lt(x: ArrayLike, y: ArrayLike) -> Array:
    """`x < y`, element by element.

    >>> lax.lt(jnp.array([1, 2, 3]), 2)
    Array([ True, False, False], dtype=bool)
    """
    require_meeting(x, y)
    return stage2.lt(x, y)


@operation
def le(x: ArrayLike, y: ArrayLike) -> Array:
    """`x <= y`, element by element.

    >>> lax.le(jnp.array([1, 2, 3]), 2)
    Array([ True,  True, False], dtype=bool)
    """
    require_meeting(x, y)
    return stage2.le(x, y)


@operation
def gt(x: ArrayLike, y: ArrayLike) -> Array:
    """`x > y`, element by element.

    >>> lax.gt(jnp.array([1, 2, 3]), 2)
    Array([False, False,  True], dtype=bool)
    """
    require_meeting(x, y)
    return stage2.gt(x, y)


@operation
def ge(x: ArrayLike, y: ArrayLike) -> Array:
    """`x >= y`, element by element.

    >>> lax.ge(jnp.array([1, 2, 3]), 2)
    Array([False,  True,  True], dtype=bool)
    """
    require_meeting(x, y)
    return stage2.ge(x, y)


__all__ = ["eq", "ge", "gt", "le", "lt", "ne"]
