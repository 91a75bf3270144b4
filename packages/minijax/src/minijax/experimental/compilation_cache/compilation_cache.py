"""The compile cache on disk, under the names of JAX."""

from minijax.runtime.compilation_cache import reset_cache, set_cache_dir

__all__ = ["reset_cache", "set_cache_dir"]
