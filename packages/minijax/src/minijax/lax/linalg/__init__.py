"""The decompositions of matrices, with the names and strictness of `jax.lax.linalg`."""

# ruff: noqa: F403
import typing as _typing

from minijax.lax.linalg.promoting import *
from minijax.lax.linalg.strict import strict_functions as _strict_functions
from minijax.lax.primitive_names import primitive_named as _primitive_named
from minijax.settings.public_names import set_all_of_facade as _set_all_of_facade

globals().update(_strict_functions)  # in place of those that promote
_set_all_of_facade(globals())

if _typing.TYPE_CHECKING:
    from minijax.lax.linalg.declared_primitives import *
else:  # for a type checker, every attribute would exist

    def __getattr__(name: str) -> _typing.Any:
        """The primitives of the functions here, by their names and `_p`: `cholesky_p`."""
        return _primitive_named(__name__, name, among=globals()["__all__"])
