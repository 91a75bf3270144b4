"""Flattening and mapping with the key path of each leaf."""

from collections.abc import Callable, Iterator
from typing import Any

from minijax_stage2.tree.path import KeyPath
from minijax_stage2.tree.registry import find_node_type
from minijax_stage2.tree.treedef import MAX_DEPTH, Node, PyTreeDef, flatten_up_to, too_deep

_DEEP = 1000


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Takes a tree apart as `tree_flatten` does, with the path to each leaf.

    Arguments:
        tree: the tree.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.
        is_leaf_takes_path: call `is_leaf(path, node)` instead.

    Returns:
        Pairs of key path and leaf, and the structure.

    Raises:
        ValueError: as `tree_flatten`.

    >>> from minijax_stage2.tree.path import keystr
    >>> pairs, _ = tree_flatten_with_path({"w": [1, 2]})
    >>> [(keystr(path), leaf) for path, leaf in pairs]
    [("['w'][0]", 1), ("['w'][1]", 2)]
    """
    pairs: list[tuple[KeyPath, Any]] = []
    nodes: list[Node | None] = []
    parents: list[tuple[Iterator[tuple[Any, Any]], Node | None]] = []
    path: list[Any] = []  # the keys above the siblings at hand; the root has none
    siblings: Iterator[tuple[Any, Any]] = iter(((None, tree),))
    parent: Node | None = None
    while True:
        for key, x in siblings:
            if parents:
                path.append(key)
            node_type = find_node_type(type(x))
            if is_leaf is not None and is_leaf(*((tuple(path), x) if is_leaf_takes_path else (x,))):
                node_type = None
            if node_type is not None:
                children, aux_data = node_type.flatten_keyed(x)
                parents.append((siblings, parent))
                siblings, parent = iter(children), (type(x), aux_data, len(children))
                break
            pairs.append((tuple(path), x))
            nodes.append(None)
            if parents:
                path.pop()
        else:
            if parent is None:
                return pairs, PyTreeDef(tuple(nodes), len(pairs))
            nodes.append(parent)
            siblings, parent = parents.pop()
            if parents:
                path.pop()
            continue
        if len(parents) == _DEEP:  # paths are long now: is there an end, at least?
            from minijax_stage2.tree.operations import tree_flatten

            tree_flatten(tree)
        if len(parents) > MAX_DEPTH:
            raise too_deep(tree)


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Returns the pairs of `tree_flatten_with_path`, without the structure.

    Arguments:
        tree: the tree.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.
        is_leaf_takes_path: call `is_leaf(path, node)` instead.

    >>> for path, leaf in tree_leaves_with_path({"layers": [{"w": 1.0}, {"w": 2.0}]}):
    ...     print(keystr(path), leaf)
    ['layers'][0]['w'] 1.0
    ['layers'][1]['w'] 2.0
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Maps over leaves as `tree_map` does, with the path as first argument.

    Arguments:
        f: `f(path, leaf, *others) -> leaf`.
        tree: the first tree, as for `tree_map`.
        *rest: further trees, as for `tree_map`.
        is_leaf: as for `tree_flatten_with_path`.
        is_leaf_takes_path: as for `tree_flatten_with_path`.

    Returns:
        A tree of the structure of `tree`, of the results of `f`.

    Raises:
        ValueError: a tree of `rest` differs; the message gives the path and both sides.

    >>> from minijax_stage2.tree.path import keystr
    >>> tree_map_with_path(lambda path, x: f"{keystr(path)} is {x}", {"w": (1,)})
    {'w': ("['w'][0] is 1",)}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    others = [flatten_up_to(treedef, other, f"rest[{i}]") for i, other in enumerate(rest)]
    results = (f(*pair, *xs) for pair, *xs in zip(pairs, *others, strict=True))
    return treedef.unflatten(results)
