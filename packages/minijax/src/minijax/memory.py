"""Kinds of memory (`jax.memory`)."""

from minijax.shardings.memory import Space

__all__ = ["Space"]
