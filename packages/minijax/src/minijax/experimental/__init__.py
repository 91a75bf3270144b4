"""JAX's experimental names: `io_callback`, and `jet`, Taylor-mode differentiation."""

from minijax.callbacks.io_callback import io_callback

__all__ = ["io_callback"]
