"""Collectives: operations among the examples of an axis that `vmap` maps over, by its name."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from minijax.arrays import tree_to_arrays
from minijax.axis_names import axis_of
from minijax.evaluation import evaluated_by_library
from minijax.lax.collectives import collective, define_linear, same_type
from minijax.lax.reductions import reduce_max, reduce_min, reduce_sum
from minijax.lax.slicing import concatenate, slice
from minijax_stage2 import (
    Primitive,
    ShapedArray,
    bind1,
    div,
    full_like,
    moveaxis,
    reshape,
    tree_map,
    typeof,
)
from minijax_stage2.vmap import BatchDim

Axis = Hashable | tuple[Hashable, ...]
# --8<-- [start:reductions]
psum_p = collective("psum", same_type, lambda x: (reduce_sum(x, (0,)), None))
pmax_p = collective("pmax", same_type, lambda x: (reduce_max(x, (0,)), None))
pmin_p = collective("pmin", same_type, lambda x: (reduce_min(x, (0,)), None))
define_linear(psum_p, lambda ct, x, index: bind1(psum_p, ct, index))


def _names(axis_name: Axis) -> tuple[Hashable, ...]:
    return tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)


def _require_no_groups(caller: str, axis_index_groups: Any) -> None:
    if axis_index_groups is not None:
        raise NotImplementedError(
            f"{caller}: axis_index_groups must be None under vmap, as in JAX; to combine within "
            "groups, map twice and name the axes"
        )


def _reduce(caller: str, primitive: Primitive, x: Any, axis_name: Axis, groups: Any) -> Any:
    _require_no_groups(caller, groups)

    def reduce(leaf: Any) -> Any:
        for name in _names(axis_name):
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
    _require_no_groups("psum", axis_index_groups)
    if isinstance(x, int | float | complex) and not isinstance(x, bool):
        return x * axis_size(axis_name)
    as_numbers = tree_map(
        lambda leaf: leaf.astype(int) if typeof(leaf).dtype == np.bool_ else leaf, tree_to_arrays(x)
    )
    return _reduce("psum", psum_p, as_numbers, axis_name, None)


@evaluated_by_library
def pmean(x: Any, axis_name: Axis, *, axis_index_groups: Any = None) -> Any:
    """The mean over all examples; the arguments are those of `psum`."""
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    size = axis_size(axis_name)
    return tree_map(lambda leaf: div(leaf, size), total)


@evaluated_by_library
def pmax(x: Any, axis_name: Axis, *, axis_index_groups: Any = None) -> Any:
    """The largest over all examples, element by element; the arguments are those of `psum`."""
    return _reduce("pmax", pmax_p, x, axis_name, axis_index_groups)


@evaluated_by_library
def pmin(x: Any, axis_name: Axis, *, axis_index_groups: Any = None) -> Any:
    """The smallest over all examples, element by element; the arguments are those of `psum`."""
    return _reduce("pmin", pmin_p, x, axis_name, axis_index_groups)


# --8<-- [end:reductions]


# --8<-- [start:index]
@evaluated_by_library
def axis_index(axis_name: Axis) -> Any:
    """The index of the example along the axis; of several axes, as of one that joins them."""
    total: Any = None
    for name in _names(axis_name):
        index, size = axis_of(name)
        total = index if total is None else total * np.int32(size) + index
    return total


def axis_size(axis_name: Axis) -> int:
    """How many examples there are along the axis; of several axes, the product."""
    size = 1
    for name in _names(axis_name):
        size *= axis_of(name)[1]
    return size


# --8<-- [end:index]


# --8<-- [start:gather]
def _inserted(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis:])


def _scaled(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], shape[axis] * size, *shape[axis + 1 :])


def _shift_axis(*names: str) -> Callable[[dict[str, Any], int], dict[str, Any]]:
    return lambda params, by: {
        key: value + by if key in names else value for key, value in params.items()
    }


all_gather_p = collective(
    "all_gather",
    lambda x, *, axis, size: ShapedArray(_inserted(x.shape, axis, size), x.dtype),
    lambda x, *, axis, size: (moveaxis(x, 0, axis), None),
    _shift_axis("axis"),
)
psum_scatter_p = collective(
    "psum_scatter",
    lambda x, *, axis, size: ShapedArray((*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype),
    lambda x, *, axis, size: (reduce_sum(x, (0,)), axis),
    _shift_axis("axis"),
)
define_linear(
    all_gather_p, lambda ct, x, index, **params: bind1(psum_scatter_p, ct, index, **params)
)
define_linear(
    psum_scatter_p, lambda ct, x, index, **params: bind1(all_gather_p, ct, index, **params)
)


@evaluated_by_library
def all_gather(
    x: Any, axis_name: Axis, *, axis_index_groups: Any = None, axis: int = 0, tiled: bool = False
) -> Any:
    """The values of all examples.

    Arguments:
        x: an array or a pytree of arrays.
        axis_name: the name of the axis.
        axis_index_groups: None.
        axis: where the examples lie in the result.
        tiled: whether they stand one after the other along an axis that is there already, and
            not along a new one.
    """
    _require_no_groups("all_gather", axis_index_groups)

    def gather(leaf: Any) -> Any:
        shape = typeof(leaf).shape
        at = axis % (len(shape) + (not tiled))
        size = 1
        for name in reversed(_names(axis_name)):
            index, n = axis_of(name)
            leaf = bind1(all_gather_p, leaf, index, axis=at, size=n)
            if size > 1:  # several axes are joined to one
                leaf = reshape(leaf, _inserted(shape, at, n * size))
            size *= n
        return reshape(leaf, _scaled(shape, at, size)) if tiled else leaf

    return tree_map(gather, tree_to_arrays(x))


@evaluated_by_library
def psum_scatter(
    x: Any,
    axis_name: Axis,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """The sum over all examples, of which each gets a part.

    Arguments:
        x: an array or a pytree of arrays.
        axis_name: the name of the axis.
        scatter_dimension: the axis of `x` that is divided among the examples.
        axis_index_groups: None.
        tiled: whether that axis stays, shorter; otherwise there must be one element for each
            example, and it goes.
    """
    _require_no_groups("psum_scatter", axis_index_groups)
    index, size = axis_of(axis_name)

    def scatter(leaf: Any) -> Any:
        shape = typeof(leaf).shape
        at = scatter_dimension % len(shape)
        _require_division("psum_scatter", shape, at, size, tiled)
        if tiled:
            leaf = reshape(leaf, (*shape[:at], size, shape[at] // size, *shape[at + 1 :]))
        return bind1(psum_scatter_p, leaf, index, axis=at, size=size)

    return tree_map(scatter, tree_to_arrays(x))


def _require_division(
    caller: str, shape: tuple[int, ...], axis: int, size: int, tiled: bool
) -> None:
    if shape[axis] % size if tiled else shape[axis] != size:
        must = "be divisible by" if tiled else "equal"
        raise ValueError(
            f"{caller}: axis {axis} of shape {shape} must {must} the number of examples, {size}"
        )


# --8<-- [end:gather]


# --8<-- [start:exchange]
all_to_all_p = collective(
    "all_to_all",
    lambda x, *, split, concat, size: ShapedArray(
        _inserted((*x.shape[:split], *x.shape[split + 1 :]), concat, size), x.dtype
    ),
    # The axis that is split becomes that of the examples, and that of the examples stays as
    # an axis of the result.
    lambda x, *, split, concat, size: (moveaxis(moveaxis(x, split + 1, 0), 1, concat + 1), 0),
    _shift_axis("split", "concat"),
)
define_linear(
    all_to_all_p,
    lambda ct, x, index, *, split, concat, size: bind1(
        all_to_all_p, ct, index, split=concat, concat=split, size=size
    ),
)


@evaluated_by_library
def all_to_all(
    x: Any,
    axis_name: Axis,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Each example gives every example a part, and gets one of every example.

    Arguments:
        x: an array or a pytree of arrays.
        axis_name: the name of the axis.
        split_axis: the axis of `x` that is divided among the examples.
        concat_axis: the axis of the result along which the parts lie, in order of the examples.
        axis_index_groups: None.
        tiled: whether the axes that are divided and joined stay, shorter and longer; otherwise
            there must be one element for each example along `split_axis`, which goes, and
            `concat_axis` is new.
    """
    _require_no_groups("all_to_all", axis_index_groups)
    index, size = axis_of(axis_name)

    def exchange(leaf: Any) -> Any:
        shape = typeof(leaf).shape
        split, concat = split_axis % len(shape), concat_axis % len(shape)
        _require_division("all_to_all", shape, split, size, tiled)
        if not tiled:
            return bind1(all_to_all_p, leaf, index, split=split, concat=concat, size=size)
        part = (*shape[:split], shape[split] // size, *shape[split + 1 :])
        leaf = reshape(leaf, _inserted(part, split, size))
        leaf = bind1(all_to_all_p, leaf, index, split=split, concat=concat, size=size)
        return reshape(leaf, _scaled(part, concat, size))

    return tree_map(exchange, tree_to_arrays(x))


def pswapaxes(x: Any, axis_name: Axis, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Exchanges the axis of the examples with an axis of `x`, of the same size."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def _permute(x: Any, *, perm: tuple[tuple[int, int], ...]) -> tuple[Any, BatchDim]:
    """Takes for each example its source; runs of examples that stay together go as one."""
    size, *rest = typeof(x).shape
    source = {to: origin for origin, to in perm}
    parts = []
    begin = 0
    while begin < size:
        first = source.get(begin)
        end = begin + 1
        while end < size and source.get(end) == (None if first is None else first + end - begin):
            end += 1
        at = begin if first is None else first
        part = slice(x, (at, *[0] * len(rest)), (at + end - begin, *rest))
        parts.append(full_like(part, 0) if first is None else part)
        begin = end
    return concatenate(parts, 0), 0


ppermute_p = collective("ppermute", same_type, _permute)
define_linear(
    ppermute_p,
    lambda ct, x, index, *, perm: bind1(
        ppermute_p, ct, index, perm=tuple((to, origin) for origin, to in perm)
    ),
)


@evaluated_by_library
def ppermute(x: Any, axis_name: Axis, perm: Sequence[tuple[int, int]]) -> Any:
    """Passes values from example to example.

    Arguments:
        x: an array or a pytree of arrays.
        axis_name: the name of the axis.
        perm: pairs of the index of an example that gives its value, and of the one that gets it.

    Returns:
        What the example got: zeros where it is not named.

    Raises:
        ValueError: an example gives, or gets, more than one value.
    """
    index, size = axis_of(axis_name)
    pairs = tuple((int(origin), int(to)) for origin, to in perm)
    for role, numbers in zip(("sources", "destinations"), zip(*pairs, strict=True), strict=False):
        if len(set(numbers)) < len(numbers) or not all(0 <= n < size for n in numbers):
            raise ValueError(
                f"ppermute: {role} must be distinct indices below {size}, found {numbers}"
            )
    return tree_map(lambda leaf: bind1(ppermute_p, leaf, index, perm=pairs), tree_to_arrays(x))


def pshuffle(x: Any, axis_name: Axis, perm: Sequence[int]) -> Any:
    """Gives each example the value of the one whose index `perm` holds in its place."""
    if sorted(perm) != list(range(axis_size(axis_name))):
        raise ValueError(f"pshuffle: {tuple(perm)} does not permute the examples")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)), strict=True)))


# --8<-- [end:exchange]

__all__ = [
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
]
