"""The structure of a tree, without its leaves: `PyTreeDef`.

A structure is one flat tuple, in post-order: the children of a node stand before it, and
each node says how many of the finished subtrees to its left are its own. Hence nothing
here recurses, and comparing and hashing structures is comparing and hashing tuples.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from types import NoneType
from typing import Any

from minijax_stage2.errors import TreeMismatchError
from minijax_stage2.shown import counted
from minijax_stage2.tree.path import keystr
from minijax_stage2.tree.registry import NodeType, find_node_type, is_namedtuple, registry

# An inner node is (type, aux_data, number of children); a leaf is None.
Node = tuple[type[Any], Any, int]

MAX_DEPTH = 100_000  # a tree deeper than this is taken to contain itself


class PyTreeDef:
    """The structure of a tree: all of it but the leaves. Immutable, hashable, comparable.

    Made by `tree_structure` and `tree_flatten`.

    >>> from minijax_stage2.tree import tree_structure
    >>> tree_structure({"b": [1, 2], "a": 3})
    PyTreeDef({'a': *, 'b': [*, *]})
    """

    __slots__ = ("_hash", "_nodes", "_num_leaves")

    def __init__(self, nodes: tuple[Node | None, ...], num_leaves: int) -> None:
        self._nodes = nodes
        self._num_leaves = num_leaves
        self._hash: int | None = None

    @property
    def num_leaves(self) -> int:
        return self._num_leaves

    @property
    def num_nodes(self) -> int:
        """The number of nodes, inner nodes and leaves together."""
        return len(self._nodes)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        return self._nodes == other._nodes

    def __hash__(self) -> int:
        if self._hash is None:
            try:
                self._hash = hash(self._nodes)
            except TypeError:  # some aux_data is not hashable: let == tell such trees apart
                self._hash = hash(tuple(node and (node[0], node[2]) for node in self._nodes))
        return self._hash

    def __reduce__(self) -> Any:  # a hash does not outlive its process
        return PyTreeDef, (self._nodes, self._num_leaves)

    def __repr__(self) -> str:
        return f"PyTreeDef({self._build(['*'] * self._num_leaves, _repr_node)})"

    @property
    def described(self) -> str:
        """The structure as messages show it: `{'a': *, 'b': [*, *]}`, where `*` is a leaf."""
        return "a leaf" if self == _LEAF else repr(self)[len("PyTreeDef(") : -1]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Returns the tree of this structure that has the given leaves.

        Raises:
            TreeMismatchError: the number of leaves is not `num_leaves`.
        """
        leaves = list(leaves)
        if len(leaves) != self._num_leaves:
            raise TreeMismatchError(
                f"tree_unflatten: expected {counted(self._num_leaves, 'leaf')}, found "
                f"{len(leaves)}, for the structure {self.described}"
            )
        return self._build(leaves, _unflatten_node)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Returns the subtrees of `tree` that stand where this structure has leaves.

        Raises:
            TreeMismatchError: `tree` does not begin with this structure; the message says where.
        """
        return flatten_up_to(self, tree, "tree")

    def children(self) -> list["PyTreeDef"]:
        """Returns the structures of the root's children, none for a leaf."""
        root = self._nodes[-1]
        found = []
        end = len(self._nodes) - 1
        for _ in range(root[2] if root else 0):
            start, wanted, num_leaves = end, 1, 0
            while wanted:
                start -= 1
                node = self._nodes[start]
                wanted += node[2] - 1 if node else -1
                num_leaves += node is None
            found.append(PyTreeDef(self._nodes[start:end], num_leaves))
            end = start
        return found[::-1]

    def node_data(self) -> tuple[type[Any], Any] | None:
        """Returns the root's type and aux_data (a dict's: its list of keys); None for a leaf."""
        root = self._nodes[-1]
        if root is None:
            return None
        return root[0], list(root[1]) if root[0] is dict else root[1]

    def compose(self, inner_treedef: "PyTreeDef") -> "PyTreeDef":
        """Returns this structure with `inner_treedef` in the place of each leaf."""
        return self.replace_leaves([inner_treedef] * self._num_leaves)

    def replace_leaves(self, treedefs: Iterable["PyTreeDef"]) -> "PyTreeDef":
        """Returns this structure with a structure in the place of each leaf."""
        nodes: list[Node | None] = []
        num_leaves = 0
        replacements = iter(treedefs)
        for node in self._nodes:
            if node is not None:
                nodes.append(node)
                continue
            replacement = next(replacements)
            nodes.extend(replacement._nodes)
            num_leaves += replacement._num_leaves
        return PyTreeDef(tuple(nodes), num_leaves)

    def _build(
        self, leaves: Iterable[Any], make: Callable[[type[Any], Any, tuple[Any, ...]], Any]
    ) -> Any:
        """Replaces leaf by leaf, and each node by `make(type, aux_data, children)`."""
        next_leaf = iter(leaves).__next__
        built: list[Any] = []
        for node in self._nodes:
            if node is None:
                built.append(next_leaf())
            else:
                cls, aux_data, num_children = node
                first = len(built) - num_children
                children = tuple(built[first:])
                del built[first:]
                built.append(make(cls, aux_data, children))
        return built[0]


def _unflatten_node(cls: type[Any], aux_data: Any, children: tuple[Any, ...]) -> Any:
    node_type = registry.get(cls) or _node_type(cls)
    return node_type.unflatten(aux_data, children)


def _node_type(cls: type[Any]) -> NodeType:
    node_type = find_node_type(cls)
    if node_type is None:  # only after unpickling into a process without the registration
        raise ValueError(f"{cls!r} is not registered as a tree node")
    return node_type


_LEAF = PyTreeDef((None,), 1)


def _repr_node(cls: type[Any], aux_data: Any, children: tuple[str, ...]) -> str:
    inside = ", ".join(children)
    if cls is NoneType:
        return "None"
    if cls is tuple:
        return f"({inside},)" if len(children) == 1 else f"({inside})"
    if cls is list:
        return f"[{inside}]"
    if cls is dict:
        return (
            "{"
            + ", ".join(f"{k!r}: {child}" for k, child in zip(aux_data, children, strict=True))
            + "}"
        )
    name = f"namedtuple[{cls.__name__}]" if is_namedtuple(cls) else f"{cls.__name__}[{aux_data}]"
    return f"CustomNode({name}, [{inside}])"


def flatten_up_to(treedef: PyTreeDef, tree: Any, name: str) -> list[Any]:
    """`treedef.flatten_up_to(tree)`, with the tree called `name` in the error message."""
    subtrees: list[Any] = []
    pending = [tree]
    for node in reversed(treedef._nodes):
        x = pending.pop()
        if node is None:
            subtrees.append(x)
            continue
        cls, expected_data, num_children = node
        if type(x) is cls:
            node_type = registry.get(cls) or _node_type(cls)
            children, aux_data = node_type.flatten(x)
            children = tuple(children)
            same_data = aux_data is expected_data or aux_data == expected_data
            if same_data and len(children) == num_children:
                pending.extend(children)
                continue
        mismatch = explain_mismatch(treedef, tree, name=name, prefix=True)
        raise TreeMismatchError(
            f"trees differ in structure {mismatch}. Bring both to one structure, or have is_leaf "
            "stop above what differs."
        )
    subtrees.reverse()
    return subtrees


def too_deep(tree: Any) -> ValueError:
    return ValueError(
        f"a tree may be nested {MAX_DEPTH} deep at most; this {type(tree).__name__} is deeper, "
        "probably because it contains itself"
    )


def explain_mismatch(expected: Any, found: Any, *, name: str = "", prefix: bool = False) -> str:
    """Says where two trees first differ in structure, and what stands there in each.

    Arguments:
        expected: a tree, or a `PyTreeDef`.
        found: a tree, or a `PyTreeDef`.
        name: what to call the root in the path, such as the name of an argument.
        prefix: let any subtree stand where `expected` has a leaf.

    Returns:
        One line for an error message; empty if the structures agree.

    >>> explain_mismatch({"w": [(1, 2)]}, {"w": [[3, 4]]}, name="params")
    "at params['w'][0]: expected tuple of 2, found list of 2"
    """
    expand_expected = _expand_treedef if isinstance(expected, PyTreeDef) else _expand_tree
    expand_found = _expand_treedef if isinstance(found, PyTreeDef) else _expand_tree
    pending: list[tuple[tuple[Any, ...], Any, Any]] = [((), expected, found)]
    while pending:
        path, a, b = pending.pop()
        (node_a, pairs_a), (node_b, pairs_b) = expand_expected(a), expand_found(b)
        if node_a is None and (prefix or node_b is None):
            continue
        if node_a is None or node_b is None or node_a != node_b:
            where = name + keystr(path) or "the root"
            return f"at {where}: {_difference(node_a, a, node_b, b)}"
        for (key_a, child_a), (key_b, child_b) in zip(
            reversed(pairs_a), reversed(pairs_b), strict=True
        ):
            key = key_a if isinstance(found, PyTreeDef) else key_b  # values know their keys best
            pending.append(((*path, key), child_a, child_b))
    return ""


def _expand_tree(tree: Any) -> tuple[Node | None, list[tuple[Any, Any]]]:
    node_type = find_node_type(type(tree))
    if node_type is None:
        return None, []
    pairs, aux_data = node_type.flatten_keyed(tree)
    return (type(tree), aux_data, len(pairs)), pairs


def _expand_treedef(treedef: PyTreeDef) -> tuple[Node | None, list[tuple[Any, Any]]]:
    root = treedef._nodes[-1]
    if root is None:
        return None, []
    cls, aux_data, num_children = root
    keys = _node_type(cls).keys(aux_data, num_children)
    return root, list(zip(keys, treedef.children(), strict=True))


def _difference(node_a: Node | None, a: Any, node_b: Node | None, b: Any) -> str:
    if node_a and node_b and node_a[0] is node_b[0]:
        keys_a, keys_b = _dict_keys(node_a), _dict_keys(node_b)
        missing = [key for key in keys_a if key not in keys_b]
        unexpected = [key for key in keys_b if key not in keys_a]
        if missing or unexpected:
            parts = [f"missing {_few(missing)}"] * bool(missing)
            parts += [f"unexpected {_few(unexpected)}"] * bool(unexpected)
            return f"the keys of the {node_a[0].__name__} differ: {', '.join(parts)}"
    qualified = bool(
        node_a
        and node_b
        and node_a[0] is not node_b[0]
        and node_a[0].__name__ == node_b[0].__name__
    )
    return f"expected {_describe(node_a, a, qualified)}, found {_describe(node_b, b, qualified)}"


def _dict_keys(node: Node) -> tuple[Any, ...]:
    cls, aux_data, _ = node
    if cls is dict or cls is OrderedDict:
        return tuple(aux_data)
    return tuple(aux_data[1]) if cls is defaultdict else ()


def _describe(node: Node | None, x: Any, qualified: bool) -> str:
    if node is None:
        return "a leaf" if isinstance(x, PyTreeDef) else f"a leaf of type {type(x).__name__}"
    cls, aux_data, num_children = node
    name = f"{cls.__module__}.{cls.__qualname__}" if qualified else cls.__name__
    if cls is NoneType:
        return "None (a node without leaves)"
    if cls is list or cls is tuple:
        return f"{name} of {num_children}"
    if cls is dict or cls is OrderedDict:
        return f"{name} with keys {_few(aux_data)}"
    if cls is defaultdict:
        factory = getattr(aux_data[0], "__name__", aux_data[0])
        return f"{name}({factory}) with keys {_few(aux_data[1])}"
    if is_namedtuple(cls):
        return f"namedtuple {name}"
    size = f" of {num_children}" if num_children else ""
    data = "" if aux_data is None or aux_data == () else f" with aux data {aux_data!r}"
    return name + size + data


def _few(keys: Sequence[Any]) -> str:
    shown = [repr(key) for key in keys[:8]] + ["..."] * (len(keys) > 8)
    return f"[{', '.join(shown)}]"
