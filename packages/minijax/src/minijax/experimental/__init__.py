"""JAX's experimental names: `io_callback`, and `jet`, Taylor-mode differentiation; and `plan`."""

from minijax.callbacks.io_callback import io_callback
from minijax.plan.planning import plan

__all__ = ["io_callback", "plan"]
