"""Trees in calls: parts of structures, and flattening in C++."""

from collections.abc import Callable, Iterable
from functools import cache
from threading import Lock
from typing import Any

from glassjax import xla
from glassjax_stage2.tree import PyTreeDef, registry, tree_flatten

# Structures of trees: their parts, and one inside another.


def children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the root's children, none for a leaf.

    >>> glassjax.tree.structure({"a": 1, "b": [2, 3]}).children()
    [PyTreeDef(*), PyTreeDef([*, *])]
    """
    nodes = treedef.nodes
    found: list[PyTreeDef] = []
    start = end = 1
    for _ in range(nodes[0][2] if nodes[0] else 0):
        missing = 1  # subtrees: a leaf completes one, a node of n children needs n more
        while missing:
            node = nodes[end]
            missing += node[2] - 1 if node else -1
            end += 1
        found.append(PyTreeDef(nodes[start:end]))
        start = end
    return found


def node_data(treedef: PyTreeDef) -> tuple[type[Any], Any] | None:
    """The root's class and its auxiliary data (for a dict: the list of its keys); None for a leaf.

    >>> glassjax.tree.structure({"a": 1, "b": [2, 3]}).node_data()
    (<class 'dict'>, ['a', 'b'])
    """
    root = treedef.nodes[0]
    if root is None:
        return None
    cls, aux_data, _ = root
    return cls, list(aux_data) if cls is dict else aux_data


def compose(treedef: PyTreeDef, inner_treedef: PyTreeDef) -> PyTreeDef:
    """This structure with `inner_treedef` in place of each leaf.

    >>> structure = glassjax.tree.structure
    >>> structure([0, 0]).compose(structure({"a": 1}))
    PyTreeDef([{'a': *}, {'a': *}])
    """
    inner = inner_treedef.nodes
    return PyTreeDef(tuple(x for n in treedef.nodes for x in (inner if n is None else (n,))))


def is_one_leaf(treedef: PyTreeDef) -> bool:
    """Return True for the structure of a single leaf."""
    return treedef.nodes == (None,)


def set_methods() -> None:
    """Give all structures the methods that JAX's have."""
    cls: Any = PyTreeDef
    for method in children, node_data, compose:
        method.__qualname__ = f"PyTreeDef.{method.__name__}"
        setattr(cls, method.__name__, method)
    cls.num_nodes = property(lambda treedef: len(treedef.nodes))


set_methods()


# Flattening of trees in C++, for fast calls.
#
# jaxlib can flatten trees with a custom registry. Ours mirrors stage 2's registry, including types
# that are registered later.


FastTreeDef = Any  # a structure in C++: hashable, and fast to compare


_mirrored = {type(None), tuple, list, dict}  # the classes in the C++ registry
_mirroring = Lock()
_in_cpp = cache(xla.pytree_registry)


def fast_registry() -> Any:
    """The registry in C++, with all types registered so far."""
    if len(_mirrored) < len(registry):
        with _mirroring:
            # copied, since other threads may register more
            for cls, node in registry.copy().items():
                if cls not in _mirrored:
                    flatten = getattr(node.flatten, "unchecked", node.flatten)
                    _in_cpp().register_node(cls, flatten, node.unflatten)
                    _mirrored.add(cls)
    return _in_cpp()


def fast_flatten(tree: Any) -> tuple[list[Any], FastTreeDef]:
    """The leaves of a tree, and its structure as a key for caches.

    Raises:
        ValueError: the keys of a dict cannot be sorted, or a node contains itself.
        RecursionError: Python's stack is too full for the callbacks from C++.
    """
    try:
        return fast_registry().flatten(tree)
    except ValueError:
        tree_flatten(tree)  # raises the right error
        raise
    except SystemError as error:  # a RecursionError, from C++
        tree_flatten(tree)
        if isinstance(error.__cause__, RecursionError):
            raise error.__cause__ from None
        raise


def fast_unflatten(treedef: PyTreeDef) -> Callable[[Iterable[Any]], Any]:
    """The function that puts leaves into a structure."""
    leaves = [_Leaf() for _ in range(treedef.num_leaves)]
    found, fast = fast_registry().flatten(treedef.unflatten(leaves))
    same = len(found) == len(leaves) and all(a is b for a, b in zip(found, leaves, strict=True))
    return fast.unflatten if same else treedef.unflatten


def fast_treedef(treedef: PyTreeDef) -> FastTreeDef:
    """The same structure in C++."""
    return fast_registry().flatten(treedef.unflatten([_Leaf()] * treedef.num_leaves))[1]


class _Leaf:
    """A placeholder for a leaf whose value does not matter."""
