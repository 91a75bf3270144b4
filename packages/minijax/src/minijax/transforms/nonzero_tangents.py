"""Arguments of a function that have tangents, and results: `in_nzs` and `out_nzs`."""

from collections.abc import Callable, Sequence
from typing import Any

from minijax.pytrees import structures
from minijax.settings.counted import counted
from minijax_stage2 import Zero, current_trace
from minijax_stage2.errors import shown
from minijax_stage2.jvp import JVPTracer
from minijax_stage2.source import name_of
from minijax_stage2.tree import PyTreeDef, tree_flatten, tree_structure, tree_unflatten


class NonzeroTangents:
    """A function that is to be differentiated once, of which it notes what has a tangent.

    Arguments:
        caller: the transformation, for messages.
        fun: the function.
        in_nzs: for each argument True or False, or a tree of these that is a prefix of it but for
            the classes of its nodes: whether it has a tangent; None: all have.
        primals: the arguments.

    Attributes:
        out_nzs: for each result whether it has a tangent, in a tree; nodes that are neither tuples,
            lists nor dicts are tuples there. None before the call.

    Raises:
        TypeError: `in_nzs` holds something else than bools.
        ValueError: it is no such prefix.
    """

    def __init__(self, caller: str, fun: Callable[..., Any], in_nzs: Any, primals: tuple[Any, ...]):
        self.fun = fun
        self.out_nzs: Any = None
        self._have = None
        if in_nzs is not None:
            self._have = flags_of(f"{caller}: in_nzs", in_nzs, tree_structure(primals))
        self.__name__, self.__wrapped__ = name_of(fun), fun  # for messages

    def __call__(self, *args: Any) -> Any:
        if self._have is not None:
            leaves, tree = tree_flatten(args)
            pairs = zip(leaves, self._have, strict=True)
            args = tree_unflatten(tree, [x if has else _primal(x) for x, has in pairs])
        out = self.fun(*args)
        results, tree = tree_flatten(out)
        self.out_nzs = _in_plain_tree(tree, list(map(_has_tangent, results)))
        return out


def flags_of(role: str, given: Any, tree: PyTreeDef) -> list[bool]:
    """A bool for each leaf of a tree, of a prefix whose nodes have as many children.

    Raises:
        TypeError: `given` holds something else than bools.
        ValueError: a node of it has another number of children.
    """
    if type(given) is bool:
        return [given] * tree.num_leaves
    parts, structure = tree_flatten(given, is_leaf=lambda x: x is not given)
    if structures.is_one_leaf(structure):
        raise TypeError(f"{role} must be True, False or a tree of them, found {shown(given)}")
    below = structures.children(tree)
    if len(parts) != len(below):
        raise ValueError(
            f"{role} must be a prefix of the primals: {shown(given)} has "
            f"{counted(len(parts), 'part')}, and what it is for, {tree}, has {len(below)}"
        )
    pairs = zip(parts, below, strict=True)
    return [flag for part, child in pairs for flag in flags_of(role, part, child)]


def _primal(x: Any) -> Any:
    return x.primal if isinstance(x, JVPTracer) and x.interpreter is current_trace() else x


def _has_tangent(x: Any) -> bool:
    is_own = isinstance(x, JVPTracer) and x.interpreter is current_trace()
    return is_own and type(x.tangent) is not Zero


def _in_plain_tree(tree: PyTreeDef, flags: Sequence[bool]) -> Any:
    node = structures.node_data(tree)
    if node is None:
        return flags[0]
    parts, begin = [], 0
    for child in structures.children(tree):
        parts.append(_in_plain_tree(child, flags[begin : begin + child.num_leaves]))
        begin += child.num_leaves
    if node[0] is dict:
        return dict(zip(node[1], parts, strict=True))
    return parts if node[0] is list else None if node[0] is type(None) else tuple(parts)
