"""`debug.inspect_array_sharding`: how an array within a program is divided among devices."""

from collections.abc import Sequence
from typing import Any

from minijax import xla
from minijax.primitives.calls import pass_token
from minijax.primitives.declare_program import declare_program
from minijax.primitives.sharding_rules import whole
from minijax.runtime.array import Array
from minijax.runtime.conversion import to_array
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.inspection import PartitionedModule, ShardingCallback
from minijax.shardings.sharding import SingleDeviceSharding
from minijax_stage1.interpreter import leaked_value_error
from minijax_stage2 import Primitive, ShapedArray, Tracer, bind, tree_leaves, typeof
from minijax_stage2.arguments import require_function
from minijax_stage2.vmap import BatchAxis, BatchDim
from minijax_stage3 import JaxprEqn, Var
from minijax_stage3.jaxpr import Literal
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type

inspect_sharding_p = Primitive("inspect_sharding", higher_order=True)


@evaluated_by_library
def inspect_array_sharding(value: Any, *, callback: ShardingCallback) -> None:
    """Call a function with the sharding of an array; in a program, when it is compiled.

    Arguments:
        value: the array, or a pytree of arrays, with a call for each.
        callback: a function of a sharding, whose result is ignored.

    Raises:
        TypeError: `value` holds something else than arrays, or `callback` is not a function.

    >>> @minijax.jit
    ... def f(x):
    ...     y = x + 1
    ...     minijax.debug.inspect_array_sharding(y, callback=lambda where: print(where.num_devices))
    ...     return 2 * y
    >>> f(1.0)
    1
    Array(4., dtype=float32, weak_type=True)
    """
    require_function("inspect_array_sharding", callback)
    for leaf in tree_leaves(value):
        typeof(leaf)
        bind(inspect_sharding_p, leaf, callback=callback)


def _evaluate(x: Any, *, callback: ShardingCallback) -> list[Any]:
    x = to_array(x)
    if isinstance(x, Tracer):
        raise leaked_value_error(x, x.interpreter, x.source)
    callback(x.sharding if isinstance(x, Array) else SingleDeviceSharding(xla.default_device()))
    return []


def _lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, callback: ShardingCallback
) -> list[Value]:
    if not isinstance(b.module, PartitionedModule):
        callback(SingleDeviceSharding(xla.default_device()))
        return []
    told = b.module.inspection(callback, x.aval.ndim)
    (_,) = b.emit(
        f"stablehlo.custom_call @InspectSharding({x.name}) {{backend_config = {told}, "
        f"has_side_effect = true}} : ({mlir_type(x.aval)}) -> {mlir_type(x.aval)}",
        x.aval,
    )
    return []


def _vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], *, callback: ShardingCallback
) -> tuple[list[Any], list[BatchDim]]:
    bind(inspect_sharding_p, *values, callback=callback)  # with all examples at once
    return [], []


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, callback: ShardingCallback
) -> tuple[list[Any], list[Any]]:
    return bind(inspect_sharding_p, *primals, callback=callback), []


def _order(with_token: Any, eqn: JaxprEqn, token: Var | Literal, following: Var) -> list[JaxprEqn]:
    """The equation itself, which happens as the program is compiled; the token stays as it is."""
    return [eqn, pass_token(eqn, token, following)]


declare_program(
    inspect_sharding_p,
    evaluate=_evaluate,
    abstract_eval=lambda x, *, callback: [],
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
)

__all__ = ["inspect_array_sharding"]
