"""`scatter` and its variants, under every transformation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.lax import gathering, shapes
from glassjax.lax.elementwise import neg, select
from glassjax.lax.key_arrays import by_halves
from glassjax.primitives import sparsity_rules
from glassjax.primitives.declare import declare
from glassjax.primitives.regions import calls_host, host_call_error
from glassjax.primitives.sharding_rules import agreed, require_whole
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.devices import default_backend
from glassjax.runtime.evaluation import eval_context
from glassjax.runtime.lowering import replicated_if_uneven
from glassjax.runtime.operation import operation, require_dtypes_alike
from glassjax.shardings.types import Spec, spec_of
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.promotion import cast
from glassjax_stage2.shaped_array import Shape
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3.jaxpr import Jaxpr
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature
from glassjax_stage3.staging import trace_to_jaxpr
from glassjax_stage4 import UndefPrimal

STATIC = ("dimension_numbers", "indices_are_sorted", "unique_indices", "mode")


def window_sizes(
    x: ShapedArray, updates: Shape, numbers: gathering.ScatterDimensionNumbers
) -> list[int]:
    """The size of one update along each axis of the operand."""
    gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    sizes = iter([updates[axis] for axis in numbers.update_window_dims])
    # an empty axis has no element to update
    return [min(1, x.shape[axis]) if axis in gone else next(sizes) for axis in range(x.ndim)]


def scatter_type(
    x: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    *,
    dimension_numbers: gathering.ScatterDimensionNumbers,
    **options: Any,
) -> list[ShapedArray]:
    window, inserted, start_map, batching, indices_batching = dimension_numbers
    gathering.check_indices("scatter", x, indices, start_map, inserted, batching, indices_batching)
    if x.dtype != updates.dtype:
        raise TypeError(f"scatter: the updates of {x} must have its dtype, found {updates}")
    batch = tuple(n for axis, n in enumerate(updates.shape) if axis not in window)
    if (
        not gathering.is_increasing(window, updates.ndim)
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
            "axes of the operand that are neither inserted nor batched, and the others are the "
            "axes of the indices, except the last"
        )
    return [x]


def _scatter_sharding(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[Spec]:
    """The result is sharded like the operand, which must be whole along axes that are indexed.

    Raises:
        ShardingTypeError: an axis is sharded along which elements are chosen, or the updates are
            among devices that have all of the operand.
    """
    x, indices, updates = in_avals
    numbers: gathering.ScatterDimensionNumbers = params["dimension_numbers"]
    sizes = window_sizes(x, updates.shape, numbers)
    batching, indices_batching = (
        numbers.operand_batching_dims,
        numbers.scatter_indices_batching_dims,
    )
    why = "elements are chosen along it"
    chosen = [
        axis for axis in range(x.ndim) if sizes[axis] < x.shape[axis] and axis not in batching
    ]
    require_whole("an indexed update", x, chosen, why, _BY_OUT_SHARDING)
    free = [axis for axis in range(indices.ndim) if axis not in indices_batching]
    require_whole(
        "an indexed update", indices, free, "all devices need all indices", _BY_OUT_SHARDING
    )
    window = iter([spec_of(updates)[axis] for axis in numbers.update_window_dims])
    batch_axes = [axis for axis in range(updates.ndim) if axis not in numbers.update_window_dims]
    for position, axis in enumerate(batch_axes):
        if position not in indices_batching:
            why = "all devices need all updates"
            require_whole("an indexed update", updates, [axis], why, _BY_OUT_SHARDING)
    columns = []
    for axis, axes in enumerate(spec_of(x)):
        if axis in numbers.inserted_window_dims:
            columns.append([axes])
        elif axis in batching:
            position = indices_batching[batching.index(axis)]
            columns.append(
                [axes, spec_of(indices)[position], spec_of(updates)[batch_axes[position]]]
            )
        else:
            columns.append([axes, next(window)])
    return [agreed("an indexed update", in_avals, columns)]


_BY_OUT_SHARDING = "Give the update out_sharding, as in x.at[...].add(y, out_sharding=P(...))"


def vmap_scatter(primitive: Primitive) -> Callable[..., Any]:
    """Batching rule: the batch axis is paired with the indices' own, or updated whole."""

    def scatter_vmap(
        axis: BatchAxis,
        values: Sequence[Any],
        dims: Sequence[BatchDim],
        *,
        dimension_numbers: gathering.ScatterDimensionNumbers,
        **options: Any,
    ) -> tuple[list[Any], list[BatchDim]]:
        (x, indices, updates), (x_dim, indices_dim, updates_dim) = values, dims
        # Also if all examples share the array: each example's result is another one.
        x = move_batch_dim(x, axis, x_dim, 0)
        updates = move_batch_dim(updates, axis, updates_dim, 0)
        window, inserted, start_map, batching, indices_batching = map(
            gathering.after, dimension_numbers
        )
        if indices_dim is None:
            window, indices_batching = (0, *window), dimension_numbers[4]
        else:
            indices = move_batch_dim(indices, axis, indices_dim, 0)
            batching, indices_batching = (0, *batching), (0, *indices_batching)
        numbers = gathering.ScatterDimensionNumbers(
            window, inserted, start_map, batching, indices_batching
        )
        return [bind1(primitive, x, indices, updates, dimension_numbers=numbers, **options)], [0]

    return scatter_vmap


def lower_scatter(combine: str) -> Callable[..., list[Value]]:
    """The rule of a scatter that combines with this StableHLO operation; "" replaces."""

    def scatter_lower(
        b: FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        x: Value,
        indices: Value,
        updates: Value,
        *,
        dimension_numbers: gathering.ScatterDimensionNumbers,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: gathering.GatherScatterMode,
        jaxpr: Jaxpr | None = None,
    ) -> list[Value]:
        window, inserted, start_map, batching, indices_batching = dimension_numbers
        indices = gathering.wide_indices(b, indices)
        if (
            not x.aval.ndim and indices.aval.ndim > 1
        ):  # XLA does not lower several updates of a scalar
            row = b.reshape(x, (1,))
            first = b.constant(0, ShapedArray((*indices.aval.shape[:-1], 1), indices.aval.dtype))
            (out,) = scatter_lower(
                b, [row.aval], row, first, updates,
                dimension_numbers=gathering.ScatterDimensionNumbers((), (0,), (0,)),
                indices_are_sorted=True, unique_indices=False, mode=mode, jaxpr=jaxpr,
            )  # fmt: skip
            return [b.reshape(out, ())]
        # XLA's partitioner would scatter the padding of unevenly sharded updates, too.
        counts = indices.aval.shape[:-1]
        indices, updates = (replicated_if_uneven(b, each, counts) for each in (indices, updates))
        # StableHLO's scatter drops updates out of bounds, as FILL_OR_DROP does; a gather would
        # clamp.
        if mode is gathering.GatherScatterMode.CLIP and start_map:
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

    return scatter_lower


def _clamped(b: FunctionBuilder, indices: Value, bounds: Sequence[int]) -> Value:
    zero = b.constant(0, indices.aval)
    largest = gathering.bounds_of_indices(b, indices, bounds)
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
    dimension_numbers: gathering.ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: str | gathering.GatherScatterMode | None,
    **params: Any,
) -> Any:
    """A scatter with the parameters as users give them."""
    return bind1(
        primitive,
        operand,
        indices,
        updates,
        dimension_numbers=gathering.ScatterDimensionNumbers(*map(tuple, dimension_numbers)),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=gathering.GatherScatterMode.from_any(mode),
        **params,
    )


def _scatter_sparsity(
    replaces: bool,
    analysis: sparsity_rules.Analysis,
    operands: Sequence[sparsity_rules.Operand],
    out_avals: Sequence[ShapedArray],
    params: dict[str, Any],
) -> list[Any]:
    """The rule of all scatters: an unknown index may choose any element along its axes.

    Where the index is known and an update `replaces` an element, what that was does not matter.
    """
    x, indices, updates = operands
    shape, size = x.aval.shape, x.aval.size
    places = indices.value()
    is_known = places is not None
    if not is_known:
        places = np.zeros(indices.aval.shape, np.int32)
    # where each update goes, counted from 1; 0 if it is dropped
    numbers = np.arange(1, size + 1, dtype=np.int32).reshape(shape)
    with eval_context():
        targets = np.asarray(gathered_like(numbers, places, updates.aval.shape, params))
    found = analysis.sets.united(targets.ravel(), updates.ids.ravel(), size + 1)
    found = found[1:].reshape(shape)
    if is_known and replaces:
        is_reached = np.isin(numbers, targets)
        return [np.where(is_reached, found, x.ids)]
    if is_known:
        return [analysis.sets.union(x.ids, found)]
    sizes = window_sizes(x.aval, updates.aval.shape, params["dimension_numbers"])
    start_map = params["dimension_numbers"].scatter_dims_to_operand_dims
    chosen = [axis for axis in start_map if sizes[axis] < shape[axis]]
    found = sparsity_rules.union_everywhere(analysis.sets, found, chosen)
    return [analysis.sets.union(x.ids, found)]


def _declare_scatter(primitive: Primitive, doc: str, combine: str, **rules: Any) -> Any:
    """Declare a scatter, and return the function that users call."""
    declare(
        primitive,
        abstract_eval=scatter_type,
        lower=by_halves(lower_scatter(combine)),
        vmap=vmap_scatter(primitive),
        sharding=_scatter_sharding,
        sparsity=partial(_scatter_sparsity, primitive is scatter_p),
        **rules,
    )
    return _scatter_function(primitive.name, doc, primitive)


def _scatter_function(
    name: str,
    doc: str,
    primitive: Primitive,
    prepare: Callable[[Any], Any] = lambda updates: updates,
) -> Any:
    """The function `name`, which scatters the updates after `prepare`."""

    def scatter_function(
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: gathering.ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | gathering.GatherScatterMode | None = None,
    ) -> Array:
        require_dtypes_alike("scatter", typeof(operand), typeof(updates))
        return bind_scatter(
            primitive,
            operand,
            scatter_indices,
            prepare(updates),
            dimension_numbers,
            indices_are_sorted,
            unique_indices,
            mode,
        )

    scatter_function.__name__ = scatter_function.__qualname__ = name
    scatter_function.__doc__ = doc
    return operation(static=STATIC)(scatter_function)


def gathered_like(
    x: Any, indices: Any, updates: Shape, params: dict[str, Any], **changed: Any
) -> Any:
    """Gather from `x` at the positions of updates of that shape; 0 where they are dropped."""
    numbers = params["dimension_numbers"]
    options = {
        "dimension_numbers": gathering.GatherDimensionNumbers(*numbers),
        "slice_sizes": tuple(window_sizes(typeof(x), updates, numbers)),
        "fill_value": 0,
    }
    return bind1(gathering.gather_p, x, indices, **params | options | changed)


def _winners(x: ShapedArray, indices: Any, updates: Shape, params: dict[str, Any]) -> Any:
    """A mask of the updates that remain where several go to one position, and one of the positions.

    Every index scatters its own number, and then gathers to see whose number remains.
    """
    window = params["dimension_numbers"].update_window_dims
    batch = [axis for axis in range(len(updates)) if axis not in window]
    sizes = [updates[axis] for axis in batch]
    count = int(np.prod(sizes, dtype=np.int64))
    dtype = np.dtype(np.int32)
    numbers = shapes.broadcasted_iota(dtype, (count,), 0)
    number = shapes.broadcast_in_dim(shapes.reshape(numbers, sizes), updates, batch)
    # -1 marks the positions that no update reaches.
    numbered = bind1(scatter_p, shapes.full(x.shape, -1, dtype), indices, number, **params)
    return gathered_like(numbered, indices, updates, params) == number, numbered >= 0


def _scatter_transpose(cts: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
    (ct,) = cts
    if type(ct) is stage2.Zero:
        return [None, None, None]
    x, indices, updates = operands
    x_ct = updates_ct = None
    aval = updates.aval if isinstance(updates, UndefPrimal) else typeof(updates)
    if isinstance(x, UndefPrimal):
        # Elements that were replaced do not reach the result.
        x_ct = bind1(scatter_p, ct, indices, shapes.full(aval.shape, 0, aval.dtype), **params)
    if isinstance(updates, UndefPrimal):
        updates_ct = gathered_like(ct, indices, aval.shape, params)
        # Only one of the updates at a position reached the result.
        if not params["unique_indices"]:
            stays, _ = _winners(typeof(ct), indices, aval.shape, params)
            updates_ct = select(stays, updates_ct, shapes.full_like(updates_ct, 0))
    return [x_ct, None, updates_ct]


def _linear_scatter_jvp(primitive: Primitive) -> Callable[..., Any]:
    """The rule of a scatter that is linear in array and updates together: itself, of tangents."""

    def linear_scatter_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (x, indices, updates), (x_dot, _, updates_dot) = primals, tangents
        scatter: Callable[..., Any] = partial(bind1, primitive, **params)
        is_constant = type(x_dot) is type(updates_dot) is stage2.Zero
        # Without overlap the same updates stay in both scatters.
        is_one = math.prod(typeof(indices).shape[:-1]) == 1 or params["unique_indices"]
        if primitive is scatter_p and not (is_constant or is_one) and winners_vary():
            scatter = _scatter_of_winners(typeof(x), indices, typeof(updates).shape, params)
        out = scatter(x, indices, updates)
        if is_constant:
            return [out], [stage2.Zero.like(out)]
        x_dot = shapes.full_like(x, 0) if type(x_dot) is stage2.Zero else x_dot
        if type(updates_dot) is stage2.Zero:
            updates_dot = shapes.full_like(updates, 0)
        return [out], [scatter(x_dot, indices, updates_dot)]

    return linear_scatter_jvp


def winners_vary() -> bool:
    """Return True if scatters to the same indices may keep different updates, as on a GPU."""
    return default_backend() != "cpu"


def _scatter_of_winners(
    x: ShapedArray, indices: Any, updates: Shape, params: dict[str, Any]
) -> Callable[..., Any]:
    """A scatter that keeps the same updates each time: it adds them, and nothing for the others."""
    stays, is_reached = _winners(x, indices, updates, params)

    def scatter(x: Any, indices: Any, updates: Any) -> Any:
        nothing = -shapes.full_like(x, 0)  # plus 0 is 0, and plus -0 it is -0
        kept = select(stays, updates, -shapes.full_like(updates, 0))
        return select(is_reached, bind1(scatter_add_p, nothing, indices, kept, **params), x)

    return scatter


scatter_p = Primitive("scatter")
scatter_add_p = Primitive("scatter-add")
scatter = _declare_scatter(
    scatter_p,
    """`operand` with updates put in. Where several coincide, one of them stays.

    Arguments:
        operand: the array.
        scatter_indices: integers; along their last axis stands where one update begins.
        updates: the updates, of a dtype that promotes to the dtype of `operand`.
        dimension_numbers: a `ScatterDimensionNumbers`.
        indices_are_sorted: a promise that the indices are in order.
        unique_indices: a promise that no two updates overlap.
        mode: a `GatherScatterMode` or its name; "drop" by default.

    Raises:
        TypeError: dimension numbers, shapes and dtypes do not match.
        ValueError: indices are not integers.

    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> x, indices = jnp.array([3.0, 4.0, 5.0]), jnp.array([[0], [2]])
    >>> lax.scatter(x, indices, jnp.array([10.0, 2.0]), numbers)
    Array([10.,  4.,  2.], dtype=float32)
    """,
    "",
    jvp=_linear_scatter_jvp(scatter_p),
    transpose=_scatter_transpose,
)
scatter_add = _declare_scatter(
    scatter_add_p,
    """`operand` with updates added.

    Arguments:
        operand, scatter_indices, updates, dimension_numbers: as in `scatter`.
        indices_are_sorted, unique_indices, mode: as in `scatter`.

    Raises:
        TypeError, ValueError: as in `scatter`.

    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> x, indices = jnp.array([3.0, 4.0, 5.0]), jnp.array([[0], [2]])
    >>> lax.scatter_add(x, indices, jnp.array([10.0, 2.0]), numbers)
    Array([13.,  4.,  7.], dtype=float32)
    """,
    "add",
    jvp=_linear_scatter_jvp(scatter_add_p),
    transpose=[
        lambda ct, x, indices, updates, **params: ct,
        None,
        lambda ct, x, indices, updates, **params: gathered_like(
            ct, indices, updates.aval.shape, params
        ),
    ],
    jointly=True,
)


def _factor_of_updates(t: Any, out: Any, x: Any, indices: Any, updates: Any, **params: Any) -> Any:
    if not params["unique_indices"] and typeof(updates).size:
        raise NotImplementedError(
            "scatter_mul: the derivative with respect to the updates needs updates that do not "
            "overlap: pass unique_indices=True if that is so"
        )
    # d(x u) = x du; with several updates of one element the factors would be the others, too.
    return x * bind1(scatter_add_p, shapes.full_like(x, 0), indices, t, **params)


scatter_mul_p = Primitive("scatter-mul")
scatter_mul = _declare_scatter(
    scatter_mul_p,
    """`operand` multiplied by updates.

    Arguments:
        operand, scatter_indices, updates, dimension_numbers: as in `scatter`.
        indices_are_sorted, unique_indices, mode: as in `scatter`.

    Raises:
        TypeError, ValueError: as in `scatter`.

    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> x, indices = jnp.array([3.0, 4.0, 5.0]), jnp.array([[0], [2]])
    >>> lax.scatter_mul(x, indices, jnp.array([10.0, 2.0]), numbers)
    Array([30.,  4., 10.], dtype=float32)
    """,
    "multiply",
    jvp=[
        lambda t, out, x, *rest, **params: bind1(scatter_mul_p, t, *rest, **params),
        None,
        _factor_of_updates,
    ],
    transpose=[
        lambda ct, x, *rest, **params: bind1(scatter_mul_p, ct, *rest, **params),
        None,
        None,
    ],
)


def _shares(out: Any, x: Any, indices: Any, updates: Any, params: dict[str, Any]) -> Any:
    """Return the shares of a tangent that reach the result from the array and from the updates, and
    their divisor.

    All elements that equal the result share it.
    """
    dtype = typeof(x).dtype
    x_share = cast(x == out, ShapedArray((), dtype))
    there = gathered_like(out, indices, typeof(updates).shape, params)
    updates_share = cast(updates == there, ShapedArray((), dtype))
    return x_share, updates_share, bind1(scatter_add_p, x_share, indices, updates_share, **params)


def _extremal_of_array(t: Any, out: Any, x: Any, indices: Any, updates: Any, **params: Any) -> Any:
    if not typeof(updates).size:
        return t  # `_shares` compares by ==, which fails for NaN
    x_share, _, count = _shares(out, x, indices, updates, params)
    return t * x_share / count


def _extremal_of_updates(
    t: Any, out: Any, x: Any, indices: Any, updates: Any, **params: Any
) -> Any:
    _, updates_share, count = _shares(out, x, indices, updates, params)
    total = bind1(scatter_add_p, shapes.full_like(x, 0), indices, t * updates_share, **params)
    return total / count


scatter_min_p = Primitive("scatter-min")
scatter_min = _declare_scatter(
    scatter_min_p,
    """The smaller of each element of `operand` and the updates for it.

    Arguments:
        operand, scatter_indices, updates, dimension_numbers: as in `scatter`.
        indices_are_sorted, unique_indices, mode: as in `scatter`.

    Raises:
        TypeError, ValueError: as in `scatter`.

    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> x, indices = jnp.array([3.0, 4.0, 5.0]), jnp.array([[0], [2]])
    >>> lax.scatter_min(x, indices, jnp.array([10.0, 2.0]), numbers)
    Array([3., 4., 2.], dtype=float32)
    """,
    "minimum",
    jvp=[_extremal_of_array, None, _extremal_of_updates],
)
scatter_max_p = Primitive("scatter-max")
scatter_max = _declare_scatter(
    scatter_max_p,
    """The larger of each element of `operand` and the updates for it.

    Arguments:
        operand, scatter_indices, updates, dimension_numbers: as in `scatter`.
        indices_are_sorted, unique_indices, mode: as in `scatter`.

    Raises:
        TypeError, ValueError: as in `scatter`.

    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> x, indices = jnp.array([3.0, 4.0, 5.0]), jnp.array([[0], [2]])
    >>> lax.scatter_max(x, indices, jnp.array([10.0, 2.0]), numbers)
    Array([10.,  4.,  5.], dtype=float32)
    """,
    "maximum",
    jvp=[_extremal_of_array, None, _extremal_of_updates],
)
scatter_sub = _scatter_function(
    "scatter_sub",
    """`operand` with updates subtracted.

    Arguments:
        operand, scatter_indices, updates, dimension_numbers: as in `scatter`.
        indices_are_sorted, unique_indices, mode: as in `scatter`.

    Raises:
        TypeError, ValueError: as in `scatter`.

    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_sub(jnp.zeros(3), jnp.array([[0], [2], [2]]), jnp.ones(3), numbers)
    Array([-1.,  0., -2.], dtype=float32)
    """,
    scatter_add_p,
    neg,
)


scatter_apply_p = Primitive("scatter_apply")


def _refuse_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    raise NotImplementedError(
        "scatter_apply: there is no derivative, for a function that is applied as often as an "
        "index occurs. If each occurs once, pass unique_indices=True to `x.at[...].apply`"
    )


declare(
    scatter_apply_p,
    abstract_eval=scatter_type,
    lower=lower_scatter("apply"),
    vmap=vmap_scatter(scatter_apply_p),
    sharding=_scatter_sharding,
    jvp=_refuse_jvp,
)


@operation(static=("func", "update_shape", *STATIC))
def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[[Any], Any],
    dimension_numbers: gathering.ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | gathering.GatherScatterMode | None = None,
) -> Array:
    """`operand` with `func` applied at `scatter_indices`, once for each occurrence of an index.

    Arguments:
        operand: the array.
        scatter_indices: integers; their last axis holds the start of one window.
        func: function of a scalar of the dtype of `operand` that closes over no arrays.
        dimension_numbers: a `ScatterDimensionNumbers`.
        update_shape: the shape that updates would have.
        indices_are_sorted: a promise that the indices are in order.
        unique_indices: a promise that no two windows overlap.
        mode: a `GatherScatterMode` or its name; "drop" by default.

    Raises:
        NotImplementedError: `func` closes over arrays; or it is differentiated.

    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> indices = jnp.array([[0], [2]])
    >>> lax.scatter_apply(jnp.arange(3), indices, lambda x: 10 * x, numbers, update_shape=(2,))
    Array([ 0,  1, 20], dtype=int32)
    """
    scalar = ShapedArray((), typeof(operand).dtype)
    closed = trace_to_jaxpr(lambda x: [cast(func(x), scalar)], [scalar], "scatter_apply", func)
    if calls_host(closed):
        raise host_call_error("scatter_apply", "function")
    if closed.consts:
        raise NotImplementedError(
            "scatter_apply: the function may use its argument and numbers, but no arrays from "
            f"outside; found {', '.join(str(typeof(const)) for const in closed.consts)}"
        )
    return bind_scatter(
        scatter_apply_p,
        operand,
        scatter_indices,
        # only the shape counts: the function is not given the updates
        shapes.full(update_shape, 0, scalar.dtype),
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
        jaxpr=closed,
    )
