"""Looking into programs while they run, by the names of `jax.debug`."""

from minijax.debug.breakpoint import breakpoint
from minijax.debug.printing import callback, print

__all__ = ["breakpoint", "callback", "print"]
