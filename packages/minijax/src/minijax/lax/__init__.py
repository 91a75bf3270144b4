"""The primitives as functions, under the names of `jax.lax`.

Each takes Arrays, numpy arrays, Python numbers and tracers, and returns Arrays. Operands must have
one dtype and one shape, scalars aside, and axes count from 0, as in JAX; only `minijax.numpy`
promotes.
"""

# ruff: noqa: F403
import typing as _typing

from minijax.lax import linalg as linalg
from minijax.lax.primitive_names import primitive_named as _primitive_named
from minijax.lax.promoting import *
from minijax.lax.strict import strict_functions as _strict_functions
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

globals().update(_strict_functions)  # in place of those that promote

_set_all_of_facade(globals(), "linalg")

if _typing.TYPE_CHECKING:
    from minijax.lax.declared_primitives import *
else:  # for a type checker, every attribute would exist

    def __getattr__(name: str) -> _typing.Any:
        """The primitives, by their names and `_p`: `add_p`."""
        return _primitive_named(__name__, name)
