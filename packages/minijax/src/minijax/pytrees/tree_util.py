"""Pytrees, under the names of `jax.tree_util`."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

from minijax.errors.tracebacks import hiding_frames
from minijax.pytrees import structures
from minijax.pytrees.keys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    SequenceKey,
    children_with_keys,
)
from minijax.pytrees.operations import (
    all_leaves,
    keystr,
    tree_all,
    tree_broadcast,
    tree_flatten_with_path,
    tree_leaves_with_path,
    tree_map_with_path,
    tree_reduce,
    tree_transpose,
    treedef_tuple,
)
from minijax.pytrees.registration import (
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from minijax_stage2 import tree
from minijax_stage2.tree import KeyPath, PyTreeDef, registry

Function = TypeVar("Function", bound=Callable[..., Any])


def _hiding_frames_here(function: Function) -> Function:
    """A function of stage 2, which calls the user's: those given to it, and of registered classes.

    It says that it is of this module, by which a pickle finds it.
    """
    function = hiding_frames(function)
    function.__module__ = __name__
    return function


tree_flatten = _hiding_frames_here(tree.tree_flatten)
tree_leaves = _hiding_frames_here(tree.tree_leaves)
tree_map = _hiding_frames_here(tree.tree_map)
tree_structure = _hiding_frames_here(tree.tree_structure)
tree_unflatten = _hiding_frames_here(tree.tree_unflatten)

KeyEntry = DictKey | FlattenedIndexKey | GetAttrKey | SequenceKey


class Partial(functools.partial[Any]):
    """`functools.partial` as a pytree: its arguments are leaves, the function is structure.

    So it passes through transformations, with its arguments.

    >>> import minijax
    >>> scale = Partial(lambda factor, x: factor * x, 3.0)
    >>> minijax.jit(lambda f, x: f(x))(scale, 2.0).item()
    6.0
    """

    __module__ = "minijax.tree_util"  # which its text shows

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **keywords: Any) -> Partial:
        whole = _Whole(func) if isinstance(func, functools.partial) else func
        return super().__new__(cls, whole, *args, **keywords)


class _Whole:
    """A `functools.partial` that is one function: another one does not take it apart."""

    def __init__(self, fun: Callable[..., Any]):
        self.fun = fun

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Whole) and self.fun == other.fun

    def __hash__(self) -> int:
        return hash(self.fun)

    def __repr__(self) -> str:
        return repr(self.fun)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)


@hiding_frames
def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Return True if the structure is that of a single leaf, or of a container that is empty.

    >>> tree_structure = minijax.tree_util.tree_structure
    >>> minijax.tree_util.treedef_is_leaf(tree_structure(1.0))
    True
    >>> minijax.tree_util.treedef_is_leaf(tree_structure([1.0, 2.0]))
    False
    """
    return len(treedef.nodes) == 1


@hiding_frames
def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the root's children, empty for a leaf.

    >>> structure = minijax.tree_util.tree_structure({"a": 1, "b": [2, 3]})
    >>> [child.num_leaves for child in minijax.tree_util.treedef_children(structure)]
    [1, 2]
    """
    return structures.children(treedef)


def is_tree_node(typ: type) -> bool:
    """Return True if the instances of a class are inner nodes of trees.

    >>> minijax.tree_util.is_tree_node(dict), minijax.tree_util.is_tree_node(float)
    (True, False)
    """
    return typ is type(None) or tree.find_node_type(typ) is not None


@hiding_frames
def flatten_one_level(tree: Any) -> tuple[Any, Any]:
    """The children of the root of a tree, and what else it consists of.

    Raises:
        ValueError: the tree is a leaf.

    >>> minijax.tree_util.flatten_one_level({"a": [1, 2], "b": 3})
    (([1, 2], 3), ('a', 'b'))
    """
    if tree is None or type(tree) not in registry:  # a namedtuple
        pairs, aux_data = flatten_one_level_with_keys(tree)
        children = [child for _, child in pairs]
        return children if isinstance(tree, tuple) else tuple(children), aux_data
    found, aux_data = registry[type(tree)].flatten(tree)
    is_tuple = isinstance(found, tuple) or type(tree) in (dict, defaultdict)
    return (tuple if is_tuple else list)(found), aux_data


@hiding_frames
def flatten_one_level_with_keys(tree: Any) -> tuple[Any, Any]:
    """The children of the root of a tree, each with its key, and what else it consists of.

    Raises:
        ValueError: the tree is a leaf.

    >>> minijax.tree_util.flatten_one_level_with_keys({"a": [1, 2]})
    (((DictKey(key='a'), [1, 2]),), ('a',))
    """
    if tree is None:
        return (), None
    cls = type(tree)
    if not is_tree_node(cls):
        raise ValueError(f"{cls!r} is not registered as a tree node")
    aux_data = registry[cls].flatten(tree)[1] if cls in registry else cls  # a namedtuple
    return tuple(children_with_keys(tree)), aux_data


@hiding_frames
def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = None,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Combine the leaves pairwise with an associative operation.

    Each leaf takes part in few steps, so rounding errors stay small even for many leaves.

    Arguments:
        operation: function of two leaves that returns one like them.
        tree: the tree.
        identity: the result if there are no leaves.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.

    Raises:
        TypeError: there are no leaves, and `identity` is not given.

    >>> gradients = {"w": jnp.array([3.0, 0.0]), "b": jnp.array([4.0])}
    >>> squares = minijax.tree.map(lambda g: jnp.sum(g**2), gradients)
    >>> jnp.sqrt(minijax.tree.reduce_associative(jnp.add, squares))
    Array(5., dtype=float32)
    """
    leaves = tree_leaves(tree, is_leaf=is_leaf)
    if not leaves:
        if identity is None:
            raise TypeError("tree_reduce_associative: the tree has no leaves; give an identity")
        return identity
    while len(leaves) > 1:
        pairs = [operation(*leaves[i : i + 2]) for i in range(0, len(leaves) - 1, 2)]
        leaves = pairs + leaves[len(leaves) - len(leaves) % 2 :]
    return leaves[0]


__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial", "PyTreeDef",
    "SequenceKey", "all_leaves", "flatten_one_level", "flatten_one_level_with_keys",
    "is_tree_node", "keystr", "register_dataclass", "register_pytree_node",
    "register_pytree_node_class", "register_pytree_with_keys", "register_pytree_with_keys_class",
    "register_static", "tree_all", "tree_broadcast", "tree_flatten", "tree_flatten_with_path",
    "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_with_path", "tree_reduce",
    "tree_reduce_associative", "tree_structure", "tree_transpose", "tree_unflatten",
    "treedef_children", "treedef_is_leaf", "treedef_tuple",
]  # fmt: skip
