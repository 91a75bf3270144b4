"""`pure_callback`: a Python function in a program, called only for its results."""

from collections.abc import Callable, Sequence
from typing import Any

from minijax.callbacks.callback import Avals, Callback, callback_of
from minijax.lax.control_flow.scan import map as map_one_by_one
from minijax.primitives.declare_program import declare_program
from minijax.primitives.sharding_rules import whole
from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.evaluation import evaluated_by_library
from minijax_stage2 import (
    Primitive,
    ShapedArray,
    Zero,
    bind,
    broadcast_in_dim,
    reshape,
    tree_flatten,
    typeof,
)
from minijax_stage2.errors import shown
from minijax_stage2.shaped_array import dialect
from minijax_stage2.tangent import tangent_type
from minijax_stage2.tree import PyTreeDef, tree_unflatten
from minijax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from minijax_stage3.lowering import FunctionBuilder, Value

pure_callback_p = Primitive("pure_callback", higher_order=True)

ONE_BY_ONE = ("sequential", "sequential_unrolled")
METHODS = (*ONE_BY_ONE, "expand_dims", "broadcast_all", "legacy_vectorized", None)


@evaluated_by_library
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a Python function with Arrays, even from a compiled program.

    The function must return the same for the same arguments, and have no side effects: it may be
    called any number of times, or never, if its result is not used.

    Arguments:
        callback: function of Arrays and pytrees of Arrays, which may use numpy.
        result_shape_dtypes: the types of its results: a pytree of anything with a shape and a
            dtype.
        args: its arguments, pytrees of arrays.
        kwargs: the same, by name.
        sharding: of no effect; there is one device.
        vmap_method: what vmap does. "sequential", "sequential_unrolled": one call per example.
            "expand_dims", "broadcast_all": one call for all examples, with a new leading batch axis
            in arguments and results; for an argument shared by all examples, that axis has size 1,
            or the full size. "legacy_vectorized": as these, but such an argument gets no axis.
            None: an error.

    Returns:
        The result of the function.

    Raises:
        ExecutionError: it raised an exception, which is the cause; or its results have other shapes
            or dtypes. The whole program fails.
        ValueError: there is no such method; or it is differentiated, which only `custom_jvp` and
            `custom_vjp` can do.
        NotImplementedError: it is mapped, and `vmap_method` is None.

    >>> import minijax
    >>> import minijax.numpy as jnp
    >>> import numpy as np
    >>> x = jnp.arange(3.0)
    >>> minijax.jit(lambda x: pure_callback(lambda x: np.asarray(x)[::-1], x, x) + 1)(x)
    Array([3., 2., 1.], dtype=float32)
    """
    if vmap_method not in METHODS:
        raise ValueError(
            f"pure_callback: vmap_method has to be one of {METHODS}, found {vmap_method!r}"
        )
    out_avals, out_tree = types_of_results("pure_callback", result_shape_dtypes)
    held, operands = callback_of("pure_callback", callback, args, kwargs, returns=True)
    outs = bind(
        pure_callback_p,
        *operands,
        callback=held,
        result_avals=out_avals,
        vmap_method=vmap_method,
    )
    return tree_to_arrays(tree_unflatten(out_tree, outs))


def types_of_results(caller: str, shape_dtypes: Any) -> tuple[Avals, PyTreeDef]:
    """The types that a function was said to return."""
    leaves, tree = tree_flatten(shape_dtypes)
    avals = []
    for leaf in leaves:
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            raise TypeError(
                f"{caller}: result_shape_dtypes holds what has a shape and a dtype, found "
                f"{shown(leaf)} of type {type(leaf).__name__}"
            )
        dtype = dialect().dtype_of(caller, leaf.dtype)
        if dtype.itemsize < leaf.dtype.itemsize:
            raise ValueError(
                f"{caller}: result_shape_dtypes says {leaf.dtype}, but numbers have 32 bits here; "
                "minijax.config.update('enable_x64', True) gives them 64"
            )
        avals.append(ShapedArray(tuple(leaf.shape), dtype))
    return tuple(avals), tree


def _lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *operands: Value,
    callback: Callback,
    **params: Any,
) -> list[Value]:
    return callback.call_text(b, out_avals, operands, has_effects=False)


def refuse_derivative(
    primitive: Primitive, function: str = "the Python function `{callback}`"
) -> Callable[..., tuple[list[Any], list[Any]]]:
    """The jvp rule of a primitive that calls a function of unknown derivative."""

    def rule(
        primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        if any(type(t) is not Zero for t in tangents):
            raise ValueError(
                f"{primitive}: nobody knows the derivative of {function.format(**params)}. Give "
                "one by custom_jvp or custom_vjp, or hold its arguments constant by "
                "lax.stop_gradient"
            )
        outs = bind(primitive, *primals, **params)
        return outs, [Zero(tangent_type(typeof(out))) for out in outs]

    return rule


def _vmap(
    axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    *,
    callback: Callback,
    result_avals: Avals,
    vmap_method: str | None,
) -> tuple[list[Any], list[BatchDim]]:
    params: dict[str, Any] = {"callback": callback, "vmap_method": vmap_method}
    if vmap_method in ONE_BY_ONE:
        params["result_avals"] = result_avals
        return one_by_one(pure_callback_p, axis, values, dims, params)
    moved = all_at_once("pure_callback", callback, axis, values, dims, vmap_method)
    params["result_avals"] = tuple(
        ShapedArray((axis.size, *x.shape), x.dtype) for x in result_avals
    )
    outs = bind(pure_callback_p, *moved, **params)
    return outs, [0] * len(outs)


def all_at_once(
    caller: str,
    function: Any,
    axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    vmap_method: str | None,
) -> list[Any]:
    """The arguments of one call for all examples."""
    if vmap_method is None:
        raise NotImplementedError(
            f"{caller}: vmap does not know whether `{function}` can be called for all "
            "examples at once: give vmap_method, one of "
            f"{', '.join(map(repr, filter(None, METHODS)))}"
        )
    return [
        _unmapped(x, axis, vmap_method) if dim is None else move_batch_dim(x, axis, dim, 0)
        for x, dim in zip(values, dims, strict=True)
    ]


def _unmapped(x: Any, axis: BatchAxis, vmap_method: str) -> Any:
    """An argument shared by all examples, prepared for a method."""
    shape = typeof(x).shape
    if vmap_method == "expand_dims":
        return reshape(x, (1, *shape))
    if vmap_method == "broadcast_all":
        return broadcast_in_dim(x, (axis.size, *shape), tuple(range(1, len(shape) + 1)))
    return x


def one_by_one(
    primitive: Primitive,
    axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    params: dict[str, Any],
) -> tuple[list[Any], list[BatchDim]]:
    """The vmap rule that calls a function once per example."""
    mapped = [
        move_batch_dim(x, axis, dim, 0)
        for x, dim in zip(values, dims, strict=True)
        if dim is not None
    ]

    def of_one(elements: list[Any]) -> list[Any]:
        rest = iter(elements)
        operands = [x if dim is None else next(rest) for x, dim in zip(values, dims, strict=True)]
        return bind(primitive, *operands, **params)

    of_one.__name__ = str(primitive)
    outs = map_one_by_one(of_one, mapped)
    return outs, [0] * len(outs)


declare_program(
    pure_callback_p,
    evaluate=lambda *operands, callback, result_avals, **params: callback.evaluate(
        result_avals, operands
    ),
    abstract_eval=lambda *in_avals, result_avals, **params: list(result_avals),
    lower=_lower,
    vmap=_vmap,
    sharding=whole,
    jvp=refuse_derivative(pure_callback_p),
    transpose=None,
    partial_eval=None,
    dce=None,
    dependence=None,
    order=None,
    keys=None,
    steps=None,
    calls_host=True,
)

__all__ = ["pure_callback"]
