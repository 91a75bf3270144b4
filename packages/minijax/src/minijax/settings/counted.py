"""Counts of things in messages."""

_IRREGULAR = {"axis": "axes", "entry": "entries", "leaf": "leaves"}


def counted(number: int, noun: str) -> str:
    """A count of things, with the noun in the plural unless it is one.

    >>> counted(1, "axis"), counted(2, "axis"), counted(0, "positional argument")
    ('1 axis', '2 axes', '0 positional arguments')
    """
    head, _, last = noun.rpartition(" ")
    plural = f"{head} {_IRREGULAR.get(last, last + 's')}".strip()
    return f"{number} {noun if number == 1 else plural}"
