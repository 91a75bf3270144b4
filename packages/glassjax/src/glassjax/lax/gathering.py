"""`gather`, under every transformation."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

import glassjax_stage2 as stage2
from glassjax.lax.elementwise import rem, where
from glassjax.lax.key_arrays import by_halves
from glassjax.lax.shapes import expand_dims, full
from glassjax.lax.slicing import concatenate
from glassjax.primitives import sparsity_rules
from glassjax.primitives.declare import declare
from glassjax.primitives.sharding_rules import agreed, require_whole
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation, require_counted_from_0
from glassjax.settings.names import named
from glassjax.settings.number_types import letter_of, result_type, warn_of_lost_part
from glassjax.shardings.types import Axes, Spec, spec_of
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.functions import canonical_axes, ints
from glassjax_stage2.primitives import ge_p, le_p, select_n_p
from glassjax_stage2.promotion import cast
from glassjax_stage2.shaped_array import Shape, dialect, is_inexact, typeof_named
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3 import lowering_rules
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature
from glassjax_stage4 import UndefPrimal

# Indices along an axis: their dtype, and negative ones.


def index_dtype(*indices: Any) -> ShapedArray:
    """The common type of indices: of 32 bits at least, which hold the size of any axis."""
    found = result_type(dialect().weak[1], *map(typeof, indices)).strip_weak_type()
    return found if indices and found.dtype.itemsize >= 4 else ShapedArray((), np.int32)


def as_index(index: Any, target: ShapedArray | None = None) -> Any:
    """Integers in a dtype for indices; those that it does not hold become the largest."""
    target = index_dtype(index) if target is None else target
    dtype = typeof(index).dtype
    if dtype.kind == "u" and target.dtype.kind == "i" and dtype.itemsize >= target.dtype.itemsize:
        largest = dtype.type(np.iinfo(target.dtype).max)
        index = where(index < largest, index, largest)
    return cast(index, target)


def wrapped_index(index: Any, size: int, target: ShapedArray | None = None) -> Any:
    """Indices into an axis of this size, with negative ones counted from the end.

    With `target` traced ones are in that dtype, as by `as_index`.
    """
    if type(index) is int:
        return index + size if index < 0 else index
    if letter_of(typeof(index).dtype) == "u":
        return index
    is_negative = stage2.lt(index, 0)
    converted = index if target is None else as_index(index, target)
    wrapped = stage2.add(converted, size)
    is_wide = typeof(index).dtype == typeof(wrapped).dtype
    return stage2.select_n(is_negative, index if is_wide else converted, wrapped)


def remainder(index: Any, size: int) -> Any:
    """The remainder of integers when divided by `size`, from 0 on."""
    rest = rem(*stage2.promote(index, size))
    return where(rest < 0, rest + size, rest)


# Dimension numbers and modes of `gather` and of the scatters.


Dims = tuple[int, ...]


class GatherScatterMode(enum.Enum):
    """Treatment of slices that are not entirely inside the array.

    CLIP moves them inside. FILL_OR_DROP fills them with a number in a gather, and drops them in a
    scatter. PROMISE_IN_BOUNDS leaves the result undefined, since there are none.

    >>> jnp.arange(3.0).at[5].get(mode=lax.GatherScatterMode.CLIP)
    Array(2., dtype=float32)
    >>> jnp.arange(3.0).at[5].get(mode=lax.GatherScatterMode.FILL_OR_DROP)
    Array(nan, dtype=float32)
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()

    @staticmethod
    def from_any(s: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode of that name; FILL_OR_DROP if None.

        Raises:
            ValueError: there is none of that name.
        """
        if isinstance(s, GatherScatterMode):
            return s
        if s is None or (isinstance(s, str) and s in ("fill", "drop")):
            return GatherScatterMode.FILL_OR_DROP
        if isinstance(s, str) and s in ("clip", "promise_in_bounds"):
            return GatherScatterMode[s.upper()]
        raise ValueError(
            f"unknown mode of indexing {s!r}: expected 'clip', 'fill', 'drop' or "
            "'promise_in_bounds'"
        )


class GatherDimensionNumbers(NamedTuple):
    """Dimension numbers of `gather`.

    Attributes:
        offset_dims: the axes of the result that come from slices; the others come from the
            indices, without their last axis.
        collapsed_slice_dims: the axes of the operand, of slice size 1, that are dropped from the
            result.
        start_index_map: the axes of the operand to which the entries of an index refer.
        operand_batching_dims: batch axes of the operand, paired with axes of the indices.
        start_indices_batching_dims: those axes of the indices.

    >>> numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
    >>> lax.gather(jnp.arange(6).reshape(3, 2), jnp.array([[2], [0]]), numbers, (1, 2))
    Array([[4, 5],
           [0, 1]], dtype=int32)
    """

    offset_dims: Dims
    collapsed_slice_dims: Dims
    start_index_map: Dims
    operand_batching_dims: Dims = ()
    start_indices_batching_dims: Dims = ()


class ScatterDimensionNumbers(NamedTuple):
    """Dimension numbers of `scatter`, the transpose of `GatherDimensionNumbers`.

    Attributes:
        update_window_dims: the axes of the updates that belong to one window.
        inserted_window_dims: the axes of the operand that are missing from the updates.
        scatter_dims_to_operand_dims: the axes of the operand to which the entries of an index
            refer.
        operand_batching_dims: batch axes of the operand, paired with axes of the indices.
        scatter_indices_batching_dims: those axes of the indices.

    >>> numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    >>> lax.scatter_add(jnp.zeros((3, 2)), jnp.array([[2], [0]]), jnp.ones((2, 2)), numbers)
    Array([[1., 1.],
           [0., 0.],
           [1., 1.]], dtype=float32)
    """

    update_window_dims: Dims
    inserted_window_dims: Dims
    scatter_dims_to_operand_dims: Dims
    operand_batching_dims: Dims = ()
    scatter_indices_batching_dims: Dims = ()


# Each is the transpose of the other.
gather_p = Primitive("gather")


# Gathering: slices of an array at the positions in an array of indices.
#
# Each position of the indices, except along their last axis, is one slice; the last axis holds
# its start. `scatter` puts slices where they would be gathered, and is its transpose.


@operation(
    static=(
        "dimension_numbers",
        "slice_sizes",
        "unique_indices",
        "indices_are_sorted",
        "mode",
        "fill_value",
    )
)
def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
) -> Array:
    """Slices of `operand` that begin at `start_indices`.

    Arguments:
        operand: the array.
        start_indices: integers; their last axis holds the start of one slice.
        dimension_numbers: a `GatherDimensionNumbers`.
        slice_sizes: the size of a slice along each axis of `operand`.
        unique_indices: a promise that no two slices overlap.
        indices_are_sorted: a promise that they are in order.
        mode: a `GatherScatterMode` or its name; "promise_in_bounds" by default.
        fill_value: the number that fills slices out of bounds in mode "fill": by default NaN, for
            integers the smallest or, if unsigned, the largest, and True for booleans.

    Raises:
        TypeError: the numbers or sizes do not match the shapes.
        ValueError: indices are not integers.

    >>> numbers = lax.GatherDimensionNumbers((), (0, 1), (0, 1))
    >>> places = jnp.array([[0, 1], [1, 2]])
    >>> lax.gather(jnp.arange(6).reshape(2, 3), places, numbers, slice_sizes=(1, 1))
    Array([1, 5], dtype=int32)
    """
    if fill_value is not None:
        fill_value = _fill_value(fill_value, typeof(operand).dtype)
    return bind1(
        gather_p,
        operand,
        start_indices,
        dimension_numbers=GatherDimensionNumbers(*map(tuple, dimension_numbers)),
        slice_sizes=ints("gather: slice_sizes", slice_sizes),
        unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted),
        mode=GatherScatterMode.from_any("promise_in_bounds" if mode is None else mode),
        fill_value=fill_value,
    )


def _fill_value(given: Any, dtype: np.dtype[Any]) -> Any:
    """The fill value converted to `dtype`: ints wrap around, fractions are truncated."""
    if np.ndim(given):
        raise TypeError(f"gather: fill_value must be a scalar, found {given!r}")
    is_int = isinstance(given, int)
    kind = "i" if is_int else typeof_named("gather: fill_value", given).dtype.kind
    if is_int and letter_of(dtype) in "iu" and not -(2**63) <= given < 2**63:
        raise OverflowError(f"gather: fill_value does not fit in 64 bits: {given}")
    if dtype.names and kind in "iu":  # a key repeats the fill value in each of its words
        word = int(given) % 2**32
        return word if dtype.itemsize == 4 else word << 32 | word
    if dtype.kind == "V" or kind == "V":
        return given
    if kind == "c" and dtype.kind not in "bc":
        if isinstance(given, complex) and not isinstance(given, np.generic):
            raise TypeError(f"gather: fill_value is complex, {given}, and {dtype} is not")
        warn_of_lost_part("gather", given, dtype, np.exceptions.ComplexWarning)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the hardware decides about values that do not fit
        return np.asarray(given).astype(dtype)[()]


def _gather_type(
    x: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    **options: Any,
) -> list[ShapedArray]:
    offset, collapsed, start_map, batching, indices_batching = dimension_numbers
    check_indices("gather", x, indices, start_map, collapsed, batching, indices_batching)
    gone = {*collapsed, *batching}
    window = [size for axis, size in enumerate(slice_sizes) if axis not in gone]
    # Along a batch axis a slice is one example, even if the batch is empty.
    bounds = [max(size, 1) if axis in batching else size for axis, size in enumerate(x.shape)]
    fits = (
        len(slice_sizes) == x.ndim
        and all(0 <= size <= bound for size, bound in zip(slice_sizes, bounds, strict=True))
        and all(slice_sizes[axis] <= 1 for axis in gone)
        and len(offset) == len(window)
    )
    out_ndim = len(offset) + indices.ndim - 1
    if not fits or not is_increasing(offset, out_ndim):
        raise TypeError(
            f"gather: slices of sizes {slice_sizes} from {x} at indices {indices} do not fit "
            f"{dimension_numbers}: offset_dims name in order the axes of the result for axes that "
            "are neither collapsed nor batched, and of those a slice has size 1"
        )
    sizes, batch = iter(window), iter(indices.shape[:-1])
    shape = tuple(next(sizes if axis in offset else batch) for axis in range(out_ndim))
    return [ShapedArray(shape, x.dtype, x.weak_type)]


_BY_OUT_SHARDING = "Give the function out_sharding, as in x.at[...].get(out_sharding=P(...))"


def _gather_sharding(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[Spec]:
    """Axes taken whole are sharded as in the operand, the others as in the indices.

    Raises:
        ShardingTypeError: an axis is sharded along which elements are chosen.
    """
    x, indices = in_avals
    offset, collapsed, _, batching, indices_batching = params["dimension_numbers"]
    sizes = params["slice_sizes"]
    why = "elements are chosen along it"
    chosen = [
        axis for axis in range(x.ndim) if sizes[axis] < x.shape[axis] and axis not in batching
    ]
    require_whole("indexing", x, chosen, why, _BY_OUT_SHARDING)
    require_whole("indexing", indices, [indices.ndim - 1], "it holds the parts of an index")
    batch_spec = [*spec_of(indices)[:-1]]
    for mine, other in zip(batching, indices_batching, strict=True):
        both = spec_of(x)[mine], batch_spec[other]
        (batch_spec[other],) = agreed("indexing", in_avals, [both])
    window = [axes for axis, axes in enumerate(spec_of(x)) if axis not in {*collapsed, *batching}]
    left: dict[bool, Iterator[Axes]] = {True: iter(window), False: iter(batch_spec)}
    return [tuple([next(left[axis in offset]) for axis in range(out_avals[0].ndim)])]


def check_indices(
    name: str,
    x: ShapedArray,
    indices: ShapedArray,
    start_map: Dims,
    dropped: Dims,
    batching: Dims,
    indices_batching: Dims,
) -> None:
    """Raise an error if indices do not match the array that they index."""
    if letter_of(indices.dtype) not in "iu":
        raise ValueError(f"{name}: indices must be integers, found {indices}")
    if not indices.ndim or indices.shape[-1] != len(start_map):
        raise TypeError(
            f"{name}: the last axis of the indices holds {len(start_map)} numbers, one for each of "
            f"the axes {start_map} of {x}; found {indices}"
        )
    axes = (*start_map, *batching)
    if len(set(axes)) != len(axes) or not all(0 <= axis < x.ndim for axis in axes):
        raise TypeError(f"{name}: {axes} are not distinct axes of {x}")
    if not is_increasing(dropped, x.ndim) or not is_increasing(batching, x.ndim):
        raise TypeError(
            f"{name}: the axes {dropped}, which the slices lack, and the axes {batching} of a "
            f"batch must be distinct axes of {x}, in order"
        )
    batch_axes = set(indices_batching)
    if len(batch_axes) != len(indices_batching) or not batch_axes <= {*range(indices.ndim - 1)}:
        raise TypeError(
            f"{name}: {indices_batching} are not distinct axes of the indices {indices} before "
            "their last"
        )
    sizes = [x.shape[axis] for axis in batching]
    if sizes != [indices.shape[axis] for axis in indices_batching]:
        raise TypeError(
            f"{name}: axes {batching} of {x} run along with axes {indices_batching} of the indices "
            f"{indices}, and must have their sizes"
        )


def is_increasing(axes: Dims, ndim: int) -> bool:
    """Return True if these are distinct axes, in order, of an array of `ndim` axes."""
    return list(axes) == sorted(set(axes)) and all(0 <= axis < ndim for axis in axes)


def _gather_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    x: Value,
    indices: Value,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    unique_indices: bool,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> list[Value]:
    (out,) = out_avals
    if not out.size:  # XLA rejects slices of size 1 from an empty batch
        return [b.constant(0, out)]
    offset, collapsed, start_map, batching, indices_batching = dimension_numbers
    indices = wide_indices(b, indices)
    numbers = (
        f"offset_dims = {list(offset)}, collapsed_slice_dims = {list(collapsed)}, "
        f"operand_batching_dims = {list(batching)}, "
        f"start_indices_batching_dims = {list(indices_batching)}, "
        f"start_index_map = {list(start_map)}, index_vector_dim = {indices.aval.ndim - 1}"
    )
    gathered = b.emit(
        f'"stablehlo.gather"({x.name}, {indices.name}) <{{dimension_numbers = '
        f"#stablehlo.gather<{numbers}>, indices_are_sorted = {str(indices_are_sorted).lower()}, "
        f"slice_sizes = {i64_array(slice_sizes)}}}> : {signature([x, indices], out_avals)}",
        out,
    )
    # StableHLO's gather clamps starts out of bounds, so that only filling needs more.
    if mode is not GatherScatterMode.FILL_OR_DROP or not start_map:
        return gathered
    bounds = [x.aval.shape[axis] - slice_sizes[axis] for axis in start_map]
    inside = _is_inside(b, indices, bounds)
    batch_dims = [axis for axis in range(out.ndim) if axis not in offset]
    mask_type = ShapedArray(out.shape, np.bool_)
    (mask,) = b.emit(
        f"stablehlo.broadcast_in_dim {inside.name}, dims = {batch_dims} : "
        f"{signature([inside], [mask_type])}",
        mask_type,
    )
    fill = default_fill_value(out.dtype) if fill_value is None else fill_value
    filling = b.constant(fill, ShapedArray((), out.dtype))
    # select_n takes the first case where the mask is false
    return lowering_rules[select_n_p](b, out_avals, mask, filling, *gathered)


def wide_indices(b: FunctionBuilder, indices: Value) -> Value:
    """Indices in a dtype that holds the size of any axis."""
    if indices.aval.dtype.itemsize >= 4:
        return indices
    wide = ShapedArray(indices.aval.shape, np.int32)
    (out,) = b.emit(f"stablehlo.convert {indices.name} : {signature([indices], [wide])}", wide)
    return out


def bounds_of_indices(b: FunctionBuilder, indices: Value, bounds: Sequence[int]) -> Value:
    """For each index the largest that is inside."""
    row = ShapedArray((len(bounds),), indices.aval.dtype)
    text = ", ".join(map(str, bounds))
    (largest,) = b.emit(f"stablehlo.constant dense<[{text}]> : {mlir_type(row)}", row)
    if indices.aval.ndim == 1:
        return largest
    (out,) = b.emit(
        f"stablehlo.broadcast_in_dim {largest.name}, dims = [{indices.aval.ndim - 1}] : "
        f"{signature([largest], [indices.aval])}",
        indices.aval,
    )
    return out


def _is_inside(b: FunctionBuilder, indices: Value, bounds: Sequence[int]) -> Value:
    """A mask of the slices that lie inside the array."""
    truth = ShapedArray(indices.aval.shape, np.bool_)
    zero = b.constant(0, ShapedArray((), indices.aval.dtype))
    (above,) = lowering_rules[ge_p](b, [truth], indices, zero)
    (below,) = lowering_rules[le_p](b, [truth], indices, bounds_of_indices(b, indices, bounds))
    (both,) = b.emit(f"stablehlo.and {above.name}, {below.name} : {mlir_type(truth)}", truth)
    start = b.constant(True, ShapedArray((), np.bool_))
    slice_mask = ShapedArray(truth.shape[:-1], np.bool_)
    (inside,) = b.emit(
        f"stablehlo.reduce({both.name} init: {start.name}) applies stablehlo.and "
        f"across dimensions = [{truth.ndim - 1}] : {signature([both, start], [slice_mask])}",
        slice_mask,
    )
    return inside


def i64_array(sizes: Sequence[int]) -> str:
    """Sizes as an attribute of MLIR."""
    return f"array<i64{': ' if sizes else ''}{', '.join(map(str, sizes))}>"


def default_fill_value(dtype: np.dtype[Any]) -> Any:
    """Return the value of elements out of bounds; for keys, all bits are ones."""
    if is_inexact(dtype):
        return np.nan
    if dtype.kind == "b":
        return True
    if dtype.names:
        return np.frombuffer(b"\xff" * dtype.itemsize, dtype)[0]
    limits = ml_dtypes.iinfo(dtype)
    return limits.max if limits.min == 0 else limits.min


def _gather_vmap(
    axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    indices_are_sorted: bool,
    unique_indices: bool,
    **options: Any,
) -> tuple[list[Any], list[BatchDim]]:
    """Batching rule: the array's batch axis is sliced whole, or paired with the indices' own."""
    (x, indices), (x_dim, indices_dim) = values, dims
    offset, collapsed, start_map, batching, indices_batching = dimension_numbers
    offset = after(offset)
    if x_dim is not None:
        x = move_batch_dim(x, axis, x_dim, 0)
        collapsed, start_map, batching = after(collapsed), after(start_map), after(batching)
        # All examples at once if they share the indices, otherwise each with its own.
        slice_sizes = (axis.size if indices_dim is None else 1, *slice_sizes)
    if indices_dim is None:
        offset = (0, *offset)
    else:
        indices = move_batch_dim(indices, axis, indices_dim, 0)
        indices_batching = after(indices_batching)
        if x_dim is None:
            # Two examples may gather the same element, and the second begins anew.
            unique_indices = indices_are_sorted = False
        else:
            batching, indices_batching = (0, *batching), (0, *indices_batching)
    numbers = GatherDimensionNumbers(offset, collapsed, start_map, batching, indices_batching)
    if axis.size == 0 and indices_dim is not None and x_dim is not None:
        # an empty batch has no slice of size 1
        slice_sizes = (0, *slice_sizes[1:])
    out = gather(
        x,
        indices,
        numbers,
        slice_sizes,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        **options,
    )
    return [out], [0]


def after(axes: Dims) -> Dims:
    """The numbers of these axes after an axis is inserted in front."""
    return tuple(axis + 1 for axis in axes)


def _gather_sparsity(
    analysis: sparsity_rules.Analysis,
    operands: Sequence[sparsity_rules.Operand],
    out_avals: Sequence[ShapedArray],
    params: dict[str, Any],
) -> list[Any]:
    """The rule of `gather`: an unknown index may choose any element along its axes."""
    x, indices = operands
    ids, places = x.ids, indices.value()
    if places is None:
        sizes, start_map = params["slice_sizes"], params["dimension_numbers"].start_index_map
        chosen = [axis for axis in start_map if sizes[axis] < ids.shape[axis]]
        ids = sparsity_rules.union_everywhere(analysis.sets, ids, chosen)
        places = np.zeros(indices.aval.shape, np.int32)
    params = {**params, "fill_value": 0}
    return [sparsity_rules.evaluated(gather_p, ids.astype(np.int32), places, **params)]


def _gather_jvp(
    t: Any, out: Any, x: Any, indices: Any, *, mode: GatherScatterMode, fill_value: Any, **rest: Any
) -> Any:
    """The elements of the tangent; a fill value has the tangent 0."""
    fill = 0 if mode is GatherScatterMode.FILL_OR_DROP else None
    return bind1(gather_p, t, indices, mode=mode, fill_value=fill, **rest)


def _gather_transpose(
    ct: Any,
    x: UndefPrimal,
    indices: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    fill_value: Any,
    **options: Any,
) -> Any:
    """Add up the cotangents of each element, among zeros."""
    zeros = full(x.aval.shape, 0, x.aval.dtype)
    # The fields of both kinds of dimension numbers correspond, in order.
    numbers = ScatterDimensionNumbers(*dimension_numbers)
    # By name: that module imports this one.
    scatter_add_p = named("glassjax.lax.scattering", "scatter_add_p")
    return bind1(scatter_add_p, zeros, indices, ct, dimension_numbers=numbers, **options)


declare(
    gather_p,
    abstract_eval=_gather_type,
    lower=by_halves(_gather_lower),
    vmap=_gather_vmap,
    sharding=_gather_sharding,
    sparsity=_gather_sparsity,
    jvp=[
        _gather_jvp,
        None,
    ],
    transpose=[_gather_transpose, None],
)


@operation(static="axes")
def index_take(src: ArrayLike, idxs: Any, axes: Sequence[int]) -> Array:
    """The elements of `src` at indices along several axes, which come first in the result.

    Indices out of bounds wrap around.

    Arguments:
        src: the array.
        idxs: vectors of integers, one for each of the axes, or an array of them.
        axes: the axes.

    Raises:
        ValueError: there are no such axes, or not one vector of integers for each.

    >>> x = jnp.arange(6).reshape(2, 3)
    >>> lax.index_take(x, (jnp.array([0, 1]), jnp.array([2, 0])), (0, 1))
    Array([2, 3], dtype=int32)
    """
    require_counted_from_0("index_take", "axes", axes)
    shape, vectors = typeof(src).shape, list(idxs)
    axes = canonical_axes("index_take", ints("index_take: axes", axes), len(shape))
    if len(vectors) != len(axes):
        raise ValueError(
            f"index_take: idxs must be one for each of the axes {axes}, found {len(vectors)}"
        )
    columns = [
        expand_dims(remainder(as_index(index), shape[axis]), 1)
        for index, axis in zip(vectors, axes, strict=True)
    ]
    numbers = GatherDimensionNumbers(tuple(range(1, len(shape) - len(axes) + 1)), axes, axes)
    sizes = [1 if axis in axes else size for axis, size in enumerate(shape)]
    return gather(src, concatenate(columns, 1), numbers, sizes)
