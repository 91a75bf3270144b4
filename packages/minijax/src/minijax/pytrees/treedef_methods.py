"""Methods of structures that JAX's have: walking them, and files of them."""

from collections.abc import Callable, Iterable
from typing import Any

from minijax.pytrees.fast_flatten import fast_registry, fast_treedef
from minijax.settings.counted import counted
from minijax_stage2.tree import PyTreeDef, registry, tree_structure


def _walk(
    treedef: PyTreeDef,
    f_node: Callable[[Any, Any], Any],
    f_leaf: Callable[[Any], Any] | None,
    leaves: Iterable[Any],
) -> Any:
    """Replace leaves and, from the leaves up, nodes.

    Arguments:
        f_node: `f_node(children, node_data)`, in the place of each node.
        f_leaf: `f_leaf(leaf)`, in the place of each leaf; None keeps them.
        leaves: the leaves.

    Raises:
        ValueError: the number of leaves is not that of the structure.

    >>> tree = minijax.tree.structure({"a": (1, 2)})
    >>> tree.walk(lambda children, data: sum(children), lambda leaf: 10 * leaf, [1, 2])
    30
    """
    leaves = list(leaves)
    if len(leaves) != treedef.num_leaves:
        raise ValueError(
            f"walk: expected {counted(treedef.num_leaves, 'leaf')}, found {len(leaves)}, for the "
            f"structure {treedef}"
        )

    def node(cls: type, aux_data: Any, children: tuple[Any, ...]) -> Any:
        if cls not in registry:  # a namedtuple
            return f_node(children, cls)
        return f_node(children, list(aux_data) if cls is dict else aux_data)

    return treedef._build([*map(f_leaf, leaves)] if f_leaf else leaves, node)


def _serialize_using_proto(treedef: PyTreeDef) -> bytes:
    """The structure as bytes, those that JAX writes for it.

    Raises:
        ValueError: it has nodes that are not tuples, lists, None, or dicts with strings as keys.

    >>> tree = minijax.tree.structure({"a": (1, 2)})
    >>> data = tree.serialize_using_proto()
    >>> type(tree).deserialize_using_proto(minijax.tree_util.default_registry, data)
    PyTreeDef({'a': (*, *)})
    """
    return bytes(fast_treedef(treedef).serialize_using_proto())


def _deserialize_using_proto(registry: Any, data: bytes) -> PyTreeDef:
    """The structure of these bytes; `registry` is of no effect."""
    fast = fast_treedef(tree_structure(0)).deserialize_using_proto(fast_registry(), data)
    return tree_structure(fast.unflatten([object()] * fast.num_leaves))


def set_methods() -> None:
    """Give all structures these methods."""
    treedef: Any = PyTreeDef
    for method in _walk, _serialize_using_proto, _deserialize_using_proto:
        method.__name__ = method.__name__.removeprefix("_")
        method.__qualname__ = f"PyTreeDef.{method.__name__}"
        is_static = method is _deserialize_using_proto
        setattr(treedef, method.__name__, staticmethod(method) if is_static else method)


set_methods()
