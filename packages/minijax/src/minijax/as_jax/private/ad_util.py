"""Symbolic zeros, and `stop_gradient`."""

from minijax.extend.core.primitives import stop_gradient_p
from minijax.interpreters.ad import Zero
from minijax.interpreters.ad import instantiate_zeros as instantiate

__all__ = ["Zero", "instantiate", "stop_gradient_p"]
