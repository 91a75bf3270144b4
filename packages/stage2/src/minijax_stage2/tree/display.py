"""A tree as lines of text, one for each node."""

from typing import Any

from minijax_stage2.tree.registry import find_node_type


def display_tree(tree: Any) -> str:
    """Draws a tree: a line for each node, its children indented below it (microjax).

    The line of an inner node gives its type and what its structure holds besides children
    (a dict's keys, None for a list or tuple).

    Arguments:
        tree: a tree of values.

    Returns:
        The lines, as one string without a newline at its end.

    >>> print(display_tree([1, {"a": (2, 3)}]))
    list: None
        Leaf: 1
        dict: ['a']
            tuple: None
                Leaf: 2
                Leaf: 3
    """
    lines = []
    pending = [(tree, "")]
    while pending:
        x, indent = pending.pop()
        node_type = find_node_type(type(x))
        if node_type is None:
            value = str(x).replace("\n", f"\n{indent}      ")  # arrays have lines of their own
            lines.append(f"{indent}Leaf: {value}")
            continue
        children, aux_data = node_type.flatten(x)
        shown = list(aux_data) if type(x) is dict else aux_data
        lines.append(f"{indent}{type(x).__name__}: {shown}")
        pending += [(child, indent + "    ") for child in reversed(tuple(children))]
    return "\n".join(lines)
