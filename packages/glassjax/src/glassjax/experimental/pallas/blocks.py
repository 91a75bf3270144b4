"""Blocks of an array: where they start, what is in them at the edge, and how they are written back.

The last block of an axis may end behind the array. What it holds there is uninitialized, NaN for
floats, so that a kernel that uses it shows; what it writes there is dropped. Both follow from
padding the array to whole blocks for the time of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.errors.arguments import require_call
from glassjax.experimental.pallas import specs
from glassjax.lax.dynamic_slicing import slice_at
from glassjax.numpy.indexing import Slice
from glassjax.runtime.pipeline import name_and_place_of
from glassjax.settings.names import counted
from glassjax_stage2 import ShapedArray, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import has_type, is_inexact


def uninitialized(shape: Sequence[int], dtype: Any) -> Any:
    """An array before anything is written to it: NaN, the least integer, or False."""
    if dtype == np.bool_:
        return jnp.full(tuple(shape), False)
    value = jnp.nan if is_inexact(dtype) else jnp.iinfo(dtype).min
    return jnp.full(tuple(shape), value, dtype)


@dataclass(frozen=True)
class Place:
    """The place of a block: for each axis of the array, the first index, and its number of elements
    where that is bounded.
    """

    starts: tuple[Any, ...]
    bounds: tuple[Any, ...]


@dataclass(frozen=True)
class BlockMapping:
    """The blocks of one array, as functions of the program's indices.

    Attributes:
        role: the array's name in messages, such as `args[0]`.
        aval: its type.
        dims: the block's axes.
        index_map: function from indices, and prefetched references, to indices of a block.
    """

    role: str
    aval: ShapedArray
    dims: tuple[specs.BlockDim, ...]
    index_map: Callable[..., Any]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of elements along the axes of the array that a block covers."""
        return tuple(getattr(dim, "block_size", 1) for dim in self.dims)

    @cached_property
    def squeezed(self) -> tuple[int, ...]:
        """The axes that the kernel does not see."""
        return tuple(i for i, dim in enumerate(self.dims) if isinstance(dim, specs.Squeezed))

    @cached_property
    def padding(self) -> tuple[tuple[int, int], ...]:
        """For each axis, how far blocks reach beyond the array, before and behind it."""
        padding = []
        for size, block, dim in zip(self.aval.shape, self.sizes, self.dims, strict=True):
            low, high = getattr(dim, "padding", (0, 0))
            whole = -(-(low + size + high) // block) * block if block else size
            padding.append((low, whole - low - size))
        return tuple(padding)

    @cached_property
    def padded_shape(self) -> tuple[int, ...]:
        """The shape of the padded array."""
        return tuple(
            low + size + high
            for size, (low, high) in zip(self.aval.shape, self.padding, strict=True)
        )

    def pad(self, array: Any) -> Any:
        """The array, padded to whole blocks, and as `Element` says."""
        if self.padded_shape == self.aval.shape:
            return array
        widths = [(low, high, 0) for low, high in self.padding]
        return lax.pad(array, uninitialized((), self.aval.dtype), widths)

    def unpad(self, array: Any) -> Any:
        """The array without its padding."""
        if self.padded_shape == self.aval.shape:
            return array
        low = [before for before, _ in self.padding]
        high = [start + size for start, size in zip(low, self.aval.shape, strict=True)]
        return lax.slice(array, low, high)

    def place(self, indices: Sequence[Any], prefetched: Sequence[Any]) -> Place:
        """The place of the block of the program with these indices.

        Raises:
            TypeError: the index map takes other arguments, or does not return integers.
            ValueError: it does not return one index for each axis of the block.
        """
        who = f"the index map {name_and_place_of(self.index_map)} of {self.role}"
        given = f"{counted(len(indices), 'axis')} of the grid"
        if prefetched:
            given += f", {counted(len(prefetched), 'prefetched array')}"
        require_call(
            f"pallas_call: {who}, given {given}", self.index_map, (*indices, *prefetched), {}
        )
        found = self.index_map(*indices, *prefetched)
        found = tuple(found) if isinstance(found, tuple | list) else (found,)
        if len(found) != len(self.dims):
            raise ValueError(
                f"pallas_call: {who} must return one index for each of the "
                f"{counted(len(self.dims), 'axis')} of block shape {self.sizes}, found {found}"
            )
        starts, bounds = [], []
        for axis, (index, dim) in enumerate(zip(found, self.dims, strict=True)):
            bound = None
            if isinstance(dim, specs.BoundedSlice):
                if not isinstance(index, Slice):
                    raise TypeError(
                        f"pallas_call: {who} must return a pl.ds(start, size) for axis {axis}, "
                        f"which is a {dim}, found {shown(index)}"
                    )
                index, bound = index.start, index.size
            aval = typeof(index) if has_type(index) else None
            if aval is None or aval.shape or aval.dtype.kind not in "iu":
                raise TypeError(
                    f"pallas_call: {who} must return integer scalars, found {aval or shown(index)} "
                    f"for axis {axis}"
                )
            starts.append(index * dim.block_size if isinstance(dim, specs.Blocked) else index)
            bounds.append(bound)
        return Place(tuple(starts), tuple(bounds))

    def read(self, array: Any, place: Place) -> Any:
        """The block of a padded array, as the kernel gets it."""
        block = self._cut(array, place)
        for within in self._within(place):
            block = jnp.where(within, block, uninitialized((), self.aval.dtype))
        return lax.squeeze(block, self.squeezed)

    def write(self, array: Any, place: Place, block: Any) -> Any:
        """The padded array with a block replaced."""
        block = lax.expand_dims(block, self.squeezed)
        for within in self._within(place):
            block = jnp.where(within, block, self._cut(array, place))
        if typeof(array).shape == self.sizes:
            return block
        return lax.dynamic_update_slice(array, block, place.starts, allow_negative_indices=False)

    def _cut(self, array: Any, place: Place) -> Any:
        if typeof(array).shape == self.sizes:
            return array
        return slice_at(array, place.starts, self.sizes, False)

    def _within(self, place: Place) -> list[Any]:
        """For each bounded axis, which elements of a block are within the bound."""
        return [
            lax.broadcasted_iota("int32", self.sizes, axis) < bound
            for axis, bound in enumerate(place.bounds)
            if bound is not None
        ]


def block_mapping(role: str, aval: ShapedArray, spec: Any) -> BlockMapping:
    """The mapping that a `BlockSpec` describes for an array.

    Raises:
        TypeError: it is not a BlockSpec.
        ValueError: the block has another number of axes than the array.
    """
    if spec is specs.no_block_spec:
        spec = specs.BlockSpec()
    if not isinstance(spec, specs.BlockSpec):
        raise TypeError(
            f"pallas_call: the specification of {role} must be a BlockSpec, found {shown(spec)} of "
            f"type {type(spec).__name__}"
        )
    shape = aval.shape if spec.block_shape is None else spec.block_shape
    dims = tuple(map(specs.as_block_dim, shape))
    if len(dims) != len(aval.shape):
        raise ValueError(
            f"pallas_call: the block shape {tuple(shape)} of {role} must have as many axes as the "
            f"array, which has shape {aval.shape}. An axis that the kernel should not have is None "
            "in the block shape."
        )
    return BlockMapping(role, aval, dims, spec.index_map or _first_block(len(dims)))


def _first_block(ndim: int) -> Callable[..., tuple[int, ...]]:
    return lambda *indices: (0,) * ndim
