"""The largest number, the sum or the mean of each window."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import minijax.numpy as jnp
from minijax.errors.tracebacks import hiding_frames
from minijax.example_libraries.stax.dense import Layer, Shape
from minijax.lax import promoting as lax
from minijax_stage2.errors import shown
from minijax_stage2.functions import ints


def _pooling(
    caller: str,
    combine: Callable[..., Any],
    start: float,
    window_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: str,
    spec: str | None,
    is_mean: bool = False,
) -> Layer:
    spec, sizes, steps = _of_spatial_axes(caller, window_shape, strides, spec)
    window = _with_ones(spec, sizes)
    distances = _with_ones(spec, steps)

    def pool(x: Any, start: float, combine: Callable[..., Any]) -> Any:
        return lax.reduce_window(x, start, combine, window, distances, padding)

    def init_fun(rng: Any, input_shape: Sequence[int]) -> tuple[Shape, Any]:
        batch = spec.index("N")
        shape = list(input_shape)
        shape[batch] = 1
        pads = lax.padtype_to_pads(shape, window, distances, padding)
        shape = list(lax.reduce_window_shape_tuple(shape, window, distances, pads))
        shape[batch] = input_shape[batch]
        return tuple(shape), ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        outputs = pool(inputs, start, combine)
        if is_mean:  # of what is there: the zeros around the inputs do not count
            of_one = [1 if axis in "NC" else n for axis, n in zip(spec, inputs.shape, strict=True)]
            outputs = jnp.divide(outputs, pool(jnp.ones(of_one, outputs.dtype), 0.0, lax.add))
        return outputs

    return init_fun, apply_fun


def _of_spatial_axes(
    caller: str, window_shape: Any, strides: Any, spec: Any
) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """The letters of all axes, and window sizes and strides of the spatial ones."""
    sizes = ints(f"{caller}: window_shape", window_shape)
    steps = (1,) * len(sizes) if strides is None else ints(f"{caller}: strides", strides)
    if len(steps) != len(sizes):
        raise ValueError(
            f"{caller}: window_shape and strides must be as long, found {sizes} and {steps}"
        )
    if spec is None:
        spec = "N" + "S" * len(sizes) + "C"  # any letter for spatial axes
    if not isinstance(spec, str) or len(spec) - sum(map(spec.count, "NC")) != len(sizes):
        raise ValueError(
            f"{caller}: spec must have a letter for each axis, N, C and those of the "
            f"{len(sizes)} axes of window_shape, found {shown(spec)}"
        )
    return spec, sizes, steps


def _with_ones(spec: str, numbers: Sequence[int]) -> tuple[int, ...]:
    """Numbers for the spatial axes, 1 for batch and channels."""
    left = iter(numbers)
    return tuple([1 if axis in "NC" else next(left) for axis in spec])


@hiding_frames
def MaxPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """The largest number in each window of the inputs.

    Arguments:
        window_shape: the size of the window along each spatial axis.
        strides: the stride along each spatial axis; 1 by default.
        padding: "VALID", only whole windows; or "SAME", one window per number, or per stride.
        spec: a letter for each axis of the inputs: "N" for the batch, "C" for channels, others for
            spatial axes; by default the batch is first and channels are last.

    >>> _, apply_fun = MaxPool((2,), strides=(2,))
    >>> print(apply_fun((), jnp.arange(6.0).reshape(1, 6, 1)).ravel())
    [1. 3. 5.]
    """
    return _pooling("MaxPool", lax.max, -math.inf, window_shape, strides, padding, spec)


@hiding_frames
def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """The sum of each window of the inputs; arguments as for `MaxPool`."""
    return _pooling("SumPool", lax.add, 0.0, window_shape, strides, padding, spec)


@hiding_frames
def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """The mean of each window of the inputs, excluding padding; arguments as for `MaxPool`."""
    return _pooling("AvgPool", lax.add, 0.0, window_shape, strides, padding, spec, is_mean=True)


__all__ = ["AvgPool", "MaxPool", "SumPool"]
