"""The package of the compile cache on disk (`jax.experimental.compilation_cache`)."""

from minijax.experimental.compilation_cache import compilation_cache

__all__ = ["compilation_cache"]
