"""Image resizing, under the names of `jax.image`."""

from minijax.image.kernels import ResizeMethod
from minijax.image.resizing import resize, scale_and_translate

__all__ = [
    "ResizeMethod", "resize", "scale_and_translate",
]  # fmt: skip
