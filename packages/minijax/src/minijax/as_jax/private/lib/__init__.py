"""jaxlib, which is the same here; `jax.lib` is this module, too."""

from jaxlib import version, xla_client

version_str = __version__ = version.__version__
xla_extension = vars(xla_client)["_xla"]

__all__ = ["version_str", "xla_client", "xla_extension"]
