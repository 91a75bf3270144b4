"""`default_registry`: the table of the classes whose instances are nodes of trees."""

from typing import Any

from minijax.pytrees import tree_util
from minijax.pytrees.tree_util import KeyPath, PyTreeDef, register_pytree_node
from minijax_stage2.tree import IsLeaf


class PyTreeRegistry:
    """The functions of `tree_util` as the methods that JAX's table has.

    >>> registry = minijax.tree_util.default_registry
    >>> registry.flatten_one_level((1, [2, 3]))[0]
    (1, [2, 3])
    >>> registry.flatten_one_level(1.0) is None
    True
    """

    def __reduce__(self) -> str:
        return "default_registry"

    def flatten(self, tree: Any, leaf_predicate: IsLeaf | None = None) -> tuple[Any, PyTreeDef]:
        """As `tree_flatten`."""
        return tree_util.tree_flatten(tree, leaf_predicate)

    def flatten_with_path(
        self, tree: Any, leaf_predicate: IsLeaf | None = None
    ) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
        """As `tree_flatten_with_path`."""
        return tree_util.tree_flatten_with_path(tree, leaf_predicate)

    def flatten_one_level(self, tree: Any) -> tuple[Any, Any] | None:
        """As `tree_util.flatten_one_level`; None for a leaf."""
        return tree_util.flatten_one_level(tree) if self.is_node(type(tree)) else None

    def flatten_one_level_with_keys(self, tree: Any) -> tuple[Any, Any] | None:
        """As `tree_util.flatten_one_level_with_keys`; None for a leaf."""
        return tree_util.flatten_one_level_with_keys(tree) if self.is_node(type(tree)) else None

    def is_node(self, type: type) -> bool:
        """As `tree_util.is_tree_node`."""
        return tree_util.is_tree_node(type)

    def register_node(self, nodetype: type, to_iterable: Any, from_iterable: Any) -> None:
        """As `register_pytree_node`."""
        register_pytree_node(nodetype, to_iterable, from_iterable)


default_registry = PyTreeRegistry()
