"""Sharding and placement of arrays and programs, trivial with one device.

The functions are those of programs for many devices.
"""

from collections.abc import Hashable
from typing import Any

from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.evaluation import evaluated_by_library
from minijax.transforms.axis_names import axis_of
from minijax_stage2.shaped_array import typeof_named
from minijax_stage2.shown import shown
from minijax_stage2.tree import tree_leaves


@evaluated_by_library
def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """`x`, a pytree of arrays, unchanged: there is only one device.

    Arguments:
        x: the arrays.
        shardings: how to divide them among devices, a pytree prefix of `x`.

    Raises:
        TypeError: `x` holds something other than arrays.
        ValueError: a sharding is None.

    >>> minijax.jit(lambda x: lax.with_sharding_constraint(2 * x, "anywhere"))(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    if any(leaf is None for leaf in tree_leaves(shardings, is_leaf=lambda leaf: leaf is None)):
        raise ValueError(
            "with_sharding_constraint: found None among the shardings, which says nothing; leave "
            "such arrays out of x"
        )
    for leaf in tree_leaves(x):
        typeof_named("with_sharding_constraint: x", leaf)
    return tree_to_arrays(x)


_WAYS_TO_VARY = ("reduced", "unreduced", "varying")


@evaluated_by_library
def pcast(x: Any, axis_name: Hashable | tuple[Hashable, ...], *, to: str) -> Any:
    """`x`, a pytree of arrays, declared to vary differently along named axes.

    The axes of `vmap` need no such declaration: nothing is changed.

    Arguments:
        x: the arrays.
        axis_name: the name of an axis, or a tuple of names.
        to: "varying", "reduced" or "unreduced".

    Raises:
        ValueError: `to` is none of these.
        NameError: there is no axis of that name.

    >>> minijax.vmap(lambda x: lax.pcast(x, "i", to="varying"), axis_name="i")(jnp.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    names = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    if isinstance(axis_name, set | frozenset):
        raise TypeError(f"pcast: axis_name must be a name or a tuple of names, found {axis_name}")
    if names and to not in _WAYS_TO_VARY:
        ways = ", ".join(map(repr, _WAYS_TO_VARY))
        raise ValueError(f"pcast: to must be one of {ways}, found {shown(to)}")
    for name in names:
        axis_of(name)
    return tree_to_arrays(x)


__all__ = ["pcast", "with_sharding_constraint"]
