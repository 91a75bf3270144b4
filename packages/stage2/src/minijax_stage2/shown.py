"""Values in messages: on one line, sensibly shortened, tracers by their types."""

from typing import Any

from minijax_stage1 import Boxed

_IRREGULAR = {"axis": "axes", "entry": "entries", "leaf": "leaves"}


def shown(x: Any, length: int = 60) -> str:
    """A value as messages show it, cut to `length` with dots.

    >>> shown({"a": "word" * 20}, 20)
    "{'a': 'wordwordwo..."
    """
    try:
        text = " ".join(repr(_with_types(x)).split())
    except Exception:  # from a user's class
        text = f"<{type(x).__name__}>"
    return text if len(text) <= length else text[: length - 3] + "..."


class _Bare(str):
    """A text without quotes: the type of a tracer."""

    __repr__ = str.__str__


def _with_types(x: Any, depth: int = 3) -> Any:
    """Lists, tuples and dicts with tracers replaced by their types."""
    if isinstance(x, Boxed) and hasattr(x, "aval"):
        return _Bare(x.aval)
    if depth and type(x) in (list, tuple):
        return type(x)(_with_types(item, depth - 1) for item in x)
    if depth and type(x) is dict:
        return {key: _with_types(item, depth - 1) for key, item in x.items()}
    return x


def counted(number: int, noun: str) -> str:
    """A count of things, with the noun in the plural unless it is one.

    >>> counted(1, "axis"), counted(2, "axis"), counted(0, "positional argument")
    ('1 axis', '2 axes', '0 positional arguments')
    """
    head, _, last = noun.rpartition(" ")
    plural = f"{head} {_IRREGULAR.get(last, last + 's')}".strip()
    return f"{number} {noun if number == 1 else plural}"
