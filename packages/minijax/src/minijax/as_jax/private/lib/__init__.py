"""jaxlib, which is the same here; `jax.lib` is this module, too."""

from minijax.xla import jaxlib_version, module_of_clients

version_str = __version__ = jaxlib_version()
xla_client = module_of_clients()

__all__ = ["version_str", "xla_client"]
