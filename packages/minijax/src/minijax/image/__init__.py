"""Images of another size, by the names of `jax.image`."""

from minijax.image.resizing import ResizeMethod, resize, scale_and_translate

__all__ = [
    "ResizeMethod",
    "resize",
    "scale_and_translate",
]
