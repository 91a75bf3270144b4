"""The primitives of random keys, each of which applies a function of the keys' implementation.

An array of keys is treated as if the function were mapped over it by `vmap`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax.lax import promoting as lax
from minijax.lax.key_arrays import random_unwrap, random_wrap
from minijax.primitives.declare import declare
from minijax.primitives.decomposition import leading_batch, lower_by
from minijax.primitives.sharding_rules import agreed, by_batch
from minijax.settings.key_types import Implementation, implementation_of, is_key_type
from minijax.shardings.types import Division, division_of
from minijax.transforms.transformations import vmap
from minijax_stage2 import Primitive, ShapedArray, bind1, typeof
from minijax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim

Avals = Sequence[ShapedArray]
Shape = tuple[int, ...]

random_seed_p = Primitive("random_seed")
random_split_p = Primitive("random_split")
random_fold_in_p = Primitive("random_fold_in")
random_bits_p = Primitive("random_bits")


def _require_keys(primitive: Primitive, keys: ShapedArray) -> None:
    if not is_key_type(keys.dtype):
        raise TypeError(f"{primitive}: expected keys, found {keys}")


def _for_each(function: Callable[[Any], Any], x: Any) -> Any:
    for _ in range(typeof(x).ndim):
        function = vmap(function)
    return function(x)


def _seeded(seeds: Any, *, impl: Implementation) -> list[Any]:
    return [_for_each(lambda seed: random_wrap(impl.seed(seed), impl), seeds)]


def _split(keys: Any, *, shape: Shape) -> list[Any]:
    impl = implementation_of(typeof(keys).dtype)
    return [_for_each(lambda key: random_wrap(impl.split(random_unwrap(key), shape), impl), keys)]


def _bits(keys: Any, *, bit_width: int, shape: Shape) -> list[Any]:
    impl = implementation_of(typeof(keys).dtype)
    return [_for_each(lambda key: impl.random_bits(random_unwrap(key), bit_width, shape), keys)]


def _types_of_split(keys: ShapedArray, *, shape: Shape) -> Avals:
    _require_keys(random_split_p, keys)
    return [ShapedArray((*keys.shape, *shape), keys.dtype)]


def _types_of_bits(keys: ShapedArray, *, bit_width: int, shape: Shape) -> Avals:
    _require_keys(random_bits_p, keys)
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"random_bits: bit_width must be 8, 16, 32 or 64, found {bit_width}")
    return [ShapedArray((*keys.shape, *shape), np.dtype(f"uint{bit_width}"))]


for primitive, types, function in (
    (random_seed_p, lambda seeds, *, impl: [ShapedArray(seeds.shape, impl.dtype)], _seeded),
    (random_split_p, _types_of_split, _split),
    (random_bits_p, _types_of_bits, _bits),
):
    declare(
        primitive,
        abstract_eval=types,
        lower=lower_by(function),
        vmap=leading_batch(primitive),
        sharding=by_batch(primitive, 0),
    )


def _types_of_fold_in(keys: ShapedArray, data: ShapedArray) -> Avals:
    """Along each axis, one operand may have size 1 while the other has another."""
    _require_keys(random_fold_in_p, keys)
    shapes = [x.shape for x in (keys, data) if x.ndim]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        shape = None
    if shape is None or len(set(map(len, shapes))) > 1:
        raise TypeError(f"random_fold_in: the shapes do not fit, found {keys} and {data}")
    return [ShapedArray(shape, keys.dtype)]


def _folded(keys: Any, data: Any) -> list[Any]:
    """`fold_in` mapped over both operands where these have an axis, over one where it does."""
    operands, ndims = [keys, data], [typeof(x).ndim for x in (keys, data)]
    if not any(ndims):
        impl = implementation_of(typeof(keys).dtype)
        return [random_wrap(impl.fold_in(random_unwrap(keys), data), impl)]
    sizes = [typeof(x).shape[0] if typeof(x).ndim else 1 for x in operands]
    size = 0 if 0 in sizes else max(sizes)
    axes: list[int | None] = []
    for at, ndim in enumerate(ndims):
        is_mapped = ndim > 0 and sizes[at] == size
        if ndim and not is_mapped:
            operands[at] = lax.squeeze(operands[at], (0,))
        axes.append(0 if is_mapped else None)
    return [vmap(lambda *each: _folded(*each)[0], tuple(axes))(*operands)]


def _vmap_fold_in(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim]
) -> tuple[list[Any], list[BatchDim]]:
    """Align the mapped axes; an operand that is not mapped gets an axis of size 1."""
    example_ndim = max(
        typeof(x).ndim - (dim is not None) for x, dim in zip(values, dims, strict=True)
    )

    def aligned(x: Any, dim: BatchDim) -> Any:
        if dim is None:
            return lax.expand_dims(x, (0,)) if typeof(x).ndim else x
        x = move_batch_dim(x, axis, dim, 0)
        return lax.expand_dims(x, range(1, 2 + example_ndim - typeof(x).ndim))

    return [bind1(random_fold_in_p, *map(aligned, values, dims))], [0]


def _division_of_folded(
    in_avals: Avals, out_avals: Avals, params: dict[str, Any]
) -> list[Division]:
    of_shape = [aval for aval in in_avals if aval.shape == out_avals[0].shape]
    divisions = zip(*map(division_of, of_shape), strict=True)
    return [agreed(random_fold_in_p, in_avals, divisions)]


declare(
    random_fold_in_p,
    abstract_eval=_types_of_fold_in,
    lower=lower_by(_folded),
    vmap=_vmap_fold_in,
    sharding=_division_of_folded,
)
