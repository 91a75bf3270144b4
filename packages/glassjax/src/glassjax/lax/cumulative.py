"""Cumulative reductions, and associative scans."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.dimensions.expressions import is_symbolic_dim
from glassjax.lax import shapes
from glassjax.lax.control_flow.scan import scan
from glassjax.lax.elementwise import add, bitwise_or, mul, select
from glassjax.lax.elementwise import max as maximum
from glassjax.lax.elementwise import min as minimum
from glassjax.lax.reductions import largest, smallest
from glassjax.lax.slicing import concatenate, pad, slice
from glassjax.lax.transcendental import exp, log1p
from glassjax.lax.windowed_reductions import lower_window
from glassjax.primitives import sparsity_rules
from glassjax.primitives.declare import declare, lower_by
from glassjax.primitives.regions import stage_computation
from glassjax.primitives.sharding_rules import by_lines
from glassjax.runtime.array import Array, ArrayLike, tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.operation import operation, require_counted_from_0, require_kind
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import canonical_axes, canonical_axis
from glassjax_stage2.jvp import jvp_flat
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3.lowering import FunctionBuilder, Value

Values = Sequence[Any]
Combine = Callable[[list[Any], list[Any]], list[Any]]
Slopes = Callable[[Any, Any, Any], tuple[Any, Any]]


@evaluated_by_library
def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Combine the elements up to each element with an associative function.

    Arguments:
        fn: combines two pytrees of arrays, element by element along `axis`, into one.
        elems: a pytree of arrays that have the same size along `axis`.
        reverse: whether to scan from the last element to the first.
        axis: the axis to scan along.

    Returns:
        A pytree of the structure and shapes of `elems`.

    Raises:
        TypeError: `fn` is not a function, or its result differs in structure from its arguments.
        ValueError: arrays differ in size along `axis`.

    >>> import glassjax.numpy as jnp
    >>> associative_scan(jnp.multiply, jnp.array([1, 2, 3, 4]))
    Array([ 1,  2,  6, 24], dtype=int32)
    """
    if not callable(fn):
        raise TypeError(f"associative_scan: fn must be callable, found {shown(fn)}")
    xs, tree = stage2.tree_flatten(tree_to_arrays(elems))
    if not xs:
        raise ValueError(f"associative_scan: elems has no arrays, found {shown(elems)}")
    if axis is None:
        raise TypeError("associative_scan: axis must be an int, found None")
    axes = [canonical_axes("associative_scan", axis, typeof(x).ndim)[0] for x in xs]
    sizes = {typeof(x).shape[a] for x, a in zip(xs, axes, strict=True)}
    if len(sizes) > 1:
        found = ", ".join(str(typeof(x)) for x in xs)
        raise ValueError(f"associative_scan: sizes along axis {axis} must be equal, found {found}")

    def combine_leaves(x: list[Any], y: list[Any]) -> list[Any]:
        if reverse:
            x, y = y, x
        leaves, out_tree = stage2.tree_flatten(
            fn(stage2.tree_unflatten(tree, x), stage2.tree_unflatten(tree, y))
        )
        if out_tree != tree:
            raise TypeError(
                f"associative_scan: fn must return the structure of elems, {tree}, found {out_tree}"
            )
        return leaves

    return stage2.tree_unflatten(tree, scan_by_halves(combine_leaves, xs, axes, reverse))


def scan_by_halves(combine: Combine, xs: Values, axes: Sequence[int], reverse: bool) -> list[Any]:
    """Combine neighbors, scan these pairs, and fill in the elements between them.

    The first argument of `combine` comes earlier in the arrays, also in reverse.
    """
    size = typeof(xs[0]).shape[axes[0]]
    if is_symbolic_dim(size):
        return _scan_one_by_one(combine, xs, axes, reverse)
    if size < 2:
        return list(xs)

    def slice_arrays(arrays: Values, start: int, limit: int, stride: int = 1) -> list[Any]:
        return [
            stride_slice(x, axis, start, limit, stride)
            for x, axis in zip(arrays, axes, strict=True)
        ]

    first = size % 2 if reverse else 0  # in reverse, pairs start at the end
    pairs = combine(slice_arrays(xs, first, size - 1, 2), slice_arrays(xs, first + 1, size, 2))
    ends = scan_by_halves(combine, pairs, axes, reverse)
    between: list[Any] = []
    if size > 2 and reverse:
        known = ends if size % 2 else slice_arrays(ends, 1, size // 2)
        between = combine(slice_arrays(xs, 1 - first, size - 1, 2), known)
    elif size > 2:
        known = ends if size % 2 else slice_arrays(ends, 0, size // 2 - 1)
        between = combine(known, slice_arrays(xs, 2, size, 2))
    others = slice_arrays(xs, size - 1, size) if reverse else slice_arrays(xs, 0, 1)
    if between:
        joined = (between, others) if reverse else (others, between)
        others = [concatenate([x, y], axis) for x, y, axis in zip(*joined, axes, strict=True)]
    order = (ends, others) if reverse and size % 2 == 0 else (others, ends)
    return [_interleave(x, y, axis) for x, y, axis in zip(*order, axes, strict=True)]


def _scan_one_by_one(combine: Combine, xs: Values, axes: Sequence[int], reverse: bool) -> list[Any]:
    """Combine each element with the result before it; how often to halve depends on the size."""
    size = typeof(xs[0]).shape[axes[0]]

    def part(start: int, limit: int) -> list[Any]:
        return [stride_slice(x, axis, start, limit) for x, axis in zip(xs, axes, strict=True)]

    def step(carry: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
        out = combine(x, carry) if reverse else combine(carry, x)
        return out, out

    def as_rows(x: Any, axis: int) -> Any:
        return stage2.moveaxis(shapes.expand_dims(x, [axis + 1]), axis, 0)

    def as_axis(rows: Any, axis: int) -> Any:
        return shapes.squeeze(stage2.moveaxis(rows, 0, axis), [axis + 1])

    begin = size - 1 if reverse else 0
    first, rest = part(begin, begin + 1), part(0, begin) if reverse else part(1, size)
    rows = scan(step, first, list(map(as_rows, rest, axes)), reverse=reverse)[1]
    others = map(as_axis, rows, axes)
    return [
        concatenate([y, x] if reverse else [x, y], axis)
        for x, y, axis in zip(first, others, axes, strict=True)
    ]


def stride_slice(x: Any, axis: int, start: int, limit: int, stride: int = 1) -> Any:
    """Every `stride`-th element along one axis."""
    shape = typeof(x).shape
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = start, limit, stride
    return slice(x, starts, limits, strides)


def _interleave(x: Any, y: Any, axis: int) -> Any:
    """x[0], y[0], x[1], y[1], ...; `x` may have one element more than `y`."""
    size_x, size_y = typeof(x).shape[axis], typeof(y).shape[axis]
    join = bitwise_or if typeof(x).dtype == np.bool_ else add

    def padded(z: Any, low: int, high: int) -> Any:
        config = [(0, 0, 0)] * typeof(z).ndim
        config[axis] = (low, high, 1)
        return pad(z, np.zeros((), typeof(z).dtype)[()], config)

    return join(padded(x, 0, 0 if size_x > size_y else 1), padded(y, 1, size_x - size_y))


def _declare_cumulative(
    name: str,
    doc: str,
    combine: Callable[[Any, Any], Any],
    neutral: Callable[[np.dtype[Any]], Any],
    kinds: str,
    slopes: Slopes | None = None,
    in_windows: bool = True,
) -> Callable[..., Any]:
    """The scan with one operation.

    Arguments:
        name, doc: its name and docstring.
        combine: the operation.
        neutral: function from a dtype to the neutral element.
        kinds: the kinds of dtypes that it accepts.
        slopes: function from the result before each element, the result with it, and the element
            itself to the derivatives of `combine` with respect to the first and the last of them.
            Without it the rounds of an associative scan are differentiated.
        in_windows: whether windows make a better XLA program than blocks.
    """
    primitive = Primitive(name)

    def cumulative_type(x: ShapedArray, *, axis: int, reverse: bool) -> list[ShapedArray]:
        require_kind(name, kinds, x)
        if not 0 <= axis < x.ndim:
            raise TypeError(f"{name}: {x} has no axis {axis}")
        return [x]

    def cumulative_lower(
        b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, axis: int, reverse: bool
    ) -> list[Value]:
        """A scan as windows that end at each element and begin before the first one.

        XLA rewrites these as a scan in logarithmically many passes. If we write the passes
        ourselves, XLA fuses them: along the second axis that took ten times as long, or never
        finished compiling.
        """
        count = x.aval.shape[axis]
        if not x.aval.size:
            return [x]
        scalar = ShapedArray((), x.aval.dtype)
        jaxpr = stage_computation(name, combine, [scalar], stage2.tree_flatten(0)[1])
        start = b.constant(neutral(scalar.dtype), scalar)
        ones = [1] * x.aval.ndim
        sizes, padding = list(ones), [(0, 0)] * x.aval.ndim
        sizes[axis] = count
        padding[axis] = (0, count - 1) if reverse else (count - 1, 0)
        window = {
            "window_dimensions": sizes,
            "window_strides": ones,
            "base_dilation": ones,
            "window_dilation": ones,
            "padding": padding,
        }
        return lower_window(b, out_avals, [x, start], jaxpr, window)

    def in_blocks(x: Any, *, axis: int, reverse: bool) -> list[Any]:
        return [_scan_in_blocks(combine, x, neutral(typeof(x).dtype), axis, reverse)]

    def cumulative_vmap(
        batch_axis: BatchAxis, values: Values, dims: Sequence[BatchDim], *, axis: int, reverse: bool
    ) -> tuple[list[Any], list[BatchDim]]:
        x = move_batch_dim(values[0], batch_axis, dims[0], 0)
        return [bind1(primitive, x, axis=axis + 1, reverse=reverse)], [0]

    def cumulative_jvp(primals: Values, tangents: Values, *, axis: int, reverse: bool) -> Any:
        ((x,), (t,)) = primals, tangents

        def accumulate(x: Any) -> list[Any]:
            # These steps define how elements that tie for the largest share the derivative.
            return scan_by_halves(lambda x, y: [combine(x[0], y[0])], [x], [axis], reverse)

        if slopes is None and combine is not add:
            return jvp_flat(accumulate, [x], [t], name)
        out = bind1(primitive, x, axis=axis, reverse=reverse)
        if slopes is None:
            return [out], [bind1(primitive, t, axis=axis, reverse=reverse)]
        before = _before(out, neutral(typeof(out).dtype), axis, reverse)
        by_before, by_x = slopes(before, out, x)
        return [out], [_linear_recurrence(by_before, by_x * t, axis, reverse)]

    def cotangent(ct: Any, x: Any, *, axis: int, reverse: bool) -> Any:
        return bind1(primitive, ct, axis=axis, reverse=not reverse)

    declare(
        primitive,
        abstract_eval=cumulative_type,
        lower=cumulative_lower if in_windows else lower_by(in_blocks),
        vmap=cumulative_vmap,
        sharding=by_lines(primitive, "axis"),
        sparsity=_cumulative_sparsity,
        jvp=cumulative_jvp,
        transpose=(cotangent,) if combine is add else (),
    )

    def cumulative_function(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
        require_counted_from_0(name, "axis", axis)
        axis = canonical_axis(name, axis, typeof(operand).ndim)
        return bind1(primitive, operand, axis=axis, reverse=bool(reverse))

    cumulative_function.__name__ = cumulative_function.__qualname__ = name
    cumulative_function.__doc__ = doc
    return operation(static=("axis", "reverse"))(cumulative_function)


def _cumulative_sparsity(
    analysis: sparsity_rules.Analysis,
    operands: Sequence[sparsity_rules.Operand],
    out_avals: Sequence[ShapedArray],
    params: dict[str, Any],
) -> list[Any]:
    """Each element depends on itself and those before it."""
    ids = np.moveaxis(operands[0].ids, params["axis"], 0).copy()
    along = ids[::-1] if params["reverse"] else ids
    for i in range(1, len(along)):
        along[i] = analysis.sets.union(along[i - 1], along[i])
    return [np.moveaxis(ids, 0, params["axis"])]


def _before(x: Any, first: Any, axis: int, reverse: bool) -> Any:
    """The previous element of each element; `first` for the first one."""
    shape = typeof(x).shape
    size = shape[axis]
    alone = shapes.full_like(x, first, shape=(*shape[:axis], 1, *shape[axis + 1 :]))
    joined = concatenate([x, alone] if reverse else [alone, x], axis)
    return (
        stride_slice(joined, axis, 1, size + 1) if reverse else stride_slice(joined, axis, 0, size)
    )


def _linear_recurrence(factors: Any, terms: Any, axis: int, reverse: bool) -> Any:
    """`y[i] = factors[i] * y[i - 1] + terms[i]`, from `y[0] = terms[0]` on.

    Sequential: for 10,000 numbers XLA's associative scan took twice as long to run, and 40 times as
    long to compile.
    """
    shape = typeof(terms).shape
    order = [axis, *(i for i in range(len(shape)) if i != axis)]
    is_first = shapes.broadcasted_iota(np.int32, shape, axis) == (shape[axis] - 1 if reverse else 0)
    factors = select(
        is_first, shapes.full_like(factors, 0), factors
    )  # a mask: infinity * 0 would be NaN

    def recurrence_step(y: Any, at: tuple[Any, Any]) -> tuple[Any, Any]:
        y = at[0] * y + at[1]
        return y, y

    start = shapes.full_like(terms, 0, shape=[shape[i] for i in order[1:]])
    ys = scan(
        recurrence_step,
        start,
        (shapes.transpose(factors, order), shapes.transpose(terms, order)),
        reverse=reverse,
    )[1]
    return shapes.transpose(ys, sorted(range(len(order)), key=order.__getitem__))


def _scan_in_blocks(
    combine: Callable[[Any, Any], Any], x: Any, neutral: Any, axis: int, reverse: bool
) -> Any:
    """Scan blocks in parallel, each sequentially, then combine the results of the blocks.

    There are as many blocks as elements in a block, so that each element is combined with only two
    others, and rounding errors grow with the square root of the number of elements. A symbolic
    number of elements has no square root, so blocks have 64.
    """
    shape = typeof(x).shape
    size, rest = shape[axis], shape[:axis] + shape[axis + 1 :]
    length = 64 if is_symbolic_dim(size) else math.isqrt(max(size - 1, 0)) + 1
    count = -(-size // length)
    missing = count * length - size
    x = shapes.transpose(x, [axis, *(i for i in range(len(shape)) if i != axis)])
    ends = (missing, 0, 0) if reverse else (0, missing, 0)
    x = pad(x, shapes.full_like(x, neutral, shape=()), [ends, *[(0, 0, 0)] * len(rest)])
    blocks = shapes.transpose(
        shapes.reshape(x, [count, length, *rest]), [1, 0, *range(2, 2 + len(rest))]
    )

    def inside(carry: Any, x: Any) -> tuple[Any, Any]:
        carry = combine(carry, x)
        return carry, carry

    def before(carry: Any, x: Any) -> tuple[Any, Any]:
        return combine(carry, x), carry

    start = shapes.full_like(x, neutral, shape=[count, *rest])
    totals, blocks = scan(inside, start, blocks, reverse=reverse)
    start = shapes.full_like(x, neutral, shape=rest)
    earlier = scan(before, start, totals, reverse=reverse)[1]
    blocks = combine(shapes.broadcast_to("scan", earlier, typeof(blocks).shape), blocks)
    x = shapes.reshape(
        shapes.transpose(blocks, [1, 0, *range(2, 2 + len(rest))]), [count * length, *rest]
    )
    x = stride_slice(x, 0, missing, count * length) if reverse else stride_slice(x, 0, 0, size)
    return shapes.transpose(x, [*range(1, axis + 1), 0, *range(axis + 1, len(shape))])


def _logaddexp(x: Any, y: Any) -> Any:
    """`log(exp(x) + exp(y))`, also if both are the same infinity."""
    larger, smaller = maximum(x, y), minimum(x, y)
    gap = larger - smaller
    is_number = gap == gap  # inf - inf is NaN
    smooth = larger + log1p(exp(-select(is_number, gap, shapes.filled_like(gap, 0))))
    return select(is_number, smooth, x + y)


def _shares(before: Any, out: Any, x: Any) -> tuple[Any, Any]:
    """The parts of the sum of exponentials: of the elements before, and of this one."""

    def share(y: Any) -> Any:  # infinite terms take all of an infinite sum
        return exp(select(y == out, shapes.filled_like(out, 0), y - out))

    return share(before), share(x)


cumsum = _declare_cumulative(
    "cumsum",
    """The sums of the elements up to each element.

    Arguments:
        operand: the array.
        axis: the axis to go along.
        reverse: whether to begin at its end.

    >>> lax.cumsum(jnp.array([[1, 2], [3, 4]]), axis=1)
    Array([[1, 3],
           [3, 7]], dtype=int32)
    >>> lax.cumsum(jnp.array([3.0, 1.0, 4.0]), reverse=True)
    Array([8., 5., 4.], dtype=float32)
    """,
    add,
    lambda dtype: 0,
    "iufc",
)
cumprod = _declare_cumulative(
    "cumprod",
    """The products of the elements up to each element.

    Arguments:
        operand, axis, reverse: as in `cumsum`.

    >>> lax.cumprod(jnp.array([1, 2, 3, 4]))
    Array([ 1,  2,  6, 24], dtype=int32)
    >>> lax.cumprod(jnp.array([3.0, 1.0, 4.0]), reverse=True)
    Array([12.,  4.,  4.], dtype=float32)
    """,
    mul,
    lambda dtype: 1,
    "iufc",
    lambda before, out, x: (x, before),
)
cummax = _declare_cumulative(
    "cummax",
    """The largest of the elements up to each element.

    Arguments:
        operand, axis, reverse: as in `cumsum`.

    >>> lax.cummax(jnp.array([1, 3, 2, 5]))
    Array([1, 3, 3, 5], dtype=int32)
    >>> lax.cummax(jnp.array([3.0, 1.0, 4.0]), reverse=True)
    Array([4., 4., 4.], dtype=float32)
    """,
    maximum,
    smallest,
    "iufc",
)
cummin = _declare_cumulative(
    "cummin",
    """The smallest of the elements up to each element.

    Arguments:
        operand, axis, reverse: as in `cumsum`.

    >>> lax.cummin(jnp.array([5, 3, 4, 1, 2]), reverse=True)
    Array([1, 1, 1, 1, 2], dtype=int32)
    >>> lax.cummin(jnp.array([3.0, 1.0, 4.0]), reverse=True)
    Array([1., 1., 4.], dtype=float32)
    """,
    minimum,
    largest,
    "iufc",
)
cumlogsumexp = _declare_cumulative(
    "cumlogsumexp",
    """`log(sum(exp(x)))` of the elements up to each element.

    Arguments:
        operand, axis, reverse: as in `cumsum`.

    >>> lax.cumlogsumexp(jnp.array([-1e3, 0.0, 1e3]))
    Array([-1000.,     0.,  1000.], dtype=float32)
    >>> lax.cumlogsumexp(jnp.array([50.0, 0.0, 100.0]), reverse=True)
    Array([100., 100., 100.], dtype=float32)
    """,
    _logaddexp,
    smallest,
    "fc",
    _shares,
    in_windows=False,
)
