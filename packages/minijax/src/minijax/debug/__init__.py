"""Looking into programs while they run, by the names of `jax.debug`."""

from minijax.debug.breakpoint import breakpoint
from minijax.debug.printing import callback, log, print

__all__ = ["breakpoint", "callback", "log", "print"]
