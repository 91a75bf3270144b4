"""Collectives: operations among the examples of an axis that `vmap` maps over, by its name."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from minijax.array import array
from minijax.arrays import tree_to_arrays
from minijax.axis_names import axis_of, require_hashable
from minijax.evaluation import evaluated_by_library
from minijax.lax.collectives import collective, define_linear, same_type
from minijax.lax.reductions import reduce_max, reduce_min, reduce_sum
from minijax_stage2 import (
    Primitive,
    bind1,
    div,
    tree_map,
    typeof,
)

Axis = Hashable | tuple[Hashable, ...]
# --8<-- [start:reductions]
psum_p = collective("psum", same_type, lambda x: (reduce_sum(x, (0,)), None))
pmax_p = collective("pmax", same_type, lambda x: (reduce_max(x, (0,)), None))
pmin_p = collective("pmin", same_type, lambda x: (reduce_min(x, (0,)), None))
define_linear(psum_p, lambda ct, x, index: bind1(psum_p, ct, index))


def names_of(axis_name: Axis) -> tuple[Hashable, ...]:
    """One name or several as a tuple of distinct ones."""
    names = tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)
    for name in names:
        require_hashable(name)
    if len(set(names)) < len(names):
        raise ValueError(f"axis_name: expected distinct names, found {names}")
    return names


def require_no_groups(caller: str, axis_index_groups: Any) -> None:
    if axis_index_groups is not None:
        raise NotImplementedError(
            f"{caller}: axis_index_groups must be None under vmap, as in JAX; to combine within "
            "groups, map twice and name the axes"
        )


def _reduce(caller: str, primitive: Primitive, x: Any, axis_name: Axis, groups: Any) -> Any:
    require_no_groups(caller, groups)

    def reduce(leaf: Any) -> Any:
        for name in names_of(axis_name):
            index, _ = axis_of(name)
            leaf = bind1(primitive, leaf, index)
        return leaf

    return tree_map(reduce, tree_to_arrays(x))


@evaluated_by_library
def psum(x: Any, axis_name: Axis, *, axis_index_groups: Any = None) -> Any:
    """The sum over all examples.

    Arguments:
        x: an array or a pytree of arrays. Of a number, the sum is known at once: `psum(1, name)`
            is the size of the axis, an int.
        axis_name: the name of the axis, or a tuple of names.
        axis_index_groups: None.

    Raises:
        NameError: there is no axis of that name.

    >>> import minijax
    >>> import minijax.numpy as jnp
    >>> minijax.vmap(lambda x: x / psum(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    require_no_groups("psum", axis_index_groups)
    if isinstance(x, int | float | complex) and not isinstance(x, bool):
        return x * axis_size(axis_name)
    as_numbers = tree_map(
        lambda leaf: leaf.astype(int) if typeof(leaf).dtype == np.bool_ else leaf, tree_to_arrays(x)
    )
    return _reduce("psum", psum_p, as_numbers, axis_name, None)


@evaluated_by_library
def pmean(x: Any, axis_name: Axis, *, axis_index_groups: Any = None) -> Any:
    """The mean over all examples; the arguments are those of `psum`.

    >>> minijax.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(jnp.array([1.0, 2.0, 6.0]))
    Array([-2., -1.,  3.], dtype=float32)
    """
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    size = axis_size(axis_name)
    return tree_map(lambda leaf: div(leaf, size), total)


@evaluated_by_library
def pmax(x: Any, axis_name: Axis, *, axis_index_groups: Any = None) -> Any:
    """The largest over all examples, element by element; the arguments are those of `psum`.

    >>> minijax.vmap(lambda x: x / lax.pmax(x, "i"), axis_name="i")(jnp.array([1.0, 2.0, 4.0]))
    Array([0.25, 0.5 , 1.  ], dtype=float32)
    """
    return _reduce("pmax", pmax_p, x, axis_name, axis_index_groups)


@evaluated_by_library
def pmin(x: Any, axis_name: Axis, *, axis_index_groups: Any = None) -> Any:
    """The smallest over all examples, element by element; the arguments are those of `psum`.

    >>> minijax.vmap(lambda x: x - lax.pmin(x, "i"), axis_name="i")(jnp.array([3.0, 2.0, 4.0]))
    Array([1., 0., 2.], dtype=float32)
    """
    return _reduce("pmin", pmin_p, x, axis_name, axis_index_groups)


# --8<-- [end:reductions]


# --8<-- [start:index]
@evaluated_by_library
def axis_index(axis_name: Axis) -> Any:
    """The index of the example along the axis; of several axes, as of one that joins them.

    Returns:
        An integer scalar; one number for each example.

    Raises:
        NameError: there is no axis of that name.

    >>> minijax.vmap(lambda x: x + 10 * lax.axis_index("i"), axis_name="i")(jnp.array([1, 1, 1]))
    Array([ 1, 11, 21], dtype=int32)
    """
    total: Any = None
    for name in names_of(axis_name):
        index, size = axis_of(name)
        total = index if total is None else total * np.int32(size) + index
    return array(np.int32(0)) if total is None else total


def axis_size(axis_name: Axis) -> int:
    """How many examples there are along the axis; of several axes, the product.

    Returns:
        An int, which is known when the function is traced.

    Raises:
        NameError: there is no axis of that name.

    >>> minijax.vmap(lambda x: x / lax.axis_size("i"), axis_name="i")(jnp.array([2.0, 4.0]))
    Array([1., 2.], dtype=float32)
    """
    size = 1
    for name in names_of(axis_name):
        size *= axis_of(name)[1]
    return size


# --8<-- [end:index]


__all__ = [
    "axis_index",
    "axis_size",
    "pmax",
    "pmean",
    "pmin",
    "psum",
]
