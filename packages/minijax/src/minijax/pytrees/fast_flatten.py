"""Flattening of trees in C++, for calls that have to be fast.

jaxlib can flatten trees with a custom registry. Ours mirrors that of stage 2, including types
registered later, and so agrees with it.
"""

from collections.abc import Callable, Iterable
from functools import cache
from threading import Lock
from typing import Any

from minijax import xla
from minijax_stage2.tree import PyTreeDef, registry, tree_flatten

FastTreeDef = Any  # a structure in C++: hashable, and quick to compare


_mirrored = {type(None), tuple, list, dict}  # what the registry in C++ knows, by itself at first
_mirroring = Lock()
_in_cpp = cache(xla.pytree_registry)


def fast_registry() -> Any:
    """The registry in C++, with all types registered so far."""
    if len(_mirrored) < len(registry):
        with _mirroring:
            # of a copy, since other threads may register more
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
        tree_flatten(tree)  # says what is wrong
        raise
    except SystemError as error:  # what C++ makes of a RecursionError
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
