"""Initializers: functions that draw the initial parameters of a layer.

An initializer takes a key, a shape and a dtype. The functions that make initializers take their
properties: the scale, and which axes of the shape are inputs and outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from glassjax import lax, random
from glassjax import numpy as jnp
from glassjax.dtypes import DTypeLike
from glassjax.errors.arguments import fits
from glassjax.errors.tracebacks import hiding_frames
from glassjax.numpy.dtypes import default_float
from glassjax.random.continuous import normal_numbers
from glassjax.random.keys import single_key
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.names import set_all
from glassjax_stage2 import shaped_array
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import canonical_axes, canonical_axis, ints
from glassjax_stage2.shaped_array import is_inexact

Axes = int | Sequence[int]
Shape = Sequence[int]


class Initializer(Protocol):
    """A function that draws an array of a shape and dtype.

    >>> def small(key, shape, dtype=jnp.float32):
    ...     return 0.01 * random.normal(key, shape, dtype)
    >>> initialize: nn.initializers.Initializer = small
    >>> initialize(random.key(0), (2, 3)).shape
    (2, 3)
    """

    def __call__(self, key: Any, shape: Shape, dtype: Any = None) -> Any: ...


def _draws(default: Any) -> Callable[[Callable[..., Any]], Initializer]:
    """Decorator: turn a function of a key, a shape and a resolved dtype into an initializer."""

    def initializer(draw: Callable[..., Any]) -> Initializer:
        @evaluated_by_library
        def init(key: Any, shape: Shape, dtype: Any = default) -> Any:
            found = (
                default_float()
                if dtype is None
                else shaped_array.dialect().dtype_of("initializer", dtype)
            )
            if not is_inexact(found):
                raise ValueError(f"initializer: expected a real or complex dtype, found {found}")
            return draw(key, ints("initializer: shape", shape), found)

        return init

    return initializer


@evaluated_by_library
def zeros(
    key: ArrayLike, shape: Shape, dtype: DTypeLike | None = None, out_sharding: Any = None
) -> Array:
    """An initializer: zeros.

    Arguments:
        key: not used.
        shape: the shape of the result.
        dtype: the dtype of the result; None: the default float.
        out_sharding: the sharding of the result over mesh axes of type `Explicit`.

    >>> nn.initializers.zeros(random.key(0), (3,))
    Array([0., 0., 0.], dtype=float32)
    """
    return jnp.zeros(shape, dtype, out_sharding=out_sharding)


@evaluated_by_library
def ones(
    key: ArrayLike, shape: Shape, dtype: DTypeLike | None = None, out_sharding: Any = None
) -> Array:
    """An initializer: ones.

    Arguments:
        key, shape, dtype, out_sharding: as in `zeros`.

    >>> nn.initializers.ones(random.key(0), (3,))
    Array([1., 1., 1.], dtype=float32)
    """
    return jnp.ones(shape, dtype, out_sharding=out_sharding)


@hiding_frames
def constant(value: ArrayLike, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer that fills with `value`, a number or an array that broadcasts to the shape.

    It ignores the key, and accepts any dtype.

    >>> constant(2.0)(None, (3,))
    Array([2., 2., 2.], dtype=float32)
    """
    default = dtype

    @evaluated_by_library
    def init(key: Any, shape: Shape, dtype: Any = default) -> Any:
        return jnp.full(shape, value, default_float() if dtype is None else dtype)

    return init


@hiding_frames
def uniform(scale: ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer: uniform numbers from 0 up to `scale`.

    >>> w = nn.initializers.uniform(scale=0.5)(random.key(0), (100, 100))
    >>> bool(jnp.all((w >= 0) & (w < 0.5)))
    True
    """

    def draw_uniform(key: Any, shape: Shape, dtype: np.dtype[Any]) -> Any:
        return random.uniform(key, shape, dtype) * jnp.array(scale, dtype)

    return _draws(dtype)(draw_uniform)


@hiding_frames
def normal(stddev: ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer: the normal distribution with mean 0 and this standard deviation.

    >>> w = nn.initializers.normal(stddev=0.5)(random.key(0), (100, 100))
    >>> f"{jnp.std(w):.1f}"
    '0.5'
    """

    def draw_normal(key: Any, shape: Shape, dtype: np.dtype[Any]) -> Any:
        return _scaled_normal(key, shape, dtype, jnp.array(stddev, dtype))

    return _draws(dtype)(draw_normal)


@hiding_frames
def truncated_normal(
    stddev: ArrayLike = 1e-2,
    dtype: DTypeLike | None = None,
    lower: ArrayLike = -2.0,
    upper: ArrayLike = 2.0,
) -> Initializer:
    """An initializer: the normal distribution between two bounds, then scaled by `stddev`.

    The truncation makes the standard deviation of the result less than `stddev`.

    Arguments:
        stddev: the standard deviation before the truncation.
        dtype: as in `variance_scaling`.
        lower: the lower bound, before scaling.
        upper: the upper bound, before scaling.

    >>> w = nn.initializers.truncated_normal(stddev=0.5)(random.key(0), (100, 100))
    >>> bool(jnp.all(jnp.abs(w) <= 1))
    True
    """

    def draw_truncated(key: Any, shape: Shape, dtype: np.dtype[Any]) -> Any:
        unit = random.truncated_normal(key, lower, upper, shape, dtype)
        return unit * jnp.array(stddev, dtype)

    return _draws(dtype)(draw_truncated)


@hiding_frames
def variance_scaling(
    scale: ArrayLike,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """An initializer whose variance is `scale` divided by the number of inputs or outputs.

    Arguments:
        scale: a positive number.
        mode: the divisor: "fan_in", "fan_out", "fan_avg", their mean, or "fan_geo_avg", their
            geometric mean.
        distribution: "truncated_normal", "normal" or "uniform".
        in_axis: the axis, or axes, of inputs.
        out_axis: the axis, or axes, of outputs.
        batch_axis: the batch axis, or axes. All others belong to the receptive field, as in a
            convolution's kernel.
        dtype: the dtype used when the initializer is called without one; None: the default float.

    Raises:
        ValueError: `mode` or `distribution` is something else; when called, the shape has fewer
            than two axes.

    >>> initialize = nn.initializers.variance_scaling(2.0, "fan_in", "uniform")
    >>> w = initialize(random.key(0), (100, 300))
    >>> f"{jnp.var(w) * 100:.1f}"
    '2.0'
    """
    if not fits(scale, complex):
        raise TypeError(f"variance_scaling: scale must be a number, found {shown(scale)}")
    if mode not in _MEANS:
        raise ValueError(f"variance_scaling: mode must be one of {[*_MEANS]}, found {mode!r}")
    if distribution not in _DISTRIBUTIONS:
        expected = [*_DISTRIBUTIONS]
        raise ValueError(
            f"variance_scaling: distribution must be one of {expected}, found {distribution!r}"
        )

    def draw_scaled(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        fans = _fans(shape, in_axis, out_axis, batch_axis)
        variance = jnp.array(scale / _MEANS[mode](*fans), dtype)
        return _DISTRIBUTIONS[distribution](key, shape, dtype, variance)

    return _draws(dtype)(draw_scaled)


_MEANS: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda fan_in, fan_out: fan_in,
    "fan_out": lambda fan_in, fan_out: fan_out,
    "fan_avg": lambda fan_in, fan_out: (fan_in + fan_out) / 2,
    "fan_geo_avg": lambda fan_in, fan_out: (fan_in * fan_out) ** 0.5,
}


def _fans(
    shape: tuple[int, ...], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """Return fan-in and fan-out, the inputs of each output and the outputs of each input."""
    if len(shape) < 2:
        raise ValueError(
            f"variance_scaling: a shape of inputs and outputs has two axes at least, found {shape}"
        )
    named = {"in_axis": in_axis, "out_axis": out_axis, "batch_axis": batch_axis}
    inputs, outputs, batch = (
        math.prod(
            shape[axis]
            for axis in canonical_axes(
                "variance_scaling", ints(f"variance_scaling: {name}", axes), len(shape)
            )
        )
        for name, axes in named.items()
    )
    size_of_kernel = math.prod(shape) / inputs / outputs / batch
    return inputs * size_of_kernel, outputs * size_of_kernel


def _truncated_normal(key: Any, shape: Shape, dtype: np.dtype[Any], variance: Any) -> Any:
    if dtype.kind != "c":  # 0.88 is the standard deviation after truncation to -2 and 2
        stddev = jnp.sqrt(variance) / jnp.array(0.87962566103423978, dtype)
        return random.truncated_normal(key, -2, 2, shape, dtype) * stddev
    stddev = jnp.sqrt(variance) / jnp.array(0.95311164380491208, dtype)
    return _in_disc(key, 2.0, shape, dtype) * stddev


def _normal(key: Any, shape: Shape, dtype: np.dtype[Any], variance: Any) -> Any:
    return _scaled_normal(key, shape, dtype, jnp.sqrt(variance))


def _scaled_normal(key: Any, shape: Shape, dtype: np.dtype[Any], stddev: Any) -> Any:
    if dtype.kind == "c":
        return random.normal(key, shape, dtype) * stddev
    return normal_numbers(single_key("normal", key), tuple(shape), dtype, stddev)


def _uniform(key: Any, shape: Shape, dtype: np.dtype[Any], variance: Any) -> Any:
    if dtype.kind != "c":
        return random.uniform(key, shape, dtype, -1) * jnp.sqrt(3 * variance)
    return _in_disc(key, None, shape, dtype) * jnp.sqrt(variance)


_DISTRIBUTIONS: dict[str, Callable[..., Any]] = {
    "truncated_normal": _truncated_normal,
    "normal": _normal,
    "uniform": _uniform,
}


def _in_disc(key: Any, upper: float | None, shape: Shape, dtype: np.dtype[Any]) -> Any:
    """Complex numbers of a random radius and angle.

    They are uniform in a disc, or normally distributed and truncated at radius `upper`; in both
    cases with variance 1 except for the truncation.
    """
    key_of_radius, key_of_angle = (random.fold_in(key, i) for i in range(2))
    uniform = random.uniform(key_of_radius, shape, np.finfo(dtype).dtype)
    if upper is None:
        radius = jnp.sqrt(2 * uniform)
    else:
        share = 1 - jnp.exp(jnp.array(-(upper**2), dtype))
        radius = jnp.sqrt(-jnp.log(1 - share * lax.convert_element_type(uniform, dtype)))
    turn = random.uniform(key_of_angle, shape, np.finfo(dtype).dtype)
    angle = jnp.array(2 * np.pi, dtype) * lax.convert_element_type(turn, dtype)
    return lax.convert_element_type(radius, dtype) * jnp.exp(jnp.array(1j, dtype) * angle)


@hiding_frames
def orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """An initializer: matrices with orthonormal rows or columns, whichever are fewer.

    Arguments:
        scale: the factor of the matrix.
        column_axis: the axis of columns. All others form the rows.
        dtype: the dtype used when the initializer is called without one; by default the default
            float dtype.

    Raises:
        ValueError: when called, the shape has fewer than two axes.

    >>> w = nn.initializers.orthogonal()(random.key(0), (2, 5))
    >>> bool(jnp.allclose(w @ w.T, jnp.eye(2), atol=1e-5))
    True
    """

    def draw_orthogonal(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        if len(shape) < 2:
            raise ValueError(f"orthogonal: the shape must have two axes at least, found {shape}")
        axis = canonical_axis("orthogonal", column_axis, len(shape))
        columns = shape[axis]
        row_sizes = shape[:axis] + shape[axis + 1 :]
        if 0 in shape:
            return jnp.zeros(shape, dtype)
        matrix = random.orthogonal(key, math.prod(row_sizes), (), dtype, columns)
        matrix = jnp.moveaxis(jnp.reshape(matrix, (*row_sizes, columns)), -1, axis)
        return jnp.array(scale, dtype) * matrix

    return _draws(dtype)(draw_orthogonal)


@hiding_frames
def delta_orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """An initializer of a convolution's kernel: `orthogonal` at the center, and zeros around it.

    (L. Xiao and others, "Dynamical isometry and a mean field theory of CNNs", 2018.)

    Arguments:
        scale: the factor of the matrix.
        column_axis: which of the last two axes holds columns.
        dtype: the dtype used when the initializer is called without one; by default the default
            float dtype.

    Raises:
        ValueError: when called, the shape does not have one to three axes before the last two, or
            there are fewer outputs (the last axis) than inputs (the one before).

    >>> kernel = nn.initializers.delta_orthogonal()(random.key(0), (3, 2, 2))
    >>> before, middle, after = kernel
    >>> bool(jnp.all(before == 0)), bool(jnp.allclose(middle @ middle.T, jnp.eye(2), atol=1e-5))
    (True, True)
    """

    def draw_delta(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"delta_orthogonal: the shape must have 3 to 5 axes, found {shape}")
        if shape[-1] < shape[-2]:
            raise ValueError(
                "delta_orthogonal: the last axis, of outputs, must be as large at least as the "
                f"one before, of inputs, found the shape {shape}"
            )
        matrix = orthogonal(scale, column_axis)(key, shape[-2:], dtype)
        middle = tuple((size - 1) // 2 for size in shape[:-2])
        return jnp.zeros(shape, dtype).at[middle].set(matrix)

    return _draws(dtype)(draw_delta)


def glorot_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike | None = None
) -> Initializer:
    """Glorot's initializer, uniform: `variance_scaling` with the mean fan.

    Arguments:
        in_axis, out_axis, batch_axis, dtype: as in `variance_scaling`.

    >>> w = nn.initializers.glorot_uniform()(random.key(0), (100, 300))
    >>> f"{100 * jnp.var(w):.1f}"
    '0.5'
    """
    return variance_scaling(1.0, "fan_avg", "uniform", in_axis, out_axis, batch_axis, dtype)


def glorot_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike | None = None
) -> Initializer:
    """Glorot's initializer, normal: `variance_scaling` with the mean fan.

    Arguments:
        in_axis, out_axis, batch_axis, dtype: as in `variance_scaling`.

    >>> w = nn.initializers.glorot_normal()(random.key(0), (100, 300))
    >>> f"{100 * jnp.var(w):.1f}"
    '0.5'
    """
    return variance_scaling(
        1.0, "fan_avg", "truncated_normal", in_axis, out_axis, batch_axis, dtype
    )


def lecun_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike | None = None
) -> Initializer:
    """LeCun's initializer, uniform: `variance_scaling` with the fan of the input.

    Arguments:
        in_axis, out_axis, batch_axis, dtype: as in `variance_scaling`.

    >>> w = nn.initializers.lecun_uniform()(random.key(0), (100, 300))
    >>> f"{100 * jnp.var(w):.1f}"
    '1.0'
    """
    return variance_scaling(1.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def lecun_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike | None = None
) -> Initializer:
    """LeCun's initializer, normal: `variance_scaling` with the fan of the input.

    Arguments:
        in_axis, out_axis, batch_axis, dtype: as in `variance_scaling`.

    >>> w = nn.initializers.lecun_normal()(random.key(0), (100, 300))
    >>> f"{100 * jnp.var(w):.1f}"
    '1.0'
    """
    return variance_scaling(1.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


def he_uniform(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike | None = None
) -> Initializer:
    """He's initializer, uniform: `variance_scaling` by 2, with the fan of the input.

    Arguments:
        in_axis, out_axis, batch_axis, dtype: as in `variance_scaling`.

    >>> w = nn.initializers.he_uniform()(random.key(0), (100, 300))
    >>> f"{100 * jnp.var(w):.1f}"
    '2.0'
    """
    return variance_scaling(2.0, "fan_in", "uniform", in_axis, out_axis, batch_axis, dtype)


def he_normal(
    in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike | None = None
) -> Initializer:
    """He's initializer, normal: `variance_scaling` by 2, with the fan of the input.

    Arguments:
        in_axis, out_axis, batch_axis, dtype: as in `variance_scaling`.

    >>> w = nn.initializers.he_normal()(random.key(0), (100, 300))
    >>> f"{100 * jnp.var(w):.1f}"
    '2.0'
    """
    return variance_scaling(2.0, "fan_in", "truncated_normal", in_axis, out_axis, batch_axis, dtype)


xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal

set_all(globals())
