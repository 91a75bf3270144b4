"""Image resizing, under the names of `jax.image`."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.dimensions.expressions import is_symbolic
from glassjax.lax.precision import PrecisionLike
from glassjax.lax.shapes import sizes_of
from glassjax.numpy.transcendental import inexact_arrays
from glassjax.runtime.array import Array
from glassjax.runtime.operation import operation
from glassjax.settings.names import list_public_names
from glassjax_stage2 import typeof
from glassjax_stage2.functions import canonical_axes

# Resampling kernels: weights as functions of the distance from the sampled point.


Kernel = Callable[[Any], Any]


class ResizeMethod(enum.Enum):
    """Interpolation between the pixels of an image.

    NEAREST takes the nearest pixel; LINEAR, CUBIC, LANCZOS3 and LANCZOS5 weigh the pixels within a
    distance of 1, 2, 3 and 5. CUBIC_PYTORCH is the cubic kernel of OpenCV and PyTorch, for an image
    extended by its edge pixels; with antialiasing it is CUBIC. AREA weighs pixels by their overlap
    with the new pixel.

    >>> method = glassjax.image.ResizeMethod.NEAREST
    >>> glassjax.image.resize(jnp.array([1.0, 3.0]), (4,), method)
    Array([1., 1., 3., 3.], dtype=float32)
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of this name, as `resize` takes it.

        Raises:
            ValueError: there is none.
        """
        if s not in METHODS:
            raise ValueError(
                f"Unknown resize method {s!r}; the known ones are {', '.join(METHODS)}"
            )
        return METHODS[s]


METHODS = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(["linear", "bilinear", "trilinear", "triangle"], ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(["cubic", "bicubic", "tricubic"], ResizeMethod.CUBIC),
    **dict.fromkeys(["cubic-pytorch", "bicubic-pytorch"], ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}


def _triangle(distance: Any) -> Any:
    return jnp.maximum(0, 1 - distance)


def _lanczos(radius: int) -> Kernel:
    def kernel(distance: Any) -> Any:
        is_away = distance > 1e-3
        safe = jnp.where(is_away, distance, 1)
        waves = jnp.sin(math.pi * distance) * jnp.sin(math.pi / radius * distance)
        weight = jnp.where(is_away, radius * waves / (math.pi * safe) ** 2, 1)
        return jnp.where(distance > radius, 0, weight)

    return kernel


def _cubic(a: float) -> Kernel:
    """R. G. Keys' kernels, made of two cubic polynomials.

    Cubic convolution interpolation for digital image processing, 1981.
    """

    def kernel(distance: Any) -> Any:
        x = distance
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return jnp.where(x >= 2, 0, jnp.where(x >= 1, far, near))

    return kernel


KERNELS: dict[ResizeMethod, Kernel] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.LANCZOS3: _lanczos(3),
    ResizeMethod.LANCZOS5: _lanczos(5),
    ResizeMethod.CUBIC: _cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.75),
}


# Resizing, scaling and translation.
#
# One axis after the other, an image is multiplied by a matrix of weights, with a row for each pixel
# along that axis, and a column for each pixel of the result.


def _resize_weights(
    size: int, new_size: int, scale: Any, translation: Any, method: ResizeMethod, antialias: bool
) -> Any:
    """The matrix whose columns hold the weights of the old pixels in each new pixel."""
    dtype = typeof(scale).dtype
    pixel_size = 1 / scale  # the size of new pixels; old ones have size 1
    left = (jnp.arange(new_size, dtype=dtype) - translation) * pixel_size
    center = left + (0.5 * pixel_size - 0.5)
    pixels = jnp.arange(size, dtype=dtype)[:, None]
    if method == ResizeMethod.AREA:
        end = jnp.minimum(left + pixel_size, pixels + 1)
        weights = jnp.maximum(0, end - jnp.maximum(left, pixels))
    elif method == ResizeMethod.CUBIC_PYTORCH:  # the kernel reaches two pixels far
        around = jnp.arange(-2, size + 2, dtype=dtype)[:, None]
        around = KERNELS[method](jnp.abs(center - around))
        weights = around[2:-2].at[0].add(around[:2].sum(0)).at[-1].add(around[-2:].sum(0))
    else:
        # When shrinking, wider kernels average over more pixels, against aliasing.
        width = jnp.maximum(pixel_size, 1) if antialias else 1
        weights = KERNELS[method](jnp.abs(center - pixels) / width)
    total = weights.sum(0)
    is_tiny = jnp.abs(total) <= 1000 * float(np.finfo(np.float32).eps)
    weights = jnp.where(is_tiny, 0, weights / jnp.where(total != 0, total, 1))
    if method == ResizeMethod.CUBIC_PYTORCH:  # edge pixels extend the image
        return weights
    is_inside = (center >= -0.5) & (center <= size - 0.5)
    return jnp.where(is_inside, weights, 0)


def _sampled(
    image: Any,
    shape: Sequence[int],
    axes: Sequence[int],
    scale: Any,
    translation: Any,
    method: ResizeMethod,
    antialias: bool,
    precision: PrecisionLike,
) -> Any:
    if antialias and method == ResizeMethod.CUBIC_PYTORCH:
        method = ResizeMethod.CUBIC
    for i, axis in enumerate(axes):
        weights = _resize_weights(
            typeof(image).shape[axis], shape[axis], scale[i], translation[i], method, antialias
        )
        weights = weights.astype(typeof(image).dtype)
        out = jnp.tensordot(image, weights, axes=((axis,), (0,)), precision=precision)
        image = jnp.moveaxis(out, -1, axis)
    return image


def _method(caller: str, image: Any, shape: Sequence[int], method: Any) -> ResizeMethod:
    if len(shape) != typeof(image).ndim:
        raise ValueError(
            f"{caller}: shape must have length equal to the number of dimensions of the image, "
            f"found {tuple(shape)} for {typeof(image)}"
        )
    method = ResizeMethod.from_string(method) if isinstance(method, str) else method
    if not isinstance(method, ResizeMethod):
        raise TypeError(f"{caller}: method must be a ResizeMethod or a string, found {method!r}")
    return method


@operation(static=("shape", "method", "antialias", "precision"))
def resize(
    image: Any,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = lax.Precision.HIGHEST,
) -> Array:
    """The image resized to another shape; axes of unchanged size are not resampled.

    Arguments:
        image: an array with any number of axes, including batch and channel axes.
        shape: the new size of every axis.
        method: a `ResizeMethod`, or "nearest", "linear" (or "bilinear", "trilinear", "triangle"),
            "cubic" ("bicubic", "tricubic"), "cubic-pytorch", "lanczos3", "lanczos5" or "area".
        antialias: whether to smooth the image before shrinking it.
        precision: of the products.

    Returns:
        An array of that shape. Integers become floats, except with "nearest".

    Raises:
        ValueError: there is no such method, or `shape` has another length than the image axes.

    >>> import glassjax.numpy as jnp
    >>> resize(jnp.array([1.0, 3.0]), (4,), "linear")
    Array([1. , 1.5, 2.5, 3. ], dtype=float32)
    """
    shape = sizes_of("resize", shape)
    method = _method("resize", image, shape, method)
    sizes = typeof(image).shape
    axes = [i for i, (old, new) in enumerate(zip(sizes, shape, strict=True)) if old != new]
    if method == ResizeMethod.NEAREST:
        for axis in axes:
            old, new = sizes[axis], shape[axis]
            numpy: Any = jnp if is_symbolic((old, new)) else np
            centers = numpy.arange(new, dtype=np.float32) + np.float32(0.5)
            scale, unscale = numpy.asarray(old, np.float32), numpy.asarray(new, np.float32)
            pixels = numpy.floor(centers * scale / unscale)
            image = jnp.take(image, pixels.astype(np.int32), axis, mode="clip")
        return image
    (image,) = inexact_arrays(image)
    number = jnp.asarray(0.0).dtype
    scale = [jnp.asarray(shape[i] / sizes[i] if shape[i] else 1.0, number) for i in axes]
    translation = [jnp.asarray(0.0, number)] * len(axes)
    return _sampled(image, shape, axes, scale, translation, method, antialias, precision)


@operation(static=("shape", "spatial_dims", "method", "antialias", "precision"))
def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = lax.Precision.HIGHEST,
) -> Array:
    """The image scaled and then translated along some axes, with zeros outside of it.

    The center of the first pixel is at 0.5, the next at 1.5: the point `x` moves to `x * scale +
    translation`.

    Arguments:
        image: an array.
        shape: the size of every axis of the result.
        spatial_dims: the axes along which it is scaled and translated.
        scale: a number for each of them, differentiable.
        translation: a number for each of them, differentiable.
        method: as for `resize`, but not "nearest".
        antialias: whether to smooth the image before shrinking it.
        precision: of the products.

    Raises:
        ValueError: there is no such method, or `shape` has another length than the image axes, or
            the numbers are not as many as the axes.

    >>> image, scale, move = jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0]), jnp.array([1.0])
    >>> glassjax.image.scale_and_translate(image, (3,), (0,), scale, move, "linear")
    Array([0., 1., 2.], dtype=float32)
    """
    shape = sizes_of("scale_and_translate", shape)
    method = _method("scale_and_translate", image, shape, method)
    if method == ResizeMethod.NEAREST:
        raise ValueError("scale_and_translate: method 'nearest' is for resize only")
    (image,) = inexact_arrays(image)
    scale, translation = inexact_arrays(scale, translation)
    axes = [canonical_axes("scale_and_translate", d, typeof(image).ndim)[0] for d in spatial_dims]
    for name, numbers in (("scale", scale), ("translation", translation)):
        if typeof(numbers).shape != (len(axes),):
            raise ValueError(
                f"scale_and_translate: {name} must hold a number for each of the {len(axes)} "
                f"spatial_dims, found {typeof(numbers)}"
            )
    return _sampled(image, shape, axes, scale, translation, method, antialias, precision)


__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
list_public_names(globals())
