"""Windows reduced, as in pooling, and their transposes."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import glassjax.lax.elementwise as elementwise
import glassjax.lax.reductions as reductions
import glassjax_stage2 as stage2
from glassjax.dimensions.expressions import max_size
from glassjax.errors.arguments import checking_arguments
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.elementwise import ge, le
from glassjax.lax.shapes import broadcast_in_dim, full
from glassjax.lax.slicing import pad, slice
from glassjax.primitives import sparsity_rules
from glassjax.primitives.declare import declare, no_derivative
from glassjax.primitives.regions import operation_of, program_region, stage_computation
from glassjax.primitives.sharding_rules import as_any, as_first
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.jax_params import read_jaxpr
from glassjax.settings.number_types import letter_of
from glassjax.shardings.types import spec_of
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.functions import ints
from glassjax_stage2.jvp import jvp_flat
from glassjax_stage2.shaped_array import Shape
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim, vmap_flat
from glassjax_stage3 import Jaxpr, eval_jaxpr
from glassjax_stage3.lowering import FunctionBuilder, Value, signature
from glassjax_stage3.staging import trace_to_jaxpr
from glassjax_stage4 import UndefPrimal

# Reductions of windows that slide over an array, as in pooling.


reduce_window_p = Primitive("reduce_window", higher_order=True)

Avals = Sequence[ShapedArray]
Values = Sequence[Any]
Window = dict[str, Any]  # the parameters of a window: its shape, strides, padding and dilations


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
            "padtype_to_pads: in_shape, window_shape and window_strides must have the same "
            f"length, found {in_shape}, {window_shape} and {window_strides}"
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
    return max_size((size - 1) * dilation + 1, 0)


def windowed_shape(shape: Shape, window: Window) -> Shape:
    """Return the number of windows along each axis."""
    if any(len(each) != len(shape) for each in window.values()):
        found = {name: len(each) for name, each in window.items()}
        raise ValueError(
            f"reduce_window: all parameters of the window must be as long as the shape {shape}, "
            f"found lengths {found}"
        )
    return tuple(
        max_size((dilated(n, base) + low + high - dilated(size, dilation)) // stride + 1, 0)
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

    >>> import glassjax.numpy as jnp
    >>> from glassjax import lax
    >>> reduce_window(jnp.arange(6.0), -jnp.inf, lax.max, (2,), (2,))
    Array([1., 3., 5.], dtype=float32)
    """
    if window_dimensions is None:
        raise TypeError("reduce_window: window_dimensions must be a sequence of ints, found None")
    xs, tree = stage2.tree_flatten(operand)
    inits, init_tree = stage2.tree_flatten(init_value)
    if tree != init_tree or not xs:
        raise TypeError(
            f"reduce_window: init_value must have the structure of operand, {tree}, "
            f"found {init_tree}"
        )
    avals = [typeof(x) for x in xs]
    jaxpr = stage_computation("reduce_window", computation, avals, tree)
    operation_name = str(operation_of(jaxpr))
    inits = [
        reductions.finite_init(operation_name, init, aval)
        for init, aval in zip(inits, avals, strict=True)
    ]
    reductions.check_inits("reduce_window", avals, [typeof(x) for x in inits])
    window = _window(
        avals[0].shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    # Sums and extremes with a neutral padding are primitives, whose derivatives do not take one
    # slice for each element of a window.
    known = _KNOWN.get(operation_name)
    if known and reductions.is_number(inits[0], known[1](avals[0].dtype)):
        return stage2.tree_unflatten(tree, [known[0](xs[0], **window)])
    reductions.check_inits("reduce_window", avals, [typeof(x) for x in inits], exact=True)
    return stage2.tree_unflatten(
        tree, stage2.bind(reduce_window_p, *xs, *inits, jaxpr=jaxpr, **window)
    )


def _window(
    shape: Shape, dimensions: Any, strides: Any, padding: Any, base: Any, dilation: Any
) -> Window:
    """The parameters, each with a value for each axis."""

    def per_axis(name: str, given: Any, least: int) -> Shape:
        sizes = (1,) * len(shape) if given is None else ints(f"reduce_window: {name}", given)
        if len(sizes) != len(shape) or any(size < least for size in sizes):
            raise TypeError(
                f"reduce_window: {name} must be {len(shape)} ints from {least} on, one for each "
                f"axis of shape {shape}, found {given}"
            )
        return sizes

    dimensions = per_axis("window_dimensions", dimensions, 1)
    strides = per_axis("window_strides", strides, 1)
    base = per_axis("base_dilation", base, 1)
    dilation = per_axis("window_dilation", dilation, 1)
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
        f"padding = {int_pairs(window['padding'])}}}> ({program_region(b, jaxpr)}) "
        f": {signature(operands, out_avals)}",
        *out_avals,
    )


def int_array(sizes: Sequence[int]) -> str:
    return f"array<i64: {', '.join(map(str, sizes))}>" if sizes else "array<i64>"


def int_pairs(pairs: Sequence[Sequence[int]]) -> str:
    rows = ", ".join(f"[{low}, {high}]" for low, high in pairs)
    return f"dense<{f'[{rows}]' if pairs else ''}> : tensor<{len(pairs)}x2xi64>"


def _select_and_scatter_type(*avals: ShapedArray, jaxpr: Jaxpr, **window: Any) -> list[ShapedArray]:
    xs, inits = reductions.halves(avals)
    reductions.check_inits("reduce_window", xs, inits)
    is_weak = all(aval.weak_type for aval in avals)
    return [ShapedArray(windowed_shape(x.shape, window), x.dtype, is_weak) for x in xs]


def _reduce_window_lower(
    b: FunctionBuilder, out_avals: Avals, *operands: Value, jaxpr: Jaxpr, **window: Any
) -> list[Value]:
    return lower_window(b, out_avals, operands, jaxpr, window)


def _by_offsets(jaxpr: Jaxpr, window: Window) -> Callable[..., list[Any]]:
    """The reduction in terms of slices, one for each element of a window."""
    combine = reductions.vectorised(jaxpr)

    def offsets_function(*operands: Any) -> list[Any]:
        xs, inits = reductions.halves(operands)
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

    return offsets_function


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


def _reduce_window_vmap(
    axis: BatchAxis, values: Values, dims: Sequence[BatchDim], *, jaxpr: Jaxpr, **window: Any
) -> tuple[list[Any], list[BatchDim]]:
    xs, inits = reductions.halves(values)
    x_dims, init_dims = reductions.halves(dims)
    # StableHLO's reduce_window takes scalars as initial values, one for all examples.
    if any(dim is not None for dim in init_dims):  # each example has its own initial value
        f = _by_offsets(jaxpr, window)
        return vmap_flat(f, values, dims, axis, "reduce_window")
    xs = [move_batch_dim(x, axis, dim, 0) for x, dim in zip(xs, x_dims, strict=True)]
    outs = stage2.bind(reduce_window_p, *xs, *inits, jaxpr=jaxpr, **for_examples(window))
    return outs, [0] * len(xs)


def _select_and_scatter_jvp(
    primals: Values, tangents: Values, *, jaxpr: Jaxpr, **window: Any
) -> tuple[list[Any], list[Any]]:
    return jvp_flat(_by_offsets(jaxpr, window), primals, tangents, "reduce_window")


reductions.declare_computation(
    reduce_window_p,
    _select_and_scatter_type,
    _reduce_window_lower,
    _reduce_window_vmap,
    as_first,
    _select_and_scatter_jvp,
)


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

    def window_type(x: ShapedArray, **window: Any) -> list[ShapedArray]:
        if letter_of(x.dtype) not in kinds:
            raise TypeError(f"{name}: found {x}, whose elements it cannot combine")
        return [ShapedArray(windowed_shape(x.shape, window), x.dtype, x.weak_type)]

    def window_lower(b: FunctionBuilder, out_avals: Avals, x: Value, **window: Any) -> list[Value]:
        scalar = ShapedArray((), x.aval.dtype)
        jaxpr = stage_computation(name, combine, [scalar], stage2.tree_flatten(0)[1])
        start = b.constant(init(scalar.dtype), scalar)
        return lower_window(b, out_avals, [x, start], jaxpr, window)

    def window_vmap(
        axis: BatchAxis, values: Values, dims: Sequence[BatchDim], **window: Any
    ) -> tuple[list[Any], list[BatchDim]]:
        x = move_batch_dim(values[0], axis, dims[0], 0)
        return [bind1(primitive, x, **for_examples(window))], [0]

    declare(
        primitive,
        abstract_eval=window_type,
        lower=window_lower,
        vmap=window_vmap,
        sharding=as_first,
        sparsity=sparsity_rules.by_windows,
        jvp=(jvp,),
        transpose=() if transpose is None else (transpose,),
    )

    def window_function(operand: Any, **window: Any) -> Any:
        return bind1(primitive, operand, **window)

    window_function.__name__ = name
    return window_function


def _window_sum_transpose(ct: Any, x: UndefPrimal, **window: Any) -> Any:
    """Each element gets the cotangents of all windows that contain it: again a window sum."""
    config = []
    for size, count, width, stride, (low, _), base, dilation in zip(
        x.aval.shape, typeof(ct).shape, *window.values(), strict=True
    ):
        # A window begins at most `reach` before its elements. The padding after them is what makes
        # the result as large as `x`.
        reach = dilated(width, dilation) - 1
        before = reach - low
        after = dilated(size, base) + reach - dilated(count, stride) - before
        config.append((before, after, stride - 1))
    padded = pad_or_crop(ct, full((), 0, x.aval.dtype), config)
    ones = (1,) * len(config)
    return reduce_window_sum(
        padded,
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
    transpose=_window_sum_transpose,
)


# The largest and smallest elements of windows; the gradient goes to one element of each.
#
# A tangent is gathered from the selected element; a cotangent is scattered to it. Each is the
# transpose of the other. In a tie, the first element is selected.


select_and_gather_add_p = Primitive("select_and_gather_add")
select_and_scatter_add_p = Primitive("select_and_scatter_add")

# By the name of the selecting comparison: the comparison, and a number that is never selected.
SELECTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "ge": (ge, reductions.smallest),
    "le": (le, reductions.largest),
}


def _select_and_gather(tangents: Any, operand: Any, select: str, **window: Any) -> Any:
    """The tangents of those elements that a comparison selects in each window of `operand`."""
    return bind1(select_and_gather_add_p, tangents, operand, select=select, **window)


def _select_and_gather_type(
    tangents: ShapedArray, operand: ShapedArray, *, select: str, **window: Any
) -> list[ShapedArray]:
    if tangents.shape != operand.shape or tangents.dtype != operand.dtype:
        raise TypeError(
            f"select_and_gather_add: tangents of {operand} have its type, found {tangents}"
        )
    return [ShapedArray(windowed_shape(operand.shape, window), tangents.dtype)]


def _select_and_gather_lower(
    b: FunctionBuilder, out_avals: Avals, tangents: Value, x: Value, *, select: str, **window: Any
) -> list[Value]:
    (out,) = out_avals
    compare, never = SELECTIONS[select]
    scalar = ShapedArray((), out.dtype)

    def computation(x: Any, t: Any, y: Any, u: Any) -> list[Any]:
        which = compare(x, y)
        return [elementwise.select(which, x, y), elementwise.select(which, t, u)]

    jaxpr = trace_to_jaxpr(computation, [scalar] * 4, "lowering", None)
    # Padding and gaps lose to all other numbers, and their tangents are 0.
    inits = [b.constant(never(out.dtype), scalar), b.constant(0, scalar)]
    # A reduction of pairs: the first result is the selected elements, the second their tangents.
    return lower_window(b, [out, out], [x, tangents, *inits], jaxpr, window)[1:]


def _scatter_back(
    ct: Any, tangents: UndefPrimal, operand: Any, *, select: str, **window: Any
) -> Any:
    # StableHLO's select_and_scatter has no dilations.
    if {*window["base_dilation"], *window["window_dilation"]} - {1}:
        raise NotImplementedError(
            "reduce_window: the gradient of the largest or smallest elements of windows with "
            "base_dilation or window_dilation in reverse mode; forward mode (jvp, jacfwd) has it"
        )
    return _select_and_scatter(
        ct,
        operand,
        select,
        window["window_dimensions"],
        window["window_strides"],
        window["padding"],
    )


def _examples_first(axis: BatchAxis, values: Values, dims: Sequence[BatchDim]) -> list[Any]:
    return [move_batch_dim(x, axis, dim, 0) for x, dim in zip(values, dims, strict=True)]


def _select_and_gather_vmap(
    axis: BatchAxis, values: Values, dims: Sequence[BatchDim], *, select: str, **window: Any
) -> tuple[list[Any], list[BatchDim]]:
    tangents, operand = _examples_first(axis, values, dims)
    return [_select_and_gather(tangents, operand, select, **for_examples(window))], [0]


declare(
    select_and_gather_add_p,
    abstract_eval=_select_and_gather_type,
    lower=_select_and_gather_lower,
    vmap=_select_and_gather_vmap,
    sharding=as_any(select_and_gather_add_p),
    sparsity=lambda analysis, operands, out_avals, params: sparsity_rules.by_windows(
        analysis, operands[:1], out_avals, {k: v for k, v in params.items() if k != "select"}
    ),
    jvp=[
        lambda t, out, tangents, x, *, select, **window: _select_and_gather(t, x, select, **window),
        None,
    ],
    transpose=[_scatter_back, None],
)


def _select_and_scatter(
    source: Any,
    operand: Any,
    select: str,
    window_dimensions: Shape,
    window_strides: Shape,
    padding: Sequence[Sequence[int]],
) -> Any:
    """Add each element of `source` at the position that a comparison selects in its window."""
    dtype = typeof(operand).dtype
    never = full((), SELECTIONS[select][1](dtype), dtype)
    config = [(low, high, 0) for low, high in padding]
    padded = pad_or_crop(operand, never, config) if any(map(any, padding)) else operand
    scattered = bind1(
        select_and_scatter_add_p,
        source,
        padded,
        select=select,
        window_dimensions=window_dimensions,
        window_strides=window_strides,
    )
    if padded is operand:
        return scattered
    return pad_or_crop(scattered, full((), 0, dtype), [(-low, -high, 0) for low, high in padding])


def _whole(shape: Shape, window_dimensions: Shape, window_strides: Shape) -> dict[str, Any]:
    """The window parameters other than padding and dilation."""
    return {
        "window_dimensions": window_dimensions,
        "window_strides": window_strides,
        "padding": ((0, 0),) * len(shape),
        "base_dilation": (1,) * len(shape),
        "window_dilation": (1,) * len(shape),
    }


def _scatter_add_type(
    source: ShapedArray, operand: ShapedArray, *, select: str, **sizes: Shape
) -> list[ShapedArray]:
    expected = ShapedArray(
        windowed_shape(operand.shape, _whole(operand.shape, **sizes)), operand.dtype
    )
    if source.strip_weak_type() is not expected:
        raise TypeError(
            f"select_and_scatter_add: {operand} has windows of {expected}, found {source}"
        )
    return [ShapedArray(operand.shape, source.dtype)]


def _scatter_add_lower(
    b: FunctionBuilder, out_avals: Avals, source: Value, x: Value, *, select: str, **sizes: Shape
) -> list[Value]:
    scalar = ShapedArray((), x.aval.dtype)
    compare = SELECTIONS[select][0]
    which = trace_to_jaxpr(lambda x, y: [compare(x, y)], [scalar] * 2, "lowering", None)
    add = stage_computation("add", elementwise.add, [scalar], stage2.tree_flatten(0)[1])
    zero = b.constant(0, scalar)
    operands = [x, source, zero]
    names = ", ".join(operand.name for operand in operands)
    padding = int_pairs([(0, 0)] * x.aval.ndim)
    return b.emit(
        f'"stablehlo.select_and_scatter"({names}) <{{'
        f"window_dimensions = {int_array(sizes['window_dimensions'])}, "
        f"window_strides = {int_array(sizes['window_strides'])}, padding = {padding}}}> "
        f"({program_region(b, which)}, {program_region(b, add)}) : "
        f"{signature(operands, out_avals)}",
        *out_avals,
    )


def _scatter_add_vmap(
    axis: BatchAxis, values: Values, dims: Sequence[BatchDim], *, select: str, **sizes: Shape
) -> tuple[list[Any], list[BatchDim]]:
    operands = _examples_first(axis, values, dims)
    return [bind1(select_and_scatter_add_p, *operands, select=select, **for_examples(sizes))], [0]


declare(
    select_and_scatter_add_p,
    abstract_eval=_scatter_add_type,
    lower=_scatter_add_lower,
    vmap=_scatter_add_vmap,
    sharding=lambda in_avals, out_avals, params: [spec_of(in_avals[1])],
    jvp=[
        lambda t, out, source, x, **params: bind1(select_and_scatter_add_p, t, x, **params),
        None,
    ],
    transpose=[
        lambda ct, source, x, *, select, **sizes: _select_and_gather(
            ct, x, select, **_whole(typeof(x).shape, **sizes)
        ),
        None,
    ],
)

reduce_window_max = declare_window(
    "reduce_window_max",
    elementwise.max,
    reductions.smallest,
    kinds="biuf",
    jvp=lambda t, out, x, **window: _select_and_gather(t, x, "ge", **window),
)
reduce_window_min = declare_window(
    "reduce_window_min",
    elementwise.min,
    reductions.largest,
    kinds="biuf",
    jvp=lambda t, out, x, **window: _select_and_gather(t, x, "le", **window),
)


# `select_and_scatter`, a primitive of XLA, for programs that bind it by JAX's name.
#
# The derivatives of pooling here use `select_and_gather_add` and `select_and_scatter_add`.


# In each window of the first operand, one program selects a place for an element of the second.
# Another program combines elements at the same place, starting from the third operand.
select_and_scatter_p = Primitive("select_and_scatter")


def _type(
    operand: ShapedArray,
    source: ShapedArray,
    init: ShapedArray,
    *,
    window_dimensions: Shape,
    window_strides: Shape,
    padding: Sequence[Sequence[int]],
    **programs: Any,
) -> list[ShapedArray]:
    ones = (1,) * operand.ndim
    window = {
        "window_dimensions": window_dimensions,
        "window_strides": window_strides,
        "padding": padding,
        "base_dilation": ones,
        "window_dilation": ones,
    }
    try:
        shape = windowed_shape(operand.shape, window)
    except ValueError as error:
        raise TypeError(f"select_and_scatter: {error}") from None
    if (source.shape, init.shape) != (shape, ()) or len(
        {operand.dtype, source.dtype, init.dtype}
    ) > 1:
        raise TypeError(
            f"select_and_scatter: the windows of {operand} need a source of shape {shape}, and a "
            f"scalar to begin with, of the same dtype; found {source} and {init}"
        )
    return [operand.strip_weak_type()]


def _select_and_scatter_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *operands: Value,
    select_jaxpr: Any,
    select_consts: Sequence[Any],
    scatter_jaxpr: Any,
    scatter_consts: Sequence[Any],
    window_dimensions: Shape,
    window_strides: Shape,
    padding: Sequence[Sequence[int]],
) -> list[Value]:
    scalar = ShapedArray((), operands[0].aval.dtype)

    def select_text(x: Any, y: Any) -> list[Any]:
        return _run_program(select_jaxpr, select_consts, x, y)

    closed = trace_to_jaxpr(select_text, [scalar] * 2, "select_and_scatter", None)
    if closed.consts:
        raise NotImplementedError(
            "select_and_scatter: select_jaxpr uses an array from outside; only numbers can be "
            "closed over"
        )
    combine = stage_computation(
        "select_and_scatter",
        lambda x, y: _run_program(scatter_jaxpr, scatter_consts, x, y)[0],
        [scalar],
        stage2.tree_flatten(0)[1],
    )
    names = ", ".join(x.name for x in operands)
    return b.emit(
        f'"stablehlo.select_and_scatter"({names}) <{{'
        f"window_dimensions = {int_array(window_dimensions)}, "
        f"window_strides = {int_array(window_strides)}, padding = {int_pairs(padding)}}}> "
        f"({program_region(b, closed)}, {program_region(b, combine)}) : "
        f"{signature(operands, out_avals)}",
        *out_avals,
    )


def _run_program(program: Any, consts: Sequence[Any], x: Any, y: Any) -> list[Any]:
    """The results of a user's jaxpr, closed or with its constants beside it."""
    return eval_jaxpr(read_jaxpr(program), consts or program.consts, x, y)


def _select_and_scatter_vmap(
    axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    *,
    window_dimensions: Shape,
    window_strides: Shape,
    padding: Sequence[Sequence[int]],
    **programs: Any,
) -> tuple[list[Any], list[BatchDim]]:
    *_, init_dim = dims
    if init_dim is not None:
        raise NotImplementedError(
            "select_and_scatter: the examples of vmap begin with one value; found one for each"
        )
    x, source = (
        move_batch_dim(x, axis, dim, 0) for x, dim in zip(values[:2], dims[:2], strict=True)
    )
    window = {
        "window_dimensions": window_dimensions,
        "window_strides": window_strides,
        "padding": padding,
    }
    return [
        bind1(select_and_scatter_p, x, source, values[2], **for_examples(window), **programs)
    ], [0]


declare(
    select_and_scatter_p,
    abstract_eval=_type,
    lower=_select_and_scatter_lower,
    vmap=_select_and_scatter_vmap,
    sharding=lambda in_avals, out_avals, params: [spec_of(in_avals[0])],
    jvp=[no_derivative("select_and_scatter", name) for name in ("operand", "source", "init_value")],
)


# Reductions by one operation, by its name: the reduction and its neutral element.
_KNOWN: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (reduce_window_sum, lambda dtype: 0),
    "max": (reduce_window_max, reductions.smallest),
    "min": (reduce_window_min, reductions.largest),
}
