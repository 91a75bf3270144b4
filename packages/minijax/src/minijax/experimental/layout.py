"""Layouts of arrays in memory, under the names of `jax.experimental.layout`."""

from minijax.shardings.layout import Format, Layout

__all__ = ["Format", "Layout"]
