"""Reductions of windows that slide over an array, as in pooling.

The gradients of the largest and smallest elements are in `window_gradients`.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import minijax.lax.elementwise.arithmetic as elementwise
import minijax.lax.reductions.standard as reductions
from minijax.errors.argument_errors import checking_arguments
from minijax.errors.tracebacks import hiding_frames
from minijax.lax.indexing.slice_pad_concatenate import pad, slice
from minijax.lax.reductions.reduce import (
    check_inits,
    declare_computation,
    finite_init,
    halves,
    is_number,
    vectorised,
)
from minijax.lax.shapes.broadcasting import broadcast_in_dim
from minijax.lax.shapes.creation import full
from minijax.primitives.declare import declare
from minijax.primitives.regions import operation_of, region, stage_computation
from minijax.primitives.sharding_rules import as_first
from minijax.runtime.evaluation import evaluated_by_library
from minijax.settings.later import later
from minijax_stage2 import Primitive, ShapedArray, bind, bind1, tree_flatten, tree_unflatten, typeof
from minijax_stage2.functions import ints
from minijax_stage2.jvp import jvp_flat
from minijax_stage2.shaped_array import Shape, is_inexact
from minijax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim, vmap_flat
from minijax_stage3 import Jaxpr
from minijax_stage3.lowering import FunctionBuilder, Value, signature
from minijax_stage4 import UndefPrimal

reduce_window_p = Primitive("reduce_window", higher_order=True)

Avals = Sequence[ShapedArray]
Values = Sequence[Any]
Window = dict[str, Any]  # the parameters that say which elements a window holds, and where it goes


@hiding_frames
@checking_arguments
def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
) -> list[tuple[int, int]]:
    """Return the number of elements to add at both ends of each axis.

    Arguments:
        in_shape: the sizes of the array.
        window_shape: the sizes of the window.
        window_strides: the strides of the window.
        padding: "VALID" adds none; "SAME" enough for one window per stride, with the odd one at the
            end; "SAME_LOWER", with the odd one at the beginning.

    Raises:
        RuntimeError: `padding` is none of these.

    >>> padtype_to_pads((5,), (2,), (2,), "SAME")
    [(0, 1)]
    """
    name = str(getattr(padding, "name", padding)).upper()
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    if name not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(
            f"padtype_to_pads: padding must be 'SAME', 'SAME_LOWER' or 'VALID', found {padding!r}"
        )
    if not len(in_shape) == len(window_shape) == len(window_strides):
        raise ValueError(
            "padtype_to_pads: in_shape, window_shape and window_strides must be as long, found "
            f"{in_shape}, {window_shape} and {window_strides}"
        )
    pads = []
    for size, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        count = -(-size // stride)
        total = max((count - 1) * stride + window - size, 0)
        low = total // 2 if name == "SAME" else total - total // 2
        pads.append((low, total - low))
    return pads


def dilated(size: int, dilation: int) -> int:
    """The size of an axis with gaps between its elements."""
    return max((size - 1) * dilation + 1, 0)


def windowed_shape(shape: Shape, window: Window) -> Shape:
    """Return the number of windows along each axis."""
    if any(len(each) != len(shape) for each in window.values()):
        found = {name: len(each) for name, each in window.items()}
        raise ValueError(
            f"reduce_window: everything about the window must be as long as the shape {shape}, "
            f"found lengths {found}"
        )
    return tuple(
        max((dilated(n, base) + low + high - dilated(size, dilation)) // stride + 1, 0)
        for n, size, stride, (low, high), base, dilation in zip(
            shape, *window.values(), strict=True
        )
    )


@evaluated_by_library
def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Combine the elements in each window of an array.

    Arguments:
        operand: an array, or a pytree of arrays of one shape, reduced together.
        init_value: for each array the number used for padding, a neutral element of `computation`.
        computation: function from two elements, in the structure of `operand`, to one; often
            `lax.add`, `lax.max` or `lax.min`.
        window_dimensions: the size of the window along each axis.
        window_strides: the strides along each axis; 1 by default.
        padding: "VALID", "SAME" or "SAME_LOWER", as for `padtype_to_pads`, or for each axis the
            numbers of elements to add before and after.
        base_dilation: the dilation of `operand`.
        window_dilation: the dilation of the window.

    Raises:
        TypeError: arrays, initial values and `computation` do not match.
        ValueError: there is not one number for each axis, or one is out of range.
        RuntimeError: `padding` is an unknown string.

    >>> import minijax.numpy as jnp
    >>> from minijax import lax
    >>> reduce_window(jnp.arange(6.0), -jnp.inf, lax.max, (2,), (2,))
    Array([1., 3., 5.], dtype=float32)
    """
    if window_dimensions is None:
        raise TypeError("reduce_window: window_dimensions must be a sequence of ints, found None")
    xs, tree = tree_flatten(operand)
    inits, init_tree = tree_flatten(init_value)
    if tree != init_tree or not xs:
        raise TypeError(
            f"reduce_window: init_value must have the structure of operand, {tree}, "
            f"found {init_tree}"
        )
    avals = [typeof(x) for x in xs]
    jaxpr = stage_computation("reduce_window", computation, avals, tree)
    operation_name = str(operation_of(jaxpr))
    inits = [
        finite_init(operation_name, init, aval) for init, aval in zip(inits, avals, strict=True)
    ]
    check_inits("reduce_window", avals, [typeof(x) for x in inits])
    window = _window(
        avals[0].shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    known = _KNOWN.get(operation_name)
    if known and is_number(inits[0], known[1](avals[0].dtype)):
        return tree_unflatten(tree, [known[0](xs[0], **window)])
    check_inits("reduce_window", avals, [typeof(x) for x in inits], exact=True)
    return tree_unflatten(tree, bind(reduce_window_p, *xs, *inits, jaxpr=jaxpr, **window))


def _window(
    shape: Shape, dimensions: Any, strides: Any, padding: Any, base: Any, dilation: Any
) -> Window:
    """The parameters, each with a value for each axis."""

    def of_each_axis(name: str, given: Any, least: int) -> Shape:
        sizes = (1,) * len(shape) if given is None else ints(f"reduce_window: {name}", given)
        if len(sizes) != len(shape) or any(size < least for size in sizes):
            raise TypeError(
                f"reduce_window: {name} must be {len(shape)} ints from {least} on, one for each "
                f"axis of shape {shape}, found {given}"
            )
        return sizes

    dimensions = of_each_axis("window_dimensions", dimensions, 1)
    strides = of_each_axis("window_strides", strides, 1)
    base = of_each_axis("base_dilation", base, 1)
    dilation = of_each_axis("window_dilation", dilation, 1)
    if isinstance(padding, str):
        padding = padtype_to_pads(
            [dilated(*pair) for pair in zip(shape, base, strict=True)],
            [dilated(*pair) for pair in zip(dimensions, dilation, strict=True)],
            strides,
            padding,
        )
    pads = tuple(tuple(ints("reduce_window: padding", pair)) for pair in padding)
    if len(pads) != len(shape) or any(len(pair) != 2 for pair in pads):
        raise ValueError(
            f"reduce_window: padding must be {len(shape)} pairs of ints, found {padding}"
        )
    return {
        "window_dimensions": dimensions,
        "window_strides": strides,
        "padding": pads,
        "base_dilation": base,
        "window_dilation": dilation,
    }


def for_examples(window: Window) -> Window:
    """The window with an additional leading axis of size 1."""
    one: dict[str, Any] = {"padding": (0, 0)}
    return {name: (one.get(name, 1), *value) for name, value in window.items()}


def lower_window(
    b: FunctionBuilder, out_avals: Avals, operands: Sequence[Value], jaxpr: Jaxpr, window: Window
) -> list[Value]:
    names = ", ".join(x.name for x in operands)
    return b.emit(
        f'"stablehlo.reduce_window"({names}) <{{window_dimensions = '
        f"{int_array(window['window_dimensions'])}, "
        f"window_strides = {int_array(window['window_strides'])}, "
        f"base_dilations = {int_array(window['base_dilation'])}, "
        f"window_dilations = {int_array(window['window_dilation'])}, "
        f"padding = {int_pairs(window['padding'])}}}> ({region(b, jaxpr)}) "
        f": {signature(operands, out_avals)}",
        *out_avals,
    )


def int_array(sizes: Sequence[int]) -> str:
    return f"array<i64: {', '.join(map(str, sizes))}>" if sizes else "array<i64>"


def int_pairs(pairs: Sequence[Sequence[int]]) -> str:
    rows = ", ".join(f"[{low}, {high}]" for low, high in pairs)
    return f"dense<{f'[{rows}]' if pairs else ''}> : tensor<{len(pairs)}x2xi64>"


def _abstract_eval(*avals: ShapedArray, jaxpr: Jaxpr, **window: Any) -> list[ShapedArray]:
    xs, inits = halves(avals)
    check_inits("reduce_window", xs, inits)
    is_weak = all(aval.weak_type for aval in avals)
    return [ShapedArray(windowed_shape(x.shape, window), x.dtype, is_weak) for x in xs]


def _lower(
    b: FunctionBuilder, out_avals: Avals, *operands: Value, jaxpr: Jaxpr, **window: Any
) -> list[Value]:
    return lower_window(b, out_avals, operands, jaxpr, window)


def _by_offsets(jaxpr: Jaxpr, window: Window) -> Callable[..., list[Any]]:
    """The reduction in terms of slices, one for each element of a window."""
    combine = vectorised(jaxpr)

    def function(*operands: Any) -> list[Any]:
        xs, inits = halves(operands)
        counts = windowed_shape(typeof(xs[0]).shape, window)
        gaps = [base - 1 for base in window["base_dilation"]]
        config = [(*pair, gap) for pair, gap in zip(window["padding"], gaps, strict=True)]
        xs = [pad_or_crop(x, init, config) for x, init in zip(xs, inits, strict=True)]
        outs = [broadcast_in_dim(init, counts, ()) for init in inits]
        strides = window["window_strides"]
        if 0 in counts:
            return outs
        for offset in itertools.product(*map(range, window["window_dimensions"])):
            starts = [i * n for i, n in zip(offset, window["window_dilation"], strict=True)]
            limits = [
                start + dilated(count, stride)
                for start, count, stride in zip(starts, counts, strides, strict=True)
            ]
            outs = combine(*outs, *(slice(x, starts, limits, strides) for x in xs))
        return outs

    return function


def pad_or_crop(x: Any, padding_value: Any, config: Sequence[tuple[int, int, int]]) -> Any:
    """`pad` with possibly negative padding at either end."""
    padded = pad(x, padding_value, [(max(a, 0), max(b, 0), gap) for a, b, gap in config])
    shape = typeof(padded).shape
    if all(low >= 0 and high >= 0 for low, high, _ in config):
        return padded
    starts = [min(max(-low, 0), n) for n, (low, _, _) in zip(shape, config, strict=True)]
    limits = [
        max(n + min(high, 0), start)
        for n, start, (_, high, _) in zip(shape, starts, config, strict=True)
    ]
    return slice(padded, starts, limits)


def _vmap(
    axis: BatchAxis, values: Values, dims: Sequence[BatchDim], *, jaxpr: Jaxpr, **window: Any
) -> tuple[list[Any], list[BatchDim]]:
    xs, inits = halves(values)
    x_dims, init_dims = halves(dims)
    if any(dim is not None for dim in init_dims):  # each example begins with its own
        f = _by_offsets(jaxpr, window)
        return vmap_flat(f, values, dims, axis, "reduce_window")
    xs = [move_batch_dim(x, axis, dim, 0) for x, dim in zip(xs, x_dims, strict=True)]
    outs = bind(reduce_window_p, *xs, *inits, jaxpr=jaxpr, **for_examples(window))
    return outs, [0] * len(xs)


def _jvp(
    primals: Values, tangents: Values, *, jaxpr: Jaxpr, **window: Any
) -> tuple[list[Any], list[Any]]:
    return jvp_flat(_by_offsets(jaxpr, window), primals, tangents, "reduce_window")


declare_computation(reduce_window_p, _abstract_eval, _lower, _vmap, as_first, _jvp)


def declare_window(
    name: str,
    combine: Callable[[Any, Any], Any],
    init: Callable[[Any], Any],
    kinds: str,
    jvp: Callable[..., Any],
    transpose: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """Declare the reduction of windows with one operation, and return its function."""
    primitive = Primitive(name)

    def abstract_eval(x: ShapedArray, **window: Any) -> list[ShapedArray]:
        kind = "f" if is_inexact(x.dtype) and x.dtype.kind != "c" else x.dtype.kind
        if kind not in kinds:
            raise TypeError(f"{name}: found {x}, whose elements cannot be combined so")
        return [ShapedArray(windowed_shape(x.shape, window), x.dtype, x.weak_type)]

    def lower(b: FunctionBuilder, out_avals: Avals, x: Value, **window: Any) -> list[Value]:
        scalar = ShapedArray((), x.aval.dtype)
        jaxpr = stage_computation(name, combine, [scalar], tree_flatten(0)[1])
        start = b.constant(init(scalar.dtype), scalar)
        return lower_window(b, out_avals, [x, start], jaxpr, window)

    def vmap(
        axis: BatchAxis, values: Values, dims: Sequence[BatchDim], **window: Any
    ) -> tuple[list[Any], list[BatchDim]]:
        x = move_batch_dim(values[0], axis, dims[0], 0)
        return [bind1(primitive, x, **for_examples(window))], [0]

    declare(
        primitive,
        abstract_eval=abstract_eval,
        lower=lower,
        vmap=vmap,
        sharding=as_first,
        jvp=(jvp,),
        transpose=() if transpose is None else (transpose,),
    )

    def function(operand: Any, **window: Any) -> Any:
        return bind1(primitive, operand, **window)

    function.__name__ = name
    return function


def _spread_over_windows(ct: Any, x: UndefPrimal, **window: Any) -> Any:
    """Each element gets the cotangents of all windows that contain it: again a window sum."""
    config = []
    for size, count, width, stride, (low, _), base, dilation in zip(
        x.aval.shape, typeof(ct).shape, *window.values(), strict=True
    ):
        reach = dilated(width, dilation) - 1
        before = reach - low
        after = dilated(size, base) + reach - dilated(count, stride) - before
        config.append((before, after, stride - 1))
    spread = pad_or_crop(ct, full((), 0, x.aval.dtype), config)
    ones = (1,) * len(config)
    return reduce_window_sum(
        spread,
        window_dimensions=window["window_dimensions"],
        window_strides=window["base_dilation"],
        padding=((0, 0),) * len(config),
        base_dilation=ones,
        window_dilation=window["window_dilation"],
    )


reduce_window_sum: Callable[..., Any] = declare_window(
    "reduce_window_sum",
    elementwise.add,
    lambda dtype: 0,
    kinds="iufc",
    jvp=lambda t, out, x, **window: reduce_window_sum(t, **window),
    transpose=_spread_over_windows,
)

_EXTREMES = "minijax.lax.reductions.window_extremes"  # which is made of this module
# The reductions by one operation, by its name, with the number that changes nothing.
_KNOWN: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (reduce_window_sum, lambda dtype: 0),
    "max": (later(_EXTREMES, "reduce_window_max"), reductions.smallest),
    "min": (later(_EXTREMES, "reduce_window_min"), reductions.largest),
}


__all__ = [
    "padtype_to_pads",
    "reduce_window",
]
