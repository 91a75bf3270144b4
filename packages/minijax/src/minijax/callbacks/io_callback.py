"""Callbacks with side effects: `io_callback` and `debug_callback`."""

from collections.abc import Callable, Sequence
from typing import Any

from minijax.callbacks.callback import Avals, Callback, callback_of
from minijax.callbacks.pure_callback import one_by_one, refuse_derivative, types_of_results
from minijax.primitives.declare_program import declare_program
from minijax.primitives.effects import (
    DebugEffect,
    IOEffect,
    OrderedDebugEffect,
    OrderedIOEffect,
    effect_rules,
    ordered_or_not,
)
from minijax.primitives.sharding_rules import whole
from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.evaluation import evaluated_by_library
from minijax_stage2 import Primitive, ShapedArray, bind
from minijax_stage2.tree import tree_unflatten
from minijax_stage2.vmap import BatchAxis, BatchDim
from minijax_stage3 import JaxprEqn, Literal, Var
from minijax_stage3.lowering import FunctionBuilder, Value

io_callback_p = Primitive("io_callback", higher_order=True)
debug_callback_p = Primitive("debug_callback", higher_order=True)


@evaluated_by_library
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function with Arrays, even from a compiled program, for its side effects.

    It is called as often as the program says, and in program order, whether or not its result is
    used.

    Arguments:
        callback: function of Arrays and pytrees of Arrays.
        result_shape_dtypes: the types of its results: a pytree of anything with a shape and a
            dtype; None if it returns nothing.
        args, kwargs: its arguments, pytrees of arrays.
        sharding: of no effect; there is one device.
        ordered: whether the order matters, so that `vmap` cannot map it. Here calls are always in
            program order.

    Returns:
        The result of the function.

    Raises:
        ExecutionError: it raised an exception, which is the cause; or its results have other shapes
            or dtypes. The whole program fails.
        ValueError: it is differentiated; or it is `ordered`, and mapped.

    >>> import minijax
    >>> seen = []
    >>> @minijax.jit
    ... def f(x):
    ...     io_callback(lambda x: seen.append(int(x)), None, x)
    ...     return x + 1
    >>> f(1), f(2), seen
    (Array(2, dtype=int32, weak_type=True), Array(3, dtype=int32, weak_type=True), [1, 2])
    """
    out_avals, out_tree = types_of_results("io_callback", result_shape_dtypes)
    held, operands = callback_of("io_callback", callback, args, kwargs, returns=True)
    outs = bind(
        io_callback_p, *operands, callback=held, result_avals=out_avals, ordered=bool(ordered)
    )
    return tree_to_arrays(tree_unflatten(out_tree, outs))


def debug_callback(
    callback: Callable[..., Any], args: Any, kwargs: Any, caller: str, ordered: bool
) -> None:
    """Call a function that only observes from programs: derivatives ignore it."""
    held, operands = callback_of(caller, callback, args, kwargs, returns=False, takes_statics=True)
    bind(debug_callback_p, *operands, callback=held, ordered=bool(ordered))


def effects_barrier() -> None:
    """Wait until all side effects of programs are done.

    They are done when the calls return: a call waits for a program that calls Python functions.

    >>> f = minijax.jit(lambda x: minijax.debug.print("x is {}", x))
    >>> f(1)
    x is 1
    >>> minijax.effects_barrier()
    """


def _lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *operands: Value,
    callback: Callback,
    has_token: bool = False,
    **params: Any,
) -> list[Value]:
    return callback.call_text(b, out_avals, operands, has_effects=True, has_token=has_token)


def _vmap_io(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], **params: Any
) -> tuple[list[Any], list[BatchDim]]:
    if params["ordered"]:
        raise ValueError(
            f"io_callback: `{params['callback']}` is mapped by vmap, and examples have no order; "
            "ordered=False calls it for one after the other"
        )
    return one_by_one(io_callback_p, axis, values, dims, params)


def _jvp_debug(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    return bind(debug_callback_p, *primals, **params), []


def _evaluate(*operands: Any, callback: Callback, result_avals: Avals = (), **params: Any) -> Any:
    return callback.evaluate(result_avals, operands)


def _abstract_eval(
    *in_avals: ShapedArray, result_avals: Avals = (), **params: Any
) -> list[ShapedArray]:
    return list(result_avals)


def _vmap_debug(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], **params: Any
) -> tuple[list[Any], list[BatchDim]]:
    return one_by_one(debug_callback_p, axis, values, dims, params)


def _order(with_token: Any, eqn: JaxprEqn, token: Var | Literal, following: Var) -> list[JaxprEqn]:
    params = {**eqn.params, "has_token": True}
    invars, outvars = [token, *eqn.invars], [following, *eqn.outvars]
    return [JaxprEqn(eqn.primitive, invars, outvars, params, eqn.source)]


for _primitive, _vmap, _jvp in (
    (io_callback_p, _vmap_io, refuse_derivative(io_callback_p)),
    (debug_callback_p, _vmap_debug, _jvp_debug),
):
    declare_program(
        _primitive,
        evaluate=_evaluate,
        abstract_eval=_abstract_eval,
        lower=_lower,
        vmap=_vmap,
        sharding=whole,
        jvp=_jvp,
        transpose=None,
        partial_eval=None,
        dce=None,
        dependence=None,
        order=_order,
        keys=None,
        steps=None,
        effects=True,
        calls_host=True,
    )
effect_rules[io_callback_p] = ordered_or_not(OrderedIOEffect(), IOEffect())
effect_rules[debug_callback_p] = ordered_or_not(OrderedDebugEffect(), DebugEffect())

__all__ = ["debug_callback", "effects_barrier", "io_callback"]
