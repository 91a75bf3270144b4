"""Key paths: the way from the root of a tree to one of its leaves, as a tuple of keys."""

from dataclasses import dataclass
from typing import Any

KeyPath = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """A position in a list or tuple, written `[0]`.

    >>> path, leaf = tree_leaves_with_path(["first", "second"])[1]
    >>> path, str(path[0])
    ((SequenceKey(idx=1),), '[1]')
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclass(frozen=True, slots=True)
class DictKey:
    """A key of a dict, written `['a']`.

    >>> path, leaf = tree_leaves_with_path({"a": 1})[0]
    >>> path, str(path[0])
    ((DictKey(key='a'),), "['a']")
    """

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """An attribute of a dataclass or namedtuple, written `.name`.

    >>> from collections import namedtuple
    >>> path, leaf = tree_leaves_with_path(namedtuple("Point", "x y")(1, 2))[0]
    >>> path, str(path[0])
    ((GetAttrKey(name='x'),), '.x')
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """A child of a type that was registered without keys, written `[<flat index 0>]`.

    >>> class Box:
    ...     def __init__(self, inside):
    ...         self.inside = inside
    >>> register_pytree_node(Box, lambda b: ([b.inside], None), lambda _, xs: Box(*xs))
    >>> path, leaf = tree_leaves_with_path(Box(1))[0]
    >>> path, str(path[0])
    ((FlattenedIndexKey(key=0),), '[<flat index 0>]')
    """

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
