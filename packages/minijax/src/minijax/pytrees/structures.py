"""Structures of trees: their parts, and one inside another."""

from typing import Any

from minijax_stage2.tree import PyTreeDef


def children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the root's children, none for a leaf.

    >>> minijax.tree.structure({"a": 1, "b": [2, 3]}).children()
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
    """The root's class and what is not a child (of a dict: the list of its keys); None for a leaf.

    >>> minijax.tree.structure({"a": 1, "b": [2, 3]}).node_data()
    (<class 'dict'>, ['a', 'b'])
    """
    root = treedef.nodes[0]
    if root is None:
        return None
    cls, aux_data, _ = root
    return cls, list(aux_data) if cls is dict else aux_data


def compose(treedef: PyTreeDef, inner_treedef: PyTreeDef) -> PyTreeDef:
    """This structure with `inner_treedef` in place of each leaf.

    >>> structure = minijax.tree.structure
    >>> structure([0, 0]).compose(structure({"a": 1}))
    PyTreeDef([{'a': *}, {'a': *}])
    """
    inner = inner_treedef.nodes
    return PyTreeDef(tuple(x for n in treedef.nodes for x in (inner if n is None else (n,))))


def is_one_leaf(treedef: PyTreeDef) -> bool:
    """Return True for the structure of a single leaf."""
    return treedef.nodes == (None,)


def set_methods() -> None:
    """Give all structures these methods, as JAX's have them."""
    cls: Any = PyTreeDef
    for method in children, node_data, compose:
        method.__qualname__ = f"PyTreeDef.{method.__name__}"
        setattr(cls, method.__name__, method)
    cls.num_nodes = property(lambda treedef: len(treedef.nodes))


set_methods()
