"""Inspection of running programs, under the names of `jax.debug`."""

from minijax.callbacks.breakpoint import breakpoint
from minijax.callbacks.debug_print import callback, log, print
from minijax.callbacks.inspect_sharding import inspect_array_sharding
from minijax.callbacks.visualize_sharding import visualize_array_sharding, visualize_sharding
from minijax.explaining.step import step
from minijax.primitives.effects import DebugEffect, OrderedDebugEffect

__all__ = [
    "DebugEffect", "OrderedDebugEffect", "breakpoint", "callback", "inspect_array_sharding",
    "log", "print", "step", "visualize_array_sharding", "visualize_sharding",
]  # fmt: skip
