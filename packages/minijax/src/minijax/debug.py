"""Inspection of running programs, under the names of `jax.debug`."""

from minijax.callbacks.breakpoint import breakpoint
from minijax.callbacks.debug_print import callback, log, print

__all__ = [
    "breakpoint", "callback", "log", "print",
]  # fmt: skip
