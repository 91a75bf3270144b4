"""The scatters: updates that replace, add to, multiply or bound what stands in an array."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax.declare import declare
from minijax.lax.choice import select
from minijax.lax.elementwise import div, eq, mul, neg
from minijax.lax.gather_dimensions import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    scatter_add_p,
)
from minijax.lax.gathering import gather
from minijax.lax.scattering import (
    STATIC,
    bind_scatter,
    fitting,
    lower_scatter,
    scatter_type,
    vmap_scatter,
    window_sizes,
)
from minijax.lax.structural import broadcast_in_dim, broadcasted_iota, full, full_like, reshape
from minijax.operation import operation
from minijax_stage2 import Primitive, ShapedArray, Zero, bind1, typeof
from minijax_stage2.promotion import cast
from minijax_stage2.shaped_array import Shape
from minijax_stage4 import UndefPrimal


def _scatter(primitive: Primitive, doc: str, combine: str, result: str, **rules: Any) -> Any:
    """Declare a scatter, and return the function that users call."""
    declare(
        primitive,
        abstract_eval=scatter_type,
        lower=lower_scatter(combine),
        vmap=vmap_scatter(primitive),
        **rules,
    )
    return _function(primitive.name, doc, primitive, result)


def _function(
    name: str,
    doc: str,
    primitive: Primitive,
    result: str,
    prepare: Callable[[Any], Any] = lambda updates: updates,
) -> Any:
    """The function that scatters what `prepare` makes of the updates; its example has `result`."""

    def function(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
    ) -> Any:
        return bind_scatter(
            primitive,
            operand,
            scatter_indices,
            prepare(fitting(name, updates, operand)),
            dimension_numbers,
            indices_are_sorted,
            unique_indices,
            mode,
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc}

    Arguments:
        operand: the array.
        scatter_indices: integers; along their last axis stands where one update begins.
        updates: the updates, of a dtype that promotes to that of `operand`.
        dimension_numbers: a `ScatterDimensionNumbers`.
        indices_are_sorted: a promise that the indices are in order.
        unique_indices: a promise that no two updates overlap.
        mode: a `GatherScatterMode` or its name; "drop" by default.

    Raises:
        TypeError: numbers, shapes and dtypes do not fit.
        ValueError: indices are no integers.

    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> x, indices = jnp.array([3.0, 4.0, 5.0]), jnp.array([[0], [2]])
    >>> lax.{name}(x, indices, jnp.array([10.0, 2.0]), numbers)
    Array({result}, dtype=float32)
    """
    return operation(static=STATIC)(function)


def gathered_like(x: Any, indices: Any, updates: Shape, params: dict[str, Any]) -> Any:
    """What stands in `x` where updates of that shape would go; 0 where they are dropped."""
    options = dict(params)
    numbers = options.pop("dimension_numbers")
    sizes = window_sizes(typeof(x), updates, numbers)
    numbers = GatherDimensionNumbers(*numbers)
    return gather(x, indices, numbers, sizes, fill_value=0, **options)


def _winners(x: ShapedArray, indices: Any, updates: Shape, params: dict[str, Any]) -> Any:
    """For each element of the updates whether it is the one that stays where it was put.

    Every index scatters its number, and sees whose number it finds there.
    """
    window = params["dimension_numbers"].update_window_dims
    batch = [axis for axis in range(len(updates)) if axis not in window]
    sizes = [updates[axis] for axis in batch]
    count = int(np.prod(sizes, dtype=np.int64))
    dtype = np.dtype(np.int32)
    numbers = broadcasted_iota(dtype, (count,), 0)
    number = broadcast_in_dim(reshape(numbers, sizes), updates, batch)
    numbered = bind1(scatter_p, full(x.shape, -1, dtype), indices, number, **params)
    return eq(gathered_like(numbered, indices, updates, params), number)


def _transpose_scatter(cts: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
    (ct,) = cts
    if type(ct) is Zero:
        return [None, None, None]
    x, indices, updates = operands
    x_ct = updates_ct = None
    aval = updates.aval if isinstance(updates, UndefPrimal) else typeof(updates)
    if isinstance(x, UndefPrimal):
        x_ct = bind1(scatter_p, ct, indices, full(aval.shape, 0, aval.dtype), **params)
    if isinstance(updates, UndefPrimal):
        updates_ct = gathered_like(ct, indices, aval.shape, params)
        if not params["unique_indices"]:
            stays = _winners(typeof(ct), indices, aval.shape, params)
            updates_ct = select(stays, updates_ct, full_like(updates_ct, 0))
    return [x_ct, None, updates_ct]


def _jvp_of_linear(primitive: Primitive) -> Callable[..., Any]:
    """The rule of what is linear in array and updates together: itself, of the tangents."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (x, indices, updates), (x_dot, _, updates_dot) = primals, tangents
        out = bind1(primitive, x, indices, updates, **params)
        if type(x_dot) is Zero and type(updates_dot) is Zero:
            return [out], [Zero.like(out)]
        x_dot = full_like(x, 0) if type(x_dot) is Zero else x_dot
        updates_dot = full_like(updates, 0) if type(updates_dot) is Zero else updates_dot
        return [out], [bind1(primitive, x_dot, indices, updates_dot, **params)]

    return rule


scatter_p = Primitive("scatter")
scatter = _scatter(
    scatter_p,
    "`operand` with updates put in. Where several meet, one of them stays.",
    "",
    "[10.,  4.,  2.]",
    jvp=_jvp_of_linear(scatter_p),
    transpose=_transpose_scatter,
)
scatter_add = _scatter(
    scatter_add_p,
    "`operand` with updates added.",
    "add",
    "[13.,  4.,  7.]",
    jvp=_jvp_of_linear(scatter_add_p),
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
    if not params["unique_indices"]:
        raise NotImplementedError(
            "scatter_mul: there is a derivative with respect to the updates only where each meets "
            "no other: say unique_indices=True if that is so"
        )
    return mul(x, bind1(scatter_add_p, full_like(x, 0), indices, t, **params))


scatter_mul_p = Primitive("scatter_mul")
scatter_mul = _scatter(
    scatter_mul_p,
    "`operand` multiplied by updates.",
    "multiply",
    "[30.,  4., 10.]",
    jvp=[
        lambda t, out, x, indices, updates, **params: mul(
            t, bind1(scatter_mul_p, full_like(x, 1), indices, updates, **params)
        ),
        None,
        _factor_of_updates,
    ],
)


def _shares(out: Any, x: Any, indices: Any, updates: Any, params: dict[str, Any]) -> Any:
    """What of a tangent reaches the result from the array, from the updates, and its divisor.

    All that are equal to the result share it.
    """
    dtype = typeof(x).dtype
    of_x = cast(eq(x, out), ShapedArray((), dtype))
    there = gathered_like(out, indices, typeof(updates).shape, params)
    of_updates = cast(eq(updates, there), ShapedArray((), dtype))
    return of_x, of_updates, bind1(scatter_add_p, of_x, indices, of_updates, **params)


def _extremal_of_array(t: Any, out: Any, x: Any, indices: Any, updates: Any, **params: Any) -> Any:
    of_x, _, count = _shares(out, x, indices, updates, params)
    return div(mul(t, of_x), count)


def _extremal_of_updates(
    t: Any, out: Any, x: Any, indices: Any, updates: Any, **params: Any
) -> Any:
    _, of_updates, count = _shares(out, x, indices, updates, params)
    total = bind1(scatter_add_p, full_like(x, 0), indices, mul(t, of_updates), **params)
    return div(total, count)


scatter_min_p = Primitive("scatter_min")
scatter_min = _scatter(
    scatter_min_p,
    "The smaller of each element of `operand` and the updates for it.",
    "minimum",
    "[3., 4., 2.]",
    jvp=[_extremal_of_array, None, _extremal_of_updates],
)
scatter_max_p = Primitive("scatter_max")
scatter_max = _scatter(
    scatter_max_p,
    "The larger of each element of `operand` and the updates for it.",
    "maximum",
    "[10.,  4.,  5.]",
    jvp=[_extremal_of_array, None, _extremal_of_updates],
)
scatter_sub = _function(
    "scatter_sub",
    """`operand` with updates subtracted.

    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_sub(jnp.zeros(3), jnp.array([[0], [2], [2]]), jnp.ones(3), numbers)
    Array([-1.,  0., -2.], dtype=float32)
    """,
    scatter_add_p,
    "[-7.,  4.,  3.]",
    neg,
)


__all__ = [
    "scatter",
    "scatter_add",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
]
