"""JAX's experimental names, such as `io_callback`; and `plan` and a `while_loop` with a bound."""

from minijax.callbacks import io_callback
from minijax.experimental.bounded_loop import while_loop
from minijax.plan import plan

__all__ = ["io_callback", "plan", "while_loop"]
