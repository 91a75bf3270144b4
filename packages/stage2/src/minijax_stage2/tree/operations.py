"""Operations on whole trees: flattening, unflattening, mapping.

`is_leaf`, where a function has it, is asked at every node on the way down, the root first;
where it says yes, the node is a leaf, whatever its type.
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from minijax_stage2.errors import TreeMismatchError
from minijax_stage2.tree.registry import find_node_type, is_namedtuple, namedtuple_node, registry
from minijax_stage2.tree.treedef import (
    MAX_DEPTH,
    Node,
    PyTreeDef,
    explain_mismatch,
    flatten_up_to,
    too_deep,
)

IsLeaf = Callable[[Any], bool]

_UNSPECIFIED = object()


def tree_flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], PyTreeDef]:
    """Takes a tree apart.

    Arguments:
        tree: any value; one of a type that is not registered is a tree of one leaf.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.

    Returns:
        The leaves from left to right (a dict's in the order of its sorted keys), and the
        structure that `tree_unflatten` needs to put them together again.

    Raises:
        ValueError: the keys of a dict cannot be sorted, or the tree contains itself.

    >>> tree_flatten({"b": [1, None], "a": (2,)})
    ([2, 1], PyTreeDef({'a': (*,), 'b': [*, None]}))
    """
    leaves: list[Any] = []
    nodes: list[Node | None] = []
    parents: list[tuple[Iterator[Any], Node | None]] = []
    siblings: Iterator[Any] = iter((tree,))
    parent: Node | None = None
    find = registry.get
    while True:
        for x in siblings:
            cls = type(x)
            node_type = find(cls)
            if node_type is None and isinstance(x, tuple) and is_namedtuple(cls):
                node_type = namedtuple_node(cls)
            if (is_leaf is not None and is_leaf(x)) or node_type is None:
                leaves.append(x)
                nodes.append(None)
                continue
            children, aux_data = node_type.flatten(x)
            children = tuple(children)
            parents.append((siblings, parent))
            siblings, parent = iter(children), (cls, aux_data, len(children))
            break
        else:  # all siblings are done, so their parent is
            if parent is None:
                return leaves, PyTreeDef(tuple(nodes), len(leaves))
            nodes.append(parent)
            siblings, parent = parents.pop()
            continue
        if len(parents) > MAX_DEPTH:
            raise too_deep(tree)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Puts a tree together: the inverse of `tree_flatten`.

    Arguments:
        treedef: the structure.
        leaves: as many values as it has leaves.

    Returns:
        The tree.

    Raises:
        ValueError: the number of leaves is wrong; the message states both and the structure.

    >>> tree_unflatten(tree_structure({"a": (1,), "b": 2}), "xy")
    {'a': ('x',), 'b': 'y'}
    """
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Returns the leaves of a tree, the first part of `tree_flatten`'s result.

    Arguments:
        tree: the tree.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.

    >>> tree_leaves({"b": [1, (2, None)], "a": 3})
    [3, 1, 2]
    >>> tree_leaves([(1, 2), (3, 4)], is_leaf=lambda node: isinstance(node, tuple))
    [(1, 2), (3, 4)]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """Returns the structure of a tree, the second part of `tree_flatten`'s result.

    Arguments:
        tree: the tree.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.

    >>> tree_structure({"a": [1, 2]}) == tree_structure({"a": ["x", "y"]})
    True
    >>> tree_structure({"a": [1, 2]}).num_leaves
    2
    """
    return tree_flatten(tree, is_leaf)[1]


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Returns whether every item is a leaf.

    >>> all_leaves([1, 2]), all_leaves([1, None])
    (True, False)
    """
    if is_leaf is None:
        return all(find_node_type(type(x)) is None for x in iterable)
    return all(is_leaf(x) or find_node_type(type(x)) is None for x in iterable)


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Maps a function over the leaves of one tree, or of several side by side.

    Arguments:
        f: `f(leaf, *others) -> leaf`, one argument for each tree.
        tree: the tree whose structure counts.
        *rest: trees that begin with that structure: where `tree` has a leaf they may have
            whole subtrees, and `f` gets those.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes of `tree` leaves.

    Returns:
        A tree of that structure, of the results of `f`.

    Raises:
        ValueError: a tree of `rest` differs; the message gives the path and both sides.

    >>> tree_map(lambda x, y: x * y, {"a": 2, "b": (3,)}, {"a": 5, "b": (7,)})
    {'a': 10, 'b': (21,)}
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    others = [flatten_up_to(treedef, other, f"rest[{i}]") for i, other in enumerate(rest)]
    return treedef.unflatten(map(f, leaves, *others))


def tree_all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Returns whether all leaves are true; a tree without leaves is.

    Arguments:
        tree: the tree.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.

    >>> tree_all({"a": [True, 1], "b": False}), tree_all([])
    (False, True)
    """
    return all(tree_leaves(tree, is_leaf))


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Folds the leaves into one value, from left to right, as `functools.reduce` does.

    Arguments:
        function: `function(value_so_far, leaf) -> value`.
        tree: the tree.
        initializer: the first value; without it, the first leaf.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.

    Returns:
        The last value.

    Raises:
        TypeError: there are no leaves and no initializer.

    >>> tree_reduce(lambda total, x: total + x, {"a": 1, "b": [2, 3]})
    6
    """
    leaves = tree_leaves(tree, is_leaf)
    if initializer is not _UNSPECIFIED:
        return functools.reduce(function, leaves, initializer)
    if not leaves:
        raise TypeError("tree_reduce: the tree has no leaves; give an initializer")
    return functools.reduce(function, leaves)


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Turns a tree of trees inside out.

    Arguments:
        outer_treedef: the structure outside, before.
        inner_treedef: the structure inside, the same at each leaf of the outer one; None to
            take it from the first.
        pytree_to_transpose: the tree. JAX lets any tree pass that has the right number of
            leaves; here its structure must be the one described.

    Returns:
        A tree with `inner_treedef` outside and `outer_treedef` at each of its leaves.

    Raises:
        TypeError: the tree is not structured so; the message gives the path.

    >>> pairs = [(1, 2), (3, 4), (5, 6)]
    >>> tree_transpose(tree_structure([0, 0, 0]), tree_structure((0, 0)), pairs)
    ([1, 3, 5], [2, 4, 6])
    """
    if inner_treedef is None:
        first = outer_treedef.flatten_up_to(pytree_to_transpose)[:1]
        if not first:
            raise TypeError(
                "tree_transpose: the outer structure has no leaves to take the inner structure "
                "from; give inner_treedef"
            )
        inner_treedef = tree_structure(first[0])
    leaves, treedef = tree_flatten(pytree_to_transpose)
    expected = outer_treedef.compose(inner_treedef)
    if treedef != expected:
        mismatch = explain_mismatch(expected, pytree_to_transpose, name="pytree_to_transpose")
        raise TreeMismatchError(
            f"tree_transpose: {mismatch}. The tree must have the outer structure, with the inner "
            "one in the place of each leaf."
        )
    num_inner = inner_treedef.num_leaves
    return inner_treedef.unflatten(
        outer_treedef.unflatten(leaves[i::num_inner]) for i in range(num_inner)
    )


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Returns the structure of a tuple whose items have the given structures.

    >>> treedef_tuple([tree_structure([1, 2]), tree_structure(3)])
    PyTreeDef(([*, *], *))
    """
    items = tuple(treedefs)
    return tree_structure((0,) * len(items)).replace_leaves(items)


def broadcast_prefix(
    prefix_tree: Any,
    full_tree: Any,
    is_leaf: IsLeaf | None = None,
    *,
    name: str = "full_tree",
) -> list[Any]:
    """Repeats each leaf of a prefix for all leaves that stand below it in the full tree.

    Arguments:
        prefix_tree: the beginning of the full tree: it may stop anywhere with a leaf.
        full_tree: the tree.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes of the prefix leaves. It is not
            asked about the full tree: with `lambda x: x is None`, a None in the prefix is a
            value to repeat, while a None in the full tree has no leaves as ever.
        name: what to call the full tree in the path of an error message.

    Returns:
        As many values as the full tree has leaves.

    Raises:
        ValueError: the full tree does not begin with the prefix; the message gives the path.

    >>> broadcast_prefix((0, None), ([1, 2], {"a": 3}), is_leaf=lambda x: x is None)
    [0, 0, None]
    """
    prefix_leaves, prefix_treedef = tree_flatten(prefix_tree, is_leaf)
    subtrees = flatten_up_to(prefix_treedef, full_tree, name)
    repeated: list[Any] = []
    for leaf, subtree in zip(prefix_leaves, subtrees, strict=True):
        repeated += [leaf] * tree_structure(subtree).num_leaves
    return repeated


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Extends a prefix to the structure of the full tree (see `broadcast_prefix`).

    >>> tree_broadcast((0, 1), ([1, 2], {"a": 3}))
    ([0, 0], {'a': 1})
    """
    return tree_structure(full_tree).unflatten(broadcast_prefix(prefix_tree, full_tree, is_leaf))
