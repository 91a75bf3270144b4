"""The default of arguments for which None is a value."""

from typing import Any


class _NotGiven:
    def __repr__(self) -> str:
        return "<not given>"


not_given: Any = _NotGiven()
