"""Waiting for what was started."""

from minijax import effects_barrier as wait_for_tokens

__all__ = ["wait_for_tokens"]
