"""`make_user_context`: values of the user's on which jitted functions depend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minijax.settings.number_types import NumbersOption
from minijax.settings.reusable_contexts import reusable_context
from minijax_stage2.errors import shown

# The values of all contexts that differ from the defaults, which are a part of every cache key.
_values = NumbersOption("user_contexts", object, frozenset(), "The values of user contexts.")


class UserContext:
    """A value that is read where functions are traced, and set for blocks.

    A jitted function is traced and compiled for each value that it is called under.

    Attributes:
        value: the current one in this thread.

    >>> unit = make_user_context(default_value="m")
    >>> @minijax.jit
    ... def length(x):
    ...     return x * {"m": 1.0, "km": 1000.0}[unit.value]
    >>> with unit("km"):
    ...     length(2.0).item()
    2000.0
    >>> length(2.0).item()
    2.0
    """

    def __init__(self, default: Any):
        self._default = default

    @property
    def value(self) -> Any:
        """The value in this thread."""
        return dict(_values.value).get(self, self._default)

    @reusable_context
    def __call__(self, new_val: Any) -> Iterator[None]:
        """Set the value for the block of a `with`, in this thread only.

        Raises:
            TypeError: the value cannot be hashed.
        """
        with _values.override(self._with(new_val, _values.value)):
            yield

    def get_global(self) -> Any:
        """The value for all threads, which blocks of a `with` change for theirs."""
        return dict(_values.everywhere).get(self, self._default)

    def set_global(self, value: Any) -> None:
        """Set the value for all threads, except in blocks that set it."""
        _values.update(self._with(value, _values.everywhere))

    def _with(self, value: Any, values: Any) -> frozenset[tuple[UserContext, Any]]:
        try:
            return frozenset({**dict(values), self: value}.items())
        except TypeError:
            raise TypeError(
                "a user context: the value is part of the keys of compiled programs, so it must be "
                f"hashable, found {shown(value)} of type {type(value).__name__}"
            ) from None


def make_user_context(default_value: Any = None) -> UserContext:
    """A value on which jitted functions depend: one program is compiled for each.

    Arguments:
        default_value: the value outside of all blocks.

    Returns:
        An object `context` with the current `context.value`; `with context(value):` sets it.

    >>> context = minijax.make_user_context(1)
    >>> with context(2):
    ...     context.value
    2
    """
    return UserContext(default_value)
