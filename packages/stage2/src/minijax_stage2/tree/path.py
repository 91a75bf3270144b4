"""Key paths: the way from the root of a tree to one of its leaves, as a tuple of keys."""

from dataclasses import dataclass
from typing import Any

KeyPath = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """A position in a list or tuple, written `[0]`."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclass(frozen=True, slots=True)
class DictKey:
    """A key of a dict, written `['a']`."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """An attribute of a dataclass or namedtuple, written `.name`."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """A child of a type that was registered without keys, written `[<flat index 0>]`."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key!r}>]"


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Writes a key path as Python code would reach the leaf (`jax.tree_util.keystr`).

    Arguments:
        keys: the path, as `tree_flatten_with_path` gives it. Keys of any other type are
            written with `str`.
        simple: write the bare index, key or name, without brackets, quotes and dots.
        separator: what stands between two keys.

    Returns:
        The path as one string; empty for the root.

    >>> keystr((DictKey("layers"), SequenceKey(0), GetAttrKey("weight")))
    "['layers'][0].weight"
    >>> keystr((DictKey("layers"), SequenceKey(0)), simple=True, separator="/")
    'layers/0'
    """
    return separator.join(map(_bare if simple else str, keys))


def _bare(key: Any) -> str:
    match key:
        case SequenceKey(bare) | DictKey(bare) | GetAttrKey(bare) | FlattenedIndexKey(bare):
            return str(bare)
    return str(key)
