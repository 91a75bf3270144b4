"""Collectives in which the examples of a named axis pass on what they have."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from minijax.arrays import tree_to_arrays
from minijax.axis_names import axis_of
from minijax.evaluation import evaluated_by_library
from minijax.lax.collectives import collective, define_linear, same_type
from minijax.lax.parallel import Axis, axis_size, names_of, require_no_groups
from minijax.lax.reductions import reduce_sum
from minijax.lax.slicing import concatenate, slice
from minijax.tracebacks import hiding_frames
from minijax_stage2 import ShapedArray, bind1, full_like, moveaxis, reshape, tree_map, typeof
from minijax_stage2.functions import canonical_axis
from minijax_stage2.vmap import BatchDim


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

    Raises:
        NameError: there is no axis of that name.
        NotImplementedError: `axis_index_groups` is given.

    >>> minijax.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(jnp.array([1, 2]))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    require_no_groups("all_gather", axis_index_groups)

    def gather(leaf: Any) -> Any:
        shape = typeof(leaf).shape
        at = canonical_axis("all_gather", axis, len(shape) + (not tiled))
        size = 1
        for name in reversed(names_of(axis_name)):
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
        axis_name: the name of the axis, or a tuple of names, of axes that count as one.
        scatter_dimension: the axis of `x` that is divided among the examples.
        axis_index_groups: None.
        tiled: whether that axis stays, shorter; otherwise there must be one element for each
            example, and it goes.

    Raises:
        NameError: there is no axis of that name.
        ValueError: the axis cannot be divided evenly among the examples.
        NotImplementedError: `axis_index_groups` is given.

    >>> x = jnp.array([[1, 2], [10, 20]])
    >>> minijax.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(x)
    Array([11, 22], dtype=int32)
    """
    require_no_groups("psum_scatter", axis_index_groups)
    axes = list(map(axis_of, names_of(axis_name)))
    sizes = [size for _, size in axes]

    def scatter(leaf: Any) -> Any:
        shape = typeof(leaf).shape
        at = canonical_axis("psum_scatter: scatter_dimension", scatter_dimension, len(shape))
        _require_division("psum_scatter", shape, at, math.prod(sizes), tiled)
        rest = (shape[at] // math.prod(sizes),) if tiled else ()
        leaf = reshape(leaf, (*shape[:at], *sizes, *rest, *shape[at + 1 :]))
        for index, size in axes:
            leaf = bind1(psum_scatter_p, leaf, index, axis=at, size=size)
        return leaf

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
        axis_name: the name of the axis, or a tuple of names, of axes that count as one.
        split_axis: the axis of `x` that is divided among the examples.
        concat_axis: the axis of the result along which the parts lie, in order of the examples.
        axis_index_groups: None.
        tiled: whether the axes that are divided and joined stay, shorter and longer; otherwise
            there must be one element for each example along `split_axis`, which goes, and
            `concat_axis` is new.

    Raises:
        NameError: there is no axis of that name.
        ValueError: the axis cannot be divided evenly among the examples.
        NotImplementedError: `axis_index_groups` is given.

    >>> exchange = lambda x: lax.all_to_all(x, "i", split_axis=0, concat_axis=0)
    >>> minijax.vmap(exchange, axis_name="i")(jnp.array([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    require_no_groups("all_to_all", axis_index_groups)
    axes = list(map(axis_of, names_of(axis_name)))
    size = math.prod([size for _, size in axes])

    def exchange(leaf: Any) -> Any:
        shape = typeof(leaf).shape
        split = canonical_axis("all_to_all: split_axis", split_axis, len(shape))
        concat = canonical_axis("all_to_all: concat_axis", concat_axis, len(shape))
        _require_division("all_to_all", shape, split, size, tiled)
        if not tiled:
            return _exchange(leaf, axes, split, concat)
        part = (*shape[:split], shape[split] // size, *shape[split + 1 :])
        leaf = _exchange(reshape(leaf, _inserted(part, split, size)), axes, split, concat)
        return reshape(leaf, _scaled(part, concat, size))

    return tree_map(exchange, tree_to_arrays(x))


def _exchange(x: Any, axes: Sequence[tuple[Any, int]], split: int, concat: int) -> Any:
    """Gives away along the axis `split`, which goes; what comes stands along `concat`, a new axis.

    Of several named axes, each in turn passes on the part of the number of an example that is
    along it.
    """
    if len(axes) == 1:
        ((index, size),) = axes
        return bind1(all_to_all_p, x, index, split=split, concat=concat, size=size)
    x = moveaxis(x, split, 0)
    count, *rest = typeof(x).shape
    x = reshape(x, (*[size for _, size in axes], *rest))
    for i, (index, size) in enumerate(axes):
        x = bind1(all_to_all_p, x, index, split=i, concat=i, size=size)
    return moveaxis(reshape(x, (count, *rest)), 0, concat)


@hiding_frames
def pswapaxes(x: Any, axis_name: Axis, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Exchanges the axis of the examples with an axis of `x`, of the same size.

    Arguments:
        x: an array or a pytree of arrays.
        axis_name: the name of the axis.
        axis: the axis of `x`, with one element for each example.
        axis_index_groups: None.

    Raises:
        NameError: there is no axis of that name.
        ValueError: the sizes differ.

    >>> x = jnp.array([[1, 2], [3, 4]])
    >>> minijax.vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(x)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
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
        NotImplementedError: there are several names.

    >>> pass_on = lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)])
    >>> minijax.vmap(pass_on, axis_name="i")(jnp.array([10, 20, 30]))
    Array([ 0, 10, 20], dtype=int32)
    """
    names = names_of(axis_name)
    if len(names) != 1:
        raise NotImplementedError(f"ppermute: axis_name must be one name, found {names}")
    index, size = axis_of(names[0])
    pairs = tuple((int(origin), int(to)) for origin, to in perm)
    for role, numbers in zip(("sources", "destinations"), zip(*pairs, strict=True), strict=False):
        if len(set(numbers)) < len(numbers) or not all(0 <= n < size for n in numbers):
            raise ValueError(
                f"ppermute: {role} must be distinct indices below {size}, found {numbers}"
            )
    return tree_map(lambda leaf: bind1(ppermute_p, leaf, index, perm=pairs), tree_to_arrays(x))


@hiding_frames
def pshuffle(x: Any, axis_name: Axis, perm: Sequence[int]) -> Any:
    """Gives each example the value of the one whose index `perm` holds in its place.

    Arguments:
        x: an array or a pytree of arrays.
        axis_name: the name of the axis.
        perm: the index of an example for each example, each of them once.

    Raises:
        NameError: there is no axis of that name.
        ValueError: `perm` is no permutation.

    >>> turn = lambda x: lax.pshuffle(x, "i", [2, 0, 1])
    >>> minijax.vmap(turn, axis_name="i")(jnp.array([10, 20, 30]))
    Array([30, 10, 20], dtype=int32)
    """
    if sorted(perm) != list(range(axis_size(axis_name))):
        raise ValueError(f"pshuffle: {tuple(perm)} does not permute the examples")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)), strict=True)))


# --8<-- [end:exchange]

__all__ = [
    "all_gather",
    "all_to_all",
    "ppermute",
    "pshuffle",
    "psum_scatter",
    "pswapaxes",
]
