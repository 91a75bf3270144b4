"""Descriptions of a kernel's grid and blocks: `GridSpec`, `BlockSpec`, memory spaces.

They are plain data. Memory spaces, buffering and compiler parameters are for the kernels of other
backends: they are accepted, and change nothing here.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from glassjax.memory import Space
from glassjax.settings.names import set_all
from glassjax.settings.number_types import parse_dtype
from glassjax_stage2 import ShapedArray
from glassjax_stage2.errors import shown

# One axis of a block.


@dataclass(frozen=True)
class Blocked:
    """A block axis of a fixed size, indexed in whole blocks: the meaning of an int."""

    block_size: int


@dataclass(frozen=True)
class Element:
    """A block axis of a fixed size, indexed by its first element, so that blocks may overlap.

    Attributes:
        block_size: the number of elements.
        padding: numbers of uninitialized elements before and behind the array.
    """

    block_size: int
    padding: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Squeezed:
    """A block axis of one element, without an axis in the kernel: the meaning of None."""


@dataclass(frozen=True)
class BoundedSlice:
    """A block axis of at most `block_size` elements, whose index is a `ds(start, size)`.

    The elements behind `size`, which may be traced, are uninitialized, and are not written back.
    """

    block_size: int


squeezed = Squeezed()
BlockDim: TypeAlias = Blocked | Element | Squeezed | BoundedSlice


def as_block_dim(given: Any) -> BlockDim:
    """The description of an axis that is given as an int, None or a `BlockDim`.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(given, BlockDim):
        return given
    if given is None:
        return squeezed
    try:
        return Blocked(given.__index__())
    except AttributeError:
        raise TypeError(
            f"BlockSpec: an axis of block_shape is an int, None, Blocked, Element, Squeezed or "
            f"BoundedSlice, found {shown(given)} of type {type(given).__name__}"
        ) from None


# Where arrays are, on devices that differ in it, and how blocks get there.


class _Space(enum.Enum):
    """Called with a shape and a dtype, a memory space makes a `MemoryRef`."""

    def __call__(self, shape: Sequence[int], dtype: Any) -> MemoryRef:
        return MemoryRef(ShapedArray(tuple(shape), parse_dtype("pl.MemorySpace", dtype)), self)


class MemorySpace(_Space):
    """Memory spaces of any device. Called with a shape and a dtype, one makes a `MemoryRef`."""

    ANY = "any"
    DEFAULT = "default"
    ERROR = "error"
    INDEX = "index"
    KEY = "key"


class TPUMemorySpace(_Space):
    """Memory spaces of TPUs. Called with a shape and a dtype, one makes a `MemoryRef`."""

    VMEM = "vmem"
    VMEM_SHARED = "vmem_shared"
    SMEM = "smem"
    CMEM = "cmem"
    SEMAPHORE = "semaphore_mem"
    HBM = "hbm"


ANY, HOST = MemorySpace.ANY, Space.Host
VMEM, VMEM_SHARED, SMEM, CMEM, SEMAPHORE, HBM = TPUMemorySpace


@dataclass(frozen=True)
class MemoryRef:
    """The type of a reference: the type of its array, and its memory space."""

    inner_aval: Any
    memory_space: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes of the array."""
        return tuple(self.inner_aval.shape)

    @property
    def dtype(self) -> Any:
        """The dtype of the array."""
        return self.inner_aval.dtype


class RevisitMode(enum.Enum):
    """The times at which a pipeline returns to a block: at once, or after other blocks."""

    IMMEDIATE = "immediate"
    ANY = "any"


@dataclass(frozen=True)
class Buffered:
    """The number of buffers of a block, in a pipeline."""

    buffer_count: int | tuple[int, int]
    use_lookahead: bool = False
    revisit: RevisitMode | None = None
    prefetched_count: int = 0


# Blocks and grids.


@dataclass
class BlockSpec:
    """The block of an array that a program of the grid gets.

    Attributes:
        block_shape: for each axis of the array, the size of the block, or a `BlockDim`; None, which
            stands for one element, squeezes the axis. None for `block_shape`: the whole array.
        index_map: function from the program's indices, and the arrays of a scalar prefetch, to the
            index of the block along each axis. None: all zeros.
        memory_space: ignored.
        pipeline_mode: ignored.

    >>> from glassjax.experimental import pallas as pl
    >>> rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
    """

    block_shape: Sequence[BlockDim | int | None] | None = None
    index_map: Callable[..., Any] | None = None
    memory_space: Any = field(kw_only=True, default=None)
    pipeline_mode: Buffered | None = None

    def replace(self, **changes: Any) -> BlockSpec:
        """A copy with other attributes."""
        return replace(self, **changes)


class NoBlockSpec:
    """The default of `in_specs` and `out_specs`: every program gets whole arrays."""

    def __repr__(self) -> str:
        return "NoBlockSpec"


no_block_spec = NoBlockSpec()


class GridSpec:
    """The grid of a kernel, and the blocks that each of its programs gets.

    Attributes:
        grid: the size of each axis, ints or traced integers; one int for a grid of one axis.
            `("name", size)` for an axis whose name the kernel may use in `lax.axis_index`.
        in_specs: a tuple or list of trees of `BlockSpec`, one tree for each argument.
        out_specs: a tree of `BlockSpec`, of the structure of the results.
        scratch_shapes: a tuple, or dict, of types of arrays that stay from one program to the next.

    Raises:
        TypeError: a size of `grid` is not an integer.
        ValueError: `in_specs` is not a tuple or list.
    """

    num_scalar_prefetch = 0

    def __init__(
        self,
        grid: Any = (),
        in_specs: Any = no_block_spec,
        out_specs: Any = no_block_spec,
        scratch_shapes: Any = (),
    ):
        if in_specs is not no_block_spec and not isinstance(in_specs, tuple | list):
            raise ValueError(
                "GridSpec: `in_specs` must be a tuple or a list, with a BlockSpec for each "
                f"argument of the kernel, found {shown(in_specs)}"
            )
        sizes = list(grid) if isinstance(grid, tuple | list) else [grid]
        self.grid_names: tuple[Any, ...] | None = None
        if sizes and all(isinstance(size, tuple) and len(size) == 2 for size in sizes):
            self.grid_names = tuple(name for name, _ in sizes)
            sizes = [size for _, size in sizes]
        self.grid: tuple[Any, ...] = tuple(map(_grid_size, sizes))
        self.in_specs = tuple(in_specs) if isinstance(in_specs, list) else in_specs
        self.out_specs = tuple(out_specs) if isinstance(out_specs, list) else out_specs
        self.scratch_shapes = scratch_shapes


def _grid_size(size: Any) -> Any:
    if hasattr(size, "aval"):  # an Array, or traced
        return size
    try:
        return size.__index__()
    except AttributeError:
        raise TypeError(
            f"GridSpec: grid must be a tuple of ints, found {shown(size)} of type "
            f"{type(size).__name__} in it"
        ) from None


class PrefetchScalarGridSpec(GridSpec):
    """A `GridSpec` whose index maps may read the first arguments.

    Attributes:
        num_scalar_prefetch: the number of these arguments. The kernel gets them whole, as its first
            arguments, and each index map after the program's indices.
    """

    def __init__(
        self,
        num_scalar_prefetch: int,
        grid: Any = (),
        in_specs: Any = no_block_spec,
        out_specs: Any = no_block_spec,
        scratch_shapes: Any = (),
    ):
        super().__init__(grid, in_specs, out_specs, scratch_shapes)
        self.num_scalar_prefetch = num_scalar_prefetch


# Options of the compilers of other backends.


class CompilerParams:
    """Options for the compiler of another backend, by keyword, which change nothing here."""

    def __init__(self, **options: Any):
        self.options = options

    def __repr__(self) -> str:
        return f"CompilerParams({', '.join(f'{k}={v!r}' for k, v in self.options.items())})"


set_all(globals())
