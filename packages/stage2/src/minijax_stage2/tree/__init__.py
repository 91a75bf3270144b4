"""Pytrees: nested containers as one list of leaves and a structure.

A tree is a leaf, or a node of a registered type whose children are trees. Transformations
work on flat lists of arrays; these functions take the user's containers apart before, and
put them together again after. Names and results are those of `jax.tree_util`.
"""

from minijax_stage2.tree.display import (
    display_tree,
)
from minijax_stage2.tree.operations import (
    all_leaves,
    broadcast_prefix,
    tree_all,
    tree_broadcast,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_reduce,
    tree_structure,
    tree_transpose,
    tree_unflatten,
    treedef_tuple,
)
from minijax_stage2.tree.path import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyPath,
    SequenceKey,
    keystr,
)
from minijax_stage2.tree.registry import (
    NodeType,
    on_register,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    registry,
)
from minijax_stage2.tree.treedef import (
    PyTreeDef,
    explain_mismatch,
)
from minijax_stage2.tree.with_path import (
    tree_flatten_with_path,
    tree_leaves_with_path,
    tree_map_with_path,
)

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyPath",
    "NodeType",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "broadcast_prefix",
    "display_tree",
    "explain_mismatch",
    "keystr",
    "on_register",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "registry",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_tuple",
]
