"""Operations on pytrees that interpreters do not need: paths as text, folds, transposition."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

from minijax.errors.tracebacks import hiding_frames
from minijax.pytrees.keys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    SequenceKey,
    children_with_keys,
)
from minijax.pytrees.structures import compose
from minijax_stage2.errors import TreeMismatchError, shown
from minijax_stage2.tree import (
    IsLeaf,
    KeyPath,
    PyTreeDef,
    broadcast_prefix,
    explain_mismatch,
    find_node_type,
    tree_flatten,
    tree_leaves,
    tree_structure,
)

_UNSPECIFIED = object()


@hiding_frames
def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Write a key path as Python code that reaches the leaf (`jax.tree_util.keystr`).

    Arguments:
        keys: the path, as from `tree_flatten_with_path`. Keys of any other type are written with
            `str`.
        simple: write the bare index, key or name, without brackets, quotes and dots.
        separator: the text between two keys.

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


@hiding_frames
def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Flatten a tree as `tree_flatten` does, with the path to each leaf.

    Arguments:
        tree: the tree.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.
        is_leaf_takes_path: call `is_leaf(path, node)` instead.

    Returns:
        Pairs of key path and leaf, and the structure.

    Raises:
        ValueError: as `tree_flatten`.

    >>> pairs, _ = tree_flatten_with_path({"w": [1, 2]})
    >>> [(keystr(path), leaf) for path, leaf in pairs]
    [("['w'][0]", 1), ("['w'][1]", 2)]
    """
    if is_leaf is not None and is_leaf_takes_path:
        is_leaf = _asked_with_path(is_leaf)
    treedef = tree_structure(tree, is_leaf)
    found: list[tuple[KeyPath, Any]] = []
    pending: list[tuple[KeyPath, Any]] = [((), tree)]
    for node in treedef.nodes:
        path, x = pending.pop()
        if node is None:
            found.append((path, x))
        else:
            pending += [((*path, key), child) for key, child in reversed(children_with_keys(x))]
    return found, treedef


def _asked_with_path(is_leaf: Callable[[KeyPath, Any], bool]) -> IsLeaf:
    """Return `is_leaf` as a predicate of nodes alone, called on the way down."""
    pending: list[KeyPath] = [()]

    def is_leaf_here(node: Any) -> bool:
        path = pending.pop()
        is_leaf_of_tree = is_leaf(path, node)
        if find_node_type(type(node)) is not None and not is_leaf_of_tree:
            pending.extend((*path, key) for key, _ in reversed(children_with_keys(node)))
        return is_leaf_of_tree

    return is_leaf_here


@hiding_frames
def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Return the pairs of `tree_flatten_with_path`, without the structure.

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


@hiding_frames
def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Map over leaves as `tree_map` does, with the path as first argument.

    Arguments:
        f: `f(path, leaf, *others) -> leaf`.
        tree: the first tree, as for `tree_map`.
        *rest: further trees, as for `tree_map`.
        is_leaf: as for `tree_flatten_with_path`.
        is_leaf_takes_path: as for `tree_flatten_with_path`.

    Returns:
        A tree of the results of `f`, with the structure of `tree`.

    Raises:
        ValueError: a tree of `rest` differs; the message gives the path and both sides.

    >>> tree_map_with_path(lambda path, x: f"{keystr(path)} is {x}", {"w": (1,)})
    {'w': ("['w'][0] is 1",)}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    others = [treedef.flatten_up_to(other, f"rest[{i}]") for i, other in enumerate(rest)]
    results = (f(*pair, *xs) for pair, *xs in zip(pairs, *others, strict=True))
    return treedef.unflatten(results)


@hiding_frames
def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Return True if every item is a leaf.

    >>> all_leaves([1, 2]), all_leaves([1, None])
    (True, False)
    """
    if is_leaf is None:
        return all(find_node_type(type(x)) is None for x in iterable)
    return all(is_leaf(x) or find_node_type(type(x)) is None for x in iterable)


@hiding_frames
def tree_all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Return True if all leaves are true, or there are none.

    Arguments:
        tree: the tree.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.

    >>> tree_all({"a": [True, 1], "b": False}), tree_all([])
    (False, True)
    """
    try:
        return all(tree_leaves(tree, is_leaf))
    except ValueError as error:  # of an array that has several elements
        raise ValueError(f"tree_all: a leaf is neither true nor false: {error}") from None


@hiding_frames
def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Fold the leaves into one value, from left to right, as `functools.reduce` does.

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


@hiding_frames
def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Turn a tree of trees inside out.

    Arguments:
        outer_treedef: the outer structure, before.
        inner_treedef: the inner structure, the same at each leaf of the outer one; None to take it
            from the first.
        pytree_to_transpose: the tree. JAX accepts any tree with the right number of leaves; here
            its structure must match.

    Returns:
        A tree with `inner_treedef` outside and `outer_treedef` at each of its leaves.

    Raises:
        TypeError: the tree has another structure; the message gives the path.

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
    expected = compose(outer_treedef, inner_treedef)
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


@hiding_frames
def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple whose items have the given structures.

    >>> treedef_tuple([tree_structure([1, 2]), tree_structure(3)])
    PyTreeDef(([*, *], *))
    """
    items = tuple(treedefs)
    for item in items:
        if not isinstance(item, PyTreeDef):
            raise TypeError(f"treedef_tuple: expected PyTreeDefs, found {shown(item)}")
    nodes = [node for item in items for node in item.nodes]
    return PyTreeDef(((tuple, None, len(items)), *nodes))


@hiding_frames
def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Extend a prefix to the structure of the full tree (see `broadcast_prefix`).

    >>> tree_broadcast((0, 1), ([1, 2], {"a": 3}))
    ([0, 0], {'a': 1})
    """
    return tree_structure(full_tree).unflatten(broadcast_prefix(prefix_tree, full_tree, is_leaf))
