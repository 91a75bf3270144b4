"""The primitives of stages 2 to 4, and their first rule: evaluation by numpy.

Elementwise primitives take operands of one dtype, and of one rank or scalars; along an axis of
size 1, and in all axes of a scalar, they broadcast. `functions.py` promotes operands.

Every later table of rules has the same order.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from glassjax_stage2.shaped_array import Shape, ShapedArray, typeof
from glassjax_stage2.trace import Primitive, impl_rules

neg_p = Primitive("neg")
sin_p = Primitive("sin")
cos_p = Primitive("cos")
exp_p = Primitive("exp")
log_p = Primitive("log")

add_p = Primitive("add")
sub_p = Primitive("sub")
mul_p = Primitive("mul")
div_p = Primitive("div")
pow_p = Primitive("pow")

eq_p = Primitive("eq")
ne_p = Primitive("ne")
lt_p = Primitive("lt")
le_p = Primitive("le")
gt_p = Primitive("gt")
ge_p = Primitive("ge")

select_n_p = Primitive("select_n")
convert_element_type_p = Primitive("convert_element_type")

reduce_sum_p = Primitive("reduce_sum")
transpose_p = Primitive("transpose")
reshape_p = Primitive("reshape")
broadcast_in_dim_p = Primitive("broadcast_in_dim")
dot_general_p = Primitive("dot_general")

UNARY = (neg_p, sin_p, cos_p, exp_p, log_p)
ARITHMETIC = (add_p, sub_p, mul_p, div_p, pow_p)
COMPARISONS = (eq_p, ne_p, lt_p, le_p, gt_p, ge_p)

# Contracting axes of both operands, and batch axes of both operands.
DotDimensionNumbers = tuple[tuple[Shape, Shape], tuple[Shape, Shape]]


def _by(ufunc: Callable[..., Any]) -> Callable[..., list[Any]]:
    return lambda *operands: [ufunc(*operands)]


impl_rules[neg_p] = _by(np.negative)
impl_rules[sin_p] = _by(np.sin)
impl_rules[cos_p] = _by(np.cos)
impl_rules[exp_p] = _by(np.exp)
impl_rules[log_p] = _by(np.log)

impl_rules[add_p] = _by(np.add)
impl_rules[sub_p] = _by(np.subtract)
impl_rules[mul_p] = _by(np.multiply)
impl_rules[div_p] = lambda x, y: [_divide(x, y)]
impl_rules[pow_p] = _by(np.power)

impl_rules[eq_p] = _by(np.equal)
impl_rules[ne_p] = _by(np.not_equal)
impl_rules[lt_p] = _by(np.less)
impl_rules[le_p] = _by(np.less_equal)
impl_rules[gt_p] = _by(np.greater)
impl_rules[ge_p] = _by(np.greater_equal)

impl_rules[select_n_p] = lambda which, on_false, on_true: [_select(which, on_false, on_true)]
impl_rules[convert_element_type_p] = lambda x, **params: [_convert(x, **params)]

impl_rules[reduce_sum_p] = lambda x, *, axes: [np.sum(x, axis=axes, dtype=np.result_type(x))]
impl_rules[transpose_p] = lambda x, *, permutation: [np.transpose(x, permutation)]
impl_rules[reshape_p] = lambda x, *, new_sizes: [np.reshape(x, new_sizes)]


def _divide(x: Any, y: Any) -> Any:
    """`x / y`; for integers rounded towards zero, and -1 where `y` is 0, as in XLA."""
    if np.result_type(x, y).kind not in "iu":
        return np.divide(x, y)
    rounded = np.floor_divide(x - np.fmod(x, y), y)
    return np.where(np.equal(y, 0), ~np.zeros_like(rounded), rounded)[()]


def require_one_dtype(primitive: Primitive, x: ShapedArray, y: ShapedArray) -> None:
    """Raise an error if the operands of an elementwise primitive differ in dtype."""
    if x.dtype != y.dtype:
        raise TypeError(f"{primitive}: operands must have one dtype, found {x} and {y}")


def broadcast_shape(primitive: Primitive, *avals: ShapedArray) -> Shape:
    """The shape of the result of an elementwise primitive."""
    shapes = [aval.shape for aval in avals if aval.shape]
    sizes = [{*axis} - {1} or {1} for axis in zip(*shapes, strict=False)]
    if len({*map(len, shapes)}) > 1 or any(len(found) > 1 for found in sizes):
        found = ", ".join(map(str, avals))
        expected = "one shape, sizes of 1 aside, or be scalars"
        raise TypeError(f"{primitive}: operands must have {expected}, found {found}")
    return tuple([found.pop() for found in sizes])


def check_select_n(which: ShapedArray, on_false: ShapedArray, on_true: ShapedArray) -> Shape:
    """The shape of the result; an error if the operands do not fit."""
    if which.dtype != np.bool_:
        raise TypeError(f"select_n: the first operand must be boolean, found {which}")
    require_one_dtype(select_n_p, on_false, on_true)
    shapes = {which.shape, on_false.shape, on_true.shape} - {()}
    if len(shapes) > 1:
        found = f"{which}, {on_false}, {on_true}"
        raise TypeError(f"select_n: operands must have one shape or be scalars, found {found}")
    return shapes.pop() if shapes else ()


def _select(which: Any, on_false: Any, on_true: Any) -> Any:
    check_select_n(typeof(which), typeof(on_false), typeof(on_true))
    return np.where(which, on_true, on_false)[()]


def _convert(x: Any, new_dtype: np.dtype[Any], weak_type: bool = False) -> Any:
    """`x` with another dtype; with `weak_type` a scalar becomes a Python number."""
    x = np.asarray(x)
    if x.dtype.kind == "c" and new_dtype.kind in "iuf":  # the imaginary part is dropped
        x = x.real
    out = x.astype(new_dtype)[()]
    return out.item() if weak_type and not x.shape else out


def check_broadcast_in_dim(x: ShapedArray, shape: Shape, axes: Shape) -> None:
    """Raise an error if the axes of `x` cannot become these axes of `shape`."""
    in_order = list(axes) == sorted(set(axes) & set(range(len(shape))))
    sizes = [shape[axis] for axis in axes] if in_order else []
    fits = len(sizes) == x.ndim and all(n in (1, m) for n, m in zip(x.shape, sizes, strict=True))
    if not fits or any(size < 0 for size in shape):
        raise TypeError(f"broadcast_in_dim: {x} does not fit axes {axes} of shape {shape}")


def _broadcast_in_dim_impl(x: Any, *, shape: Shape, broadcast_dimensions: Shape) -> list[Any]:
    check_broadcast_in_dim(typeof(x), shape, broadcast_dimensions)
    new = tuple(axis for axis in range(len(shape)) if axis not in broadcast_dimensions)
    return [np.broadcast_to(np.expand_dims(x, new), shape)]


def check_dot_general(x: ShapedArray, y: ShapedArray, numbers: DotDimensionNumbers) -> None:
    """Raise an error if operands cannot be multiplied along these axes."""
    for operand, (contract, batch) in zip((x, y), zip(*numbers, strict=True), strict=True):
        axes = contract + batch
        if len(set(axes)) != len(axes) or not set(axes) <= set(range(operand.ndim)):
            raise TypeError(f"dot_general: {axes} are not distinct axes of {operand}")
    for x_axes, y_axes in numbers:
        if [x.shape[a] for a in x_axes] != [y.shape[a] for a in y_axes]:
            raise TypeError(f"dot_general: axes {x_axes} of {x} and {y_axes} of {y} differ in size")


def _dot_general_impl(
    x: Any, y: Any, *, dimension_numbers: DotDimensionNumbers, **params: Any
) -> list[Any]:
    """By an index formula, in which paired axes of the operands share an index."""
    check_dot_general(typeof(x), typeof(y), dimension_numbers)
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    x_names, y_names = list(range(x.ndim)), list(range(x.ndim, x.ndim + y.ndim))
    for x_axis, y_axis in zip(x_contract + x_batch, y_contract + y_batch, strict=True):
        y_names[y_axis] = x_axis
    free = [name for name in x_names + y_names if name not in x_contract + x_batch]
    return [np.einsum(x, x_names, y, y_names, [*x_batch, *free], optimize=True)]


def free_axes(ndim: int, contract: Shape, batch: Shape) -> Shape:
    """The axes of a `dot_general` operand that are neither contracted nor batch axes."""
    return tuple(axis for axis in range(ndim) if axis not in contract and axis not in batch)


impl_rules[broadcast_in_dim_p] = _broadcast_in_dim_impl
impl_rules[dot_general_p] = _dot_general_impl
