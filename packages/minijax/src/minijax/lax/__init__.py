"""The primitives, as functions with the names of `jax.lax`.

Each takes Arrays, numpy arrays, Python numbers and tracers, and answers in Arrays. Operands must
have one dtype and one shape, scalars aside, and axes count from 0, as in JAX: it is `minijax.numpy`
that promotes.
"""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from minijax.lax import linalg
from minijax.lax.primitive_names import primitive_named as _primitive_named
from minijax.lax.promoting import *
from minijax.lax.promoting import __all__ as _promoting
from minijax.lax.strict import *

__all__ = [*_promoting, "linalg"]

if not _TYPE_CHECKING:  # for which a module with this function has every attribute

    def __getattr__(name: str) -> _Any:
        """The primitives, by their names and `_p`: `add_p`."""
        return _primitive_named(__name__, name)
