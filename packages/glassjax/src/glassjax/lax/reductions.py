"""Reductions, along axes and over windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

import glassjax.lax.elementwise as elementwise
import glassjax_stage2 as stage2
from glassjax.dtypes import DTypeLike
from glassjax.lax import shapes
from glassjax.lax.conversion import convert_element_type
from glassjax.lax.slicing import concatenate, slice
from glassjax.primitives import higher_order
from glassjax.primitives.declare import Rule, declare, lower_reduction, reduction
from glassjax.primitives.higher_order import declare_program, program_keys
from glassjax.primitives.narrow_numbers import in_wide_numbers, wide_dtype
from glassjax.primitives.regions import lower_as, operation_of, reduce_text, stage_computation
from glassjax.primitives.sharding_rules import by_reduction
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.lowering import own_lowering_rules
from glassjax.runtime.operation import operation, require_counted_from_0, require_kind
from glassjax.runtime.partitioning import evaluate_jaxpr
from glassjax.settings.number_types import allow_f16_reductions, letter_of
from glassjax.shardings.types import ShardingRule, Spec, combining_elements, takes_out_sharding
from glassjax_stage2 import Primitive, ShapedArray, bind, typeof
from glassjax_stage2.functions import canonical_axes, canonical_axis
from glassjax_stage2.jvp import jvp_flat
from glassjax_stage2.primitives import reduce_sum_p
from glassjax_stage2.shaped_array import Shape, dialect, is_inexact
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim, vmap_flat
from glassjax_stage3 import Jaxpr, Var, eval_jaxpr, lowering_rules
from glassjax_stage3.abstract_eval import abstract_eval
from glassjax_stage3.executable import cached_by_jaxpr
from glassjax_stage3.jaxpr import JaxprEqn
from glassjax_stage3.lowering import FunctionBuilder, Value

# Functions that combine the elements along some axes of an array.


own_lowering_rules[reduce_sum_p] = in_wide_numbers(lowering_rules[reduce_sum_p])


@operation(static=("axes", "out_sharding"))
def reduce_sum(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """The sum over the axes `axes`, in the dtype of `operand`.

    Arguments:
        operand: the array.
        axes: the axes to reduce.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    Raises:
        ValueError: there is no such axis, or sums in 16 bits are disabled by
            `allow_f16_reductions`.

    >>> lax.reduce_sum(jnp.array([[1, 9], [8, 2]]), (0,))
    Array([ 9, 11], dtype=int32)
    """
    require_kind("reduce_sum", "iufc", typeof(operand))
    require_counted_from_0("reduce_sum", "axes", axes)
    out = stage2.reduce_sum(operand, tuple(axes))
    aval = typeof(operand)
    is_narrow = aval.dtype in (np.float16, ml_dtypes.bfloat16)
    if is_narrow and not allow_f16_reductions.value and typeof(out).size != aval.size:
        raise ValueError(
            f"reduce_sum: the sum of {aval} is taken with 16 bits, and allow_f16_reductions is "
            "False; convert it before, by x.astype('float32')"
        )
    return out


def smallest(dtype: np.dtype[Any]) -> Any:
    """The smallest number of a dtype."""
    return _bounds(dtype)[0]


def largest(dtype: np.dtype[Any]) -> Any:
    """The largest number of a dtype."""
    return _bounds(dtype)[1]


def all_bits(dtype: np.dtype[Any]) -> Any:
    """The number of a dtype with all bits set."""
    if dtype == np.bool_:
        return True
    return dtype.type(ml_dtypes.iinfo(dtype).max if letter_of(dtype) == "u" else -1)


def _bounds(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if dtype == np.bool_:
        return False, True
    if is_inexact(dtype) and np.isinf(np.asarray(np.inf, dtype)):
        return -np.inf, np.inf
    limits: Any = ml_dtypes.finfo if is_inexact(dtype) else ml_dtypes.iinfo
    return limits(dtype).min, limits(dtype).max  # some narrow floats have no infinities


def _shared_among_ties(t: Any, out: Any, x: Any, *, axes: Shape) -> Any:
    """The mean of the tangents of those elements that equal the result."""
    shape = [1 if axis in axes else size for axis, size in enumerate(typeof(x).shape)]
    chosen = stage2.astype(x == shapes.reshape(out, shape), typeof(x).dtype)
    count = reduce_sum(chosen, axes)
    return reduce_sum(t * chosen, axes) / count


def _extreme_lower(
    operation: str, init: Callable[[np.dtype[Any]], Any], combine: Callable[[Any, Any], Any]
) -> Rule:
    """The rule of a maximum or minimum; XLA would only compare real parts of complex numbers."""
    lower_real = lower_reduction(operation, init)

    def extreme_lower(
        b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, axes: Shape
    ) -> list[Value]:
        (out,) = out_avals
        if out.dtype.kind != "c":
            return lower_real(b, out_avals, x, axes=axes)
        scalar = ShapedArray((), out.dtype)
        start = b.constant(init(out.dtype), scalar)
        jaxpr = stage_computation(operation, combine, [scalar], stage2.tree_flatten(0)[1])
        return reduce_text(b, out_avals, [x, start], jaxpr, axes)

    return extreme_lower


reduce_max = reduction(
    "reduce_max",
    """The largest element along `axes`. Elements that tie share its derivative.

    Complex numbers are ordered by real part, then by imaginary part.

    Arguments:
        operand, axes, out_sharding: as in `reduce_sum`.

    Raises:
        ValueError: there is no such axis.

    >>> lax.reduce_max(jnp.array([[1, 9], [8, 2]]), (0,))
    Array([8, 9], dtype=int32)
    """,
    hlo=_extreme_lower("maximum", smallest, elementwise.max),
    init=smallest,
    kinds="biufc",
    jvp=_shared_among_ties,
    has_out_sharding=True,
)
reduce_min = reduction(
    "reduce_min",
    """The smallest element along `axes`. Elements that tie share its derivative.

    Complex numbers are ordered by real part, then by imaginary part.

    Arguments:
        operand, axes, out_sharding: as in `reduce_sum`.

    Raises:
        ValueError: there is no such axis.

    >>> lax.reduce_min(jnp.array([[1, 9], [8, 2]]), (0,))
    Array([1, 2], dtype=int32)
    """,
    hlo=_extreme_lower("minimum", largest, elementwise.min),
    init=largest,
    kinds="biufc",
    jvp=_shared_among_ties,
    has_out_sharding=True,
)
# --8<-- [start:reductions]
reduce_and = reduction(
    "reduce_and",
    """Test if all elements along `axes` are true; for integers bit by bit.

    >>> lax.reduce_and(jnp.array([[True, True], [True, False]]), (1,))
    Array([ True, False], dtype=bool)
    """,
    hlo="and",
    init=all_bits,
    kinds="biu",
)
reduce_or = reduction(
    "reduce_or",
    """Test if any element along `axes` is true; for integers bit by bit.

    >>> lax.reduce_or(jnp.array([[False, True], [False, False]]), (1,))
    Array([ True, False], dtype=bool)
    """,
    hlo="or",
    init=lambda dtype: dtype.type(0),
    kinds="biu",
)
# --8<-- [end:reductions]
reduce_xor = reduction(
    "reduce_xor",
    """Test if an odd number of elements along `axes` are true; for integers bit by bit.

    >>> lax.reduce_xor(jnp.array([[True, True], [True, False]]), (1,))
    Array([False,  True], dtype=bool)
    """,
    hlo="xor",
    init=lambda dtype: dtype.type(0),
    kinds="biu",
)


# Reductions with any computation, and products, which share their derivative rules.
#
# Halves of the array are combined until one element is left. That is no faster than XLA's own
# reduction, but consists of differentiable primitives.


reduce_p = Primitive("reduce", higher_order=True)

Avals = Sequence[ShapedArray]
Values = Sequence[Any]
Combine = Callable[..., list[Any]]


def vectorised(jaxpr: Jaxpr) -> Callable[..., list[Any]]:
    """The function that combines arrays as the computation combines scalars."""

    def on_scalars(*xs: Any) -> list[Any]:
        return eval_jaxpr(jaxpr, [], *xs)

    def combine_vectors(*operands: Any) -> list[Any]:
        shape = typeof(operands[0]).shape
        # The scalar program is mapped once, over all elements as one axis.
        axis = BatchAxis(math.prod(shape))
        flat = [shapes.reshape(x, (axis.size,)) for x in operands]
        outs, dims = vmap_flat(on_scalars, flat, [0] * len(flat), axis, None)
        return [
            shapes.reshape(move_batch_dim(out, axis, dim, 0), shape)
            for out, dim in zip(outs, dims, strict=True)
        ]

    return combine_vectors


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
    xs = [shapes.reshape(shapes.transpose(x, (*axes, *kept)), (size, *rest)) for x in operands]
    while size > 1:
        half = size // 2
        # Element i is combined with element i + half: the function is taken to be commutative, too.
        combined = combine(
            *(_reduce_rows(x, 0, half) for x in xs), *(_reduce_rows(x, half, 2 * half) for x in xs)
        )
        if size % 2:
            last = (_reduce_rows(x, 2 * half, size) for x in xs)
            combined = [concatenate(pair, 0) for pair in zip(combined, last, strict=True)]
        xs, size = combined, half + size % 2
    return [shapes.reshape(x, rest) for x in xs]


def _reduce_rows(x: Any, start: int, limit: int) -> Any:
    shape = typeof(x).shape
    return slice(x, (start, *[0] * (len(shape) - 1)), (limit, *shape[1:]))


def _prod_tangent(t: Any, out: Any, x: Any, *, axes: Shape) -> Any:
    """The tangent of each element times all other elements, correct even if some are zero."""
    # An empty product is 1, a constant.
    if 0 in [typeof(x).shape[axis] for axis in axes]:
        return None

    def by_halving(x: Any) -> list[Any]:
        return reduce_by_halving(lambda x, y: [x * y], [x], axes)

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

# Reductions by one operation, by its name: the reduction, its neutral element, and the function
# that combines the result with an initial value.
_KNOWN: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "add": (reduce_sum, lambda dtype: 0, elementwise.add),
    "mul": (reduce_prod, lambda dtype: 1, elementwise.mul),
    "max": (reduce_max, smallest, elementwise.max),
    "min": (reduce_min, largest, elementwise.min),
    "and": (reduce_and, all_bits, elementwise.bitwise_and),
    "or": (reduce_or, lambda dtype: 0, elementwise.bitwise_or),
    "xor": (reduce_xor, lambda dtype: 0, elementwise.bitwise_xor),
}


@evaluated_by_library
@takes_out_sharding
def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: Any = None,
) -> Any:
    """Combine the elements along some axes with an associative and commutative function.

    Arguments:
        operands: an array, or a pytree of arrays of one shape, reduced together.
        init_values: for each array the initial value. It must be neutral, since it may be used
            several times or not at all.
        computation: function from two elements, in the structure of `operands`, to one: a function
            of this module, such as `lax.add`, or any other function of scalars.
        dimensions: the axes to reduce.
        out_sharding: the sharding of each result over mesh axes of type `Explicit`.

    Raises:
        TypeError: shapes or dtypes differ, or `computation` returns other types than it takes.
        ValueError: `init_values` does not have the structure of `operands`, or is not a scalar.

    >>> import glassjax.numpy as jnp
    >>> reduce(jnp.array([3.0, 4.0]), 0.0, lambda x, y: x * x + y, (0,)).shape
    ()
    """
    xs, tree = stage2.tree_flatten(operands)
    inits, init_tree = stage2.tree_flatten(init_values)
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
    # A single operation has a primitive, and derivatives without halving.
    known = _KNOWN.get(operation_name)
    inits = [
        finite_init(operation_name, init, aval) for init, aval in zip(inits, avals, strict=True)
    ]
    check_inits("reduce", avals, [typeof(x) for x in inits])
    if known is not None:
        reduction, neutral, combine = known
        out = reduction(xs[0], axes)
        # The result is weak only if operand and initial value both are.
        if not typeof(inits[0]).weak_type:
            out = convert_element_type(out, avals[0].dtype)
        if not is_number(inits[0], neutral(avals[0].dtype)):
            check_inits("reduce", avals, [typeof(x) for x in inits], exact=True)
            out = combine(inits[0], out)
        outs = [out]
    else:
        check_inits("reduce", avals, [typeof(x) for x in inits], exact=True)
        outs = bind(reduce_p, *xs, *inits, jaxpr=jaxpr, dimensions=axes)
    return stage2.tree_unflatten(tree, outs)


def is_number(x: Any, number: Any) -> bool:
    """Return True if `x` is known to be that number."""
    return not isinstance(x, stage2.Tracer) and bool(np.asarray(x) == number)


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


def _reduce_type(*avals: ShapedArray, jaxpr: Jaxpr, dimensions: Shape) -> list[ShapedArray]:
    xs, inits = halves(avals)
    check_inits("reduce", xs, inits)
    shape = tuple(n for i, n in enumerate(xs[0].shape) if i not in dimensions)
    is_weak = all(aval.weak_type for aval in avals)
    return [ShapedArray(shape, x.dtype, is_weak) for x in xs]


def _reduce_lower(
    b: FunctionBuilder, out_avals: Avals, *operands: Value, jaxpr: Jaxpr, dimensions: Shape
) -> list[Value]:
    return reduce_text(b, out_avals, operands, jaxpr, dimensions)


def _by_halving(jaxpr: Jaxpr, dimensions: Shape) -> Combine:
    """The reduction as a function of operands and initial values, made of other primitives."""
    combine = vectorised(jaxpr)

    def halving_function(*operands: Any) -> list[Any]:
        xs, inits = halves(operands)
        shape = typeof(xs[0]).shape
        kept = tuple(n for i, n in enumerate(shape) if i not in dimensions)
        starts = [shapes.broadcast_in_dim(init, kept, ()) for init in inits]
        if 0 in [shape[axis] for axis in dimensions]:
            return starts
        return combine(*starts, *reduce_by_halving(combine, xs, dimensions))

    return halving_function


def _reduce_vmap(
    batch_axis: BatchAxis,
    values: Values,
    dims: Sequence[BatchDim],
    *,
    jaxpr: Jaxpr,
    dimensions: Shape,
) -> tuple[list[Any], list[BatchDim]]:
    xs, inits = halves(values)
    x_dims, init_dims = halves(dims)
    # StableHLO's reduce takes scalars as initial values, one for all examples.
    if any(dim is not None for dim in init_dims):  # each example has its own initial value
        f = _by_halving(jaxpr, dimensions)
        return vmap_flat(f, values, dims, batch_axis, "reduce")
    xs = [move_batch_dim(x, batch_axis, dim, 0) for x, dim in zip(xs, x_dims, strict=True)]
    axes = tuple(axis + 1 for axis in dimensions)
    return bind(reduce_p, *xs, *inits, jaxpr=jaxpr, dimensions=axes), [0] * len(xs)


def _reduce_jvp(
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

    def computation_impl(*operands: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
        program = program_of(jaxpr, tuple(map(typeof, operands)), tuple(params.items()))
        return evaluate_jaxpr(program, primitive.name, operands)

    return computation_impl


def arrays_sharding(rule: ShardingRule) -> ShardingRule:
    """A sharding rule of arrays for a primitive that takes initial values after them."""

    def sharding(
        in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> Sequence[Spec]:
        return rule(halves(in_avals)[0], out_avals, params)

    return sharding


def declare_computation(
    primitive: Primitive,
    abstract_eval: higher_order.Rule,
    lower: higher_order.Rule,
    vmap: higher_order.Rule,
    sharding: ShardingRule,
    jvp: higher_order.Rule,
) -> None:
    """Declare a primitive whose program, `jaxpr`, combines elements of its operands."""
    combining_elements.add(primitive)
    declare_program(
        primitive,
        evaluate=evaluate_with_program(primitive),
        abstract_eval=abstract_eval,
        lower=lower,
        vmap=vmap,
        sharding=arrays_sharding(sharding),
        jvp=jvp,
        transpose=None,
        partial_eval=None,
        dce=None,
        dependence=None,
        order=None,
        keys=program_keys,
        steps=None,
    )


declare_computation(
    reduce_p,
    _reduce_type,
    _reduce_lower,
    _reduce_vmap,
    by_reduction(reduce_p, "dimensions"),
    _reduce_jvp,
)


# Indices of the largest and smallest elements along an axis.


argmax_p = Primitive("argmax")
argmin_p = Primitive("argmin")


@operation(static=("axis", "index_dtype"))
def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """The index of the first largest element along `axis`; the first NaN counts as largest.

    Arguments:
        operand: the array.
        axis: the axis to search.
        index_dtype: the integer dtype of the result.

    Raises:
        TypeError: `index_dtype` is not an integer dtype.
        ValueError: there is no such axis, or it has no elements.

    >>> lax.argmax(jnp.array([[1, 9], [8, 2]]), 1, jnp.int32)
    Array([1, 0], dtype=int32)
    """
    return _bind_arg(argmax_p, operand, axis, index_dtype)


@operation(static=("axis", "index_dtype"))
def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """The index of the first smallest element along `axis`; the first NaN counts as smallest.

    Arguments:
        operand, axis, index_dtype: as in `argmax`.

    Raises:
        TypeError, ValueError: as in `argmax`.

    >>> lax.argmin(jnp.array([[1, 9], [8, 2]]), 1, jnp.int32)
    Array([0, 1], dtype=int32)
    """
    return _bind_arg(argmin_p, operand, axis, index_dtype)


def _bind_arg(primitive: Primitive, operand: Any, axis: int, index_dtype: Any) -> Any:
    require_counted_from_0(primitive.name, "axis", axis)
    dtype = dialect().dtype_of(primitive.name, index_dtype)
    if letter_of(dtype) not in "iu":
        raise TypeError(f"{primitive}: index_dtype must be one of integers, found {dtype}")
    axis = canonical_axis(primitive.name, axis, typeof(operand).ndim)
    return stage2.bind1(primitive, operand, axis=axis, index_dtype=dtype)


Pair = tuple[Any, Any]  # an element, and its index


def _better(is_beyond: Callable[[Any, Any], Any]) -> Callable[[Pair, Pair], Pair]:
    """The reduction computation that selects one of two elements, each with its index.

    NaN, the only value that differs from itself, is beyond all numbers. XLA's own maximum does not
    help: with many numbers and a NaN it may be a number. In a tie the smaller index wins, in
    whatever order elements are combined.
    """

    def better(one: Pair, other: Pair) -> Pair:
        (x, i), (y, j) = one, other
        is_first = elementwise.lt(i, j)
        if is_inexact(typeof(x).dtype):
            is_nan = elementwise.ne(x, x)
            is_chosen = is_beyond(x, y) | is_nan
            ties = elementwise.eq(x, y) | is_nan & elementwise.ne(y, y)
            has_index = elementwise.select(ties, is_first, is_chosen)
        else:
            is_chosen = is_beyond(x, y)
            has_index = is_chosen | elementwise.eq(x, y) & is_first
        return elementwise.select(is_chosen, x, y), elementwise.select(has_index, i, j)

    return better


def _declare_arg(
    primitive: Primitive,
    is_beyond: Callable[[Any, Any], Any],
    least: Callable[[np.dtype[Any]], Any],
) -> None:
    better = _better(is_beyond)

    def arg_type(x: ShapedArray, *, axis: int, index_dtype: np.dtype[Any]) -> list[ShapedArray]:
        if x.dtype.kind == "c":
            raise TypeError(f"{primitive}: {x} has no elements with an order")
        if not 0 <= axis < x.ndim or x.shape[axis] == 0:
            raise ValueError(f"{primitive}: {x} has no elements along axis {axis}")
        return [ShapedArray(x.shape[:axis] + x.shape[axis + 1 :], index_dtype)]

    def first_index(operand: Any, *, axis: int, index_dtype: np.dtype[Any]) -> Any:
        aval = typeof(operand)
        if wide_dtype(aval.dtype) != aval.dtype:
            operand = stage2.astype(operand, wide_dtype(aval.dtype))
            aval = typeof(operand)
        indices = shapes.broadcasted_iota(index_dtype, aval.shape, axis)
        # The start ties with the result only if all elements are the least, and then 0 is right.
        start = shapes.full_like(operand, least(aval.dtype), shape=()), index_dtype.type(0)
        return reduce((operand, indices), start, better, (axis,))[1]

    def arg_vmap(
        batch_axis: BatchAxis,
        values: Sequence[Any],
        dims: Sequence[BatchDim],
        *,
        axis: int,
        index_dtype: np.dtype[Any],
    ) -> tuple[list[Any], list[BatchDim]]:
        x = move_batch_dim(values[0], batch_axis, dims[0], 0)
        return [stage2.bind1(primitive, x, axis=axis + 1, index_dtype=index_dtype)], [0]

    first_index.__name__ = primitive.name
    declare(
        primitive,
        abstract_eval=arg_type,
        lower=lower_as(first_index),
        vmap=arg_vmap,
        sharding=by_reduction(primitive, "axis"),
    )


_declare_arg(argmax_p, elementwise.gt, smallest)
_declare_arg(argmin_p, elementwise.lt, largest)
