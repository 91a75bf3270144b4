"""Keys: the steps from the root of a tree to a leaf, as objects.

The paths of stage 2 are strings; programs that use paths need their keys and indices.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from minijax_stage2.tree import find_node_type, registry


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """A position in a list or tuple, written `[0]`.

    >>> minijax.tree_util.keystr((SequenceKey(0),))
    '[0]'
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclass(frozen=True, slots=True)
class DictKey:
    """A key of a dict, written `['a']`.

    >>> minijax.tree_util.keystr((DictKey("a"),))
    "['a']"
    """

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """An attribute, such as a field of a namedtuple, written `.name`.

    >>> minijax.tree_util.keystr((GetAttrKey("name"),))
    '.name'
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """A child of a node without keys, written `[<flat index 0>]`.

    >>> minijax.tree_util.keystr((FlattenedIndexKey(0),))
    '[<flat index 0>]'
    """

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key!r}>]"


FlattenWithKeys = Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]]

# `flatten_with_keys(node) -> (pairs of key and child, aux_data)` of classes that define keys.
keyed_classes: dict[type[Any], FlattenWithKeys] = {}


def children_with_keys(node: Any) -> list[tuple[Any, Any]]:
    """The children of a node, each with its key."""
    cls = type(node)
    if cls in keyed_classes:
        return [(key, child) for key, child in keyed_classes[cls](node)[0]]
    found, aux_data = find_node_type(cls).flatten(node)
    children = tuple(found)
    return list(zip(_keys(cls, aux_data, len(children)), children, strict=True))


def _keys(cls: Any, aux_data: Any, num_children: int) -> Iterable[Any]:
    if cls is list or cls is tuple:
        return map(SequenceKey, range(num_children))
    if cls is dict:
        return map(DictKey, aux_data)
    if cls not in registry:  # a namedtuple
        return map(GetAttrKey, cls._fields)
    keys = registry[cls].keys(aux_data, num_children)
    # of a class that was registered in stage 2 there are only texts
    return [FlattenedIndexKey(i) if isinstance(key, str) else key for i, key in enumerate(keys)]


def keys_by_example(unflatten: Callable[..., Any], flatten_with_keys: FlattenWithKeys) -> Any:
    """The function `keys` of a node type: makes a node of placeholders, and asks it for its keys.

    Messages need it where only the structure of a tree is known.
    """

    def keys(aux_data: Any, num_children: int) -> list[Any]:
        try:
            pairs, _ = flatten_with_keys(unflatten(aux_data, (object(),) * num_children))
            found = [key for key, _ in pairs]
        except Exception:  # of a class that checks its children
            found = []
        is_whole = len(found) == num_children
        return found if is_whole else [*map(FlattenedIndexKey, range(num_children))]

    return keys
