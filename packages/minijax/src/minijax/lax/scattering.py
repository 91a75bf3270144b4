"""What all scatters share: dimension numbers, types, batches, and the program.

A scatter puts updates into an array, or combines them with what stands there. An update goes where
`gather` with the same numbers would find it. Updates that do not lie inside the array are dropped,
or moved inside in mode "clip". The functions themselves are in `scatters` and `applying`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from minijax.lax.gather_dimensions import GatherScatterMode, ScatterDimensionNumbers
from minijax.lax.gathering import (
    after,
    bounds_of_indices,
    check_indices,
    is_increasing,
    wide_indices,
)
from minijax.promotion import result_type
from minijax_stage2 import Primitive, ShapedArray, bind1, typeof
from minijax_stage2.promotion import cast
from minijax_stage2.shaped_array import Shape
from minijax_stage2.vmap import BatchDim, move_batch_dim
from minijax_stage3.jaxpr import Jaxpr
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature

STATIC = ("dimension_numbers", "indices_are_sorted", "unique_indices", "mode")


def fitting(name: str, updates: Any, operand: Any) -> Any:
    """Updates in the dtype of the array that they go into.

    Raises:
        TypeError: it does not hold what they may be.
    """
    aval, target = typeof(updates), typeof(operand)
    if aval.dtype != target.dtype and result_type(aval, target).dtype != target.dtype:
        raise TypeError(
            f"{name}: the updates of {target} must have a dtype that promotes to its own, found "
            f"{aval}; convert them by convert_element_type, or the array"
        )
    return cast(updates, target)


def window_sizes(x: ShapedArray, updates: Shape, numbers: ScatterDimensionNumbers) -> list[int]:
    """The size of one update along each axis of the operand."""
    gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    sizes = iter([updates[axis] for axis in numbers.update_window_dims])
    return [min(1, x.shape[axis]) if axis in gone else next(sizes) for axis in range(x.ndim)]


# --8<-- [start:scatter]
def scatter_type(
    x: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    **options: Any,
) -> list[ShapedArray]:
    window, inserted, start_map, batching, indices_batching = dimension_numbers
    check_indices("scatter", x, indices, start_map, inserted, batching, indices_batching)
    if x.dtype != updates.dtype:
        raise TypeError(f"scatter: the updates of {x} must have its dtype, found {updates}")
    batch = tuple(n for axis, n in enumerate(updates.shape) if axis not in window)
    if (
        not is_increasing(window, updates.ndim)
        or len(window) + len(inserted) + len(batching) != x.ndim
        or batch != indices.shape[:-1]
        or any(
            size > bound
            for size, bound in zip(
                window_sizes(x, updates.shape, dimension_numbers), x.shape, strict=True
            )
        )
    ):
        raise TypeError(
            f"scatter: updates {updates} at indices {indices} of {x} do not fit "
            f"{dimension_numbers}: the axes update_window_dims of the updates are, in order, the "
            "axes of the operand that are neither inserted nor batched, and the others those of "
            "the indices, but for their last"
        )
    return [x]


def vmap_scatter(primitive: Primitive) -> Callable[..., Any]:
    """A batch has one more axis: it runs along with that of the indices, or is updated whole."""

    def rule(
        axis_size: int,
        values: Sequence[Any],
        dims: Sequence[BatchDim],
        *,
        dimension_numbers: ScatterDimensionNumbers,
        indices_are_sorted: bool,
        **options: Any,
    ) -> tuple[list[Any], list[BatchDim]]:
        (x, indices, updates), (x_dim, indices_dim, updates_dim) = values, dims
        x = move_batch_dim(x, axis_size, x_dim, 0)
        updates = move_batch_dim(updates, axis_size, updates_dim, 0)
        window, inserted, start_map, batching, indices_batching = map(after, dimension_numbers)
        if indices_dim is None:
            window, indices_batching = (0, *window), dimension_numbers[4]
        else:
            indices = move_batch_dim(indices, axis_size, indices_dim, 0)
            batching, indices_batching = (0, *batching), (0, *indices_batching)
            indices_are_sorted = False
        numbers = ScatterDimensionNumbers(window, inserted, start_map, batching, indices_batching)
        out = bind1(
            primitive,
            x,
            indices,
            updates,
            dimension_numbers=numbers,
            indices_are_sorted=indices_are_sorted,
            **options,
        )
        return [out], [0]

    return rule


def lower_scatter(combine: str) -> Callable[..., list[Value]]:
    """The rule of a scatter that combines by this operation of StableHLO; "" is replacing."""

    def lower(
        b: FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        x: Value,
        indices: Value,
        updates: Value,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: GatherScatterMode,
        jaxpr: Jaxpr | None = None,
    ) -> list[Value]:
        window, inserted, start_map, batching, indices_batching = dimension_numbers
        indices = wide_indices(b, indices)
        if mode is GatherScatterMode.CLIP and start_map:
            sizes = window_sizes(x.aval, updates.aval.shape, dimension_numbers)
            bounds = [x.aval.shape[axis] - sizes[axis] for axis in start_map]
            indices = _clamped(b, indices, bounds)
        numbers = (
            f"update_window_dims = {list(window)}, inserted_window_dims = {list(inserted)}, "
            f"input_batching_dims = {list(batching)}, "
            f"scatter_indices_batching_dims = {list(indices_batching)}, "
            f"scatter_dims_to_operand_dims = {list(start_map)}, "
            f"index_vector_dim = {indices.aval.ndim - 1}"
        )
        old, new, combined = b.fresh_name(), b.fresh_name(), b.fresh_name()
        scalar = mlir_type(ShapedArray((), x.aval.dtype))
        if jaxpr is not None:
            function = b.module.private_function(jaxpr, "apply")
            line = f"{combined} = func.call @{function}({old}) : ({scalar}) -> {scalar}"
        elif combine:
            line = f"{combined} = stablehlo.{combine} {old}, {new} : {scalar}"
        else:
            line, combined = "", new
        return b.emit(
            f'"stablehlo.scatter"({x.name}, {indices.name}, {updates.name}) <{{'
            f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>, "
            f"indices_are_sorted = {str(indices_are_sorted).lower()}, "
            f"unique_indices = {str(unique_indices).lower()}}}> ({{\n"
            f"    ^bb0({old}: {scalar}, {new}: {scalar}):\n"
            f"      {line}\n"
            f"      stablehlo.return {combined} : {scalar}\n"
            f"    }}) : {signature([x, indices, updates], out_avals)}",
            *out_avals,
        )

    return lower


def _clamped(b: FunctionBuilder, indices: Value, bounds: Sequence[int]) -> Value:
    zero = b.constant(0, indices.aval)
    largest = bounds_of_indices(b, indices, bounds)
    (out,) = b.emit(
        f"stablehlo.clamp {zero.name}, {indices.name}, {largest.name} : {mlir_type(indices.aval)}",
        indices.aval,
    )
    return out


def bind_scatter(
    primitive: Primitive,
    operand: Any,
    indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: str | GatherScatterMode | None,
    **params: Any,
) -> Any:
    """A scatter with the parameters as users give them."""
    return bind1(
        primitive,
        operand,
        indices,
        updates,
        dimension_numbers=ScatterDimensionNumbers(*map(tuple, dimension_numbers)),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=GatherScatterMode.from_any(mode),
        **params,
    )


# --8<-- [end:scatter]
