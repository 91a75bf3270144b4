"""Pytrees: nested containers as one list of leaves and a structure.

A tree is a leaf, or a node of a registered type whose children are trees. Transformations work on
flat lists of arrays; these functions flatten the user's containers before, and rebuild them
afterwards. Names and results are as in `jax.tree_util`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from glassjax_stage2.errors import TreeMismatchError, shown

MAX_NODES = 10_000_000

KeyPath = tuple[Any, ...]  # the path from the root to a leaf: keys that print as source code


def keystr(keys: KeyPath) -> str:
    """Write a key path as Python code that reaches the leaf.

    >>> [(path, _)], _ = tree_flatten_with_path({"layers": [0.5]})
    >>> path, keystr(path)
    (("['layers']", '[0]'), "['layers'][0]")
    """
    return "".join(map(str, keys))


class NodeType(NamedTuple):
    """Flattening and unflattening of the nodes of one class.

    Arguments:
        flatten: `flatten(node) -> (children, aux_data)`. `aux_data` is part of the structure, so it
            should be comparable and hashable.
        unflatten: `unflatten(aux_data, children) -> node`.
        keys: `keys(aux_data, num_children) -> the children's keys`, whose text appears in paths.
    """

    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[Any, tuple[Any, ...]], Any]
    keys: Callable[[Any, int], Iterable[Any]]


registry: dict[type[Any], NodeType] = {}


def find_node_type(cls: type[Any]) -> Any:
    """Return the node type of class `cls`, or None if its instances are leaves.

    A subclass of a registered class is a leaf until it is registered itself. Namedtuples are nodes
    without registration: tuples with `_fields`.
    """
    if cls not in registry and issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _namedtuple_node(cls)
    return registry.get(cls)


@cache
def _namedtuple_node(cls: Any) -> NodeType:
    fields = [f".{name}" for name in cls._fields]
    return NodeType(lambda x: (x, None), lambda _, children: cls(*children), lambda *_: fields)


def _index_keys(aux_data: Any, num_children: int) -> list[str]:
    return [f"[{i}]" for i in range(num_children)]


def register_pytree_node(
    nodetype: type[Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, tuple[Any, ...]], Any],
    keys: Callable[[Any, int], Iterable[Any]] = _index_keys,
) -> None:
    """Make the instances of a class inner nodes of trees.

    Arguments:
        nodetype: the class; its subclasses are not registered with it.
        flatten_func: `flatten_func(node) -> (children, aux_data)`. `aux_data` holds everything that
            is not a child: it is compared when structures are, and should be hashable.
        unflatten_func: `unflatten_func(aux_data, children) -> node`, the inverse. The
            children may be any objects, so it should not check or convert them.
        keys: `keys(aux_data, num_children) -> the children's keys`: code for each child, such
            as `.x` in `node.x`.

    Raises:
        ValueError: the class is already registered.

    >>> class Point:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> register_pytree_node(Point, lambda p: ((p.x, p.y), None), lambda _, xy: Point(*xy))
    >>> tree_leaves([Point(1, 2), 3])
    [1, 2, 3]
    """
    if nodetype in registry:
        raise ValueError(f"{nodetype!r} is already registered as a tree node; register it once")
    registry[nodetype] = NodeType(flatten_func, unflatten_func, keys)


def _dict_keys(keys: tuple[Any, ...], num_children: int) -> list[str]:
    return [f"[{key!r}]" for key in keys]


def _flatten_dict(node: dict[Any, Any]) -> tuple[list[Any], tuple[Any, ...]]:
    try:
        keys = tuple(sorted(node))
    except TypeError:
        found = shown(list(node))
        raise ValueError(f"dict keys cannot be sorted: {found}. Use keys of one type.") from None
    return [node[key] for key in keys], keys


register_pytree_node(type(None), lambda _: ((), None), lambda _, children: None)
register_pytree_node(tuple, lambda x: (x, None), lambda _, children: children)
register_pytree_node(list, lambda x: (x, None), lambda _, children: list(children))
register_pytree_node(dict, _flatten_dict, lambda keys, xs: dict(zip(keys, xs)), _dict_keys)  # noqa: B905


# An inner node is (class, aux_data, number of children); a leaf is None.
Node = tuple[type[Any], Any, int]


@dataclass(frozen=True, repr=False)
class PyTreeDef:
    """The structure of a tree: everything but the leaves. Immutable, hashable, comparable.

    Its nodes are in pre-order: a parent comes before its children, and records how many of the
    subtrees that follow are its children. So nothing here recurses, and comparing structures means
    comparing tuples.

    >>> tree_structure({"b": [1, 2], "a": 3})
    PyTreeDef({'a': *, 'b': [*, *]})
    """

    nodes: tuple[Node | None, ...]

    @property
    def num_leaves(self) -> int:
        return self.nodes.count(None)

    def __hash__(self) -> int:
        # Auxiliary data may not be hashable; == distinguishes structures that differ only in it.
        return hash(tuple([node and (node[0], node[2]) for node in self.nodes]))

    def __repr__(self) -> str:
        leaves = [_Text("*")] * self.num_leaves
        return f"PyTreeDef({self._build(leaves, _printable_node)!r})"

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the tree of this structure that has the given leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise TreeMismatchError(
                f"tree_unflatten: {self} has num_leaves {self.num_leaves}, found {len(leaves)}"
            )
        return self._build(leaves, lambda cls, data, xs: find_node_type(cls).unflatten(data, xs))

    def _build(self, leaves: Sequence[Any], make: Callable[[type[Any], Any, Any], Any]) -> Any:
        """Replace leaf by leaf, and each node by `make(class, aux_data, children)`."""
        remaining = reversed(leaves)
        built: list[Any] = []  # the subtrees to the right, the next one last
        for node in reversed(self.nodes):
            if node is None:
                built.append(next(remaining))
            else:
                cls, aux_data, num_children = node
                children = tuple(built[: -num_children - 1 : -1])
                built[len(built) - num_children :] = [make(cls, aux_data, children)]
        return built[0]

    def paths(self) -> Iterator[KeyPath]:
        """Yield the path to each node."""
        pending: list[KeyPath] = [()]
        for node in self.nodes:
            path = pending.pop()
            yield path
            if node is not None:
                keys = find_node_type(node[0]).keys(*node[1:])
                pending += [(*path, key) for key in keys][::-1]

    def flatten_up_to(self, tree: Any, name: str = "tree") -> list[Any]:
        """Return the subtrees of `tree`, called `name` in errors, at the leaves of this structure.

        Raises:
            TreeMismatchError: this structure is not a prefix of `tree`; the message says where.
        """
        leaves = iter([node is None for node in self.nodes])
        subtrees, found = tree_flatten(tree, is_leaf=lambda _: next(leaves, True))
        if found != self:
            mismatch = explain_mismatch(self, found, name=name)
            raise TreeMismatchError(f"trees differ in structure {mismatch}. Give both the same.")
        return subtrees


class _Text(str):
    __slots__ = ()
    __repr__ = str.__str__  # without quotes


def _printable_node(cls: type[Any], aux_data: Any, children: tuple[Any, ...]) -> _Text:
    """Return the text of a node: Python's containers print themselves."""
    if cls in (tuple, list, dict, type(None)):
        return _Text(repr(find_node_type(cls).unflatten(aux_data, children)))
    name = f"{cls.__name__}[{aux_data}]" if cls in registry else f"namedtuple[{cls.__name__}]"
    return _Text(f"CustomNode({name}, {list(children)})")


IsLeaf = Callable[[Any], bool]


def tree_flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], PyTreeDef]:
    """Flatten a tree.

    Arguments:
        tree: any value; an instance of an unregistered type is a tree of one leaf.
        is_leaf: `is_leaf(node) -> bool`, called on the way down, makes further nodes leaves.

    Returns:
        The leaves from left to right (a dict's in the order of its sorted keys), and the structure
        that `tree_unflatten` needs to rebuild the tree.

    Raises:
        ValueError: the keys of a dict cannot be sorted, or the tree contains itself.

    >>> tree_flatten({"b": [1, None], "a": (2,)})
    ([2, 1], PyTreeDef({'a': (*,), 'b': [*, None]}))
    """
    leaves: list[Any] = []
    nodes: list[Node | None] = []
    pending = [tree]  # the remaining subtrees, the next one last
    while pending:
        x = pending.pop()
        node_type = registry.get(type(x))
        if node_type is None and isinstance(x, tuple):
            node_type = find_node_type(type(x))
        if (is_leaf is not None and is_leaf(x)) or node_type is None:
            leaves.append(x)
            nodes.append(None)
        else:
            found, aux_data = node_type.flatten(x)
            children = tuple(found)
            nodes.append((type(x), aux_data, len(children)))
            pending += reversed(children)
            if len(nodes) > MAX_NODES:
                raise ValueError(f"a tree of {MAX_NODES} nodes probably contains itself")
    return leaves, PyTreeDef(tuple(nodes))


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Rebuild a tree: the inverse of `tree_flatten`.

    Arguments:
        treedef: the structure.
        leaves: one value for each leaf.

    Returns:
        The tree.

    Raises:
        ValueError: the number of leaves is wrong; the message states both and the structure.

    >>> tree_unflatten(tree_structure({"a": (1,), "b": 2}), "xy")
    {'a': ('x',), 'b': 'y'}
    """
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Return the leaves of a tree, the first part of `tree_flatten`'s result.

    Arguments:
        tree: the tree.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.

    >>> tree_leaves({"b": [1, (2, None)], "a": 3})
    [3, 1, 2]
    >>> tree_leaves([(1, 2), (3, 4)], is_leaf=lambda node: isinstance(node, tuple))
    [(1, 2), (3, 4)]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """Return the structure of a tree, the second part of `tree_flatten`'s result.

    Arguments:
        tree: the tree.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.

    >>> tree_structure({"a": [1, 2]}) == tree_structure({"a": ["x", "y"]})
    True
    >>> tree_structure({"a": [1, 2]}).num_leaves
    2
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Map a function over the leaves of one tree, or of several side by side.

    Arguments:
        f: `f(leaf, *others) -> leaf`, one argument for each tree.
        tree: the tree that determines the structure.
        *rest: trees that have this structure as a prefix: in place of a leaf of `tree` they may
            have a subtree, which is passed to `f`.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes of `tree` leaves.

    Returns:
        A tree of the results of `f` with that structure.

    Raises:
        ValueError: a tree of `rest` differs; the message gives the path and both sides.

    >>> tree_map(lambda x, y: x * y, {"a": 2, "b": (3,)}, {"a": 5, "b": (7,)})
    {'a': 10, 'b': (21,)}
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    others = [treedef.flatten_up_to(other, f"rest[{i}]") for i, other in enumerate(rest)]
    return treedef.unflatten(map(f, leaves, *others))


def tree_flatten_with_path(
    tree: Any, is_leaf: IsLeaf | None = None
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Flatten a tree as `tree_flatten` does, with the path to each leaf.

    Arguments:
        tree: the tree.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes leaves.

    Returns:
        Pairs of key path and leaf, and the structure.

    Raises:
        ValueError: as `tree_flatten`.

    >>> pairs, _ = tree_flatten_with_path({"w": [1, 2]})
    >>> [(keystr(path), leaf) for path, leaf in pairs]
    [("['w'][0]", 1), ("['w'][1]", 2)]
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    nodes = zip(treedef.paths(), treedef.nodes, strict=True)
    paths = [path for path, node in nodes if node is None]
    return list(zip(paths, leaves, strict=True)), treedef


def broadcast_prefix(
    prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None, *, name: str = "full_tree"
) -> list[Any]:
    """Repeat each leaf of a prefix for all leaves below it in the full tree.

    Arguments:
        prefix_tree: a prefix of the full tree: any subtree may be replaced by a leaf.
        full_tree: the tree.
        is_leaf: `is_leaf(node) -> bool`, makes further nodes of the prefix leaves. It is not called
            on the full tree: with `lambda x: x is None`, a None in the prefix is a value to repeat,
            while a None in the full tree still has no leaves.
        name: the name of the full tree in the path of an error message.

    Returns:
        One value for each leaf of the full tree.

    Raises:
        ValueError: the prefix does not match the full tree; the message gives the path.

    >>> broadcast_prefix((0, None), ([1, 2], {"a": 3}), is_leaf=lambda x: x is None)
    [0, 0, None]
    """
    prefix_leaves, prefix_treedef = tree_flatten(prefix_tree, is_leaf)
    subtrees = prefix_treedef.flatten_up_to(full_tree, name)
    pairs = zip(prefix_leaves, subtrees, strict=True)
    return [leaf for leaf, subtree in pairs for _ in tree_leaves(subtree)]


def display_tree(tree: Any) -> str:
    """Draw a tree: a line for each node, its children indented below it (microjax).

    The line of an inner node gives its type and its auxiliary data (a dict's keys, None for a list
    or tuple).

    >>> print(display_tree([1, {"a": (2, 3)}]))
    list: None
        Leaf: 1
        dict: ['a']
            tuple: None
                Leaf: 2
                Leaf: 3
    """
    leaves, treedef = tree_flatten(tree)
    remaining = iter(leaves)
    lines = []
    for path, node in zip(treedef.paths(), treedef.nodes, strict=True):
        indent = "    " * len(path)
        if node is None:
            # an array may have several lines
            lines.append(f"{indent}Leaf: {next(remaining)}".replace("\n", f"\n{indent}      "))
        else:
            data = list(node[1]) if node[0] is dict else node[1]
            lines.append(f"{indent}{node[0].__name__}: {data}")
    return "\n".join(lines)


def explain_mismatch(expected: Any, found: Any, *, name: str = "") -> str:
    """Say where two trees first differ in structure, and show both nodes.

    Arguments:
        expected: a tree, or a `PyTreeDef`.
        found: a tree, or a `PyTreeDef`.
        name: the name of the root in the path, such as the name of an argument.

    Returns:
        One line for an error message; empty if the structures agree.

    >>> explain_mismatch({"w": [(1, 2)]}, {"w": [[3, 4]]}, name="params")
    "at params['w'][0]: expected tuple of 2, found list of 2"
    """
    a, b = (x if isinstance(x, PyTreeDef) else tree_structure(x) for x in (expected, found))
    for path, x, y in zip(a.paths(), a.nodes, b.nodes):  # noqa: B905
        if x != y:
            where = name + keystr(path) or "the root"
            return f"at {where}: expected {_describe(x)}, found {_describe(y)}"
    return ""


def _describe(node: Node | None) -> str:
    if node is None:
        return "a leaf"
    cls, aux_data, num_children = node
    if cls is type(None):
        return "None (a node without leaves)"
    data = "" if aux_data is None else f" with aux data {aux_data!r}"
    return f"{cls.__qualname__} of {num_children}{data}"
