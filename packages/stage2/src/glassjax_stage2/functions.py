"""The public functions of arrays, made of primitives.

These functions promote operands and check arguments, so that a primitive and its rules can rely on
matching shapes and dtypes.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassjax_stage1 import Op
from glassjax_stage2 import primitives as p
from glassjax_stage2.errors import ConcretizationTypeError, ShapeMismatchError, shown
from glassjax_stage2.promotion import broadcast_shapes, broadcast_to, cast, promote, to_inexact
from glassjax_stage2.shaped_array import Shape, dialect, typeof
from glassjax_stage2.trace import Primitive, bind1, function_of_op

Array = Any  # a Python number, a numpy array, a tracer, or another array with an aval


def neg(x: Array) -> Array:
    """`-x`."""
    if typeof(x).dtype == np.bool_:
        raise TypeError("neg: found a boolean array; to negate one use `x == False`")
    return bind1(p.neg_p, x)


def sin(x: Array) -> Array:
    """The sine of `x`."""
    return bind1(p.sin_p, to_inexact(x))


def cos(x: Array) -> Array:
    """The cosine of `x`."""
    return bind1(p.cos_p, to_inexact(x))


def exp(x: Array) -> Array:
    """The exponential of `x`."""
    return bind1(p.exp_p, to_inexact(x))


def log(x: Array) -> Array:
    """The natural logarithm of `x`."""
    return bind1(p.log_p, to_inexact(x))


def add(x: Array, y: Array) -> Array:
    """`x + y`."""
    return bind1(p.add_p, *promote(x, y))


def mul(x: Array, y: Array) -> Array:
    """`x * y`."""
    return bind1(p.mul_p, *promote(x, y))


def sub(x: Array, y: Array) -> Array:
    """`x - y`."""
    x, y = promote(x, y)
    if typeof(x).dtype == np.bool_:
        raise TypeError("sub: found boolean arrays; to see where they differ use `x != y`")
    return bind1(p.sub_p, x, y)


def div(x: Array, y: Array) -> Array:
    """`x / y`, a real number for integers too."""
    return bind1(p.div_p, *promote(x, y, inexact=True))


def reciprocal(x: Array) -> Array:
    """`1 / x`."""
    return div(1.0, x)


def power(x: Array, y: Array) -> Array:
    """`x ** y`. A Python int `y` multiplies repeatedly, and so is exact for integers `x`.

    Any other exponent requires a nonnegative real `x`, unless the exponent is a whole number.
    """
    if isinstance(y, int | np.integer) and not isinstance(y, bool):
        return _integer_power(x, int(y))
    x, y = promote(x, y)
    if typeof(x).dtype == np.bool_:
        raise TypeError("power: found two boolean arrays; convert one to numbers")
    return bind1(p.pow_p, x, y)


def _integer_power(x: Array, exponent: int) -> Array:
    if exponent < 0:
        return reciprocal(_integer_power(x, -exponent))
    if exponent == 0:
        return full_like(x, 1)
    if exponent == 1:
        return x
    even_part = _integer_power(mul(x, x), exponent // 2)
    return mul(x, even_part) if exponent % 2 else even_part


def abs(x: Array) -> Array:
    """The absolute value of `x`, whose derivative at 0 is 1."""
    aval = typeof(x)
    if aval.dtype.kind in "bc":
        raise TypeError(f"abs: expected integers or reals, found {aval}")
    return where(ge(x, 0), x, neg(x))


def _comparison(primitive: Primitive, symbol: str) -> Callable[[Array, Array], Array]:
    def compare(x: Array, y: Array) -> Array:
        return bind1(primitive, *promote(x, y))

    compare.__name__ = compare.__qualname__ = primitive.name
    compare.__doc__ = f"`x {symbol} y`, element by element."
    return compare


eq = _comparison(p.eq_p, "==")
ne = _comparison(p.ne_p, "!=")
lt = _comparison(p.lt_p, "<")
le = _comparison(p.le_p, "<=")
gt = _comparison(p.gt_p, ">")
ge = _comparison(p.ge_p, ">=")


def select_n(which: Array, on_false: Array, on_true: Array) -> Array:
    """`on_true` where `which` is true, else `on_false`, element by element; no promotion.

    Raises:
        TypeError: `which` is not boolean, or dtypes differ, or shapes other than scalars.
    """
    return bind1(p.select_n_p, which, on_false, on_true)


def where(condition: Array, x: Array, y: Array) -> Array:
    """`x` where `condition` is true, else `y`, element by element."""
    which = condition if typeof(condition).dtype == np.bool_ else ne(condition, 0)
    cases = promote(x, y)
    shape = broadcast_shapes(*(typeof(operand).shape for operand in (which, *cases)))
    which = broadcast_to(which, shape) if typeof(which).shape else which
    x, y = (broadcast_to(case, shape) for case in cases)
    return select_n(which, y, x)


def astype(x: Array, dtype: Any) -> Array:
    """`x` with another dtype."""
    dtype = dialect().dtype_of("astype", dtype)
    aval = typeof(x)
    if aval.dtype == dtype and not aval.weak_type:
        return x
    return bind1(p.convert_element_type_p, x, new_dtype=dtype)


def full_like(x: Array, value: Any) -> Array:
    """An array of the shape and dtype of `x`, filled with the number `value`."""
    aval = typeof(x)
    value = cast(value, aval) if aval.weak_type else dialect().scalar(value, aval.dtype)
    return broadcast_to(value, aval.shape)


def reduce_sum(x: Array, axis: int | Sequence[int] | None = None) -> Array:
    """The sum of `x` over one axis, several, or (None) all of them.

    Raises:
        ValueError: an axis is out of range, or given twice.
    """
    aval = typeof(x)
    if aval.dtype == np.bool_:
        x = astype(x, int)
    return bind1(p.reduce_sum_p, x, axes=canonical_axes("reduce_sum", axis, aval.ndim))


def transpose(x: Array, permutation: Sequence[int] | None = None) -> Array:
    """`x` with its axes permuted; without a permutation, in reverse order.

    Raises:
        ValueError: `permutation` is not a permutation of the axes of `x`.
    """
    ndim = typeof(x).ndim
    if permutation is None:
        permutation = range(ndim)[::-1]
    axes = canonical_axes("transpose", permutation, ndim)
    if len(axes) != ndim:
        raise TypeError(f"transpose: {permutation} does not permute the axes of {typeof(x)}")
    return bind1(p.transpose_p, x, permutation=axes) if axes != tuple(range(ndim)) else x


def moveaxis(x: Array, source: int, destination: int) -> Array:
    """`x` with one axis moved, the others in their order."""
    source = canonical_axis("moveaxis", source, typeof(x).ndim)
    destination = canonical_axis("moveaxis", destination, typeof(x).ndim)
    order = [axis for axis in range(typeof(x).ndim) if axis != source]
    order.insert(destination, source)
    return transpose(x, order)


def reshape(x: Array, shape: int | Sequence[int]) -> Array:
    """`x` with another shape of the same size; one size may be -1, to be inferred.

    Raises:
        ShapeMismatchError: `shape` has another number of elements than `x`.
    """
    aval = typeof(x)
    sizes = ints("reshape: shape", shape)
    known = math.prod([size for size in sizes if size != -1])
    if sizes.count(-1) == 1 and known:
        sizes = tuple([aval.size // known if size == -1 else size for size in sizes])
    if any(size < 0 for size in sizes) or math.prod(sizes) != aval.size:
        raise ShapeMismatchError(
            f"reshape: {aval}, of size {aval.size}, does not fit shape {shape}. The sizes of a "
            "shape must multiply to that; one of them may be -1, which stands for the rest."
        )
    return bind1(p.reshape_p, x, new_sizes=sizes) if sizes != aval.shape else x


def broadcast_in_dim(x: Array, shape: Shape, broadcast_dimensions: Sequence[int]) -> Array:
    """`x` broadcast to `shape`; its axes become the axes `broadcast_dimensions`."""
    axes = tuple(broadcast_dimensions)
    return bind1(p.broadcast_in_dim_p, x, shape=tuple(shape), broadcast_dimensions=axes)


def dot_general(x: Array, y: Array, dimension_numbers: p.DotDimensionNumbers, **opts: Any) -> Array:
    """Products of `x` and `y` summed over the contracted axes, for each batch index.

    The axes of the result are the batch axes, the other axes of `x`, the other axes of `y`.
    `opts` holds parameters for a compiler; numpy ignores them.
    """
    axes = [[ints("dot_general: axes", one) for one in both] for both in dimension_numbers]
    contract, batch = map(tuple, axes)
    dtype = dialect().result_type(typeof(x), typeof(y))
    x, y = cast(x, dtype), cast(y, dtype)
    return bind1(p.dot_general_p, x, y, dimension_numbers=(contract, batch), **opts)


def matmul(x: Array, y: Array, **opts: Any) -> Array:
    """`x @ y`: the matrix product, over leading axes that broadcast, as numpy defines it.

    `opts` is as for `dot_general`.

    Raises:
        ShapeMismatchError: an operand is a scalar, or the contracted sizes differ.
    """
    a, b = typeof(x).shape, typeof(y).shape
    if not a or not b:
        raise ShapeMismatchError(
            f"matmul: operands need an axis, found shapes {a}, {b}. Multiply by a scalar with `*`."
        )
    contract_y = max(len(b) - 2, 0)
    if a[-1] != b[contract_y]:
        raise ShapeMismatchError(
            f"matmul: axis {len(a) - 1} of shape {a} is contracted with axis {contract_y} of "
            f"shape {b}, but their sizes are {a[-1]} and {b[contract_y]}. "
            "Transpose one of them, or move its axes."
        )
    if len(a) == 1 or len(b) <= 2:  # batch axes, if any, are free axes of the other operand
        return dot_general(x, y, (((len(a) - 1,), (contract_y,)), ((), ())), **opts)
    batch = broadcast_shapes(a[:-2], b[:-2])
    x, y = broadcast_to(x, batch + a[-2:]), broadcast_to(y, batch + b[-2:])
    lead = tuple(range(len(batch)))
    return dot_general(x, y, (((len(batch) + 1,), (len(batch),)), (lead, lead)), **opts)


def canonical_axes(name: str, axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Axes as a tuple of distinct nonnegative numbers."""
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    given = range(ndim) if axis is None else ints(f"{name}: axis", axis)
    axes = tuple([a % ndim for a in given if -ndim <= a < ndim])
    if len(set(axes)) < len(given):
        raise ValueError(f"{name}: axis {axis} is out of range for ndim {ndim}, or given twice")
    return axes


def canonical_axis(name: str, axis: int, ndim: int) -> int:
    """One axis as a nonnegative number."""
    return canonical_axes(name, one_int(f"{name}: axis", axis), ndim)[0]


def one_int(role: str, given: Any) -> int:
    """A single int; the message for anything else names `role`."""
    found = ints(role, given)
    if len(found) != 1:
        raise TypeError(f"{role} must be one int, found {shown(given)}")
    return found[0]


def ints(role: str, given: Any) -> tuple[int, ...]:
    """One or several ints, as a tuple; the message for anything else names `role`."""
    several = getattr(given, "ndim", hasattr(given, "__len__") and type(given) not in (str, dict))
    try:
        return tuple(map(dialect().index, given if several else (given,)))
    except ConcretizationTypeError as error:
        raise type(error)(f"{role} must be known, as a Python int: {error}") from None
    except TypeError:
        raise TypeError(f"{role} must be an int or ints, found {shown(given)}") from None


function_of_op[Op.add] = add
function_of_op[Op.mul] = mul
