"""Pytrees: nested containers as one list of leaves and a structure.

A tree is a leaf, or a node of a registered type whose children are trees. Transformations work on
flat lists of arrays; these functions flatten the user's containers before, and rebuild them
afterwards. Names and results are those of `jax.tree_util`.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from minijax_stage2.errors import TreeMismatchError
from minijax_stage2.shown import counted

MAX_DEPTH = 100_000  # a deeper tree is assumed to contain itself


KeyPath = tuple[Any, ...]  # the path from the root to a leaf: keys, in source form


def keystr(keys: KeyPath) -> str:
    """Write a key path as Python code that reaches the leaf.

    >>> [(path, _)], _ = tree_flatten_with_path({"layers": [0.5]})
    >>> path, keystr(path)
    (("['layers']", '[0]'), "['layers'][0]")
    """
    return "".join(map(str, keys))


@dataclass(frozen=True, eq=False)
class NodeType:
    """Flattening and unflattening of the nodes of one type.

    Arguments:
        type: the class.
        flatten: `flatten(node) -> (children, aux_data)`. `aux_data` is part of the structure, so it
            should be comparable and hashable.
        unflatten: `unflatten(aux_data, children) -> node`.
        keys: `keys(aux_data, num_children) -> the children's keys`, whose text appears in paths.
    """

    type: type[Any]
    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[Any, tuple[Any, ...]], Any]
    keys: Callable[[Any, int], Iterable[Any]] = lambda _, n: _texts("[<flat index {}>]", range(n))

    def flatten_with_keys(self, node: Any) -> tuple[list[tuple[Any, Any]], Any]:
        """Like `flatten`, with a key beside each child."""
        children, aux_data = self.flatten(node)
        children = tuple(children)
        return list(zip(self.keys(aux_data, len(children)), children, strict=True)), aux_data


registry: dict[type[Any], NodeType] = {}


def find_node_type(cls: type[Any]) -> NodeType | None:
    """Return the node type of class `cls`, or None if its instances are leaves.

    A subclass of a registered class is a leaf until it is registered itself. Namedtuples are nodes
    without registration: tuples with `_fields`.
    """
    node_type = registry.get(cls)
    if node_type is None and issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _namedtuple_node(cls)
    return node_type


@cache
def _namedtuple_node(cls: Any) -> NodeType:
    return NodeType(
        cls,
        flatten=lambda node: (node, None),
        unflatten=lambda _, children: cls(*children),
        keys=lambda _, n: _texts(".{}", cls._fields),
    )


def node_type_of(cls: type[Any]) -> NodeType:
    """Return the node type of class `cls`; ValueError: its instances are leaves."""
    node_type = find_node_type(cls)
    if node_type is None:
        raise ValueError(f"{cls!r} is not registered as a tree node")
    return node_type


def register(node_type: NodeType) -> None:
    """Make the instances of a class inner nodes of trees."""
    if not isinstance(node_type.type, type):
        raise TypeError(f"only a class can be registered as a tree node, got {node_type.type!r}")
    if node_type.type in registry:
        raise ValueError(
            f"{node_type.type!r} is already registered as a tree node; a type is registered "
            "once, before its first use in a tree"
        )
    registry[node_type.type] = node_type


def register_pytree_node(
    nodetype: type[Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, tuple[Any, ...]], Any],
) -> None:
    """Make the instances of a class inner nodes of trees.

    Arguments:
        nodetype: the class; its subclasses are not registered with it.
        flatten_func: `flatten_func(node) -> (children, aux_data)`. `aux_data` holds everything that
            is not a child: it is compared when structures are, and should be hashable.
        unflatten_func: `unflatten_func(aux_data, children) -> node`, the inverse. The
            children may be any objects, so it should not check or convert them.

    Raises:
        ValueError: the class is already registered.

    >>> class Point:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> register_pytree_node(Point, lambda p: ((p.x, p.y), None), lambda _, xy: Point(*xy))
    >>> tree_leaves([Point(1, 2), 3])
    [1, 2, 3]
    """
    register(NodeType(nodetype, flatten_func, unflatten_func))


def _texts(form: str, keys: Iterable[Any]) -> Iterable[str]:
    return map(form.format, keys)


def _sequence_keys(aux_data: Any, num_children: int) -> Iterable[str]:
    return _texts("[{}]", range(num_children))


def _dict_keys(keys: Iterable[Any], num_children: int) -> Iterable[str]:
    return _texts("[{!r}]", keys)


def _flatten_dict(node: dict[Any, Any]) -> tuple[Iterable[Any], tuple[Any, ...]]:
    try:
        keys = tuple(sorted(node))
    except TypeError:
        shown = ", ".join(f"{key!r} ({type(key).__name__})" for key in list(node)[:8])
        raise ValueError(
            "a dict in a tree is flattened in the order of its sorted keys, but these cannot "
            f"be sorted: {shown}{', ...' if len(node) > 8 else ''}. Use keys of one type, or "
            "an OrderedDict, which keeps the order of insertion."
        ) from None
    return [node[key] for key in keys], keys


def _flatten_defaultdict(node: defaultdict[Any, Any]) -> tuple[Iterable[Any], Any]:
    values, keys = _flatten_dict(node)
    return values, (node.default_factory, keys)


for container in (
    NodeType(type(None), lambda _: ((), None), lambda _, children: None),
    NodeType(list, lambda x: (x, None), lambda _, children: list(children), _sequence_keys),
    NodeType(tuple, lambda x: (x, None), lambda _, children: children, _sequence_keys),
    NodeType(dict, _flatten_dict, lambda keys, xs: dict(zip(keys, xs)), _dict_keys),  # noqa: B905
    NodeType(
        OrderedDict,
        lambda node: (node.values(), tuple(node)),
        lambda keys, children: OrderedDict(zip(keys, children, strict=True)),
        _dict_keys,
    ),
    NodeType(
        defaultdict,
        _flatten_defaultdict,
        lambda data, children: defaultdict(data[0], zip(data[1], children, strict=True)),
        lambda data, n: _dict_keys(data[1], n),
    ),
):
    register(container)


# An inner node is (class, aux_data, number of children); a leaf is None.
Node = tuple[type[Any], Any, int]


@dataclass(frozen=True, repr=False)
class PyTreeDef:
    """The structure of a tree: everything but the leaves. Immutable, hashable, comparable.

    Its nodes are in post-order: children come before their parent, and each node records how many
    of the finished subtrees to its left are its children. So nothing here recurses, and comparing
    structures means comparing tuples.

    >>> tree_structure({"b": [1, 2], "a": 3})
    PyTreeDef({'a': *, 'b': [*, *]})
    """

    nodes: tuple[Node | None, ...]

    @property
    def num_leaves(self) -> int:
        return self.nodes.count(None)

    @property
    def num_nodes(self) -> int:
        """The number of nodes, inner nodes and leaves together."""
        return len(self.nodes)

    def __hash__(self) -> int:
        try:
            return hash(self.nodes)
        except TypeError:  # some aux_data is not hashable: let == tell such trees apart
            return hash(tuple(node and (node[0], node[2]) for node in self.nodes))

    def __repr__(self) -> str:
        return f"PyTreeDef({self._build(['*'] * self.num_leaves, _repr_node)})"

    @property
    def described(self) -> str:
        """The structure as messages show it: `{'a': *, 'b': [*, *]}`, where `*` is a leaf."""
        return "a leaf" if self.nodes == (None,) else repr(self)[len("PyTreeDef(") : -1]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the tree of this structure that has the given leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise TreeMismatchError(
                f"tree_unflatten: expected {counted(self.num_leaves, 'leaf')}, found "
                f"{len(leaves)}, for the structure {self.described}"
            )
        return self._build(leaves, lambda cls, *parts: node_type_of(cls).unflatten(*parts))

    def _build(self, leaves: Sequence[Any], make: Callable[[type[Any], Any, Any], Any]) -> Any:
        """Replace leaf by leaf, and each node by `make(class, aux_data, children)`."""
        remaining = iter(leaves)
        built: list[Any] = []
        for node in self.nodes:
            if node is None:
                built.append(next(remaining))
            else:
                cls, aux_data, num_children = node
                first = len(built) - num_children
                built[first:] = [make(cls, aux_data, tuple(built[first:]))]
        return built[0]

    def flatten_up_to(self, tree: Any, name: str = "tree") -> list[Any]:
        """Return the subtrees of `tree`, called `name` in errors, at the leaves of this structure.

        Raises:
            TreeMismatchError: this structure is not a prefix of `tree`; the message says where.
        """
        subtrees: list[Any] = []
        pending = [tree]
        for node in reversed(self.nodes):
            x = pending.pop()
            if node is None:
                subtrees.append(x)
                continue
            cls, expected_data, num_children = node
            if type(x) is cls:
                children, aux_data = node_type_of(cls).flatten(x)
                children = tuple(children)
                same_data = aux_data is expected_data or aux_data == expected_data
                if same_data and len(children) == num_children:
                    pending.extend(children)
                    continue
            mismatch = explain_mismatch(self, tree, name=name, prefix=True)
            raise TreeMismatchError(
                f"trees differ in structure {mismatch}. Bring both to one structure, or have "
                "is_leaf stop above what differs."
            )
        return subtrees[::-1]

    def children(self) -> list["PyTreeDef"]:
        """Return the structures of the root's children, none for a leaf."""
        found: list[PyTreeDef] = []
        end = len(self.nodes) - 1
        for _ in range(self.nodes[-1][2] if self.nodes[-1] else 0):
            start, missing = end, 1
            while missing:
                start -= 1
                node = self.nodes[start]
                missing += node[2] - 1 if node else -1
            found.append(PyTreeDef(self.nodes[start:end]))
            end = start
        return found[::-1]

    def node_data(self) -> tuple[type[Any], Any] | None:
        """Return the root's type and aux_data (a dict's: its list of keys); None for a leaf."""
        if self.nodes[-1] is None:
            return None
        cls, aux_data, _ = self.nodes[-1]
        return cls, list(aux_data) if cls is dict else aux_data

    def compose(self, inner_treedef: "PyTreeDef") -> "PyTreeDef":
        """Return this structure with `inner_treedef` in place of each leaf."""
        inner = inner_treedef.nodes
        return PyTreeDef(tuple(x for n in self.nodes for x in (inner if n is None else (n,))))


def _repr_node(cls: type[Any], aux_data: Any, children: tuple[str, ...]) -> str:
    inside = ", ".join(children)
    if cls is type(None):
        return "None"
    if cls is tuple:
        return f"({inside},)" if len(children) == 1 else f"({inside})"
    if cls is list:
        return f"[{inside}]"
    if cls is dict:
        pairs = zip(aux_data, children, strict=True)
        return "{" + ", ".join(f"{key!r}: {child}" for key, child in pairs) + "}"
    is_namedtuple = issubclass(cls, tuple) and cls not in registry
    name = f"namedtuple[{cls.__name__}]" if is_namedtuple else f"{cls.__name__}[{aux_data}]"
    return f"CustomNode({name}, [{inside}])"


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
    parents: list[tuple[Iterator[Any], Node | None]] = []
    siblings: Iterator[Any] = iter((tree,))
    parent: Node | None = None
    while True:
        for x in siblings:
            node_type = registry.get(type(x))
            if node_type is None and isinstance(x, tuple):
                node_type = find_node_type(type(x))
            if (is_leaf is not None and is_leaf(x)) or node_type is None:
                leaves.append(x)
                nodes.append(None)
                continue
            children, aux_data = node_type.flatten(x)
            children = tuple(children)
            parents.append((siblings, parent))
            siblings, parent = iter(children), (node_type.type, aux_data, len(children))
            break
        else:  # all siblings are done, so their parent is
            if parent is None:
                return leaves, PyTreeDef(tuple(nodes))
            nodes.append(parent)
            siblings, parent = parents.pop()
            continue
        if len(parents) > MAX_DEPTH:
            raise ValueError(
                f"a tree may be nested {MAX_DEPTH} deep at most; this {type(tree).__name__} is "
                "deeper, probably because it contains itself"
            )


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
        *rest: trees of which that structure is a prefix: in place of a leaf of `tree` they may have
            a subtree, which is passed to `f`.
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
    treedef = tree_structure(tree, is_leaf)
    found: list[tuple[KeyPath, Any]] = []
    pending: list[tuple[KeyPath, Any]] = [((), tree)]
    for node in reversed(treedef.nodes):
        path, x = pending.pop()
        if node is None:
            found.append((path, x))
        else:
            pairs, _ = node_type_of(node[0]).flatten_with_keys(x)
            pending += [((*path, key), child) for key, child in pairs]
    return found[::-1], treedef


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
    if is_leaf is not None and is_leaf(prefix_tree):
        return [prefix_tree] * len(tree_leaves(full_tree))
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


def explain_mismatch(expected: Any, found: Any, *, name: str = "", prefix: bool = False) -> str:
    """Say where two trees first differ in structure, and show both nodes.

    Arguments:
        expected: a tree, or a `PyTreeDef`.
        found: a tree, or a `PyTreeDef`.
        name: the name of the root in the path, such as the name of an argument.
        prefix: allow any subtree in place of a leaf of `expected`.

    Returns:
        One line for an error message; empty if the structures agree.

    >>> explain_mismatch({"w": [(1, 2)]}, {"w": [[3, 4]]}, name="params")
    "at params['w'][0]: expected tuple of 2, found list of 2"
    """
    pending: list[tuple[KeyPath, Any, Any]] = [((), expected, found)]
    while pending:
        path, a, b = pending.pop()
        (node_a, pairs_a), (node_b, pairs_b) = _expand(a), _expand(b)
        if node_a is None and (prefix or node_b is None):
            continue
        if node_a is None or node_b is None or node_a != node_b:
            where = name + keystr(path) or "the root"
            return f"at {where}: {_difference(node_a, a, node_b, b)}"
        keyed = pairs_a if isinstance(found, PyTreeDef) else pairs_b  # values know their keys best
        pending += [
            ((*path, key), child_a, child_b)
            for (key, _), (_, child_a), (_, child_b) in zip(keyed, pairs_a, pairs_b, strict=True)
        ][::-1]
    return ""


def _expand(x: Any) -> tuple[Node | None, list[tuple[Any, Any]]]:
    """Return the root of a tree or of a structure, and its children with their keys."""
    if isinstance(x, PyTreeDef):
        root = x.nodes[-1]
        keys = node_type_of(root[0]).keys(*root[1:]) if root else ()
        return root, list(zip(keys, x.children(), strict=True))
    node_type = find_node_type(type(x))
    if node_type is None:
        return None, []
    pairs, aux_data = node_type.flatten_with_keys(x)
    return (node_type.type, aux_data, len(pairs)), pairs


def _difference(node_a: Node | None, a: Any, node_b: Node | None, b: Any) -> str:
    class_a, class_b = (node and node[0] for node in (node_a, node_b))
    if node_a and node_b and class_a is class_b is dict:
        missing = [key for key in node_a[1] if key not in node_b[1]]
        unexpected = [key for key in node_b[1] if key not in node_a[1]]
        parts = [f"missing {_few(missing)}"] * bool(missing)
        parts += [f"unexpected {_few(unexpected)}"] * bool(unexpected)
        return f"Dict key mismatch: {', '.join(parts)}"
    names = [cls.__name__ for cls in (class_a, class_b) if cls]
    qualified = class_a is not class_b and len(names) == 2 and names[0] == names[1]
    expected, found = _describe(node_a, a, qualified), _describe(node_b, b, qualified)
    return f"expected {expected}, found {found}"


def _describe(node: Node | None, x: Any, qualified: bool) -> str:
    if node is None:
        return "a leaf" if isinstance(x, PyTreeDef) else f"a leaf of type {type(x).__name__}"
    cls, aux_data, num_children = node
    name = f"{cls.__module__}.{cls.__qualname__}" if qualified else cls.__name__
    if cls is type(None):
        return "None (a node without leaves)"
    if cls is dict or cls is OrderedDict:
        return f"{name} with keys {_few(aux_data)}"
    size = f" of {num_children}" if num_children or cls in (list, tuple) else ""
    data = "" if aux_data is None or aux_data == () else f" with aux data {aux_data!r}"
    return name + size + data


def _few(keys: Sequence[Any]) -> str:
    shown = [repr(key) for key in keys[:8]] + ["..."] * (len(keys) > 8)
    return f"[{', '.join(shown)}]"
