"""What JAX has in `jax.experimental`, by the same names."""

from minijax.callbacks.io_callback import io_callback

__all__ = ["io_callback"]
