"""Dimension numbers and padding of convolutions."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from minijax.errors.tracebacks import hiding_frames
from minijax_stage2.errors import shown
from minijax_stage2.shaped_array import Shape

Padding: TypeAlias = str | Sequence[tuple[int, int]]
Pairs = tuple[tuple[int, int], ...]


class ConvDimensionNumbers(NamedTuple):
    """The axes of the operands of a convolution, and of its result.

    Attributes:
        lhs_spec: the batch axis of the input, its feature axis, its spatial axes.
        rhs_spec: the axis of the output features in the kernel, that of the input features, the
            spatial ones.
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


def pads_of(
    caller: str, sizes: Sequence[int], windows: Sequence[int], strides: Sequence[int], padding: Any
) -> Pairs:
    """Return the numbers of zeros before and after each spatial axis.

    Arguments:
        caller: the function that an error names.
        sizes: of the spatial axes of the input.
        windows: those of the kernel, including dilation.
        strides: the strides of the kernel.
        padding: pairs; or "VALID" for none; or "SAME" for a result as large as the input divided by
            the strides, with the odd zero after; or "SAME_LOWER", with the odd zero before.

    Raises:
        ValueError, TypeError: it is anything else.
    """
    if not isinstance(padding, str):
        try:
            pairs = tuple((int(low), int(high)) for low, high in padding)
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
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if name == "SAME" else (more, less))
    return tuple(pads)


__all__ = [
    "ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers", "conv_dimension_numbers",
    "conv_general_permutations",
]  # fmt: skip
