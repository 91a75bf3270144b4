"""Applying a function to those elements of an array that indices point at."""

from collections.abc import Callable, Sequence
from typing import Any

from minijax.declare import declare
from minijax.lax.computations import calls_host, host_call_error
from minijax.lax.gather_dimensions import GatherScatterMode, ScatterDimensionNumbers
from minijax.lax.scattering import STATIC, bind_scatter, lower_scatter, scatter_type, vmap_scatter
from minijax.lax.structural import full
from minijax.operation import operation
from minijax_stage2 import Primitive, ShapedArray, typeof
from minijax_stage2.promotion import cast
from minijax_stage3.staging import trace_to_jaxpr

scatter_apply_p = Primitive("scatter_apply")


def _refuse_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    raise NotImplementedError(
        "scatter_apply: there is no derivative, for a function that is applied as often as an "
        "index occurs. Where each occurs once, say so, by unique_indices=True of `x.at[...].apply`"
    )


declare(
    scatter_apply_p,
    abstract_eval=scatter_type,
    lower=lower_scatter("apply"),
    vmap=vmap_scatter(scatter_apply_p),
    jvp=_refuse_jvp,
)


@operation(static=("func", "update_shape", *STATIC))
def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """`operand` with `func` applied wherever `scatter_indices` point, as often as they do.

    Arguments:
        operand: the array.
        scatter_indices: integers; along their last axis stands where one window begins.
        func: function of a scalar, of the dtype of `operand`, that uses no arrays besides.
        dimension_numbers: a `ScatterDimensionNumbers`.
        update_shape: the shape that updates would have.
        indices_are_sorted: a promise that the indices are in order.
        unique_indices: a promise that no two windows overlap.
        mode: a `GatherScatterMode` or its name; "drop" by default.

    Raises:
        NotImplementedError: `func` uses arrays from outside; or a derivative is asked for.

    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> indices = jnp.array([[0], [2]])
    >>> lax.scatter_apply(jnp.arange(3), indices, lambda x: 10 * x, numbers, update_shape=(2,))
    Array([ 0,  1, 20], dtype=int32)
    """
    scalar = ShapedArray((), typeof(operand).dtype)
    closed = trace_to_jaxpr(lambda x: [cast(func(x), scalar)], [scalar], "scatter_apply", func)
    if calls_host(closed.jaxpr):
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
        full(update_shape, 0, scalar.dtype),
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
        jaxpr=closed.jaxpr,
    )


__all__ = ["scatter_apply"]
