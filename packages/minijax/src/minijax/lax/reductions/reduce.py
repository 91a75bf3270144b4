"""Reductions with any computation, and products, which share their derivative rules.

Halves of the array are combined until one element is left. That is no faster than XLA's own
reduction, but consists of differentiable primitives.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minijax.lax.elementwise.arithmetic as elementwise
import minijax.lax.elementwise.bits as bits
import minijax.lax.elementwise.extremes as extremes
import minijax.lax.reductions.standard as reductions
from minijax.lax.elementwise.arithmetic import mul
from minijax.lax.elementwise.conversion import convert_element_type
from minijax.lax.indexing.slice_pad_concatenate import concatenate, slice
from minijax.lax.shapes.broadcasting import broadcast_in_dim
from minijax.lax.shapes.reshaping import reshape, transpose
from minijax.primitives.calls import keys_of_program
from minijax.primitives.declare import reduction
from minijax.primitives.declare_program import Rule, declare_program
from minijax.primitives.regions import operation_of, reduce_text, stage_computation
from minijax.primitives.sharding_rules import by_reduction
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.partitioning import evaluate_jaxpr
from minijax.shardings.resharding import dividing
from minijax.shardings.types import Division, ShardingRule, combining_elements
from minijax_stage2 import (
    Primitive,
    ShapedArray,
    Tracer,
    bind,
    tree_flatten,
    tree_unflatten,
    typeof,
)
from minijax_stage2.functions import canonical_axes
from minijax_stage2.jvp import jvp_flat
from minijax_stage2.shaped_array import Shape, is_inexact
from minijax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim, vmap_flat
from minijax_stage3 import Jaxpr, Var, eval_jaxpr
from minijax_stage3.abstract_eval import abstract_eval
from minijax_stage3.executable import cached_by_jaxpr
from minijax_stage3.jaxpr import JaxprEqn
from minijax_stage3.lowering import FunctionBuilder, Value

reduce_p = Primitive("reduce", higher_order=True)

Avals = Sequence[ShapedArray]
Values = Sequence[Any]
Combine = Callable[..., list[Any]]


def vectorised(jaxpr: Jaxpr) -> Callable[..., list[Any]]:
    """The function that combines arrays as the computation combines scalars."""

    def on_scalars(*xs: Any) -> list[Any]:
        return eval_jaxpr(jaxpr, [], *xs)

    def combine(*operands: Any) -> list[Any]:
        shape = typeof(operands[0]).shape
        axis = BatchAxis(math.prod(shape))
        flat = [reshape(x, (axis.size,)) for x in operands]
        outs, dims = vmap_flat(on_scalars, flat, [0] * len(flat), axis, None)
        return [
            reshape(move_batch_dim(out, axis, dim, 0), shape)
            for out, dim in zip(outs, dims, strict=True)
        ]

    return combine


def reduce_by_halving(combine: Combine, operands: Values, axes: Shape) -> list[Any]:
    """Reduce nonempty arrays with a function that combines arrays element by element.

    Arguments:
        combine: function from two halves of each array to one.
        operands: arrays of one shape.
        axes: the axes to reduce.
    """
    shape = typeof(operands[0]).shape
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    size = math.prod(shape[axis] for axis in axes)
    rest = tuple(shape[axis] for axis in kept)
    xs = [reshape(transpose(x, (*axes, *kept)), (size, *rest)) for x in operands]
    while size > 1:
        half = size // 2
        combined = combine(
            *(_rows(x, 0, half) for x in xs), *(_rows(x, half, 2 * half) for x in xs)
        )
        if size % 2:
            last = (_rows(x, 2 * half, size) for x in xs)
            combined = [concatenate(pair, 0) for pair in zip(combined, last, strict=True)]
        xs, size = combined, half + size % 2
    return [reshape(x, rest) for x in xs]


def _rows(x: Any, start: int, limit: int) -> Any:
    shape = typeof(x).shape
    return slice(x, (start, *[0] * (len(shape) - 1)), (limit, *shape[1:]))


def _prod_tangent(t: Any, out: Any, x: Any, *, axes: Shape) -> Any:
    """The tangent of each element times all other elements, correct even if some are zero."""
    if 0 in [typeof(x).shape[axis] for axis in axes]:
        return None

    def by_halving(x: Any) -> list[Any]:
        return reduce_by_halving(lambda x, y: [mul(x, y)], [x], axes)

    return jvp_flat(by_halving, [x], [t], "reduce_prod")[1][0]


reduce_prod = reduction(
    "reduce_prod",
    """The product of the elements along `axes`.

    >>> lax.reduce_prod(jnp.array([[1, 2], [3, 4]]), (0,))
    Array([3, 8], dtype=int32)
    """,
    hlo="multiply",
    init=lambda dtype: dtype.type(1),
    kinds="iufc",
    jvp=_prod_tangent,
)

# Reductions by one operation, by its name: with the element that changes nothing, and the
# function that combines an element to begin with.
_KNOWN: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "add": (reductions.reduce_sum, lambda dtype: 0, elementwise.add),
    "mul": (reduce_prod, lambda dtype: 1, elementwise.mul),
    "max": (reductions.reduce_max, reductions.smallest, extremes.max),
    "min": (reductions.reduce_min, reductions.largest, extremes.min),
    "and": (reductions.reduce_and, reductions.all_bits, bits.bitwise_and),
    "or": (reductions.reduce_or, lambda dtype: 0, bits.bitwise_or),
    "xor": (reductions.reduce_xor, lambda dtype: 0, bits.bitwise_xor),
}


@evaluated_by_library
@dividing
def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: Any = None,
) -> Any:
    """Combine the elements along some axes with an associative function.

    Arguments:
        operands: an array, or a pytree of arrays of one shape, reduced together.
        init_values: for each array the initial value. It must be neutral, since it may be used
            several times or not at all.
        computation: function from two elements, in the structure of `operands`, to one: a function
            of this module, such as `lax.add`, or any other function of scalars.
        dimensions: the axes to reduce.
        out_sharding: the division of each result along axes of type `Explicit`.

    Raises:
        TypeError: shapes or dtypes differ, or `computation` returns other types than it takes.
        ValueError: `init_values` does not have the structure of `operands`, or is not a scalar.

    >>> import minijax.numpy as jnp
    >>> reduce(jnp.array([3.0, 4.0]), 0.0, lambda x, y: x * x + y, (0,)).shape
    ()
    """
    xs, tree = tree_flatten(operands)
    inits, init_tree = tree_flatten(init_values)
    if tree != init_tree or not xs:
        raise ValueError(
            f"reduce: init_values must have the structure of operands, {tree}, found {init_tree}"
        )
    avals = [typeof(x) for x in xs]
    axes = canonical_axes("reduce", tuple(dimensions), avals[0].ndim)
    if axes != tuple(dimensions):
        raise ValueError(f"reduce: dimensions must not be negative, found {tuple(dimensions)}")
    jaxpr = stage_computation("reduce", computation, avals, tree)
    operation_name = str(operation_of(jaxpr))
    known = _KNOWN.get(operation_name)
    inits = [
        finite_init(operation_name, init, aval) for init, aval in zip(inits, avals, strict=True)
    ]
    check_inits("reduce", avals, [typeof(x) for x in inits])
    if known is not None:
        reduction, neutral, combine = known
        out = reduction(xs[0], axes)
        if not typeof(inits[0]).weak_type:
            out = convert_element_type(out, avals[0].dtype)
        if not is_number(inits[0], neutral(avals[0].dtype)):
            check_inits("reduce", avals, [typeof(x) for x in inits], exact=True)
            out = combine(inits[0], out)
        outs = [out]
    else:
        check_inits("reduce", avals, [typeof(x) for x in inits], exact=True)
        outs = bind(reduce_p, *xs, *inits, jaxpr=jaxpr, dimensions=axes)
    return tree_unflatten(tree, outs)


def is_number(x: Any, number: Any) -> bool:
    """Return True if `x` is known to be that number."""
    return not isinstance(x, Tracer) and bool(np.asarray(x) == number)


def finite_init(operation_name: str, init: Any, aval: ShapedArray) -> Any:
    """The initial value of a reduction; infinity, of integers, is their least or greatest number.

    It changes neither a maximum nor a minimum, so programs write -inf and inf for any dtype.
    """
    infinity = {"max": -np.inf, "min": np.inf}.get(operation_name)
    if infinity is None or is_inexact(aval.dtype) or not is_number(init, infinity):
        return init
    return np.asarray(_KNOWN[operation_name][1](aval.dtype), aval.dtype)


def check_inits(caller: str, avals: Avals, inits: Avals, exact: bool = False) -> None:
    """Raise an error if operands differ in shape, or their initial values do not match.

    With `exact`, even a Python number must have the dtype of its operand.
    """
    if len({aval.shape for aval in avals}) > 1:
        found = ", ".join(map(str, avals))
        raise TypeError(f"{caller}: operands must have one shape, found {found}")
    for aval, init in zip(avals, inits, strict=True):
        if init.shape:
            raise ValueError(f"{caller}: {aval} takes a scalar init, found {init}")
        if init.dtype != aval.dtype and (exact or not init.weak_type):
            raise TypeError(f"{caller}: {aval} takes an init of its dtype, found {init}")


def halves(values: Values) -> tuple[Values, Values]:
    """Split the values for operands from those for initial values."""
    count = len(values) // 2
    return values[:count], values[count:]


def _abstract_eval(*avals: ShapedArray, jaxpr: Jaxpr, dimensions: Shape) -> list[ShapedArray]:
    xs, inits = halves(avals)
    check_inits("reduce", xs, inits)
    shape = tuple(n for i, n in enumerate(xs[0].shape) if i not in dimensions)
    is_weak = all(aval.weak_type for aval in avals)
    return [ShapedArray(shape, x.dtype, is_weak) for x in xs]


def _lower(
    b: FunctionBuilder, out_avals: Avals, *operands: Value, jaxpr: Jaxpr, dimensions: Shape
) -> list[Value]:
    return reduce_text(b, out_avals, operands, jaxpr, dimensions)


def _by_halving(jaxpr: Jaxpr, dimensions: Shape) -> Combine:
    """The reduction as a function of operands and initial values, made of other primitives."""
    combine = vectorised(jaxpr)

    def function(*operands: Any) -> list[Any]:
        xs, inits = halves(operands)
        shape = typeof(xs[0]).shape
        kept = tuple(n for i, n in enumerate(shape) if i not in dimensions)
        starts = [broadcast_in_dim(init, kept, ()) for init in inits]
        if 0 in [shape[axis] for axis in dimensions]:
            return starts
        return combine(*starts, *reduce_by_halving(combine, xs, dimensions))

    return function


def _vmap(
    batch_axis: BatchAxis,
    values: Values,
    dims: Sequence[BatchDim],
    *,
    jaxpr: Jaxpr,
    dimensions: Shape,
) -> tuple[list[Any], list[BatchDim]]:
    xs, inits = halves(values)
    x_dims, init_dims = halves(dims)
    if any(dim is not None for dim in init_dims):  # each example begins with its own
        f = _by_halving(jaxpr, dimensions)
        return vmap_flat(f, values, dims, batch_axis, "reduce")
    xs = [move_batch_dim(x, batch_axis, dim, 0) for x, dim in zip(xs, x_dims, strict=True)]
    axes = tuple(axis + 1 for axis in dimensions)
    return bind(reduce_p, *xs, *inits, jaxpr=jaxpr, dimensions=axes), [0] * len(xs)


def _jvp(
    primals: Values, tangents: Values, *, jaxpr: Jaxpr, dimensions: Shape
) -> tuple[list[Any], list[Any]]:
    return jvp_flat(_by_halving(jaxpr, dimensions), primals, tangents, "reduce")


def evaluate_with_program(primitive: Primitive) -> Callable[..., list[Any]]:
    """The rule of evaluation of a primitive with a computation among its parameters.

    The executable lives as long as the computation's program.
    """

    @cached_by_jaxpr
    def program_of(jaxpr: Jaxpr, in_avals: tuple[ShapedArray, ...], params: Any) -> Jaxpr:
        named = {"jaxpr": jaxpr, **dict(params)}
        invars = [Var(aval) for aval in in_avals]
        outvars = [Var(aval) for aval in abstract_eval(primitive, in_avals, named)]
        return Jaxpr([], invars, [JaxprEqn(primitive, invars, outvars, named)], outvars)

    def evaluate(*operands: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
        program = program_of(jaxpr, tuple(map(typeof, operands)), tuple(params.items()))
        return evaluate_jaxpr(program, primitive.name, operands)

    return evaluate


def of_arrays(rule: ShardingRule) -> ShardingRule:
    """A sharding rule of arrays for a primitive that takes initial values after them."""

    def of_first_half(
        in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> Sequence[Division]:
        return rule(halves(in_avals)[0], out_avals, params)

    return of_first_half


def declare_computation(
    primitive: Primitive,
    abstract_eval: Rule,
    lower: Rule,
    vmap: Rule,
    sharding: ShardingRule,
    jvp: Rule,
) -> None:
    """Declare a primitive whose program, `jaxpr`, combines elements of its operands."""
    combining_elements.add(primitive)
    declare_program(
        primitive,
        evaluate=evaluate_with_program(primitive),
        abstract_eval=abstract_eval,
        lower=lower,
        vmap=vmap,
        sharding=of_arrays(sharding),
        jvp=jvp,
        transpose=None,
        partial_eval=None,
        dce=None,
        dependence=None,
        order=None,
        keys=keys_of_program,
        steps=None,
    )


declare_computation(
    reduce_p, _abstract_eval, _lower, _vmap, by_reduction(reduce_p, "dimensions"), _jvp
)

__all__ = [
    "reduce",
    "reduce_prod",
]
