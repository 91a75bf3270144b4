"""Resampling kernels: weights as functions of the distance from the sampled point."""

import enum
import math
from collections.abc import Callable
from typing import Any

from minijax import numpy as jnp

Kernel = Callable[[Any], Any]


class ResizeMethod(enum.Enum):
    """Interpolation between the pixels of an image.

    NEAREST takes the nearest pixel; LINEAR, CUBIC, LANCZOS3 and LANCZOS5 weigh the pixels within a
    distance of 1, 2, 3 and 5. CUBIC_PYTORCH is the cubic kernel of OpenCV and PyTorch, for an image
    extended by its edge pixels; with antialiasing it is CUBIC. AREA weighs pixels by their overlap
    with the new pixel.

    >>> method = minijax.image.ResizeMethod.NEAREST
    >>> minijax.image.resize(jnp.array([1.0, 3.0]), (4,), method)
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
    def from_string(s: str) -> "ResizeMethod":
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
