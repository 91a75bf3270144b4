"""The directory of compiled programs, under the names of `jax.experimental.compilation_cache`."""

from minijax.runtime.compilation_cache import reset_cache, set_cache_dir
from minijax.settings.names import also_importable_as, list_public_names

__all__ = ["reset_cache", "set_cache_dir"]
list_public_names(globals())
also_importable_as(globals(), "minijax.experimental.compilation_cache.compilation_cache")
