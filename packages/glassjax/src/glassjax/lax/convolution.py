"""Convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import glassjax_stage2 as stage2
from glassjax.dimensions.expressions import is_symbolic_dim, max_size, surely_at_least, surely_less
from glassjax.dtypes import DTypeLike
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax import shapes
from glassjax.lax.conversion import convert_element_type
from glassjax.lax.precision import PrecisionLike
from glassjax.lax.products import dot_general, options, width
from glassjax.primitives import sparsity_rules
from glassjax.primitives.declare import declare
from glassjax.primitives.narrow_numbers import in_wide_numbers
from glassjax.primitives.sharding_rules import agreed, require_whole
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.lowering import platform_of
from glassjax.runtime.nesting import written_in_jax
from glassjax.runtime.operation import operation
from glassjax.settings.names import counted
from glassjax.settings.number_types import letter_of, result_type
from glassjax.shardings.types import Axes, Spec, sharded_type, spec_of
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import ints
from glassjax_stage2.promotion import cast
from glassjax_stage2.shaped_array import Shape
from glassjax_stage2.vmap import BatchAxis, BatchDim
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature
from glassjax_stage4 import UndefPrimal

# Dimension numbers and padding of convolutions.


Padding: TypeAlias = str | Sequence[tuple[int, int]]
Pairs = tuple[tuple[int, int], ...]


class ConvDimensionNumbers(NamedTuple):
    """The axes of the operands of a convolution, and of its result.

    Attributes:
        lhs_spec: the batch axis of the input, its feature axis, its spatial axes.
        rhs_spec: the output feature axis of the kernel, its input feature axis, its spatial axes.
        out_spec: as `lhs_spec`, for the result.

    >>> numbers = lax.conv_dimension_numbers((1, 8, 3), (3, 3, 5), ("NHC", "HIO", "NHC"))
    >>> isinstance(numbers, lax.ConvDimensionNumbers), numbers.lhs_spec
    (True, (0, 2, 1))
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


ConvGeneralDilatedDimensionNumbers: TypeAlias = (
    ConvDimensionNumbers | tuple[str | None, str | None, str | None] | None
)


@hiding_frames
def conv_dimension_numbers(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> ConvDimensionNumbers:
    """The axis numbers from letters, or from None.

    Arguments:
        lhs_shape: the shape of the input.
        rhs_shape: the shape of the kernel.
        dimension_numbers: three strings with a letter for each axis: of the input, with N for the
            batch and C for the features; of the kernel, with O and I for the output and input
            features; of the result, again with N and C. Other letters are spatial axes, in the
            order of the kernel. None means NC, OI and NC, each followed by the spatial axes.

    Raises:
        TypeError: operands differ in rank, or `dimension_numbers` is invalid: letters are missing,
            or occur twice.

    >>> lax.conv_dimension_numbers((1, 8, 3), (3, 3, 5), ("NHC", "HIO", "NHC"))
    ConvDimensionNumbers(lhs_spec=(0, 2, 1), rhs_spec=(2, 1, 0), out_spec=(0, 2, 1))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return ConvDimensionNumbers(*(tuple(spec) for spec in dimension_numbers))
    ndim = len(lhs_shape)
    if ndim != len(rhs_shape) or ndim < 2:
        raise TypeError(
            "convolution: input and kernel must have the same number of axes, at least two, found "
            f"shapes {tuple(lhs_shape)} and {tuple(rhs_shape)}"
        )
    if dimension_numbers is None:
        return ConvDimensionNumbers(*[tuple(range(ndim))] * 3)
    if not isinstance(dimension_numbers, Sequence) or len(dimension_numbers) != 3:
        raise TypeError(
            "convolution: dimension_numbers must be three strings, None, or a "
            f"ConvDimensionNumbers, found {shown(dimension_numbers)}"
        )
    spatial = "".join(chr(ord("0") + i) for i in range(ndim - 2))
    defaults = ("NC" + spatial, "OI" + spatial, "NC" + spatial)
    named: Sequence[Any] = dimension_numbers
    specs = [
        given if given is not None else default
        for given, default in zip(named, defaults, strict=True)
    ]
    return _numbered(specs, ndim)


@hiding_frames
def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The axis numbers from letters, as in `conv_dimension_numbers`.

    >>> lax.conv_general_permutations(("NHC", "HIO", "NHC"))
    ((0, 2, 1), (2, 1, 0), (0, 2, 1))
    """
    numbers = _numbered(dimension_numbers, None)
    return tuple(map(tuple, numbers))


def _numbered(dimension_numbers: Sequence[str], ndim: int | None) -> ConvDimensionNumbers:
    numbers = tuple(dimension_numbers)
    if len(numbers) != 3 or not all(isinstance(spec, str) for spec in numbers):
        raise TypeError(
            "convolution: dimension_numbers must be three strings, of the input, the kernel and "
            f"the result, found {shown(dimension_numbers)}"
        )
    lhs, rhs, out = numbers
    names = [c for c in rhs if c not in "OI"]
    for role, spec, features in (
        ("input", lhs, "NC"),
        ("kernel", rhs, "OI"),
        ("result", out, "NC"),
    ):
        if sorted(spec) != sorted([*features, *names]) or len(set(spec)) != len(spec):
            raise TypeError(
                f"convolution: the axes of the {role} are {spec!r}; they must be {features[0]}, "
                f"{features[1]} and the spatial axes of the kernel, each once"
            )
        if ndim is not None and len(spec) != ndim:
            raise TypeError(f"convolution: {spec!r} names the axes of an array that has {ndim}")
    return ConvDimensionNumbers(
        *(
            tuple(spec.index(c) for c in (*features, *names))
            for spec, features in ((lhs, "NC"), (rhs, "OI"), (out, "NC"))
        )
    )


def spatial_sizes(shape: Sequence[int], spec: Sequence[int]) -> Shape:
    """The sizes of the spatial axes."""
    return tuple(shape[axis] for axis in spec[2:])


def dilated(size: int, dilation: int) -> int:
    """The size of an axis with `dilation - 1` holes between its elements."""
    return (size - 1) * dilation + 1 if size else 0


def _as_count(x: Any) -> Any:
    return x if is_symbolic_dim(x) else int(x)


def pads_of(
    caller: str, sizes: Sequence[int], windows: Sequence[int], strides: Sequence[int], padding: Any
) -> Pairs:
    """Return the numbers of zeros before and after each spatial axis.

    Arguments:
        caller: the function that an error names.
        sizes: the sizes of the spatial axes of the input.
        windows: the sizes of the spatial axes of the kernel, including dilation.
        strides: the strides of the kernel.
        padding: pairs; or "VALID" for none; or "SAME" for a result as large as the input divided by
            the strides, with the odd zero after; or "SAME_LOWER", with the odd zero before.

    Raises:
        ValueError, TypeError: it is anything else.
    """
    if not isinstance(padding, str):
        try:
            pairs = tuple((_as_count(low), _as_count(high)) for low, high in padding)
        except (TypeError, ValueError):
            raise TypeError(
                f"{caller}: padding must be a string or pairs of ints, found {shown(padding)}"
            ) from None
        if len(pairs) != len(sizes):
            raise ValueError(
                f"{caller}: padding must have a pair for each of {len(sizes)} spatial axes, "
                f"found {padding}"
            )
        return pairs
    name = padding.upper()
    if name == "VALID":
        return ((0, 0),) * len(sizes)
    if name not in ("SAME", "SAME_LOWER"):
        raise ValueError(
            f"{caller}: padding must be 'VALID', 'SAME', 'SAME_LOWER', or pairs of ints, "
            f"found {shown(padding)}"
        )
    pads = []
    for size, window, stride in zip(sizes, windows, strides, strict=True):
        # as much as ceil(size / stride) windows need
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if name == "SAME" else (more, less))
    return tuple(pads)


# Convolution: sums of products of a kernel and the windows of an input.
#
# Along one spatial axis, with indices `o` into the result, `k` into the kernel and `i` into the
# input, products are taken where
#
# o * window_stride + k * rhs_dilation - padding = i * lhs_dilation.
#
# The equation is symmetric in the three indices. So the derivatives of a convolution are again
# convolutions, with strides and dilations swapped.


conv_general_dilated_p = Primitive("conv_general_dilated")


@operation(
    static=(
        "window_strides",
        "padding",
        "lhs_dilation",
        "rhs_dilation",
        "dimension_numbers",
        "feature_group_count",
        "batch_group_count",
        "precision",
        "preferred_element_type",
        "out_sharding",
    )
)
def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """The convolution of an input with a kernel.

    Arguments:
        lhs: the input, a batch of features along spatial axes.
        rhs: the kernel.
        window_strides: the stride of the kernel along each spatial axis.
        padding: the numbers of zeros before and after each spatial axis; or "SAME", "SAME_LOWER" or
            "VALID".
        lhs_dilation: the dilation of the input along each spatial axis; None: 1.
        rhs_dilation: the dilation of the kernel; None: 1.
        dimension_numbers: the meaning of the axes, as for `conv_dimension_numbers`; None: batch and
            features come first, then the spatial axes.
        feature_group_count: the number of groups into which to divide the input features, each with
            its own output features.
        batch_group_count: the number of groups into which to divide the batch, each with its own
            output features.
        precision, preferred_element_type, out_sharding: as in `dot_general`.

    Raises:
        TypeError, ValueError: the arguments are inconsistent.

    >>> image, kernel = jnp.arange(16.0).reshape(1, 1, 4, 4), jnp.ones((1, 1, 2, 2))
    >>> lax.conv_general_dilated(image, kernel, window_strides=(2, 2), padding="VALID")
    Array([[[[10., 18.],
             [42., 50.]]]], dtype=float32)
    """
    caller = "conv_general_dilated"
    common = result_type(typeof(lhs), typeof(rhs))
    lhs, rhs = cast(lhs, common), cast(rhs, common)
    a, b = typeof(lhs), typeof(rhs)
    numbers = conv_dimension_numbers(a.shape, b.shape, dimension_numbers)
    sizes, windows = spatial_sizes(a.shape, numbers[0]), spatial_sizes(b.shape, numbers[1])
    strides = _one_for_each(f"{caller}: window_strides", window_strides, sizes)
    lhs_dilation = _one_for_each(f"{caller}: lhs_dilation", lhs_dilation, sizes)
    rhs_dilation = _one_for_each(f"{caller}: rhs_dilation", rhs_dilation, sizes)
    if isinstance(padding, str) and any(d != 1 for d in lhs_dilation):
        raise ValueError(
            f"{caller}: with lhs_dilation {lhs_dilation} padding must be pairs of ints, found "
            f"{padding!r}; `conv_transpose` works it out"
        )
    windows = tuple(map(dilated, windows, rhs_dilation))
    for name, dilation in (("lhs_dilation", lhs_dilation), ("rhs_dilation", rhs_dilation)):
        of = sizes if name == "lhs_dilation" else spatial_sizes(b.shape, numbers[1])
        # XLA would not finish compiling
        if any(surely_at_least(length, 2**31) for length in map(dilated, of, dilation)):
            raise ValueError(f"{caller}: {name} makes an axis too large: {dilation} of sizes {of}")
    options_given = options(caller, precision, preferred_element_type, lhs, rhs)
    _require_preferred(caller, common.dtype, options_given)
    return bind1(
        conv_general_dilated_p,
        lhs,
        rhs,
        window_strides=strides,
        padding=pads_of(caller, sizes, windows, strides, padding),
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        dimension_numbers=numbers,
        feature_group_count=feature_group_count,
        batch_group_count=batch_group_count,
        **options_given,
    )


def _require_preferred(caller: str, dtype: np.dtype[Any], params: dict[str, Any]) -> None:
    """Raise TypeError unless sums of products of a dtype can have the requested dtype."""
    wanted = params.get("preferred_element_type", dtype)
    kinds = {"i": "if", "u": "iuf", "f": "f", "c": "c"}.get(letter_of(dtype), "iufcb")
    if letter_of(wanted) not in kinds or (letter_of(dtype) != "b" and width(wanted) < width(dtype)):
        raise TypeError(
            f"{caller}: preferred_element_type must be as wide as {dtype}, the dtype of the "
            f"operands, and of a kind that holds its numbers, found {wanted}"
        )


def _one_for_each(role: str, given: Sequence[int] | None, sizes: Shape) -> Shape:
    numbers = (1,) * len(sizes) if given is None else ints(role, given)
    if len(numbers) != len(sizes) or any(n < 1 for n in numbers):
        raise ValueError(
            f"{role} must be positive, one for each of {len(sizes)} spatial axes, found {given}"
        )
    return numbers


def _convolution_type(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    window_strides: Shape,
    padding: Pairs,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any = None,
    **params: str,
) -> list[ShapedArray]:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    if lhs.dtype != rhs.dtype:
        raise TypeError(f"conv_general_dilated: dtypes differ: {lhs} and {rhs}")
    for role, aval, spec in (("input", lhs, lhs_spec), ("kernel", rhs, rhs_spec)):
        if sorted(spec) != list(range(aval.ndim)):
            raise TypeError(f"conv_general_dilated: {spec} do not number the axes of {role} {aval}")
    examples, features = lhs.shape[lhs_spec[0]], lhs.shape[lhs_spec[1]]
    out_features, in_features = rhs.shape[rhs_spec[0]], rhs.shape[rhs_spec[1]]
    groups = max(feature_group_count, batch_group_count)
    if min(feature_group_count, batch_group_count) != 1:
        raise ValueError(
            "conv_general_dilated: feature_group_count and batch_group_count must be positive, and "
            f"one of them 1; found {feature_group_count} and {batch_group_count}"
        )
    if in_features * feature_group_count != features:
        raise ValueError(
            f"conv_general_dilated: the input {lhs} has {features} features, but the kernel {rhs} "
            f"takes {in_features} in each of {feature_group_count} groups (feature_group_count)"
        )
    if out_features % groups or examples % batch_group_count:
        raise ValueError(
            f"conv_general_dilated: {groups} groups must divide the output features, "
            f"{out_features}, and the groups of batch_group_count the examples, {examples}"
        )
    shape = [0] * lhs.ndim
    shape[out_spec[0]], shape[out_spec[1]] = examples // batch_group_count, out_features
    for n, axis in enumerate(out_spec[2:]):
        low, high = padding[n]
        size = dilated(lhs.shape[lhs_spec[n + 2]], lhs_dilation[n]) + low + high
        window = dilated(rhs.shape[rhs_spec[n + 2]], rhs_dilation[n])
        # Negative padding may cut off more than there is.
        windows = (size - window) // window_strides[n] + 1
        shape[axis] = 0 if surely_less(size, 0) else max_size(windows, 0)
    is_weak = lhs.weak_type and rhs.weak_type
    return [ShapedArray(tuple(shape), preferred_element_type or lhs.dtype, is_weak)]


def _convolution_sharding(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> list[Spec]:
    """Batch and spatial axes are sharded as in the input, the feature axis as in the kernel.

    Raises:
        ShardingTypeError: an axis that is summed over, or split into groups, is sharded.
    """
    lhs, rhs = in_avals
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    name, remedy = "conv_general_dilated", "sharding.reshard, or out_sharding, says what is meant"
    summed = "the sum over it could be left on any of the devices"
    require_whole(name, rhs, rhs_spec[1:], summed, remedy)
    if params["batch_group_count"] > 1:
        require_whole(name, lhs, [lhs_spec[0]], "its groups are taken apart", remedy)
        require_whole(name, rhs, [rhs_spec[0]], "its groups are taken apart", remedy)
    features = spec_of(rhs)[rhs_spec[0]]
    if params["feature_group_count"] == 1:
        require_whole(name, lhs, [lhs_spec[1]], summed, remedy)
    else:  # the groups may be sharded
        (features,) = agreed(name, in_avals, [[spec_of(lhs)[lhs_spec[1]], features]])
        sharded = sharded_type(lhs) or sharded_type(rhs)
        count = math.prod([sharded.mesh.shape[axis] for axis in features]) if sharded else 1
        if params["feature_group_count"] % count:
            require_whole(name, lhs, [lhs_spec[1]], summed, remedy)
            require_whole(name, rhs, [rhs_spec[0]], "its groups are taken apart", remedy)
    spec: list[Axes] = [()] * lhs.ndim
    for source, target in zip(lhs_spec, out_spec, strict=True):
        spec[target] = spec_of(lhs)[source]
    spec[out_spec[1]] = features
    return [tuple(spec)]


def _convolution_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    lhs: Value,
    rhs: Value,
    *,
    window_strides: Shape,
    padding: Pairs,
    lhs_dilation: Shape,
    rhs_dilation: Shape,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    precision: str = "[DEFAULT, DEFAULT]",
    **preferred: Any,
) -> list[Value]:
    if not (lhs.aval.size and rhs.aval.size):  # empty sums; XLA rejects windows of size 0
        return [b.constant(0, out_avals[0])]
    axes = [
        _letters(spec, letters)
        for spec, letters in zip(dimension_numbers, ("bf", "oi", "bf"), strict=True)
    ]
    first, second = precision[1:-1].split(", ")

    def convolution(lhs: Value, rhs: Value, out: ShapedArray) -> Value:
        (found,) = b.emit(
            f"stablehlo.convolution({lhs.name}, {rhs.name}) "
            f"dim_numbers = [{axes[0]}]x[{axes[1]}]->[{axes[2]}], "
            f"window = {{stride = {list(window_strides)}, pad = {list(map(list, padding))}, "
            f"lhs_dilate = {list(lhs_dilation)}, rhs_dilate = {list(rhs_dilation)}}} "
            f"{{batch_group_count = {batch_group_count} : i64, "
            f"feature_group_count = {feature_group_count} : i64, "
            f"precision_config = [#stablehlo<precision {first}>, #stablehlo<precision {second}>]}} "
            f": {signature([lhs, rhs], [out])}",
            out,
        )
        return found

    if out_avals[0].dtype.kind == "c" and platform_of(b) != "cpu":
        return [_complex_convolution_text(b, convolution, lhs, rhs, out_avals[0])]
    return [convolution(lhs, rhs, out_avals[0])]


def _complex_convolution_text(
    b: FunctionBuilder,
    convolution: Callable[[Value, Value, ShapedArray], Value],
    lhs: Value,
    rhs: Value,
    out: ShapedArray,
) -> Value:
    """Three real convolutions in place of a complex one, by Gauss' rule for products.

    XLA has complex convolutions for CPUs only.
    """

    def part_text(name: str, x: Value) -> Value:
        aval = ShapedArray(x.aval.shape, np.finfo(x.aval.dtype).dtype)
        (found,) = b.emit(f"stablehlo.{name} {x.name} : {signature([x], [aval])}", aval)
        return found

    def combined(name: str, x: Value, y: Value) -> Value:
        (found,) = b.emit(f"stablehlo.{name} {x.name}, {y.name} : {mlir_type(x.aval)}", x.aval)
        return found

    real = ShapedArray(out.shape, np.finfo(out.dtype).dtype)
    x_real, x_imag, y_real, y_imag = (part_text(n, x) for x in (lhs, rhs) for n in ("real", "imag"))
    # With k1 = Re y (Re x + Im x), k2 = Re x (Im y - Re y), k3 = Im x (Re y + Im y): the real part
    # of x y is k1 - k3, the imaginary part k1 + k2.
    both = convolution(combined("add", x_real, x_imag), y_real, real)
    turned = convolution(x_real, combined("subtract", y_imag, y_real), real)
    rest = convolution(x_imag, combined("add", y_real, y_imag), real)
    parts = [combined("subtract", both, rest), combined("add", both, turned)]
    names = ", ".join(each.name for each in parts)
    (found,) = b.emit(f"stablehlo.complex {names} : {signature(parts, [out])}", out)
    return found


def _letters(spec: Sequence[int], letters: str) -> str:
    """The axes in order, in MLIR's notation: `b, f, 0, 1`."""
    names = dict(zip(spec, [*letters, *map(str, range(len(spec) - 2))], strict=True))
    return ", ".join(names[axis] for axis in range(len(spec)))


def _convolution_transpose_lhs(ct: Any, lhs: UndefPrimal, rhs: Any, **params: Any) -> Any:
    """The cotangent of the result, convolved with the flipped kernel.

    In each group the output features are summed over, leaving the input features.
    """
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    groups = max(params["feature_group_count"], params["batch_group_count"])
    by_examples = params["batch_group_count"] > 1
    # The kernel's output features become its input features, in each group.
    kernel = _move_groups(shapes.rev(rhs, rhs_spec[2:]), rhs_spec[0], rhs_spec[1], groups)
    sizes = _spatial_sizes(lhs.aval, typeof(rhs), typeof(ct), params)
    # In the equation above, with the flipped index k' and dilated sizes: i * lhs_dilation + k' *
    # rhs_dilation - (window - 1 - low) = o * window_stride. The padding at the end makes the result
    # as large as `lhs`.
    out = _convolve(
        ct,
        kernel,
        window_strides=params["lhs_dilation"],
        lhs_dilation=params["window_strides"],
        rhs_dilation=params["rhs_dilation"],
        padding=tuple(
            (window - 1 - low, size + low - result)
            for size, window, result, (low, _) in zip(*sizes, params["padding"], strict=True)
        ),
        dimension_numbers=ConvDimensionNumbers(
            out_spec, (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]), lhs_spec
        ),
        feature_group_count=groups,
        batch_group_count=1,
        **_precision_params(params),
    )
    # The sums may be wider than the operands, by preferred_element_type.
    out = convert_element_type(out, lhs.aval.dtype)
    # groups of examples were computed as groups of features
    return _move_groups(out, lhs_spec[1], lhs_spec[0], groups) if by_examples else out


def _convolution_transpose_rhs(ct: Any, lhs: Any, rhs: UndefPrimal, **params: Any) -> Any:
    """The input convolved with the cotangent of the result.

    The batch is summed over, as features are in the convolution. So feature groups become batch
    groups, and vice versa.
    """
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    sizes = _spatial_sizes(typeof(lhs), rhs.aval, typeof(ct), params)
    # The equation for `k`: k * rhs_dilation + o * window_stride - low = i * lhs_dilation.
    out = _convolve(
        lhs,
        ct,
        window_strides=params["rhs_dilation"],
        lhs_dilation=params["lhs_dilation"],
        rhs_dilation=params["window_strides"],
        padding=tuple(
            (low, window + result - 1 - size - low)
            for size, window, result, (low, _) in zip(*sizes, params["padding"], strict=True)
        ),
        dimension_numbers=ConvDimensionNumbers(
            *((spec[1], spec[0], *spec[2:]) for spec in (lhs_spec, out_spec, rhs_spec))
        ),
        feature_group_count=params["batch_group_count"],
        batch_group_count=params["feature_group_count"],
        **_precision_params(params),
    )
    return convert_element_type(out, rhs.aval.dtype)


def _spatial_sizes(
    lhs: ShapedArray, rhs: ShapedArray, out: ShapedArray, params: dict[str, Any]
) -> list[list[int]]:
    """The spatial sizes of input, kernel and result, including dilation."""
    dilations = params["lhs_dilation"], params["rhs_dilation"], params["window_strides"]
    return [
        list(map(dilated, spatial_sizes(aval.shape, spec), dilation))
        for aval, spec, dilation in zip(
            (lhs, rhs, out), params["dimension_numbers"], dilations, strict=True
        )
    ]


def _precision_params(params: dict[str, Any]) -> dict[str, Any]:
    return {
        name: params[name] for name in ("precision", "preferred_element_type") if name in params
    }


def _convolve(lhs: Any, rhs: Any, **params: Any) -> Any:
    common = result_type(typeof(lhs), typeof(rhs))
    return bind1(conv_general_dilated_p, cast(lhs, common), cast(rhs, common), **params)


def _move_groups(x: Any, source: int, destination: int, groups: int) -> Any:
    """`x` with its groups moved from the axis `source` to `destination`."""
    if groups == 1:
        return x
    return _fold(*_unfold(x, source, 1, groups), destination, 1)


def _convolution_vmap(
    batch_axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], **params: Any
) -> tuple[list[Any], list[BatchDim]]:
    """Batching rule: inputs become more examples, kernels more output features, both groups."""
    (lhs, rhs), (lhs_dim, rhs_dim) = values, dims
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    by_examples, by_features = params["batch_group_count"], params["feature_group_count"]
    # Each example becomes a group, and a number of groups is positive.
    if batch_axis.size == 0:
        return _empty_convolution_vmap(values, dims, params)
    if rhs_dim is None:
        lhs, axis, groups = _fold(lhs, lhs_dim, lhs_spec[0], by_examples), out_spec[0], 1
    elif lhs_dim is None:
        groups = max(by_examples, by_features)
        rhs, axis = _fold(rhs, rhs_dim, rhs_spec[0], groups), out_spec[1]
    else:
        name = "batch_group_count" if by_examples > 1 else "feature_group_count"
        lhs = _fold(lhs, lhs_dim, lhs_spec[0 if by_examples > 1 else 1], 1)
        rhs, axis, groups = _fold(rhs, rhs_dim, rhs_spec[0], 1), out_spec[1], 1
        params = params | {name: params[name] * batch_axis.size}
    out = bind1(conv_general_dilated_p, lhs, rhs, **params)
    out, out_dim = _unfold(out, axis, groups, batch_axis.size)
    return [out], [out_dim]


def _empty_convolution_vmap(
    values: Sequence[Any], dims: Sequence[BatchDim], params: dict[str, Any]
) -> tuple[list[Any], list[BatchDim]]:
    avals = [
        ShapedArray(
            tuple(n for axis, n in enumerate(typeof(x).shape) if axis != dim), typeof(x).dtype
        )
        for x, dim in zip(values, dims, strict=True)
    ]
    (out,) = _convolution_type(*avals, **params)
    return [shapes.full((0, *out.shape), 0, out.dtype)], [0]


def _fold(x: Any, dim: Any, axis: int, groups: int) -> Any:
    """`x` with its axis `dim` merged into the remaining axis `axis`, inside of groups."""
    shape = [size for n, size in enumerate(typeof(x).shape) if n != dim]
    count = typeof(x).shape[dim]
    merged = list(shape)
    merged[axis] *= count
    if groups > 1:  # split the axis, and place `dim` behind the groups
        shape[axis : axis + 1] = groups, shape[axis] // groups
        axis, dim = axis + 1, dim + (dim > axis)
        x = shapes.reshape(x, [*shape[:dim], count, *shape[dim:]])
    order = [n for n in range(typeof(x).ndim) if n != dim]
    return _reordered(x, [*order[:axis], dim, *order[axis:]], merged)


@written_in_jax("lax")
def _reordered(x: Any, dimensions: Sequence[int], new_sizes: Sequence[int]) -> Any:
    """The array whose elements are read in this order of the axes."""
    return shapes.reshape(stage2.transpose(x, dimensions), new_sizes)


def _unfold(x: Any, axis: int, groups: int, count: int) -> tuple[Any, int]:
    """The inverse of `_fold`, and the axis of the batch."""
    shape = list(typeof(x).shape)
    shape[axis] //= count
    if groups == 1:
        return shapes.reshape(x, [*shape[:axis], count, *shape[axis:]]), axis
    split = [*shape[:axis], groups, count, shape[axis] // groups, *shape[axis + 1 :]]
    order = [axis + 1, *(n for n in range(len(split)) if n != axis + 1)]
    return shapes.reshape(stage2.transpose(shapes.reshape(x, split), order), [count, *shape]), 0


def _convolution_sparsity(
    analysis: sparsity_rules.Analysis,
    operands: Sequence[sparsity_rules.Operand],
    out_avals: Sequence[ShapedArray],
    params: dict[str, Any],
) -> list[Any]:
    """An element depends on a window of the input, in all features; on the kernel, on all of it."""
    lhs, rhs = operands
    if rhs.ids.any() or params["feature_group_count"] * params["batch_group_count"] > 1:
        return sparsity_rules.dense(analysis, operands, out_avals, params)
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    ids = analysis.sets.union_along(lhs.ids.transpose(lhs_spec), (1,))
    ids = sparsity_rules.windows(
        ids,
        window_dimensions=(1, 1, *(rhs.aval.shape[axis] for axis in rhs_spec[2:])),
        window_strides=(1, 1, *params["window_strides"]),
        padding=((0, 0), (0, 0), *params["padding"]),
        base_dilation=(1, 1, *params["lhs_dilation"]),
        window_dilation=(1, 1, *params["rhs_dilation"]),
    )
    ids = analysis.sets.union_along(ids, tuple(range(ids.ndim // 2, ids.ndim)))
    shape = [out_avals[0].shape[axis] for axis in out_spec]
    ids = np.broadcast_to(ids.reshape(ids.shape[: ids.ndim // 2]), shape)
    return [ids.transpose(np.argsort(out_spec))]


declare(
    conv_general_dilated_p,
    abstract_eval=_convolution_type,
    lower=in_wide_numbers(_convolution_lower),
    vmap=_convolution_vmap,
    sharding=_convolution_sharding,
    sparsity=_convolution_sparsity,
    jvp=(
        lambda t, out, lhs, rhs, **params: _convolve(t, rhs, **params),
        lambda t, out, lhs, rhs, **params: _convolve(lhs, t, **params),
    ),
    transpose=(_convolution_transpose_lhs, _convolution_transpose_rhs),
)


# Special convolutions, in terms of the general one.


@operation(static=("window_strides", "padding", "precision", "preferred_element_type"))
def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """`conv_general_dilated` with strides and padding only.

    Arguments:
        lhs, rhs, window_strides: as in `conv_general_dilated`.
        padding: "SAME", "SAME_LOWER" or "VALID".
        precision, preferred_element_type: as in `conv_general_dilated`.

    >>> signal, kernel = jnp.array([[[0.0, 1.0, 4.0, 9.0]]]), jnp.array([[[-1.0, 1.0]]])
    >>> lax.conv(signal, kernel, window_strides=(1,), padding="VALID")
    Array([[[1., 3., 5.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@operation(
    static=(
        "window_strides",
        "padding",
        "lhs_dilation",
        "rhs_dilation",
        "precision",
        "preferred_element_type",
    )
)
def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """`conv_general_dilated` with strides, padding and dilations only.

    Arguments:
        lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation: as in `conv_general_dilated`.
        precision, preferred_element_type: as in `conv_general_dilated`.

    >>> signal, kernel = jnp.arange(5.0).reshape(1, 1, 5), jnp.ones((1, 1, 3))
    >>> lax.conv_with_general_padding(signal, kernel, (1,), [(1, 1)], None, None)
    Array([[[1., 3., 6., 9., 7.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@operation(
    static=(
        "strides",
        "padding",
        "rhs_dilation",
        "dimension_numbers",
        "transpose_kernel",
        "precision",
        "preferred_element_type",
        "use_consistent_padding",
    )
)
def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Array:
    """The transpose of a strided convolution, for upsampling.

    Arguments:
        lhs: the input.
        rhs: the kernel.
        strides: the strides of the convolution to transpose, for each spatial axis.
        padding: "SAME" or "VALID", as for that convolution; or pairs, of zeros put before and after
            the input.
        rhs_dilation: the dilation of the kernel; None: 1.
        dimension_numbers: the meaning of the axes; by default features come last, with the kernel's
            input features before its output features.
        transpose_kernel: whether `rhs` is the kernel of the convolution to transpose: then it is
            flipped, and its input and output features are swapped.
        precision, preferred_element_type: as in `dot_general`.
        use_consistent_padding: whether pairs, too, are the padding of the convolution to transpose.

    Raises:
        ValueError: there is not one stride for each spatial axis, or there are more than three
            spatial axes without `dimension_numbers`.

    >>> signal, kernel = jnp.array([[[1.0], [2.0]]]), jnp.ones((2, 1, 1))
    >>> lax.conv_transpose(signal, kernel, strides=(2,), padding="VALID")[0, :, 0]
    Array([1., 1., 2., 2.], dtype=float32)
    """
    ndim = typeof(lhs).ndim
    if dimension_numbers is None:
        letters = {3: "H", 4: "HW", 5: "HWD"}.get(ndim)
        if letters is None:
            raise ValueError(
                f"conv_transpose: pass dimension_numbers for an input of {counted(ndim, 'axis')}"
            )
        dimension_numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
    numbers = conv_dimension_numbers(typeof(lhs).shape, typeof(rhs).shape, dimension_numbers)
    windows = spatial_sizes(typeof(rhs).shape, numbers.rhs_spec)
    windows = tuple(map(dilated, windows, rhs_dilation or (1,) * len(windows)))
    if len(strides) != len(windows):
        raise ValueError(
            f"conv_transpose: strides must be one for each of {len(windows)} spatial axes, found "
            f"{strides}"
        )
    if isinstance(padding, str):
        pads = [_transposed_padding(k, s, padding) for k, s in zip(windows, strides, strict=True)]
    elif use_consistent_padding:
        pads = [(k - 1 - lo, k - 1 - hi) for k, (lo, hi) in zip(windows, padding, strict=True)]
    else:
        pads = list(padding)
    if transpose_kernel:
        rhs = shapes.rev(rhs, numbers.rhs_spec[2:])
        out_features, in_features, *spatial = numbers.rhs_spec
        numbers = numbers._replace(rhs_spec=(in_features, out_features, *spatial))
    return conv_general_dilated(
        lhs,
        rhs,
        # strides between results become holes between elements of the input
        (1,) * len(strides),
        pads,
        strides,
        rhs_dilation,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _transposed_padding(window: int, stride: int, padding: str) -> tuple[int, int]:
    """The padding that reverses a padding given by name."""
    # n elements become n * stride + max(window - stride, 0), and the convolution makes n of them.
    if padding == "VALID":
        return window - 1, stride - 1 + max(window - stride, 0)
    if padding != "SAME":
        raise ValueError(f"conv_transpose: padding must be 'SAME' or 'VALID', found {padding!r}")
    # n elements become n * stride.
    total = window + stride - 2
    before = window - 1 if stride >= window else -(-total // 2)
    return before, total - before


LOCAL = (
    "filter_shape",
    "window_strides",
    "padding",
    "lhs_dilation",
    "rhs_dilation",
    "dimension_numbers",
    "precision",
)


@operation(static=(*LOCAL, "preferred_element_type"))
def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Array:
    """Extract the patches that a kernel of shape `filter_shape` covers, as features of the result.

    The result has one feature for each input feature and element of the kernel.

    Arguments:
        lhs: as in `conv_general_dilated`.
        filter_shape: the spatial shape of the kernel.
        window_strides, padding, lhs_dilation, rhs_dilation: as in `conv_general_dilated`.
        dimension_numbers, precision, preferred_element_type: as in `conv_general_dilated`.

    Raises:
        ValueError: `filter_shape` does not have one size for each spatial axis.

    >>> signal = jnp.arange(5.0).reshape(1, 1, 5)
    >>> lax.conv_general_dilated_patches(signal, (3,), (1,), "VALID")
    Array([[[0., 1., 2.],
            [1., 2., 3.],
            [2., 3., 4.]]], dtype=float32)
    """
    filter_shape = shapes.sizes_of("conv_general_dilated_patches", filter_shape)
    ndim = len(filter_shape) + 2
    if ndim != typeof(lhs).ndim:
        raise ValueError(
            "conv_general_dilated_patches: filter_shape must be one size for each of "
            f"{typeof(lhs).ndim - 2} spatial axes, found {filter_shape}"
        )
    shapes.steps_of(
        "conv_general_dilated_patches: the elements of a filter", math.prod(filter_shape)
    )
    numbers = conv_dimension_numbers(typeof(lhs).shape, (1,) * ndim, dimension_numbers)
    features, count = typeof(lhs).shape[numbers.lhs_spec[1]], math.prod(filter_shape)
    dtype = typeof(lhs).dtype
    # One-hot kernels: each picks one element of the window, for all input features.
    pick = convert_element_type(np.eye(count, dtype=np.bool_), dtype)
    pick = shapes.broadcast_in_dim(pick, (features, count, count), (1, 2))
    kernel = shapes.reshape(pick, (features * count, 1, *filter_shape))
    kernel = stage2.transpose(kernel, [numbers.rhs_spec.index(axis) for axis in range(ndim)])
    return conv_general_dilated(
        lhs,
        kernel,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        # each input feature by itself, with an output feature for each element of the window
        feature_group_count=features,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@operation(static=LOCAL)
def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Array:
    """A convolution with a different kernel at each position.

    Arguments:
        lhs: as in `conv_general_dilated`.
        rhs: the kernels: an axis of output features, one of the features of
            `conv_general_dilated_patches`, and the spatial axes of the result.
        window_strides, padding: as in `conv_general_dilated`.
        filter_shape: the spatial shape of the kernels.
        lhs_dilation, rhs_dilation, dimension_numbers, precision: as in `conv_general_dilated`.

    >>> signal, kernels = jnp.ones((1, 1, 4)), jnp.arange(6.0).reshape(1, 2, 3)
    >>> lax.conv_general_dilated_local(signal, kernels, (1,), "VALID", filter_shape=(2,))
    Array([[[3., 5., 7.]]], dtype=float32)
    """
    numbers = conv_dimension_numbers(typeof(lhs).shape, typeof(rhs).shape, dimension_numbers)
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        precision=precision,
    )
    _, rhs_spec, out_spec = numbers
    contracted = ((out_spec[1],), (rhs_spec[1],))
    out = dot_general(
        patches, rhs, (contracted, (tuple(out_spec[2:]), tuple(rhs_spec[2:]))), precision
    )
    # The axes of the product are the spatial axes, the batch axis, the feature axis.
    found = [*out_spec[2:], out_spec[0], out_spec[1]]
    return stage2.transpose(out, [found.index(axis) for axis in range(len(found))])
