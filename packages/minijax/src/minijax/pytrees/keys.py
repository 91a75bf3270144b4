"""Keys: the steps from the root of a tree to a leaf, as objects.

The paths of stage 2 are strings; programs that use paths need their keys and indices.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from minijax_stage2.tree import NodeType, find_node_type, registry


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


@dataclass(frozen=True, eq=False)
class KeyedNodeType(NodeType):
    """The type of nodes that define keys for their children.

    Arguments:
        keyed: `keyed(node) -> (pairs of key and child, aux_data)`.
    """

    keyed: FlattenWithKeys | None = None

    def flatten_with_keys(self, node: Any) -> tuple[list[tuple[Any, Any]], Any]:
        if self.keyed is None:
            return super().flatten_with_keys(node)
        pairs, aux_data = self.keyed(node)
        return [(key, child) for key, child in pairs], aux_data


def _in_sequence(node: Any, aux_data: Any) -> Iterable[Any]:
    return map(SequenceKey, range(len(node)))


def _in_dict(node: Any, keys: Any) -> Iterable[Any]:
    return map(DictKey, keys)


# The keys of the children of nodes that stage 2 knows, by class; of what aux_data they have.
_KEYS: dict[type[Any], Callable[[Any, Any], Iterable[Any]]] = {
    list: _in_sequence,
    tuple: _in_sequence,
    dict: _in_dict,
    OrderedDict: _in_dict,
    defaultdict: lambda node, aux_data: map(DictKey, aux_data[1]),
}


def children_with_keys(node_type: NodeType, node: Any) -> list[tuple[Any, Any]]:
    """The children of a node, each with its key."""
    pairs, aux_data = node_type.flatten_with_keys(node)
    cls = node_type.type
    if cls in _KEYS:
        keys = _KEYS[cls](node, aux_data)
    elif find_node_type(cls) is not registry.get(cls):
        keys = map(GetAttrKey, cls._fields)  # of a namedtuple
    elif isinstance(node_type, KeyedNodeType) and node_type.keyed is not None:
        return pairs
    else:  # stage 2 has texts where nothing is known
        keys = [FlattenedIndexKey(i) if isinstance(k, str) else k for i, (k, _) in enumerate(pairs)]
    return [(key, child) for key, (_, child) in zip(keys, pairs, strict=True)]
